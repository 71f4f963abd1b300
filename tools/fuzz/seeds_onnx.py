#!/usr/bin/env python3
"""Writes the seeds of the ONNX fuzz target: small models that reach its different parts.

    .venv/bin/python tools/fuzz/seeds_onnx.py [DIR]          default: src/onnx/import_fuzz_corpus
    .venv/bin/python tools/fuzz/seeds_onnx.py DIR --suite SUITE   and the models of an exported ONNX suite below 1500 bytes
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, dims, kind=F):
    return helper.make_tensor_value_info(name, kind, dims)


def const(name, values, dtype):
    return numpy_helper.from_array(np.array(values, dtype), name)


def model(nodes, inputs, outputs, initializers=(), functions=(), opset=17, ir=8):
    graph = helper.make_graph(nodes, "g", inputs, [info(o, None) for o in outputs], list(initializers))
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=ir)


def branch(name, op, reads, out):
    return helper.make_graph([helper.make_node(op, reads, [out])], name, [], [info(out, None)])


def shapes():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["r"]),
        helper.make_node("Transpose", ["r"], ["y"], perm=[1, 0]),
    ]
    return model(nodes, [info("x", ["N", 3, 4])], ["y"], [const("zero", [0], np.int64), const("rest", [-1], np.int64)])


def convolution():
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["y"]),
    ]
    return model(nodes, [info("x", ["N", 1, 8, "W"])], ["y"],
                 [const("w", np.ones((2, 1, 3, 3)), np.float32), const("b", [1, 2], np.float32)])


def conditional():
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("a", "Relu", ["x"], "p"),
                            else_branch=branch("b", "Neg", ["x"], "q"))
    return model([node], [info("c", [], B), info("x", [2])], ["y"])


def loop():
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "x"], ["w"]), helper.make_node("Identity", ["c"], ["d"])], "body",
        [info("i", [], I), info("c", [], B), info("v", [2])], [info("d", [], B), info("w", [2]), info("w", [2])])
    return model([helper.make_node("Loop", ["n", "go", "x"], ["y", "ys"], body=body)], [info("x", [2])], ["y", "ys"],
                 [const("n", 3, np.int64), const("go", True, np.bool_)])


def functions():
    inner = helper.make_node("Softmax", ["a"], ["b"])
    inner.attribute.append(onnx.AttributeProto(name="axis", ref_attr_name="axis", type=onnx.AttributeProto.INT))
    function = helper.make_function("local", "F", ["a"], ["b"], [inner], [helper.make_opsetid("", 17)], ["axis"])
    nodes = [helper.make_node("F", ["x"], ["m"], domain="local", axis=0), helper.make_node("F", ["m"], ["y"], domain="local", axis=1)]
    return model(nodes, [info("x", [2, 2])], ["y"], functions=[function])


def quantized():
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("MatMul", ["d", "w"], ["y"]),
    ]
    return model(nodes, [info("x", [2, 2])], ["y"],
                 [const("s", 0.1, np.float32), const("z", 0, np.int8), const("w", [[1, 2], [3, 4]], np.float32)])


def typed_tensors():
    kinds = [TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT8, TensorProto.UINT16, TensorProto.DOUBLE,
             TensorProto.UINT32, TensorProto.FLOAT8E4M3FN, TensorProto.INT4, TensorProto.UINT4]
    tensors = [helper.make_tensor(f"t{kind}", kind, [2], [1, 2]) for kind in kinds]
    nodes = [helper.make_node("Constant", [], [f"c{kind}"], value=tensor) for kind, tensor in zip(kinds, tensors)]
    return model(nodes, [], [t.name for t in tensors] + [f"c{kind}" for kind in kinds], tensors, opset=21, ir=10)


def external():
    made = model([helper.make_node("Relu", ["w"], ["y"])], [], ["y"])
    tensor = made.graph.initializer.add(name="w", data_type=F, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "../weights.bin"), ("offset", "4096"), ("length", "8")):
        tensor.external_data.add(key=key, value=value)
    return made


def folding():
    nodes = [
        helper.make_node("ConstantOfShape", ["n"], ["z"]),
        helper.make_node("Expand", ["z", "n"], ["e"]),
        helper.make_node("Range", ["a", "b", "a1"], ["r"]),
        helper.make_node("Tile", ["r", "t"], ["y"]),
    ]
    return model(nodes, [], ["e", "y"], [const("n", [2, 3], np.int64), const("a", 0, np.int64), const("b", 9, np.int64),
                                         const("a1", 1, np.int64), const("t", [2], np.int64)])


def old_opset():
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], broadcast=1, axis=1), helper.make_node("Dropout", ["a"], ["y"], is_test=1)]
    return model(nodes, [info("x", [2, 3, 4]), info("b", [3])], ["y"], [const("b", [1, 2, 3], np.float32)], opset=6, ir=3)


SEEDS = (shapes, convolution, conditional, loop, functions, quantized, typed_tensors, external, folding, old_opset)


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=root / "src/onnx/import_fuzz_corpus")
    parser.add_argument("--suite", type=pathlib.Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for make in SEEDS:
        (args.folder / f"{make.__name__}.onnx").write_bytes(make().SerializeToString(deterministic=True))
    for path in sorted(args.suite.rglob("model.onnx")) if args.suite else ():
        if path.stat().st_size <= 1500:
            (args.folder / f"{path.parent.name}.onnx").write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
