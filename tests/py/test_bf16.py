"""BF16 on the processor: as fast instructions allow, close to FP32, and half the plan; elsewhere a warning and FP32."""
import pathlib
import re

import numpy as np
import pytest
import wootz
from digits_cnn import SEED, model_of

FLAGS = set(re.findall(r"\w+", pathlib.Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0]))
HAS_BF16 = bool(FLAGS & {"avx512_bf16", "amx_bf16"})


def node(op, inputs, output, **attributes):
    from onnx import helper

    return helper.make_node(op, inputs, [output], **attributes)


def mobile(rng):
    """A stem, an inverted bottleneck with SiLU and a gate, and a classifier: wide enough that what packed weights are filled up with is little."""
    w = lambda *shape: (rng.normal(0, 1, shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)
    constants = {"stem": w(32, 3, 3, 3), "expand": w(192, 32, 1, 1), "depth": w(192, 1, 5, 5), "squeeze": w(16, 192, 1, 1),
                 "excite": w(192, 16, 1, 1), "project": w(32, 192, 1, 1), "class": w(32, 10), "axes": np.array([2, 3], np.int64)}
    silu = lambda x: [node("Sigmoid", [x], x + "_s"), node("Mul", [x, x + "_s"], x + "_a")]
    nodes = [node("Conv", ["x", "stem"], "c0", strides=[2, 2], pads=[1, 1, 1, 1]), *silu("c0"), node("Conv", ["c0_a", "expand"], "c1"), *silu("c1"),
             node("Conv", ["c1_a", "depth"], "c2", group=192, pads=[2, 2, 2, 2]), *silu("c2"), node("GlobalAveragePool", ["c2_a"], "p"),
             node("Conv", ["p", "squeeze"], "c3"), *silu("c3"), node("Conv", ["c3_a", "excite"], "c4"), node("Sigmoid", ["c4"], "g"),
             node("Mul", ["c2_a", "g"], "m"), node("Conv", ["m", "project"], "c5"), node("Add", ["c5", "c0_a"], "r"),
             node("ReduceMean", ["r"], "f", axes=[2, 3], keepdims=0), node("MatMul", ["f", "class"], "y")]
    constants.pop("axes")
    return model_of(nodes, {"x": [1, 3, 64, 64]}, {"y": [1, 10]}, constants)


def transformer(rng):
    """One layer: attention with a mask that hides every key of the last rows by the lowest float, GELU, and norms."""
    size, heads, length = 64, 4, 24
    w = lambda a, b: (rng.normal(0, 1, (a, b)) / np.sqrt(a)).astype(np.float32)
    constants = {"q": w(size, size), "k": w(size, size), "v": w(size, size), "o": w(size, size), "up": w(size, 4 * size), "down": w(4 * size, size),
                 "one": np.ones(size, np.float32), "none": np.zeros(size, np.float32), "scale": np.float32(heads / size) ** np.float32(0.5),
                 "half": np.float32(0.5), "root": np.float32(2 ** -0.5), "unit": np.float32(1)}
    nodes = [node("LayerNormalization", ["x", "one", "none"], "n")]
    from onnx import helper

    shape = helper.make_node("Constant", [], ["heads"], value_ints=[1, length, heads, size // heads])
    flat = helper.make_node("Constant", [], ["flat"], value_ints=[1, length, size])
    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [node("MatMul", ["n", name], name + "m"), node("Reshape", [name + "m", "heads"], name + "r"),
                  node("Transpose", [name + "r"], name + "t", perm=order)]
    nodes += [node("MatMul", ["qt", "kt"], "s0"), node("Mul", ["s0", "scale"], "s1"), node("Add", ["s1", "mask"], "s2"),
              node("Softmax", ["s2"], "a", axis=-1), node("MatMul", ["a", "vt"], "c"), node("Transpose", ["c"], "ct", perm=[0, 2, 1, 3]),
              node("Reshape", ["ct", "flat"], "cf"), node("MatMul", ["cf", "o"], "co"), node("Add", ["co", "x"], "r"),
              node("LayerNormalization", ["r", "one", "none"], "n2"), node("MatMul", ["n2", "up"], "u"), node("Mul", ["u", "root"], "u1"),
              node("Erf", ["u1"], "u2"), node("Add", ["u2", "unit"], "u3"), node("Mul", ["u", "u3"], "u4"), node("Mul", ["u4", "half"], "u5"),
              node("MatMul", ["u5", "down"], "d"), node("Add", ["d", "r"], "r2"), node("LayerNormalization", ["r2", "one", "none"], "y")]
    return model_of([shape, flat, *nodes], {"x": [1, length, size], "mask": [1, 1, length, length]}, {"y": [1, length, size]}, constants)


def run(plan, feeds):
    runtime = wootz.Runtime(wootz.Logger())
    engine = runtime.deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    first = wootz.infer(context, feeds)["y"]
    assert np.array_equal(first, wootz.infer(context, feeds)["y"])  # the same bits in each run
    return first.astype(np.float64)


@pytest.mark.parametrize("make", [mobile, transformer])
def test_bf16_is_close_and_small(make):
    rng = np.random.default_rng(SEED)
    print("seed", SEED)
    model = make(rng)
    feeds = {"x": rng.normal(0, 1, (1, 3, 64, 64) if make is mobile else (1, 24, 64)).astype(np.float32)}
    if make is transformer:
        feeds["mask"] = np.zeros((1, 1, 24, 24), np.float32)
        feeds["mask"][..., 20:] = feeds["mask"][..., 22:, :] = np.finfo(np.float32).min
    wide = wootz.build(model, options={"backend": "cpu"})
    narrow = wootz.build(model, options={"backend": "cpu"}, precision="bf16")
    expected, actual = run(wide, feeds), run(narrow, feeds)
    assert np.isfinite(actual).all()
    error = np.abs(actual - expected).max() / np.abs(expected).max()
    assert error < (3e-2 if HAS_BF16 else 1e-6), f"seed {SEED}: {error}"
    if HAS_BF16:
        assert error > 0 and len(narrow) < 0.75 * len(wide)


def test_a_precision_that_is_none():
    with pytest.raises(ValueError, match="'bf17' is none of fp32, fp16, bf16"):
        wootz.build(b"", precision="bf17")


@pytest.mark.parametrize("precision, rounds", [("fp16", True), ("fp32", False), (["fp32", "fp16"], False)])
def test_fp32_takes_tf32_away(precision, rounds, monkeypatch):
    """As seen by the builder: only a GPU has it."""
    seen = []

    def build(self, network, config):
        seen.append(config.get_flag(wootz.BuilderFlag.TF32))

    monkeypatch.setattr(wootz.Builder, "build_serialized_network", build)
    with pytest.raises(wootz.BuildError):
        wootz.build(mobile(np.random.default_rng(SEED)), options={"backend": "cpu"}, precision=precision)
    assert seen == [rounds]


def test_what_cannot_be_fast_is_named():
    lines = []

    class Logger(wootz.ILogger):
        def log(self, severity, text):
            if severity == wootz.ILogger.WARNING:
                lines.append(text)

    model = mobile(np.random.default_rng(SEED))
    wootz.build(model, options={"backend": "cpu", "timing": "0"}, precision="fp16", logger=Logger())
    if "amx_fp16" not in FLAGS:
        assert any("kFP16" in line for line in lines), lines
        assert any("kBF16" in line for line in lines) == HAS_BF16, lines
