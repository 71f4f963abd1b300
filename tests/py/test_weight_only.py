"""Models that wootz.quantize() writes in INT4, built with their weights packed; what refits and other types make of them."""
import json

import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest
import wootz
from onnx import TensorProto, helper, numpy_helper
from weight_only_cases import SEED, FloatProduct, Product, check

OPTIONS = {"backend": "cpu", "timing": "0"}
WIDTH = 512


def mlp(path):
    rng = np.random.default_rng(SEED)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32) / np.sqrt(np.float32(shape[0]))
    constants = {"up": draw(WIDTH, 2 * WIDTH), "down": draw(2 * WIDTH, WIDTH)}
    node = helper.make_node
    nodes = [node("MatMul", ["x", "up"], ["u"], "up"), node("Sigmoid", ["u"], ["g"], "gate"), node("Mul", ["u", "g"], ["m"], "silu"),
             node("MatMul", ["m", "down"], ["d"], "down"), node("Add", ["d", "x"], ["y"], "residual")]
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, WIDTH])
    graph = helper.make_graph(nodes, "mlp", [info("x")], [info("y")], [numpy_helper.from_array(v, n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


def infer(plan, x):
    engine = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(plan)
    return wootz.infer(engine.create_execution_context(), {"x": x})["y"]


def distance(a, b):
    return float(np.sqrt(np.square(a.astype(np.float64) - b).mean() / np.square(b.astype(np.float64)).mean()))


def test_quantize_build_run(tmp_path):
    print(f"seed: WOOTZ_SEED={SEED}")
    model, narrow = mlp(tmp_path / "mlp.onnx"), str(tmp_path / "int4.onnx")
    wootz.quantize(model, narrow, format="int4", block=128, options=OPTIONS, seed=SEED)
    report = tmp_path / "report.json"
    wootz.build(narrow, options=OPTIONS, report=report)
    layers = [layer for layer in json.loads(report.read_text())["layers"] if "weight_only" in layer["TacticName"]]
    assert [layer["Weights"]["Count"] for layer in layers] == [2 * WIDTH**2] * 2
    assert len(json.loads(report.read_text())["layers"]) == 2  # activation and residual are epilogues
    wide, packed = wootz.build(model, options=OPTIONS), wootz.build(narrow, options=OPTIONS)
    assert len(packed) < len(wide) / 6.5
    x = np.random.default_rng(SEED + 1).standard_normal((3, WIDTH)).astype(np.float32)
    assert 0 < distance(infer(packed, x), infer(wide, x)) < 0.2
    assert distance(infer(packed, x), infer(wootz.build(narrow, options={**OPTIONS, "disable_passes": "all"}), x)) < 1e-5
    assert distance(infer(wootz.build(narrow, options={**OPTIONS, "isa": "avx2"}), x), infer(packed, x)) < 1e-5
    assert distance(infer(wootz.build(narrow, options=OPTIONS, precision="bf16"), x), infer(packed, x)) < 2e-2


@pytest.mark.parametrize("form,smaller", [("nvfp4", 5), ("mxfp8", 3.4)])
def test_block_formats_build_and_run(form, smaller, tmp_path):
    print(f"seed: WOOTZ_SEED={SEED}")
    model, narrow = mlp(tmp_path / "mlp.onnx"), str(tmp_path / f"{form}.onnx")
    report = wootz.quantize(model, narrow, format=form, options=OPTIONS, seed=SEED)
    assert report["layers_in_format"] == 2 and 0 < report["error"] < {"nvfp4": 0.15, "mxfp8": 0.05}[form]
    proto = onnx.load(narrow)
    onnx.checker.check_model(proto, full_check=True)
    built = tmp_path / "report.json"
    packed = wootz.build(narrow, options=OPTIONS, report=built)
    layers = json.loads(built.read_text())["layers"]
    assert len(layers) == 2 and all("weight_only" in layer["TacticName"] and layer["Weights"]["Count"] == 2 * WIDTH**2 for layer in layers)
    wide = wootz.build(model, options=OPTIONS)
    assert len(wootz.build(narrow, options=OPTIONS)) < len(wide) / smaller
    x = np.random.default_rng(SEED + 1).standard_normal((3, WIDTH)).astype(np.float32)
    exact = onnx.reference.ReferenceEvaluator(proto).run(None, {"x": x})[0]
    assert 0 < distance(infer(packed, x), infer(wide, x)) < 0.2
    for options in ({}, {"isa": "avx2"}, {"disable_passes": "all"}, {"disable_passes": "fuse_weight_only"}):
        assert distance(infer(wootz.build(narrow, options={**OPTIONS, **options}), x), exact) < 1e-5, options
    assert distance(infer(wootz.build(narrow, options=OPTIONS, precision="bf16"), x), exact) < 2e-2
    profile = {"x": ((1, WIDTH), (300, WIDTH), (300, WIDTH))}
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    many = wootz.build(proto.SerializeToString(), shapes=profile, options=OPTIONS)  # whatever kernel takes many rows
    assert distance(infer(many, x), exact) < 1e-5


@pytest.mark.parametrize("kind,block,scales", [("FLOAT4E2M1", 16, "e4m3"), ("FLOAT8E4M3FN", 32, "e8m0")])
def test_a_refit_brings_packed_floats(kind, block, scales):
    print(f"seed: WOOTZ_SEED={SEED}")
    check_refit(*(FloatProduct(np.random.default_rng([SEED, 8, i]), kind, 256, 64, block, scales, False) for i in range(2)))


def test_strongly_typed_half():
    print(f"seed: WOOTZ_SEED={SEED}")
    rng = np.random.default_rng([SEED, 5])
    product = Product(rng, "INT4", 256, 96, 32, True, False, np.float16)
    logger = wootz.Logger(wootz.Logger.ERROR)
    builder = wootz.Builder(logger)
    network = builder.create_network(1 << int(wootz.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    assert wootz.OnnxParser(network, logger).parse(product.model)
    config = builder.create_builder_config()
    for key, value in OPTIONS.items():
        config.set_option(key, value)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 256), (2, 256), (9, 256))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    x = rng.standard_normal((9, 256)).astype(np.float16)
    check(infer(plan, x), product.want(x), np.float16)


def test_a_refit_brings_packed_weights():
    print(f"seed: WOOTZ_SEED={SEED}")
    check_refit(*(Product(np.random.default_rng([SEED, 7, i]), "INT4", 256, 64, 64, False, False) for i in range(2)))


def check_refit(first, second):
    logger = wootz.Logger(wootz.Logger.ERROR)
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    assert wootz.OnnxParser(network, logger).parse(first.model)
    config = builder.create_builder_config()
    config.set_flag(wootz.BuilderFlag.REFIT)
    for key, value in OPTIONS.items():
        config.set_option(key, value)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 256), (2, 256), (9, 256))
    config.add_optimization_profile(profile)
    engine = wootz.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    x = np.random.default_rng(SEED).standard_normal((5, 256)).astype(np.float32)
    check(wootz.infer(engine.create_execution_context(), {"x": x})["y"], first.want(x), np.float32)
    refitter = wootz.Refitter(engine, logger)
    parser = wootz.OnnxParserRefitter(refitter, logger)
    assert parser.refit_from_bytes(second.model) and refitter.refit_cuda_engine()
    check(wootz.infer(engine.create_execution_context(), {"x": x})["y"], second.want(x), np.float32)


@pytest.mark.parametrize("bits,zeros,bias,depth", [(4, False, True, 96), (4, True, False, 100), (8, True, True, 96), (8, False, False, 70)])
def test_matmul_nbits_agrees_with_onnxruntime(bits, zeros, bias, depth):
    print(f"seed: WOOTZ_SEED={SEED}")
    rng = np.random.default_rng([SEED, bits, zeros, depth])
    columns, block = 48, 32
    blocks = -(-depth // block)
    draw = lambda *shape: rng.integers(0, 256, shape).astype(np.uint8)
    constants = {"w": draw(columns, blocks, block * bits // 8), "scale": rng.uniform(0.01, 0.02, columns * blocks).astype(np.float32) / 2 ** (bits - 4)}
    if zeros:
        constants["zero"] = draw(columns * -(-blocks * bits // 8))
    if bias:
        constants["bias"] = rng.standard_normal(columns).astype(np.float32)
    node = helper.make_node("MatMulNBits", ["x", "w", "scale", "zero" if zeros else "", "", "bias" if bias else ""], ["y"], "nbits",
                            domain="com.microsoft", K=depth, N=columns, bits=bits, block_size=block)
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "nbits", [info("x", TensorProto.FLOAT, [3, depth])], [info("y", TensorProto.FLOAT, [3, columns])],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8).SerializeToString()
    x = rng.standard_normal((3, depth)).astype(np.float32)
    theirs = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    np.testing.assert_allclose(infer(wootz.build(model, options=OPTIONS), x), theirs, rtol=2e-4, atol=2e-4)
