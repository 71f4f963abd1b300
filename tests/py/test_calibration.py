"""What INT8 calibration finds: ranges as an implementation of its own in NumPy finds them, and a network that is as good as in FP32."""

import numpy as np
import pytest
import wootz
from digits_cnn import SEED, accuracy, int8_sums, model_of, reading_8_bits, trained  # noqa: F401
from onnx import helper

ALGORITHMS = ["least_error", "entropy2", "entropy", "minmax", "legacy"]
OPTIONS = {"backend": "cpu", "timing": "0"}


@pytest.fixture(autouse=True)
def seed():
    print(f"seed: WOOTZ_SEED={SEED}")


def ranges_in(cache):
    """{tensor: largest value that INT8 has}"""
    lines = (line.rsplit(": ", 1) for line in cache.read_text().splitlines()[1:])
    return {name: float(np.array(int(scale, 16), np.uint32).view(np.float32)) * 127 for name, scale in lines}


def entropy_range(values, bins=2048, levels=128):
    """Where it is best cut, and the width of a bin: relative entropy by its definition, for every bin, with at most a tenth cut off."""
    values = np.abs(values.astype(np.float64)).ravel()
    counts, edges = np.histogram(values, bins, (0, values.max()))
    counts = counts.astype(np.float64)
    counts[0] = counts[1]
    best, least = bins, np.inf
    for end in range(levels, bins + 1):
        inside, cut = counts[:end], counts[end:].sum()
        if inside.sum() == 0 or cut > counts.sum() / 10 or (cut > 0 and inside[-1] == 0):
            continue
        level = np.arange(end) * levels // end
        mean = np.bincount(level, inside, levels) / np.maximum(np.bincount(level, inside > 0, levels), 1)
        q = np.where(inside > 0, mean[level], 0)
        p = inside.copy()
        p[-1] += cut
        there = p > 0
        p, q = p[there] / p.sum(), q[there] / q.sum()
        divergence = (p * np.log(p / q)).sum()
        if divergence <= least:
            best, least = end, divergence
    return best * edges[1], edges[1]


DISTRIBUTIONS = {
    "normal": lambda rng: rng.normal(0, 2, (100, 400)),
    "half": lambda rng: np.maximum(rng.normal(0.2, 1, (100, 400)), 0),
    "heavy": lambda rng: rng.standard_t(3, (100, 400)),
    "laplace": lambda rng: rng.laplace(0, 1, (100, 400)),
    "far": lambda rng: np.where(rng.random((100, 400)) < 1e-4, 50, rng.normal(0, 1, (100, 400))),
    "few": lambda rng: rng.uniform(1, 3, (100, 4)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_entropy_finds_the_range_of_the_definition(name, tmp_path):
    rng = np.random.default_rng(SEED)
    x = DISTRIBUTIONS[name](rng).astype(np.float32)
    w = rng.normal(0, 1, (x.shape[1], 8)).astype(np.float32)
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": x.shape}, {"y": [100, 8]}, {"w": w})
    cache = tmp_path / "cache"
    wootz.build(model, options=OPTIONS, calibration_data=x, calibration_cache=cache, calibration_algorithm="entropy2")
    want, width = entropy_range(x)
    assert abs(ranges_in(cache)["x"] - want) <= 1.001 * width
    if name == "far":
        assert want < 20


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_trained_network_stays_as_good(algorithm, trained, tmp_path):
    model, samples, (images, labels) = trained
    exact = accuracy(wootz.build(model, options=OPTIONS), images, labels)
    assert 0.9 < exact < 0.999, "it has learned, and not everything is easy"
    cache = tmp_path / "cache"
    plan = wootz.build(model, options=OPTIONS, calibration_data=samples, calibration_cache=cache, calibration_algorithm=algorithm)
    got = accuracy(plan, images, labels)
    print(f"{algorithm}: {got:.4f} in INT8, {exact:.4f} in FP32")
    assert got >= exact - 0.003
    if algorithm != "minmax":
        return
    # Ranges that are no good do show.
    lines = cache.read_text().splitlines()
    narrow = [f"{name}: {np.float32(value / 127 / 30).view(np.uint32):x}" for name, value in ranges_in(cache).items()]
    cache.write_text("\n".join([lines[0], *narrow]) + "\n")
    assert accuracy(wootz.build(model, options=OPTIONS, calibration_cache=cache), images, labels) < exact - 0.05


def in_8_bits(model, folder, **calibration):
    layers = reading_8_bits(model, folder, **calibration)
    return {name for name in ("in", "each", "out") for layer in layers if f"conv_{name}" in layer["Name"]}


def test_a_calibration_rounds_for_convolutions_by_channel_where_that_gains(tmp_path):
    """Without instructions for sums of 8-bit products it leaves them in float; a model that rounds by itself is taken at its word."""
    rng = np.random.default_rng(SEED)
    weights = {name: rng.normal(0, 0.3, shape).astype(np.float32)
               for name, shape in (("w_in", (32, 16, 1, 1)), ("w_each", (32, 1, 3, 3)), ("w_out", (16, 32, 1, 1)))}
    nodes = [helper.make_node("Conv", ["x", "w_in"], ["a"], "conv_in"), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w_each"], ["c"], "conv_each", group=32, pads=[1] * 4), helper.make_node("Relu", ["c"], ["d"]),
             helper.make_node("Conv", ["d", "w_out"], ["y"], "conv_out")]
    model = model_of(nodes, {"x": [1, 16, 24, 24]}, {"y": [1, 16, 24, 24]}, weights)
    data = rng.normal(0, 1, (8, 16, 24, 24)).astype(np.float32)
    assert in_8_bits(model, tmp_path, calibration_data=data) == {"in", "out"} | ({"each"} if int8_sums() else set())
    (tmp_path / "model.onnx").write_bytes(model)
    wootz.quantize(tmp_path / "model.onnx", tmp_path / "int8.onnx", data=data, options=OPTIONS)
    assert in_8_bits((tmp_path / "int8.onnx").read_bytes(), tmp_path) == {"in", "each", "out"}
