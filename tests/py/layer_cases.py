"""Layers that draw random numbers, judge, quantize by what they see, or choose experts, from ONNX and from Python. Run by
test_device.py as device_cases.py is."""
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
import wootz
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
BACKENDS = os.environ.get("WOOTZ_CASES", "cpu reference").split()
SEED = int.from_bytes(os.urandom(4), "little")
F, I = TensorProto.FLOAT, TensorProto.INT64


@pytest.fixture(autouse=True)
def seed():
    print("seed", SEED)


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def new(backend):
    logger = wootz.Logger()
    builder = wootz.Builder(logger)
    config = builder.create_builder_config()
    config.set_option("backend", backend)
    config.set_option("timing", "0")
    return logger, builder, builder.create_network(0), config


def engine_of(model, backend):
    logger, builder, network, config = new(backend)
    assert wootz.OnnxParser(network, logger).parse(model.SerializeToString())
    return wootz.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))


def drawing(seeded):
    """Every operator that draws, and one inside of a loop that goes three times."""
    given = {"seed": 7.0} if seeded else {}
    body = helper.make_graph(
        [helper.make_node("RandomUniform", [], ["drawn"], shape=[5], name="inner", **given),
         helper.make_node("Identity", ["go"], ["go_on"])],
        "body", [value("i", I, []), value("go", TensorProto.BOOL, [])], [value("go_on", TensorProto.BOOL, []), value("drawn", F, [5])])
    nodes = [helper.make_node("RandomUniform", [], ["uniform"], low=-2.0, high=3.0, shape=[4, 50], name="u", **given),
             helper.make_node("RandomUniform", [], ["again"], low=-2.0, high=3.0, shape=[4, 50], name="v", **given),
             helper.make_node("RandomNormal", [], ["normal"], mean=1.0, scale=2.0, shape=[100, 100], name="n", **given),
             helper.make_node("RandomUniformLike", ["p"], ["like"], name="l", **given),
             helper.make_node("RandomNormalLike", ["p"], ["normal_like"], name="m", **given),
             helper.make_node("Bernoulli", ["p"], ["coin"], name="b", **given),
             helper.make_node("Multinomial", ["q"], ["class"], sample_size=3000, dtype=TensorProto.INT32, name="c", **given),
             helper.make_node("Constant", [], ["three"], value_ints=[3]),
             helper.make_node("Loop", ["three", ""], ["rounds"], body=body, name="loop")]
    outputs = [value("uniform", F, [4, 50]), value("again", F, [4, 50]), value("normal", F, [100, 100]), value("like", F, [60, 80]),
               value("normal_like", F, [60, 80]), value("coin", F, [60, 80]), value("class", TensorProto.INT32, [2, 3000]),
               value("rounds", F, [3, 5])]
    graph = helper.make_graph(nodes, "drawing", [value("p", F, [60, 80]), value("q", F, [2, 3])], outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


FEEDS = {"p": np.full((60, 80), 0.25, np.float32), "q": np.log(np.array([[1, 2, 1], [1, 1, 2]], np.float32))}


@pytest.mark.parametrize("backend", BACKENDS)
def test_draws(backend):
    """No seed: other numbers in every inference and in each context, of the right distribution."""
    engine = engine_of(drawing(False), backend)
    contexts = [engine.create_execution_context() for _ in range(2)]
    seen = []
    for _ in range(3):
        for context in contexts:
            got = wootz.infer(context, FEEDS)
            seen.append(got)
            assert -2 <= got["uniform"].min() and got["uniform"].max() <= 3
            assert abs(got["normal"].mean() - 1) < 0.12 and abs(got["normal"].std() - 2) < 0.09  # six deviations
            assert abs(got["coin"].mean() - 0.25) < 0.04 and set(np.unique(got["coin"])) == {0, 1}
            for row, wanted in zip(got["class"], ([0.25, 0.5, 0.25], [0.25, 0.25, 0.5])):
                np.testing.assert_allclose(np.bincount(row, minlength=3) / 3000, wanted, atol=0.055)
            rounds = got["rounds"]
            assert rounds.shape == (3, 5) and len(np.unique(rounds)) == 15, "a round draws anew"
            assert not np.array_equal(got["uniform"], got["again"])
    for name in seen[0]:
        assert len({got[name].tobytes() for got in seen}) == len(seen), name


@pytest.mark.parametrize("backend", BACKENDS)
def test_seeds(backend):
    """A seed: every context draws the same sequence, which goes on from inference to inference."""
    model = drawing(True)
    engines = [engine_of(model, backend) for _ in range(2)]
    sequences = []
    for engine in (engines[0], engines[0], engines[1]):
        context = engine.create_execution_context()
        sequences.append([wootz.infer(context, FEEDS) for _ in range(3)])
    names = set(sequences[0][0])
    if backend == "cuda":
        names.remove("rounds")  # the host's interpreter keeps no state in the bodies of loops
    for name in names:
        first, second = sequences[0][0][name], sequences[0][1][name]
        assert not np.array_equal(first, second), f"{name} does not go on"
        for other in sequences[1:]:
            for mine, theirs in zip(sequences[0], other):
                np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)
    assert not np.array_equal(sequences[0][0]["uniform"], sequences[0][0]["again"]), "nodes of one seed differ"


def test_seeds_are_the_same_on_every_backend():
    """What is drawn follows from the seed, but for the rounding of logarithms and cosines."""
    if len(BACKENDS) < 2:
        pytest.skip("one backend")
    got = [wootz.infer(engine_of(drawing(True), backend).create_execution_context(), FEEDS) for backend in BACKENDS]
    for name in ("uniform", "again", "like", "coin", "class"):
        np.testing.assert_array_equal(got[0][name], got[1][name], err_msg=name)
    for name in ("normal", "normal_like"):
        np.testing.assert_allclose(got[0][name], got[1][name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_the_command_line_draws_anew(tmp_path):
    onnx.save(drawing(False), tmp_path / "drawing.onnx")
    command = [BUILD / "bin" / "wootz"]
    subprocess.run([*command, "build", tmp_path / "drawing.onnx", "-o", tmp_path / "drawing.plan", "--no-timing", "--device", BACKENDS[-1]],
                   check=True, capture_output=True)
    drawn = []
    for run in range(2):
        subprocess.run([*command, "run", tmp_path / "drawing.plan", "--output-dir", tmp_path / str(run)], check=True, capture_output=True)
        drawn.append(np.load(tmp_path / str(run) / "uniform.npy"))
    assert not np.array_equal(*drawn)


def finish(logger, builder, network, config, outputs):
    for name, tensor in outputs.items():
        tensor.name = name
        network.mark_output(tensor)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return wootz.Runtime(logger).deserialize_cuda_engine(plan)


@pytest.mark.parametrize("backend", BACKENDS)
def test_fills_and_assertions(backend):
    logger, builder, network, config = new(backend)
    x = network.add_input("x", wootz.float32, (2, 3))
    fill = network.add_fill((400, 10), wootz.FillOperation.RANDOM_NORMAL)
    fill.alpha, fill.beta = 4, 0.5
    assert (fill.alpha, fill.beta, fill.operation, tuple(fill.shape)) == (4, 0.5, wootz.FillOperation.RANDOM_NORMAL, (400, 10))
    zero = network.add_constant((1, 1), np.zeros((1, 1), np.float32)).get_output(0)
    positive = network.add_elementwise(x, zero, wootz.ElementWiseOperation.GREATER).get_output(0)
    assertion = network.add_assertion(positive, "x is positive")
    assertion.message = "every x is positive"
    assert assertion.message == "every x is positive" and network[1].type == wootz.LayerType.CONSTANT
    engine = finish(logger, builder, network, config, {"drawn": fill.get_output(0), "y": network.add_identity(x).get_output(0)})
    context = engine.create_execution_context()
    ones = np.ones((2, 3), np.float32)
    first, second = (wootz.infer(context, {"x": ones})["drawn"] for _ in range(2))
    assert abs(first.mean() - 4) < 0.05 and abs(first.std() - 0.5) < 0.04 and not np.array_equal(first, second)
    with pytest.raises(Exception, match="every x is positive"):
        wootz.infer(context, {"x": -ones})
    np.testing.assert_array_equal(wootz.infer(context, {"x": ones})["y"], ones)


@pytest.mark.parametrize("backend", BACKENDS)
def test_dynamic_quantization(backend):
    logger, builder, network, config = new(backend)
    x = network.add_input("x", wootz.float32, (4, 64))
    layer = network.add_dynamic_quantize(x, 1, 16, wootz.DataType.FP4, wootz.DataType.FP8)
    assert (layer.axis, layer.block_size, layer.to_type, layer.scale_type) == (1, 16, wootz.DataType.FP4, wootz.DataType.FP8)
    other = network.add_dynamic_quantize_v2(x, (1, 16), wootz.DataType.FP4, wootz.DataType.FP8)
    other.block_shape, other.to_type, other.scale_type = (2, 32), wootz.DataType.FP8, wootz.DataType.FLOAT
    assert tuple(other.block_shape) == (2, 32)
    outer = network.add_constant((1,), np.array([0.1], np.float32)).get_output(0)
    layer.set_input(1, outer)
    scale = network.add_dequantize(layer.get_output(1), outer).get_output(0)
    engine = finish(logger, builder, network, config,
                    {"y": network.add_dequantize(layer.get_output(0), scale).get_output(0),
                     "z": network.add_dequantize(other.get_output(0), other.get_output(1)).get_output(0)})
    x = np.random.default_rng(SEED).standard_normal((4, 64)).astype(np.float32)
    got = wootz.infer(engine.create_execution_context(), {"x": x})
    most = np.abs(x).reshape(4, 4, 16).max(axis=2).repeat(16, axis=1)
    assert (np.abs(got["y"] - x) <= most / 6 * 1.15).all()  # at most a step between 4 and 6, by scales of three bits
    most = np.abs(x).reshape(2, 2, 2, 32).max(axis=(1, 3)).repeat(2, axis=0).repeat(32, axis=1)
    assert (np.abs(got["z"] - x) <= np.maximum(np.abs(x) / 16, most / 448 / 512) * 1.0001).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_mixture_of_experts(backend):
    rng = np.random.default_rng(SEED)
    tokens, width, inner, experts, chosen = 6, 8, 12, 4, 2
    x = rng.standard_normal((1, tokens, width)).astype(np.float32)
    pick = rng.integers(0, experts, (1, tokens, chosen)).astype(np.int32)
    scores = rng.random((1, tokens, chosen)).astype(np.float32)
    weights = [rng.standard_normal(s).astype(np.float32) for s in ((experts, width, inner), (experts, width, inner), (experts, inner, width))]
    biases = [rng.standard_normal(s).astype(np.float32) for s in ((experts, inner), (experts, inner), (experts, width))]
    logger, builder, network, config = new(backend)
    feeds = {"x": x, "pick": pick, "scores": scores}
    inputs = [network.add_input(n, wootz.int32 if v.dtype == np.int32 else wootz.float32, v.shape) for n, v in feeds.items()]
    layer = network.add_moe(*inputs)
    constant = [network.add_constant(v.shape, v).get_output(0) for v in weights + biases]
    layer.set_gated_weights(*constant[:3], wootz.MoEActType.SILU)
    layer.set_gated_biases(*constant[3:])
    layer.set_swiglu_params(2.0, 1.5, 0.5)
    assert (layer.activation_type, layer.swiglu_param_limit, layer.swiglu_param_alpha, layer.swiglu_param_beta) == \
        (wootz.MoEActType.SILU, 2, 1.5, 0.5)
    engine = finish(logger, builder, network, config, {"y": layer.get_output(0)})
    gate = np.einsum("btw,btkwi->btki", x, weights[0][pick]) + biases[0][pick]
    up = np.einsum("btw,btkwi->btki", x, weights[1][pick]) + biases[1][pick]
    gate, up = np.minimum(gate, 2), np.clip(up, -2, 2) + 0.5
    each = np.einsum("btki,btkiw->btkw", gate / (1 + np.exp(-1.5 * gate)) * up, weights[2][pick]) + biases[2][pick]
    got = wootz.infer(engine.create_execution_context(), feeds)["y"]
    np.testing.assert_allclose(got, (each * scores[..., None]).sum(axis=2), rtol=1e-4, atol=1e-4)
