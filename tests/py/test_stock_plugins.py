"""Plugins that TensorRT ships, as nodes of ONNX models: each against plain NumPy."""
import os

import numpy as np
import pytest
from onnx import TensorProto, helper

import stock_reference as reference
import wootz

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64}
SEED = int(os.environ.get("WOOTZ_TEST_SEED", "20"))


def random(name):
    return np.random.default_rng([SEED, sum(map(ord, name))])


def model_of(op, feeds, attributes, outputs, domain="", dynamic=False):
    names = list(feeds)
    value = lambda name, v: helper.make_tensor_value_info(
        name, TYPES[v.dtype], ["n" if dynamic and a == 0 else d for a, d in enumerate(v.shape)])
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    graph = helper.make_graph([node], "plugin", [value(n, v) for n, v in feeds.items()],
                              [helper.make_empty_tensor_value_info(r) for r in results])
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def run(op, feeds, attributes, outputs, dynamic=False, **options):
    arguments = {}
    if dynamic:
        arguments["shapes"] = {n: [list(v.shape)] * 3 for n, v in feeds.items()}
    plan = wootz.build(model_of(op, feeds, attributes, outputs, dynamic=dynamic, **options), **arguments)
    engine = wootz.Runtime(wootz.Logger()).deserialize_cuda_engine(plan)
    got = wootz.infer(engine.create_execution_context(), feeds)
    return [got[f"y{i}"] for i in range(outputs)]


def compare(op, feeds, attributes, expected, tolerance=2e-5, **options):
    got = run(op, feeds, attributes, len(expected), **options)
    for i, (mine, theirs) in enumerate(zip(got, expected)):
        assert list(mine.shape) == list(theirs.shape), f"output {i}"
        assert mine.dtype.kind == theirs.dtype.kind, f"output {i} is {mine.dtype}"
        np.testing.assert_allclose(mine.astype(np.float64), theirs, rtol=tolerance, atol=tolerance, err_msg=f"output {i}")


def detections(name, boxes=40, classes=3, images=2, own=False, center=False):
    r = random(name)
    at = r.uniform(0, 1, (images, boxes, classes, 2) if own else (images, boxes, 2))
    size = r.uniform(0.1, 0.5, at.shape)
    coordinates = np.concatenate([at, size], -1) if center else np.concatenate([at, at + size], -1)
    scores = r.permutation(images * boxes * classes).reshape(images, boxes, classes) / (images * boxes * classes)
    return {"boxes": coordinates.astype(np.float32), "scores": scores.astype(np.float32)}


EFFICIENT = {
    "plain": {"score_threshold": 0.25, "iou_threshold": 0.45, "max_output_boxes": 20},
    "few": {"score_threshold": 0.9, "iou_threshold": 0.3, "max_output_boxes": 50},
    "none": {"score_threshold": 2.0, "max_output_boxes": 4},
    "more_than_there_are": {"score_threshold": 0.0, "iou_threshold": 0.9, "max_output_boxes": 500},
    "background": {"score_threshold": 0.2, "background_class": 0, "max_output_boxes": 30},
    "agnostic": {"score_threshold": 0.2, "class_agnostic": 1, "iou_threshold": 0.4, "max_output_boxes": 30},
    "sigmoid": {"score_threshold": 0.6, "score_activation": 1, "max_output_boxes": 30},
    "center": {"score_threshold": 0.2, "box_coding": 1, "max_output_boxes": 30},
}


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("name", EFFICIENT)
def test_efficient_nms(name, own):
    attributes = EFFICIENT[name]
    feeds = detections(name, own=own, center=bool(attributes.get("box_coding")))
    compare("EfficientNMS_TRT", feeds, {"plugin_version": "1", **attributes},
            reference.efficient_nms(*feeds.values(), **attributes))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("coding", [0, 1])
def test_efficient_nms_decodes_anchors(coding, shared):
    feeds = detections("anchors", center=bool(coding))
    r = random("deltas")
    feeds["anchors"] = feeds["boxes"][:1] if shared else feeds["boxes"]
    feeds["boxes"] = r.normal(0, 0.1, feeds["boxes"].shape).astype(np.float32)
    attributes = {"score_threshold": 0.3, "box_coding": coding, "max_output_boxes": 25}
    compare("EfficientNMS_TRT", feeds, attributes, reference.efficient_nms(*feeds.values(), **attributes))


def test_efficient_nms_with_open_extents():
    feeds = detections("open")
    attributes = {"score_threshold": 0.25, "max_output_boxes": 20}
    compare("EfficientNMS_TRT", feeds, attributes, reference.efficient_nms(*feeds.values(), **attributes), dynamic=True)


def test_efficient_nms_in_fp16():
    feeds = {n: v.astype(np.float16) for n, v in detections("half", boxes=12).items()}
    attributes = {"score_threshold": 0.25, "max_output_boxes": 20}
    compare("EfficientNMS_TRT", feeds, attributes, reference.efficient_nms(*feeds.values(), **attributes), 2e-3)


@pytest.mark.parametrize("op", ["EfficientNMS_Explicit_TF_TRT", "EfficientNMS_Implicit_TF_TRT"])
@pytest.mark.parametrize("pad", [0, 1])
def test_combined_nms(op, pad):
    feeds = detections("tf")
    attributes = {"score_threshold": 0.2, "iou_threshold": 0.5, "max_output_size_per_class": 4, "max_total_size": 20,
                  "pad_per_class": pad, "clip_boxes": 1}
    compare(op, feeds, attributes, reference.combined_nms(*feeds.values(), **attributes))


@pytest.mark.parametrize("threshold", [0.2, 0.97, 3.0])
@pytest.mark.parametrize("center", [0, 1])
def test_onnx_nms(center, threshold):
    feeds = detections("rows", center=bool(center))
    attributes = {"score_threshold": threshold, "iou_threshold": 0.5, "max_output_boxes_per_class": 7,
                  "center_point_box": center}
    compare("EfficientNMS_ONNX_TRT", feeds, attributes, reference.onnx_nms(*feeds.values(), **attributes))


@pytest.mark.parametrize("half, mode, ratio", [(1, 1, 2), (0, 1, 0), (1, 0, 2), (0, 0, 1)])
@pytest.mark.parametrize("version", ["1", "2"])
def test_roi_align(half, mode, ratio, version):
    r = random("rois")
    at = r.uniform(0, 10, (5, 2))
    feeds = {"x": r.normal(size=(2, 3, 9, 11)).astype(np.float32),
             "rois": np.concatenate([at, at + r.uniform(1, 8, at.shape)], -1).astype(np.float32),
             "batch": r.integers(0, 2, 5).astype(np.int32)}
    attributes = {"coordinate_transformation_mode": half, "mode": mode, "output_height": 3, "output_width": 4,
                  "sampling_ratio": ratio, "spatial_scale": 0.75}
    compare("ROIAlign_TRT", feeds, {"plugin_version": version, **attributes},
            reference.roi_align(*feeds.values(), **attributes))


@pytest.mark.parametrize("version", ["1", "2", "3"])
@pytest.mark.parametrize("shape", [(2, 5, 6, 7), (1, 4, 3, 4, 5)])
def test_instance_norm(shape, version):
    r = random("instance")
    x = r.normal(2, 3, shape).astype(np.float32)
    attributes = {"epsilon": 1e-3, "scales": r.normal(size=shape[1]).astype(np.float32).tolist(),
                  "bias": r.normal(size=shape[1]).astype(np.float32).tolist(), "relu": 1, "alpha": 0.125}
    compare("InstanceNormalization_TRT", {"x": x}, {"plugin_version": version, **attributes},
            reference.instance_norm(x, **attributes))


def test_group_norm():
    r = random("group")
    feeds = {"x": r.normal(1, 2, (2, 6, 5, 4)).astype(np.float32), "s": r.normal(size=6).astype(np.float32),
             "b": r.normal(size=6).astype(np.float32)}
    attributes = {"eps": 1e-4, "num_groups": 3}
    compare("GroupNormalizationPlugin", feeds, attributes, reference.group_norm(*feeds.values(), **attributes))


@pytest.mark.parametrize("axis", [-1, 1])
def test_layer_norm(axis):
    r = random("layer")
    x = r.normal(1, 2, (3, 4, 6)).astype(np.float32)
    tail = x.shape[axis:]
    feeds = {"x": x, "g": r.normal(size=tail).astype(np.float32), "b": r.normal(size=tail).astype(np.float32)}
    compare("LayerNorm", feeds, {"axis": axis, "epsilon": 1e-4}, reference.layer_norm(*feeds.values(), 1e-4, axis))


def test_scatter_of_another_domain():
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    feeds = {"data": data, "i": np.array([[3], [1]], np.int32), "u": np.full((2, 3), -1, np.float32)}
    expected = data.copy()
    expected[[3, 1]] = -1
    compare("ScatterND", feeds, {}, [expected], domain="trt.plugins")
    feeds = {"data": data, "i": np.array([[0, 1, 2]], np.int64), "u": np.full((1, 3), 10, np.float32)}
    expected = data.copy()
    expected[[0, 1, 2], [0, 1, 2]] += 10
    compare("ScatterElements", feeds, {"axis": 0, "reduction": "add"}, [expected], domain="trt.plugins")


@pytest.mark.parametrize("op, attributes, message", [
    ("EfficientNMS_TRT", {"plugin_version": "7"}, "no version '7'; there are 1"),
    ("EfficientNMS_TRT", {"max_output_boxes": 0}, "it must be 1 or more"),
    ("EfficientNMS_TRT", {"box_coding": 5}, "box_coding is 5"),
    ("EfficientNMS_TRT", {"score_threshold": "high"}, "field 'score_threshold' must be numbers"),
    ("GroupNormalizationPlugin", {}, "field 'num_groups' must be given"),
    ("ROIAlign_TRT", {}, "takes 3 inputs, 2 are given"),
])
def test_refusals(op, attributes, message):
    with pytest.raises(wootz.BuildError, match=message):
        wootz.build(model_of(op, detections("refused"), attributes, 1))
