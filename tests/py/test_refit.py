"""Refit from ONNX: the results of a build with the new weights, bit by bit."""
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
import wootz
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
WOOTZ = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build/release")) / "bin" / "wootz"


def model_of(nodes, inputs, outputs, constants):
    info = lambda pair: helper.make_tensor_value_info(pair[0], TensorProto.FLOAT, pair[1])  # noqa: E731
    graph = helper.make_graph(nodes, "refit", [info(i) for i in inputs], [info(o) for o in outputs],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def floats(rng, *shape):
    return rng.normal(0, 0.3, shape).astype(np.float32)


def cnn(seed):
    """Convolutions with batch normalizations, a residual, a linear layer."""
    rng = np.random.default_rng(seed)
    c, node, nodes = {}, helper.make_node, []
    last = "x"
    for i, (channels, wide) in enumerate([(3, 16), (16, 16)]):
        c[f"w{i}"], c[f"b{i}"] = floats(rng, wide, channels, 3, 3), floats(rng, wide)
        c[f"gamma{i}"], c[f"beta{i}"], c[f"mean{i}"] = floats(rng, wide), floats(rng, wide), floats(rng, wide)
        c[f"var{i}"] = np.abs(floats(rng, wide)) + np.float32(0.5)
        nodes += [node("Conv", [last, f"w{i}", f"b{i}"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1]),
                  node("BatchNormalization", [f"c{i}", f"gamma{i}", f"beta{i}", f"mean{i}", f"var{i}"], [f"n{i}"], f"bn{i}"),
                  node("Relu", [f"n{i}"], [f"r{i}"], f"relu{i}")]
        last = f"r{i}"
    c["fc"], c["fcb"] = floats(rng, 16, 10), floats(rng, 10)
    nodes += [node("Add", ["r0", "r1"], ["sum"], "add"), node("GlobalAveragePool", ["sum"], ["g"], "pool"),
              node("Flatten", ["g"], ["f"], "flatten"), node("Gemm", ["f", "fc", "fcb"], ["y"], "fc")]
    return model_of(nodes, [("x", [2, 3, 8, 8])], [("y", [2, 10])], c)


def transformer(seed):
    """Layer normalization, self-attention with a mask, a feed-forward layer with GELU."""
    rng = np.random.default_rng(seed)
    node, width, heads = helper.make_node, 32, 4
    c = dict(gamma=floats(rng, width) + 1, beta=floats(rng, width), up=floats(rng, width, 64), upb=floats(rng, 64),
             down=floats(rng, 64, width), half=np.float32(0.5), one=np.float32(1), root=np.float32(np.sqrt(2)),
             scale=np.float32(1 / np.sqrt(width / heads)), mask=np.triu(np.full((6, 6), -1e4, np.float32), 1),
             split=np.array([1, 6, heads, width // heads]), merge=np.array([1, 6, width]))
    for k in "qkvo":
        c[f"w{k}"], c[f"b{k}"] = floats(rng, width, width), floats(rng, width)
    nodes = [node("LayerNormalization", ["x", "gamma", "beta"], ["n"], "norm", axis=-1)]
    for k in "qkv":
        nodes += [node("MatMul", ["n", f"w{k}"], [f"m{k}"], f"mat_{k}"), node("Add", [f"m{k}", f"b{k}"], [f"a{k}"], f"add_{k}"),
                  node("Reshape", [f"a{k}", "split"], [f"s{k}"], f"split_{k}"),
                  node("Transpose", [f"s{k}"], [f"t{k}"], f"turn_{k}", perm=[0, 2, 3, 1] if k == "k" else [0, 2, 1, 3])]
    nodes += [node("MatMul", ["tq", "tk"], ["qk"], "scores"), node("Mul", ["qk", "scale"], ["qks"], "scaled"),
              node("Add", ["qks", "mask"], ["masked"], "masked"), node("Softmax", ["masked"], ["p"], "softmax", axis=-1),
              node("MatMul", ["p", "tv"], ["pv"], "values"), node("Transpose", ["pv"], ["pt"], "back", perm=[0, 2, 1, 3]),
              node("Reshape", ["pt", "merge"], ["pm"], "merge"), node("MatMul", ["pm", "wo"], ["o"], "out"),
              node("Add", ["o", "bo"], ["ob"], "out_bias"), node("Add", ["x", "ob"], ["h"], "residual"),
              node("MatMul", ["h", "up"], ["u"], "up"), node("Add", ["u", "upb"], ["ub"], "up_bias"),
              node("Div", ["ub", "root"], ["e0"], "gelu0"), node("Erf", ["e0"], ["e1"], "gelu1"),
              node("Add", ["e1", "one"], ["e2"], "gelu2"), node("Mul", ["ub", "e2"], ["e3"], "gelu3"),
              node("Mul", ["e3", "half"], ["e4"], "gelu4"), node("MatMul", ["e4", "down"], ["y"], "down")]
    return model_of(nodes, [("x", [1, 6, width])], [("y", [1, 6, width])], c)


def quantized(seed):
    """A convolution between Q/DQ pairs, whose weights are int8 with a scale each channel."""
    rng = np.random.default_rng(seed)
    c = dict(xs=np.float32(rng.uniform(0.01, 0.03)), xz=np.int8(0), ys=np.float32(rng.uniform(0.02, 0.05)), yz=np.int8(0),
             w=rng.integers(-127, 128, (8, 4, 3, 3)).astype(np.int8), ws=rng.uniform(1e-3, 4e-3, 8).astype(np.float32),
             wz=np.zeros(8, np.int8), b=floats(rng, 8))
    node = helper.make_node
    nodes = [node("QuantizeLinear", ["x", "xs", "xz"], ["xq"], "q_in"), node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"], "dq_in"),
             node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], "dq_w", axis=0),
             node("Conv", ["xd", "wd", "b"], ["c"], "conv", pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"], "relu"),
             node("QuantizeLinear", ["r", "ys", "yz"], ["yq"], "q_out"), node("DequantizeLinear", ["yq", "ys", "yz"], ["y"], "dq_out")]
    return model_of(nodes, [("x", [1, 4, 9, 7])], [("y", [1, 8, 9, 7])], c)


MODELS = dict(cnn=cnn, transformer=transformer, quantized=quantized)


class Bench:
    def __init__(self):
        self.logger = wootz.Logger(wootz.Logger.ERROR)

    def engine(self, model, *flags, refit=None):
        builder = wootz.Builder(self.logger)
        network = builder.create_network(0)
        assert wootz.OnnxParser(network, self.logger).parse(model.SerializeToString())
        config = builder.create_builder_config()
        config.set_option("backend", "cpu")
        config.set_option("timing", "0")
        if not flags if refit is None else refit:
            config.set_flag(wootz.BuilderFlag.REFIT)
        for flag in flags:
            config.set_flag(flag)
        plan = builder.build_serialized_network(network, config)
        assert plan is not None
        return wootz.Runtime(self.logger).deserialize_cuda_engine(plan)


def values_of(engine):
    shape = tuple(engine.get_tensor_shape("x"))
    x = np.random.default_rng(99).normal(0, 1, shape).astype(np.float32)
    return wootz.infer(engine.create_execution_context(), {"x": x})["y"]


@pytest.mark.parametrize("name", MODELS)
def test_refit_from_onnx_gives_the_bits_of_a_build(name):
    bench = Bench()
    old, new = MODELS[name](1), MODELS[name](2)
    engine, fresh, usual = bench.engine(old), bench.engine(new), bench.engine(new, refit=False)
    assert engine.refittable and not usual.refittable
    before = values_of(engine)
    refitter = wootz.Refitter(engine, bench.logger)
    parser = wootz.OnnxParserRefitter(refitter, bench.logger)
    assert parser.refit_from_bytes(new.SerializeToString()), parser.get_error(0).desc()
    assert refitter.get_missing_weights() == []
    assert refitter.refit_cuda_engine()
    after = values_of(engine)
    assert not np.array_equal(before, after)
    assert np.array_equal(after, values_of(fresh))
    assert np.array_equal(after, values_of(usual))
    loaded = wootz.Runtime(bench.logger).deserialize_cuda_engine(engine.serialize())
    assert loaded.refittable and np.array_equal(after, values_of(loaded))


def test_weights_go_by_their_names_in_the_model():
    bench = Bench()
    engine, new, mixed = bench.engine(cnn(1)), cnn(2), cnn(1)
    refitter = wootz.Refitter(engine, bench.logger)
    names = refitter.get_all_weights()
    mine = {"w0", "b0", "w1", "b1", "fc", "fcb"}  # a normalization's are one factor and one addend once they are read
    assert mine <= set(names)
    wanted = refitter.get_weights_prototype("fc")
    assert (wanted.dtype, wanted.size) == (wootz.DataType.FLOAT, 160)
    assert not refitter.set_named_weights("nothing", np.zeros(1, np.float32))
    for here, there in zip(mixed.graph.initializer, new.graph.initializer):
        if here.name in mine:
            here.CopyFrom(there)
            assert refitter.set_named_weights(here.name, np.ascontiguousarray(numpy_helper.to_array(there))), here.name
    assert refitter.refit_cuda_engine()
    assert np.array_equal(values_of(engine), values_of(bench.engine(mixed)))


def test_another_model_is_refused():
    bench = Bench()
    engine = bench.engine(cnn(1))
    before = values_of(engine)
    refitter = wootz.Refitter(engine, bench.logger)
    parser = wootz.OnnxParserRefitter(refitter, bench.logger)
    assert not parser.refit_from_bytes(transformer(1).SerializeToString())
    assert parser.num_errors == 1 and "has no weights" in parser.get_error(0).desc()
    other = transformer(1)
    split = next(i for i in other.graph.initializer if i.name == "merge")
    engine2 = bench.engine(transformer(1))
    split.CopyFrom(numpy_helper.from_array(np.array([1, 3, 64]), "merge"))
    parser2 = wootz.OnnxParserRefitter(wootz.Refitter(engine2, bench.logger), bench.logger)
    assert not parser2.refit_from_bytes(other.SerializeToString())
    assert np.array_equal(values_of(engine), before)


def test_a_mask_with_other_values_is_right_or_refused():
    bench = Bench()
    for mask in (np.zeros((6, 6)), np.full((6, 6), -1e4) * (1 - np.eye(6)), np.random.default_rng(3).normal(0, 1, (6, 6))):
        engine, other = bench.engine(transformer(1)), transformer(1)
        initializer = next(i for i in other.graph.initializer if i.name == "mask")
        initializer.CopyFrom(numpy_helper.from_array(mask.astype(np.float32), "mask"))
        before = values_of(engine)
        refitter = wootz.Refitter(engine, bench.logger)
        assert refitter.set_named_weights("mask", mask.astype(np.float32))
        if refitter.refit_cuda_engine():
            assert np.allclose(values_of(engine), values_of(bench.engine(other)), atol=1e-5)
        else:
            assert np.array_equal(values_of(engine), before)


def branched(seed):
    """A conditional and a loop whose bodies have initializers of their own, two of them under one name."""
    rng = np.random.default_rng(seed)
    info = lambda name, dtype, shape: helper.make_tensor_value_info(name, dtype, shape)  # noqa: E731
    branches = {}
    for k, op in (("then", "MatMul"), ("else", "Add")):
        own = numpy_helper.from_array(floats(rng, 16, 16) if op == "MatMul" else floats(rng, 16), "own")
        branches[k + "_branch"] = helper.make_graph([helper.make_node(op, ["x", "own"], [k])], k, [], [info(k, TensorProto.FLOAT, [4, 16])], [own])
    step = numpy_helper.from_array(floats(rng, 16, 16), "step")
    body = helper.make_graph(
        [helper.make_node("MatMul", ["v", "step"], ["p"]), helper.make_node("Tanh", ["p"], ["next"]), helper.make_node("Identity", ["c"], ["go"])],
        "body", [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("v", TensorProto.FLOAT, [4, 16])],
        [info("go", TensorProto.BOOL, []), info("next", TensorProto.FLOAT, [4, 16])], [step])
    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "zero"], ["positive"]),
             helper.make_node("If", ["positive"], ["chosen"], "choice", **branches),
             helper.make_node("Loop", ["trips", "", "chosen"], ["y"], "rounds", body=body)]
    return model_of(nodes, [("x", [4, 16])], [("y", [4, 16])], dict(zero=np.float32(0), trips=np.int64(3)))


@pytest.mark.parametrize("stripped", [False, True])
def test_weights_of_bodies(stripped):
    bench = Bench()
    flag = wootz.BuilderFlag
    engine = bench.engine(branched(1), flag.REFIT, *([flag.STRIP_PLAN] if stripped else []))
    refitter = wootz.Refitter(engine, bench.logger)
    assert len([n for n in refitter.get_all_weights() if n.split("/")[-1] in ("own", "step")]) == 3
    for seed in (1, 2, 1):
        parser = wootz.OnnxParserRefitter(refitter, bench.logger)
        assert parser.refit_from_bytes(branched(seed).SerializeToString()), parser.get_error(0).desc()
        assert refitter.refit_cuda_engine()
        assert np.array_equal(values_of(engine), values_of(bench.engine(branched(seed))))


def test_a_plan_without_weights():
    bench = Bench()
    flag = wootz.BuilderFlag
    for make, flags in ((cnn, (flag.STRIP_PLAN,)), (transformer, (flag.STRIP_PLAN, flag.REFIT))):
        stripped, full = bench.engine(make(1), *flags, refit=flag.REFIT in flags), bench.engine(make(1))
        assert stripped.get_engine_stat(wootz.EngineStat.STRIPPED_WEIGHTS_SIZE) == full.get_engine_stat()
        assert full.get_engine_stat(wootz.EngineStat.STRIPPED_WEIGHTS_SIZE) == -1
        config = full.create_serialization_config()
        assert config.set_flag(wootz.SerializationFlag.EXCLUDE_WEIGHTS) and config.get_flag(wootz.SerializationFlag.EXCLUDE_WEIGHTS)
        assert len(stripped.serialize()) <= len(full.serialize_with_config(config)) < len(full.serialize())
        refitter = wootz.Refitter(stripped, bench.logger)
        assert not refitter.refit_cuda_engine()
        missing = refitter.get_missing_weights()
        assert set(missing) <= set(refitter.get_all_weights()) and len(missing) >= 6
        parser = wootz.OnnxParserRefitter(refitter, bench.logger)
        if flag.REFIT not in flags:
            assert parser.refit_from_bytes(make(2).SerializeToString()) and not refitter.refit_cuda_engine()
        assert parser.refit_from_bytes(make(1).SerializeToString()) and refitter.get_missing_weights() == []
        assert refitter.refit_cuda_engine()
        assert np.array_equal(values_of(stripped), values_of(full))


def test_command_line(tmp_path):
    old, new, plan, made = (str(tmp_path / n) for n in ("old.onnx", "new.onnx", "a.plan", "b.plan"))
    onnx.save(cnn(1), old)
    onnx.save(cnn(2), new)
    call = lambda *a: subprocess.run([str(WOOTZ), *a], capture_output=True, text=True)  # noqa: E731
    assert call("build", old, "-o", plan, "--refit", "--no-timing", "--device", "cpu").returncode == 0
    done = call("refit", plan, new, "-o", made)
    assert done.returncode == 0, done.stderr
    bench = Bench()
    engine = wootz.Runtime(bench.logger).load_file(made)
    assert np.array_equal(values_of(engine), values_of(bench.engine(cnn(2))))
    assert call("build", old, "-o", plan, "--no-timing", "--device", "cpu").returncode == 0
    refused = call("refit", plan, new, "-o", made)
    assert refused.returncode == 1 and "--refit" in refused.stderr
    assert call("build", old, "-o", plan, "--strip", "--no-timing", "--device", "cpu").returncode == 0
    refused = call("run", plan)
    assert refused.returncode == 1 and "has no weights" in refused.stderr
    refused = call("refit", plan, new, "-o", made)
    assert refused.returncode == 1 and "kREFIT_IDENTICAL" in refused.stderr
    done = call("refit", plan, old, "-o", made)
    assert done.returncode == 0, done.stderr
    engine = wootz.Runtime(bench.logger).load_file(made)
    assert np.array_equal(values_of(engine), values_of(bench.engine(cnn(1))))
    short = ("--iterations=1", "--duration=0", "--warmUp=0", "--device=cpu", "--builderOptimizationLevel=0")
    for flags in (("--stripWeights",), ("--stripAllWeights", f"--refitFromOnnx={new}"), ("--weightless", "--refit")):
        done = call("exec", f"--onnx={old}", f"--saveEngine={plan}", *flags, *short)
        assert done.returncode == 0 and "Engine refitted" in done.stdout, done.stdout + done.stderr
        assert call("run", plan).returncode == 1, "what was saved has no weights"


def test_weights_are_streamed(tmp_path):
    bench = Bench()
    rng = np.random.default_rng(5)
    constants = {f"m{k}": floats(rng, 128, 128) for k in range(4)}
    nodes, last = [], "x"
    for k in range(4):
        nodes += [helper.make_node("MatMul", [last, f"m{k}"], [f"p{k}"]), helper.make_node("Tanh", [f"p{k}"], ["y" if k == 3 else f"t{k}"])]
        last = f"t{k}"
    model, path = model_of(nodes, [("x", [2, 128])], [("y", [2, 128])], constants), str(tmp_path / "model.onnx")
    onnx.save(model, path)
    builder = wootz.Builder(bench.logger)
    network = builder.create_network(1 << int(wootz.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    assert wootz.OnnxParser(network, bench.logger).parse(model.SerializeToString())
    config = builder.create_builder_config()
    config.set_option("backend", "cpu")
    config.set_option("timing", "0")
    config.set_flag(wootz.BuilderFlag.WEIGHT_STREAMING)
    engine = wootz.Runtime(bench.logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    assert engine.streamable_weights_size >= 4 * 128 * 128 * 4 == 4 * 65536
    want = values_of(bench.engine(model))
    for budget in (0, 65536, engine.streamable_weights_size):
        engine.weight_streaming_budget_v2 = budget
        assert engine.weight_streaming_budget_v2 == budget
        assert np.array_equal(values_of(engine), want)
    with pytest.raises(ValueError):
        engine.weight_streaming_budget_v2 = -1
    assert 0 < engine.get_weight_streaming_automatic_budget() <= engine.streamable_weights_size
    assert engine.weight_streaming_scratch_memory_size == 0 and engine.weight_streaming_budget == -1
    call = lambda *a: subprocess.run([str(WOOTZ), "exec", *a, "--iterations=1", "--duration=0", "--warmUp=0", "--device=cpu"],  # noqa: E731
                                     capture_output=True, text=True)
    plan = str(tmp_path / "a.plan")
    assert call(f"--onnx={path}", "--allowWeightStreaming", "--skipInference").returncode == 1
    for budget, stays in (("-2", 4), ("50%", 2), ("64K", 1), ("65536", 1), ("0", 0), ("-1", 4)):
        done = call(f"--onnx={path}", "--stronglyTyped", "--allowWeightStreaming", f"--saveEngine={plan}", f"--weightStreamingBudget={budget}")
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"Weight streaming: {stays * 65536} of {4 * 65536} bytes" in done.stdout, done.stdout
    done = call(f"--loadEngine={plan}", "--weightStreamingBudget=25%")
    assert done.returncode == 0 and "Weight streaming: 65536 of" in done.stdout, done.stdout + done.stderr
    assert call(f"--loadEngine={plan}", "--weightStreamingBudget=lots").returncode == 2
    assert call(f"--onnx={path}", "--weightStreamingBudget=0").returncode == 1, "it was not allowed"
