"""Models whose attention is of 8 bits, with random weights: `decode DIR` writes the attention of one token over caches in
FP32, INT8 and FP8 (and of groups of four heads, "g_"), with caches that are inputs as they are, or that the token's own
keys and values are appended to ("_appended"); `encoder DIR` encoders as BERT-Base with Q and DQ in INT8 and FP8 around all
products, those of attention as well. Plans of both are timed by `wootz bench`."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BYTES = {"int8": TensorProto.INT8, "fp8": TensorProto.FLOAT8E4M3FN}


class Net:
    def __init__(self, kind=None):
        self.kind, self.nodes, self.constants, self.inputs, self.names = kind, [], [], [], 0
        self.random = np.random.default_rng(1)

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def const(self, array):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def op(self, kind, *inputs, **attrs):
        result = self.name()
        self.nodes.append(helper.make_node(kind, list(inputs), [result], f"n{result}", **attrs))
        return result

    def grid(self, scale):
        zero = self.name()
        self.constants.append(helper.make_tensor(zero, BYTES[self.kind], [], b"\0", raw=True))
        return self.const(np.float32(scale)), zero

    def rounded(self, x, largest):
        """Q and DQ of what is at most that large."""
        grid = self.grid(largest / (127 if self.kind == "int8" else 448))
        return self.op("DequantizeLinear", self.op("QuantizeLinear", x, *grid), *grid)

    def save(self, path, *results):
        outs = []
        for result in results:
            outs.append(helper.make_tensor_value_info(result, TensorProto.UNDEFINED, None))
            outs[-1].ClearField("type")
        graph = helper.make_graph(self.nodes, path.stem, self.inputs, outs, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), path)


def decode(path, kind, past, heads=16, kv_heads=16, appended=False, size=128):
    net = Net(kind)
    q, seen, results = net.input("q", [1, heads, 1, size]), [], []
    for which in "kv":
        rows = past - 1 if appended else past
        x = net.input(f"past_{which}", [1, kv_heads, rows, size], BYTES.get(kind, TensorProto.FLOAT))
        grid = net.grid(0.02) if kind else None
        if appended:
            new = net.input(f"new_{which}", [1, kv_heads, 1, size])
            x = net.op("Concat", x, net.op("QuantizeLinear", new, *grid) if kind else new, axis=2)
            results.append(x)
        if kind:
            x = net.op("DequantizeLinear", x, *grid)
        if heads != kv_heads:
            x = net.op("Unsqueeze", x, net.const(np.array([2])))
            x = net.op("Expand", x, net.const(np.array([1, 1, heads // kv_heads, 1, 1])))
            x = net.op("Reshape", x, net.const(np.array([0, heads, -1, size])))
        seen.append(x)
    scores = net.op("MatMul", q, net.op("Transpose", seen[0], perm=[0, 1, 3, 2]))
    weights = net.op("Softmax", net.op("Mul", scores, net.const(np.float32(size**-0.5))), axis=-1)
    net.save(path, net.op("MatMul", weights, seen[1]), *results)


def encoder(path, kind, batch, layers=12, width=768, heads=12, length=128):
    net = Net(kind)
    to_heads, merged = net.const(np.array([0, 0, heads, width // heads])), net.const(np.array([0, 0, width]))

    def linear(x, n_in, n_out, largest=4.0):
        w = net.random.standard_normal((n_in, n_out)).astype(np.float32) / np.sqrt(n_in).astype(np.float32)
        bias = net.const((net.random.standard_normal(n_out) * 0.02).astype(np.float32))
        if kind == "int8":
            s = np.abs(w).max(0) / 127
            codes = net.const(np.clip(np.rint(w / s), -127, 127).astype(np.int8))
            w = net.op("DequantizeLinear", codes, net.const(s), net.const(np.zeros(n_out, np.int8)), axis=1)
        else:
            w = net.rounded(net.const(w), np.abs(w).max())
        return net.op("Add", net.op("MatMul", net.rounded(x, largest), w), bias)

    def split(y):
        return net.op("Transpose", net.op("Reshape", y, to_heads), perm=[0, 2, 1, 3])

    def norm(y):
        one, none = net.const(np.ones(width, np.float32)), net.const(np.zeros(width, np.float32))
        return net.op("LayerNormalization", y, one, none, axis=-1, epsilon=1e-12)

    def gelu(y):
        erf = net.op("Add", net.op("Erf", net.op("Div", y, net.const(np.float32(2**0.5)))), net.const(np.float32(1)))
        return net.op("Mul", net.op("Mul", y, net.const(np.float32(0.5))), erf)

    x, mask = net.input("x", [batch, length, width]), net.input("mask", [batch, 1, 1, length])
    for _ in range(layers):
        q, k, v = (net.rounded(split(linear(x, width, width)), 4.0) for _ in range(3))
        scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 1, 3, 2]))
        scores = net.op("Add", net.op("Mul", scores, net.const(np.float32((width // heads) ** -0.5))), mask)
        y = net.op("MatMul", net.rounded(net.op("Softmax", scores, axis=-1), 1.0), v)
        y = net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 1, 3]), merged)
        x = norm(net.op("Add", linear(y, width, width, 2.0), x))
        x = norm(net.op("Add", linear(gelu(linear(x, width, 4 * width)), 4 * width, width), x))
    net.save(path, x)


def main():
    what, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if what == "encoder":
        for kind in BYTES:
            for batch in (1, 32):
                encoder(folder / f"{kind}_{batch}.onnx", kind, batch)
        return
    for past in (2048, 8192):
        for kind in (None, *BYTES):
            name = f"{kind or 'fp32'}_{past}"
            decode(folder / f"{name}.onnx", kind, past)
            decode(folder / f"{name}_appended.onnx", kind, past, appended=True)
            decode(folder / f"g_{name}.onnx", kind, past, heads=32, kv_heads=8)


if __name__ == "__main__":
    main()
