"""Plugins that TensorRT ships, as nodes of ONNX models: each against plain NumPy.

Why so long: a test for each plugin.
"""
import os

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import stock_reference as reference
import wootz

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64}
SEED = int(os.environ.get("WOOTZ_SEED", int.from_bytes(os.urandom(4), "little")))


@pytest.fixture(autouse=True)
def seed():
    print("seed", SEED)


def random(name):
    return np.random.default_rng([SEED, sum(map(ord, name))])


def model_of(op, feeds, attributes, outputs, domain="", dynamic=False, constants=(), beside=False):
    """`constants`: feeds that the model holds. `beside`: an input that has nothing to do with the plugin, and its result."""
    value = lambda name, v: helper.make_tensor_value_info(
        name, TYPES[v.dtype], ["n" if dynamic and a == 0 else d for a, d in enumerate(v.shape)])
    results = [f"y{i}" for i in range(outputs)]
    nodes = [helper.make_node(op, list(feeds), results, domain=domain, **attributes)]
    inputs = [value(n, v) for n, v in feeds.items() if n not in constants]
    outputs = [helper.make_empty_tensor_value_info(r) for r in results]
    if beside:
        nodes.append(helper.make_node("Neg", ["beside"], ["negated"]))
        inputs.append(helper.make_tensor_value_info("beside", TensorProto.FLOAT, [1]))
        outputs.append(helper.make_empty_tensor_value_info("negated"))
    graph = helper.make_graph(nodes, "plugin", inputs, outputs,
                              [numpy_helper.from_array(feeds[n], n) for n in constants])
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def run(op, feeds, attributes, outputs, dynamic=False, **options):
    arguments = {}
    if dynamic:
        arguments["shapes"] = {n: [list(v.shape)] * 3 for n, v in feeds.items()}
    plan = wootz.build(model_of(op, feeds, attributes, outputs, dynamic=dynamic, **options), **arguments)
    engine = wootz.Runtime(wootz.Logger()).deserialize_cuda_engine(plan)
    given = {n: v for n, v in feeds.items() if n not in options.get("constants", ())}
    if options.get("beside"):
        given["beside"] = np.zeros(1, np.float32)
    got = wootz.infer(engine.create_execution_context(), given)
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


BATCHED = {
    "plain": {"topK": 40, "keepTopK": 15, "scoreThreshold": 0.3},
    "top": {"topK": 12, "keepTopK": 12, "scoreThreshold": 0.1, "iouThreshold": 0.3, "clipBoxes": 0},
    "background": {"topK": 30, "keepTopK": 30, "backgroundLabelId": 1, "scoreThreshold": 0.5},
    "pixels": {"topK": 30, "keepTopK": 10, "isNormalized": 0, "clipBoxes": 0, "scoreThreshold": 0.2},
}


@pytest.mark.parametrize("op", ["BatchedNMS_TRT", "BatchedNMSDynamic_TRT"])
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("name", BATCHED)
def test_batched_nms(name, own, op):
    attributes = {"shareLocation": int(not own), "numClasses": 3, **BATCHED[name]}
    feeds = detections("batched" + name, own=own)
    if not own:
        feeds["boxes"] = feeds["boxes"][:, :, None]
    if name == "pixels":
        feeds["boxes"] = np.round(feeds["boxes"] * 100)
    compare(op, feeds, attributes, reference.batched_nms(*feeds.values(), **attributes))


def test_batched_nms_with_open_extents():
    attributes = {"numClasses": 3, "topK": 12, "keepTopK": 9, "scoreThreshold": 0.2}
    feeds = detections("open batched")
    feeds["boxes"] = feeds["boxes"][:, :, None]
    compare("BatchedNMS_TRT", feeds, attributes, reference.batched_nms(*feeds.values(), **attributes), dynamic=True)


@pytest.mark.parametrize("code", [0, 1, 2, 3])
@pytest.mark.parametrize("own, agnostic, encoded", [(False, 1, 0), (True, 0, 1)])
def test_detection_output(code, own, agnostic, encoded):
    r, priors, classes, images = random("ssd"), 20, 3, 2
    at = r.uniform(0, 0.8, (images, priors, 2))
    anchors = np.concatenate([at, at + r.uniform(0.1, 0.4, at.shape)], -1).reshape(images, -1)
    prior = np.stack([anchors, np.tile([0.1, 0.1, 0.2, 0.2], (images, priors))], 1)[..., None]
    scores = r.permutation(images * priors * classes) / (images * priors * classes)
    feeds = {"loc": r.normal(0, 0.3, (images, priors * (classes if own else 1) * 4, 1, 1)),
             "prior": prior[:1] if agnostic else prior, "conf": scores.reshape(images, -1, 1, 1)}
    feeds = {n: v.astype(np.float32) for n, v in feeds.items()}
    attributes = {"shareLocation": int(not own), "varianceEncodedInTarget": encoded, "backgroundLabelId": 0,
                  "numClasses": classes, "topK": 15, "keepTopK": 10, "confidenceThreshold": 0.3, "nmsThreshold": 0.4,
                  "inputOrder": [0, 2, 1], "codeType": code, "isBatchAgnostic": agnostic}
    expected = reference.detection_output(feeds["loc"], feeds["conf"], feeds["prior"], **attributes)
    compare("NMS_TRT", feeds, attributes, expected)


@pytest.mark.parametrize("bias", [False, True])
def test_gelu(bias):
    r = random("gelu")
    x = r.normal(size=(3, 2, 8, 1, 1)).astype(np.float32)
    attributes = {"bias": r.normal(size=8).astype(np.float32).tolist()} if bias else {}
    compare("CustomGeluPluginDynamic", {"x": x}, {"type_id": 0, **attributes}, reference.gelu(x, **attributes))


@pytest.mark.parametrize("version", ["1", "2", "5", "6"])
@pytest.mark.parametrize("bias", [False, True])
def test_skip_layer_norm(version, bias):
    r = random("skip")
    feeds = {n: r.normal(1, 2, (3, 2, 8, 1, 1)).astype(np.float32) for n in "ab"}
    attributes = {n: r.normal(size=8).astype(np.float32).tolist() for n in ["beta", "gamma"] + ["bias"] * bias}
    compare("CustomSkipLayerNormPluginDynamic", feeds, {"plugin_version": version, "ld": 8, **attributes},
            reference.skip_layer_norm(*feeds.values(), **attributes))


def test_embedding():
    r = random("embedding")
    sizes = {"layernorm_beta": 1, "layernorm_gamma": 1, "word_embeddings": 11, "token_type_embeddings": 2,
             "position_embeddings": 9}
    attributes = {f"bert_embeddings_{n}": r.normal(size=k * 6).astype(np.float32).tolist() for n, k in sizes.items()}
    feeds = {"words": r.integers(0, 11, (2, 7)).astype(np.int32), "segments": r.integers(0, 2, (2, 7)).astype(np.int32),
             "mask": (np.arange(7)[None] < [[5], [7]]).astype(np.int32)}
    compare("CustomEmbLayerNormPluginDynamic", feeds, attributes, reference.embedding(*feeds.values(), **attributes))


def test_fully_connected():
    r = random("fc")
    x, w = r.normal(size=(3, 2, 6, 1, 1)).astype(np.float32), r.normal(size=(6, 5)).astype(np.float32)
    expected = np.einsum("abk,ko->abo", x[..., 0, 0], w)[..., None, None]
    compare("CustomFCPluginDynamic", {"x": x}, {"out_dims": 5, "W": w.reshape(-1).tolist()}, [expected])


@pytest.mark.parametrize("version", ["1", "4"])
@pytest.mark.parametrize("mask", [None, [5, 7], [[1], [4]]], ids=["all", "list", "column"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_bert_attention(mask, version, dynamic):
    feeds = {"x": random("bert").normal(size=(7, 2, 3 * 12, 1, 1)).astype(np.float32)}
    if mask is not None:
        feeds["mask"] = np.array(mask, np.int32)
    attributes = {"hidden_size": 12, "num_heads": 3, "has_mask": int(mask is not None)}
    compare("CustomQKVToContextPluginDynamic", feeds, {"plugin_version": version, **attributes},
            reference.bert_attention(*feeds.values(), **attributes), dynamic=dynamic and mask is None)


@pytest.mark.parametrize("dynamic", [False, True])
def test_attention_of_diffusion(dynamic):
    r = random("diffusion")
    x = r.normal(size=(2, 9, 4, 3, 8)).astype(np.float32)
    compare("fMHA_V2", {"x": x}, {}, reference.self_attention(x), dynamic=dynamic)
    feeds = {"q": x[..., 0, :].copy(), "kv": r.normal(size=(2, 5, 4, 2, 8)).astype(np.float32)}
    compare("fMHCA", feeds, {}, reference.cross_attention(*feeds.values()), dynamic=dynamic)


@pytest.mark.parametrize("attributes", [{}, {"fDiv": 2.0, "fAdd": 0.5, "fMul": 3.0}])
def test_split_gelu(attributes):
    x = random("split").normal(size=(2, 5, 12)).astype(np.float32)
    compare("SplitGeLU", {"x": x}, attributes, reference.split_gelu(x, **attributes))


@pytest.mark.parametrize("swish", [0, 1])
def test_group_norm_of_diffusion(swish):
    r = random("groups of diffusion")
    feeds = {"x": r.normal(2, 3, (2, 64, 5, 3)), "gamma": r.normal(size=64), "beta": r.normal(size=64)}
    feeds = {n: v.astype(np.float32) for n, v in feeds.items()}
    attributes = {"epsilon": 1e-3, "bSwish": swish}
    compare("GroupNorm", feeds, attributes, reference.group_norm_swish(*feeds.values(), **attributes))


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("length, span", [(5, 8), (23, 8), (40, 6)])
def test_disentangled_attention(length, span, version):
    r = random("deberta")
    shapes = [(3, length, length), (3, length, 2 * span), (3, length, 2 * span)]
    feeds = {f"x{i}": r.normal(size=s).astype(np.float32) for i, s in enumerate(shapes)}
    attributes = {"span": span, "factor": 0.125}
    compare("DisentangledAttention_TRT", feeds, {"plugin_version": version, **attributes},
            reference.disentangled(*feeds.values(), **attributes))


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("group, parts, bias", [(1, 1, True), (2, 2, False)])
def test_deform_conv(group, parts, bias, version):
    r = random("dcn")
    feeds = {"x": r.normal(size=(2, 4, 6, 5)), "offset": r.normal(0, 1.5, (2, 2 * parts * 9, 3, 5)),
             "mask": r.uniform(0, 1, (2, parts * 9, 3, 5)), "weight": r.normal(size=(6, 4 // group, 3, 3))}
    if bias:
        feeds["bias"] = r.normal(size=6)
    feeds = {n: v.astype(np.float32) for n, v in feeds.items()}
    attributes = {"stride": [2, 1], "padding": [1, 2], "dilation": [1, 2], "group": group, "deformable_group": parts}
    compare("ModulatedDeformConv2d", feeds, {"plugin_version": version, **attributes},
            reference.deform_conv(*feeds.values(), **attributes), 1e-4)


def test_deformable_attention():
    r = random("msda")
    shapes = np.array([[4, 6], [2, 3]], np.int32)
    feeds = {"value": r.normal(size=(2, 30, 2, 4)).astype(np.float32), "shapes": shapes,
             "starts": np.array([0, 24], np.int32), "places": r.uniform(-0.1, 1.1, (2, 5, 2, 2, 3, 2)).astype(np.float32),
             "weights": r.uniform(0, 1, (2, 5, 2, 2, 3)).astype(np.float32)}
    compare("MultiscaleDeformableAttnPlugin_TRT", feeds, {}, reference.deformable_attention(*feeds.values()),
            constants=["shapes", "starts"])


def test_pillar_scatter():
    r, (height, width), pillars = random("pillars"), (5, 7), 12
    places = np.stack([r.permutation(height * width)[:pillars] for _ in range(2)])
    coordinates = np.stack([places * 0, places * 0, places // width, places % width], -1).astype(np.int32)
    feeds = {"v": r.normal(size=(2, pillars, 3)).astype(np.float32), "c": coordinates, "n": np.array([4, 12], np.int32)}
    compare("PillarScatterPlugin", feeds, {"dense_shape": [height, width]},
            reference.pillar_scatter(*feeds.values(), (height, width)))


@pytest.mark.parametrize("given, most", [(4, 40), (4, 6), (5, 40)])
def test_voxels(given, most):
    r = random("cloud")
    points = r.uniform(-1.2, 1.2, (2, 60, given)).astype(np.float32)
    feeds = {"points": points, "count": np.array([60, 35], np.int32)}
    attributes = {"max_num_points_per_voxel": 4, "max_voxels": most, "point_cloud_range": [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0],
                  "voxel_feature_num": given + 6, "voxel_size": [0.5, 0.4, 2.0]}
    compare("VoxelGeneratorPlugin", feeds, attributes, reference.voxels(*feeds.values(), **attributes), 1e-4)


@pytest.mark.parametrize("op", ["GridAnchor_TRT", "GridAnchorRect_TRT"])
def test_grid_anchors(op):
    maps = [(4, 4), (2, 2), (1, 1)] if op == "GridAnchor_TRT" else [(4, 6), (2, 3), (1, 1)]
    attributes = {"minSize": 0.2, "maxSize": 0.95, "aspectRatios": [1.0, 2.0, 0.5, 3.0], "variance": [0.1, 0.1, 0.2, 0.2],
                  "numLayers": 3}
    shapes = [m[0] for m in maps] if op == "GridAnchor_TRT" else [d for m in maps for d in m]
    compare(op, {}, {"featureMapShapes": shapes, **attributes}, reference.grid_anchors(maps, **attributes), beside=True)


@pytest.mark.parametrize("images, most", [(1, [21.0, 40.0]), (2, [])])
def test_prior_boxes(images, most):
    feeds = {"map": np.zeros((images, 3, 4, 5), np.float32), "image": np.zeros((images, 3, 60, 80), np.float32)}
    attributes = {"minSize": [10.0, 20.0], "aspectRatios": [2.0, 3.0], "flip": 1, "clip": 1, "offset": 0.5}
    if most:
        attributes["maxSize"] = most
    compare("PriorBox_TRT", feeds, attributes, reference.prior_boxes(*feeds.values(), **attributes))


@pytest.mark.parametrize("across", [0, 1])
@pytest.mark.parametrize("shared", [0, 1])
def test_normalize(across, shared):
    r = random("l2")
    x = r.normal(size=(2, 4, 3, 5)).astype(np.float32)
    attributes = {"weights": [2.0] if shared else [1.0, 2.0, 3.0, 4.0], "acrossSpatial": across, "channelShared": shared,
                  "eps": 1e-3}
    compare("Normalize_TRT", {"x": x}, attributes, reference.normalize(x, **attributes))


def test_simple_ones():
    r = random("simple")
    x = r.normal(size=(2, 4, 6, 4)).astype(np.float32)
    compare("Clip_TRT", {"x": x}, {"clipMin": -0.5, "clipMax": 0.75}, [np.clip(x, -0.5, 0.75)])
    compare("LReLU_TRT", {"x": x}, {"negSlope": 0.3}, [np.where(x < 0, np.float32(0.3) * x, x)])
    compare("CoordConvAC", {"x": x}, {}, reference.coordinates(x))
    for version in ("1", "2"):
        compare("Reorg_TRT", {"x": x}, {"stride": 2, "plugin_version": version}, reference.reorg(x, 2))
    y = r.normal(size=(1, 3, 2, 2)).astype(np.float32)
    compare("BatchTilePlugin_TRT", {"x": x, "y": y}, {}, [np.repeat(y, 2, 0)])
    z = r.normal(size=(2, 5, 1, 2)).astype(np.float32)
    joined = np.concatenate([x.reshape(2, -1), z.reshape(2, -1)], 1)[..., None, None]
    compare("FlattenConcat_TRT", {"x": x, "z": z}, {"axis": 1, "ignoreBatch": 0}, [joined])
    boxes = r.normal(size=(2, 3 * 9, 4, 5)).astype(np.float32)
    compare("Region_TRT", {"x": boxes}, {"num": 3, "coords": 4, "classes": 4}, reference.region(boxes, 3, 4, 4))
    found = r.normal(size=(2, 7, 6)).astype(np.float32)
    compare("SpecialSlice_TRT", {"x": found}, {}, [found[..., :4]])


def distinct(r, shape):
    """Scores in [0, 1), of which no two are equal."""
    return (r.permutation(int(np.prod(shape))) / np.prod(shape)).reshape(shape).astype(np.float32)


@pytest.mark.parametrize("first, keep", [(50, 20), (4000, 30)])
def test_proposal_layer(first, keep):
    r, size = random("proposal"), [3, 64, 96]
    count = sum(-(-64 // s) * -(-96 // s) * 3 for s in (4, 8, 16, 32, 64))
    feeds = {"scores": distinct(r, (2, count, 2, 1)), "deltas": r.normal(0, 1, (2, count, 4, 1)).astype(np.float32)}
    attributes = {"prenms_topk": first, "keep_topk": keep, "iou_threshold": 0.6, "image_size": size}
    compare("ProposalLayer_TRT", feeds, attributes, reference.proposal_layer(*feeds.values(), **attributes), 1e-4)


def test_multilevel_propose():
    r, size, feeds = random("levels"), [3, 64, 96], {}
    for level in range(5):
        s = 4 << level
        count = len(range(s // 2, 64, s)) * len(range(s // 2, 96, s)) * 3
        feeds[f"d{level}"] = r.normal(0, 0.3, (2, count, 4, 1)).astype(np.float32)
        feeds[f"s{level}"] = distinct(r, (2, count, 1, 1)) * np.float32(1 - level / 64)
    attributes = {"prenms_topk": 40, "keep_topk": 15, "fg_threshold": 0.3, "iou_threshold": 0.6, "image_size": size}
    compare("MultilevelProposeROI_TRT", feeds, attributes,
            reference.multilevel_propose(*feeds.values(), **attributes), 1e-4)


@pytest.mark.parametrize("op", ["DetectionLayer_TRT", "GenerateDetection_TRT"])
def test_detection_layer(op):
    r, classes, count = random("detections"), 4, 40
    scale = 1.0 if op == "DetectionLayer_TRT" else 100.0
    at = r.uniform(0, 0.6, (2, count, 2))
    boxes = np.concatenate([at, at + r.uniform(0.1, 0.4, at.shape)], -1) * scale
    feeds = {"deltas": r.normal(0, 0.5, (2, count, classes * 4, 1, 1)).astype(np.float32),
             "scores": distinct(r, (2, count, classes, 1, 1)), "rois": boxes.astype(np.float32)}
    attributes = {"num_classes": classes, "keep_topk": 25, "score_threshold": 0.55, "iou_threshold": 0.4}
    if scale > 1:
        attributes["image_size"] = [3, 90, 100]
    compare(op, feeds, attributes, reference.detection_layer(*feeds.values(), **attributes), 1e-4)


@pytest.mark.parametrize("op", ["CropAndResize", "CropAndResizeDynamic"])
@pytest.mark.parametrize("height, width", [(3, 4), (1, 2), (5, 1)])
def test_crop_and_resize(op, height, width):
    r = random("crop")
    boxes = r.uniform(-0.2, 1.2, (2, 5, 4, 1)).astype(np.float32)
    feeds = {"x": r.normal(size=(2, 3, 6, 7)).astype(np.float32), "boxes": boxes}
    attributes = {"crop_height": height, "crop_width": width}
    compare(op, feeds, attributes, reference.crop_and_resize(*feeds.values(), **attributes), 1e-4)


def test_multilevel_crop():
    r, size = random("crops"), [3, 512, 640]
    at = r.uniform(0, 200, (2, 8, 2))
    boxes = np.concatenate([at, at + r.uniform(10, 300, at.shape)], -1)
    boxes[0, 0] = [0, 0, 512, 640]
    boxes[0, 1] = [10, 10, 5, 20]
    boxes[1, 0] = [10, 10, 600, 20]
    feeds = {"boxes": boxes.astype(np.float32)}
    for level in range(5):
        feeds[f"p{level}"] = r.normal(size=(2, 2, 128 >> level, 160 >> level)).astype(np.float32)
    attributes = {"pooled_size": 3, "image_size": size}
    compare("MultilevelCropAndResize_TRT", feeds, attributes,
            reference.multilevel_crop(*feeds.values(), **attributes), 1e-3)


@pytest.mark.parametrize("settings", [{}, {"roi_coords_transform": 1, "sampling_ratio": 2}, {"roi_coords_transform": 0},
                                      {"roi_coords_swap": 1, "roi_coords_plusone": 1, "sampling_ratio": 1},
                                      {"roi_coords_transform": 0, "roi_coords_absolute": 0, "sampling_ratio": 3},
                                      {"legacy": 1}], ids=str)
def test_pyramid_roi_align(settings):
    r = random("pyramid")
    scale = 1.0 if settings.get("legacy") or not settings.get("roi_coords_absolute", 1) else 256.0
    at = r.uniform(0, 0.5, (2, 6, 2))
    boxes = np.concatenate([at, at + r.uniform(0.03, 0.6, at.shape)], -1) * scale
    feeds = {"boxes": boxes.astype(np.float32)}
    for level in range(4):
        feeds[f"p{level}"] = r.normal(size=(2, 2, 64 >> level, 64 >> level)).astype(np.float32)
    attributes = {"pooled_size": 3, "image_size": [256, 256], "fpn_scale": 120, **settings}
    compare("PyramidROIAlign_TRT", feeds, attributes, reference.pyramid_roi_align(*feeds.values(), **attributes), 1e-3)


@pytest.mark.parametrize("op, shapes, attributes", [
    ("GridAnchor_TRT", [], {"aspectRatios": [1.0, 2.0, 3.0], "featureMapShapes": [1 << 30, 1 << 30], "numLayers": 2,
                            "variance": [0.1] * 4}),
    ("GridAnchor_TRT", [], {"aspectRatios": [1.0, 2.0, 3.0], "featureMapShapes": [1], "numLayers": -(1 << 40),
                            "variance": [0.1] * 4}),
    ("PriorBox_TRT", [(1, 1, 1 << 20, 1 << 20)], {"minSize": [1.0], "imgH": 5, "imgW": 5}),
    ("ProposalLayer_TRT", [(1, 9, 2, 1), (1, 9, 4, 1)], {"image_size": [3, 1 << 30, 1 << 30]}),
    ("EfficientNMS_TRT", [(1, 9, 4), (1, 9, 2)], {"max_output_boxes": 1 << 40}),
    ("EfficientNMS_ONNX_TRT", [(1 << 14, 9, 4), (1 << 14, 9, 2)], {"max_output_boxes_per_class": 1 << 14}),
    ("EfficientNMS_TRT", [(1, 9, 4), (1, 9, 1 << 36)], {"background_class": 0}),
    ("DisentangledAttention_TRT", [(1, 1 << 20, 4), (1, 4, 8), (1, 4, 8)], {"span": 4, "factor": 1.0}),
    ("CropAndResize", [(1, 1, 4, 4), (1, 1, 4, 1)], {"crop_height": 1 << 30, "crop_width": 1 << 30}),
    ("CoordConvAC", [(1, 1, 1 << 40, 1)], {}),
    ("PillarScatterPlugin", [(1, 1, 1), (1, 1, 4), (1,)], {"dense_shape": [1 << 62, 4]}),
])
def test_models_cannot_ask_for_too_much(op, shapes, attributes):
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, s) for i, s in enumerate(shapes)]
    node = helper.make_node(op, [i.name for i in inputs], ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(wootz.BuildError, match="plugin '|its plugin 0"):
        wootz.build(model.SerializeToString())
