#!/usr/bin/env python3
"""A decoder's step for one token, FP32 against INT4 weights, by turns in one process.

    python bench/decoder.py make DIR [--layers 12 --width 2048 --block 128]     writes fp32.onnx, int4.onnx and nbits.onnx
    python bench/decoder.py run DIR [--device cpu|cuda] [--half] [--rows 1] [--rounds 10]

Random weights. A layer: a norm, four products of the width by itself around an attention over a cache of 64 tokens, a norm, and
two products with four times the width. nbits.onnx is the same with ONNX Runtime's MatMulNBits; `run` times it where ONNX Runtime is
installed. The bandwidth is that of a plain read of as many bytes, by as many threads, in the same rounds.
"""
import argparse
import concurrent.futures
import pathlib
import statistics
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CACHE, HEAD = 64, 128


class Network:
    """Nodes and constants; products by `multiply`, which says how weights are kept."""

    def __init__(self, multiply):
        self.nodes, self.constants, self.multiply = [], [], multiply

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(self, op, *inputs, domain="", **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name, domain=domain, **attributes))
        return name

    def shape(self, *dims):
        return self.constant(f"shape_{len(self.constants)}", np.array(dims, np.int64))


def floats(net, x, name, w):
    return net.op("MatMul", x, net.constant(name, w))


def narrow(blocks):
    scale = np.maximum(np.abs(blocks).max(axis=-1, keepdims=True) / 7, 1e-12).astype(np.float32)
    return np.clip(np.rint(blocks / scale), -8, 7).astype(np.int8), scale


def dequantized(block):
    """DequantizeLinear in blocks along the sum, as `wootz quantize --format int4` writes it."""
    def multiply(net, x, name, w):
        k, n = w.shape
        q, scale = narrow(w.reshape(k // block, block, n).transpose(0, 2, 1))
        q = (q.transpose(0, 2, 1).reshape(-1) & 15).astype(np.uint8)
        net.constants.append(helper.make_tensor(name, TensorProto.INT4, [k, n], (q[::2] | q[1::2] << 4).tobytes(), raw=True))
        scale = net.constant(name + "_scale", scale.reshape(k // block, n))
        return net.op("MatMul", x, net.op("DequantizeLinear", name, scale, axis=0, block_size=block))
    return multiply


def packed_bits(block):
    """MatMulNBits: low nibble first, 8 stands for 0."""
    def multiply(net, x, name, w):
        k, n = w.shape
        q, scale = narrow(w.T.reshape(n, k // block, block))
        q = (q + 8).astype(np.uint8)
        return net.op("MatMulNBits", x, net.constant(name, q[..., ::2] | q[..., 1::2] << 4), net.constant(name + "_scale", scale.reshape(-1)),
                      domain="com.microsoft", K=k, N=n, bits=4, block_size=block)
    return multiply


def decoder(layers, width, multiply):
    rng, net = np.random.default_rng(7), Network(multiply)
    heads = width // HEAD
    draw = lambda *shape: rng.standard_normal(shape, np.float32) / np.sqrt(shape[0], dtype=np.float32)
    ones = net.constant("gamma", np.ones(width, np.float32))
    zeros = net.constant("beta", np.zeros(width, np.float32))
    scale = net.constant("attention_scale", np.float32(HEAD**-0.5))
    inputs, x = {"x": [1, "rows", width]}, "x"
    for i in range(layers):
        product = lambda y, name, *shape: net.multiply(net, y, f"l{i}_{name}", draw(*shape))
        split = lambda y: net.op("Transpose", net.op("Reshape", y, net.shape(1, -1, heads, HEAD)), perm=[0, 2, 1, 3])
        y = net.op("LayerNormalization", x, ones, zeros, axis=-1)
        q, k, v = (split(product(y, name, width, width)) for name in "qkv")
        for name, past in (("k", k), ("v", v)):
            inputs[f"{name}{i}"] = [1, heads, CACHE, HEAD]
        k, v = net.op("Concat", f"k{i}", k, axis=2), net.op("Concat", f"v{i}", v, axis=2)
        scores = net.op("MatMul", net.op("Mul", q, scale), net.op("Transpose", k, perm=[0, 1, 3, 2]))
        mixed = net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
        mixed = net.op("Reshape", net.op("Transpose", mixed, perm=[0, 2, 1, 3]), net.shape(1, -1, width))
        x = net.op("Add", x, product(mixed, "o", width, width))
        y = product(net.op("LayerNormalization", x, ones, zeros, axis=-1), "up", width, 4 * width)
        x = net.op("Add", x, product(net.op("Mul", y, net.op("Sigmoid", y)), "down", 4 * width, width))
    x = net.op("Identity", x)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(net.nodes, "decoder", [info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
                              [info(x, TensorProto.FLOAT, [1, "rows", width])], net.constants)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])


def make(args):
    folder = pathlib.Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, multiply in (("fp32", floats), ("int4", dequantized(args.block)), ("nbits", packed_bits(args.block))):
        for old in (folder / f"{name}.onnx", folder / f"{name}.bin"):
            old.unlink(missing_ok=True)
        onnx.save(decoder(args.layers, args.width, multiply), folder / f"{name}.onnx", save_as_external_data=True, location=f"{name}.bin")


def engine(path, args, feeds):
    import wootz
    options = {"backend": args.device, "timing": args.timing}
    began = time.perf_counter()
    plan = wootz.build(str(path), options=options, shapes={"x": (feeds["x"].shape,) * 3}, precision=("fp16",) if args.half else ())
    loaded = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(plan)
    print(f"{path.name}: built in {time.perf_counter() - began:.1f} s, plan of {len(plan) / 2**20:.1f} MiB")
    context = loaded.create_execution_context()
    return lambda: wootz.infer(context, feeds)[loaded.get_tensor_name(loaded.num_io_tensors - 1)]


def peer(path, feeds):
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)[0]


def reader(size, threads=2):
    parts = np.array_split(np.ones(size // 8, np.uint64), threads)
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    return lambda: list(pool.map(np.bitwise_or.reduce, parts))


def run(args):
    folder, rng = pathlib.Path(args.folder), np.random.default_rng(8)
    shapes = {i.name: [d.dim_value or args.rows for d in i.type.tensor_type.shape.dim]
              for i in onnx.load(folder / "fp32.onnx", load_external_data=False).graph.input}
    feeds = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    weights = (folder / "int4.bin").stat().st_size
    timed = {"read": reader(weights), "fp32": engine(folder / "fp32.onnx", args, feeds), "int4": engine(folder / "int4.onnx", args, feeds)}
    if args.peer:
        timed["nbits"] = peer(folder / "nbits.onnx", feeds)
    results = {name: f() for name, f in timed.items()}
    for name in list(timed)[2:]:
        error = np.sqrt(np.square(results[name] - results["fp32"]).mean() / np.square(results["fp32"]).mean())
        print(f"{name}: {100 * error:.2f} % from fp32")
        assert error < 0.5
    times = {name: [] for name in timed}
    for _ in range(args.rounds):
        for name, f in timed.items():
            for _ in range(1 if name == "fp32" else 4):
                began = time.perf_counter()
                f()
                times[name].append(time.perf_counter() - began)
    ms = {name: 1e3 * statistics.median(all) for name, all in times.items()}
    for name, value in ms.items():
        print(f"{name}: {value:.2f} ms" + (f", fp32 takes {ms['fp32'] / value:.2f} times as long" if name != "read" else f", {weights / value / 1e6:.1f} GB/s"))
    print(f"int4: {weights / ms['int4'] / 1e6:.1f} GB/s, {100 * ms['read'] / ms['int4']:.0f} % of a plain read's")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("folder")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--block", type=int, default=128)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--timing", default="1")
    parser.add_argument("--half", action="store_true", help="allow FP16")
    parser.add_argument("--peer", action="store_true", help="ONNX Runtime too")
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    {"make": make, "run": run}[args.what](args)


if __name__ == "__main__":
    main()
