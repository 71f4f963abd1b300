"""A small CNN that NumPy trains on drawn digits, for tests of what rounding costs a network with real weights."""
import json
import os
import pathlib

import numpy as np
import onnx
import pytest
import wootz
from onnx import TensorProto, helper, numpy_helper

SEED = int(os.environ.get("WOOTZ_SEED", 0)) or int.from_bytes(os.urandom(4), "little")


def model_of(nodes, inputs, outputs, constants):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "calibrated", [info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
                              [info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


GLYPHS = ["01110100011001110101110011000101110", "00100011000010000100001000010001110", "01110100010000100010001000100011111",
          "11111000100010000010000011000101110", "00010001100101010010111110001000010", "11111100001111000001000011000101110",
          "00110010001000011110100011000101110", "11111000010001000100010000100001000", "01110100011000101110100011000101110",
          "01110100011000101111000010001001100"]
SIDE = 12


def digits(rng, count):
    """Images of digits near the middle, of any contrast, in noise; and which they are."""
    glyphs = np.array([[int(c) for c in glyph] for glyph in GLYPHS], np.float32).reshape(10, 7, 5)
    labels = rng.integers(0, 10, count)
    images = rng.normal(0, 0.25, (count, 1, SIDE, SIDE)).astype(np.float32)
    for image, label in zip(images, labels):
        row, column = rng.integers(2, 5), rng.integers(2, 5)
        image[0, row:row + 7, column:column + 5] += glyphs[label] * rng.uniform(0.7, 1.3)
    return images, labels


def patches(x):
    """Of 3x3 pixels around each: [N, H, W, C * 9]."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(len(x), x.shape[2], x.shape[3], -1)


class Network:
    """Two convolutions with bias, ReLU and max pooling, and a product: forward, gradients and Adam's steps."""

    def __init__(self, rng):
        scaled = lambda *shape: (rng.normal(0, 1, shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)
        self.p = {"f1": scaled(12, 1, 3, 3), "b1": np.zeros(12, np.float32), "f2": scaled(24, 12, 3, 3), "b2": np.zeros(24, np.float32),
                  "w": scaled(24 * (SIDE // 4) ** 2, 10) * 0.3, "b": np.zeros(10, np.float32)}
        self.m = {k: np.zeros_like(v) for k, v in self.p.items()}
        self.v = {k: np.zeros_like(v) for k, v in self.p.items()}
        self.steps = 0

    def conv(self, x, f, b):
        cols = patches(x)
        y = np.maximum(cols @ self.p[f].reshape(len(self.p[f]), -1).T + self.p[b], 0)
        n, h, w, c = y.shape
        groups = y.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 5, 2, 4).reshape(n, h // 2, w // 2, c, 4)
        return cols, groups, groups.max(-1).transpose(0, 3, 1, 2)

    def back(self, f, b, cols, groups, grad, need_input):
        pooled = groups.max(-1, keepdims=True)
        first = (groups == pooled) & (np.cumsum(groups == pooled, -1) == 1) & (groups > 0)
        d = first * grad.transpose(0, 2, 3, 1)[..., None]
        n, h, w, c, _ = d.shape
        d = d.reshape(n, h, w, c, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(n, h * 2, w * 2, c)
        flat = d.reshape(-1, c)
        grads = {f: (flat.T @ cols.reshape(len(flat), -1)).reshape(self.p[f].shape), b: flat.sum(0)}
        if not need_input:
            return grads, None
        turned = self.p[f][:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        return grads, (patches(d.transpose(0, 3, 1, 2)) @ turned.reshape(len(turned), -1).T).transpose(0, 3, 1, 2)

    def train(self, x, labels, rate):
        cols1, groups1, x1 = self.conv(x, "f1", "b1")
        cols2, groups2, x2 = self.conv(x1, "f2", "b2")
        flat = x2.reshape(len(x), -1)
        logits = flat @ self.p["w"] + self.p["b"]
        e = np.exp(logits - logits.max(1, keepdims=True))
        d = e / e.sum(1, keepdims=True)
        d[np.arange(len(x)), labels] -= 1
        d /= len(x)
        grads = {"w": flat.T @ d, "b": d.sum(0)}
        more, d1 = self.back("f2", "b2", cols2, groups2, (d @ self.p["w"].T).reshape(x2.shape), True)
        grads.update(more)
        grads.update(self.back("f1", "b1", cols1, groups1, d1, False)[0])
        self.steps += 1
        for k, g in grads.items():
            self.m[k] = 0.9 * self.m[k] + 0.1 * g
            self.v[k] = 0.999 * self.v[k] + 0.001 * g * g
            step = rate * self.m[k] / (1 - 0.9 ** self.steps) / (np.sqrt(self.v[k] / (1 - 0.999 ** self.steps)) + 1e-8)
            self.p[k] = (self.p[k] - step).astype(np.float32)

    def onnx(self, batch):
        node = helper.make_node
        nodes = [node("Conv", ["x", "f1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]), node("Relu", ["c1"], ["r1"]),
                 node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
                 node("Conv", ["p1", "f2", "b2"], ["c2"], "conv2", pads=[1, 1, 1, 1]), node("Relu", ["c2"], ["r2"]),
                 node("MaxPool", ["r2"], ["p2"], kernel_shape=[2, 2], strides=[2, 2]),
                 node("Flatten", ["p2"], ["flat"]), node("Gemm", ["flat", "w", "b"], ["y"], "product")]
        return model_of(nodes, {"x": [batch, 1, SIDE, SIDE]}, {"y": [batch, 10]}, self.p)


BATCH = 500


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(SEED)
    network = Network(rng)
    images, labels = digits(rng, 3000)
    for epoch in range(5):
        order = rng.permutation(len(images))
        for start in range(0, len(images), 32):
            part = order[start:start + 32]
            network.train(images[part], labels[part], 0.006 * 0.7 ** epoch)
    return network.onnx(BATCH), images[:BATCH], digits(rng, 10000)


def engine_of(plan):
    return wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(plan)


def right(plan, images, labels):
    """Which images are recognized."""
    context = engine_of(plan).create_execution_context()
    answers = [wootz.infer(context, {"x": images[i:i + BATCH]})["y"].argmax(1) for i in range(0, len(images), BATCH)]
    return np.concatenate(answers) == labels


def accuracy(plan, images, labels):
    return right(plan, images, labels).mean()


def int8_sums():
    """Whether the processor has instructions for sums of 8-bit products."""
    return any(name in pathlib.Path("/proc/cpuinfo").read_text() for name in ("avx512_vnni", "avx_vnni"))


def reading_8_bits(model, tmp_path, **settings):
    """The convolutions and products that are built to read 8 bits, as a report has them."""
    wootz.build(model, options={"backend": "cpu", "timing": "0"}, report=tmp_path / "layers.json", **settings)
    return [layer for layer in json.loads((tmp_path / "layers.json").read_text())["layers"]
            if "Int8" in layer["Inputs"][0]["Format/Datatype"] and layer["TacticName"].split(":")[1].split("_")[0] in ("conv", "gemm")]


def int8_layers(model, tmp_path):
    return len(reading_8_bits(str(model), tmp_path))
