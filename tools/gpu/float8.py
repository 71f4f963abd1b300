"""Quantizes an exported model for the GPU check: Q/DQ in FP8 (e4m3), one scale for each activation and each weight.

    python tools/gpu/float8.py MODEL.onnx FP8.onnx INPUT=FILE.npy...

Ranges come from the given inputs. Both operands of each product with a constant matrix are quantized where it reads them;
residuals, norms and products of two activations stay as they are.
"""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LARGEST = 448.0


def ranges_of(path, names, inputs):
    """The largest magnitude of each of these values."""
    model = onnx.load(path)
    have = {output.name for output in model.graph.output}
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names if name not in have)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return {name: float(np.abs(value).max()) for name, value in zip(names, session.run(list(names), inputs))}


def grid(model, name, scale):
    model.graph.initializer.append(numpy_helper.from_array(np.array(scale, np.float32), f"{name}_scale"))
    zero = helper.make_tensor(f"{name}_zero", TensorProto.FLOAT8E4M3FN, [], [0.0])
    model.graph.initializer.append(zero)
    return [f"{name}_scale", f"{name}_zero"]


def quantize(source, target, inputs):
    model = onnx.load(source)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    aliases = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Identity"}
    constant = lambda name: weights.get(aliases.get(name, name))
    products = [n for n in model.graph.node if n.op_type in ("MatMul", "Gemm") and constant(n.input[1]) is not None]
    largest = ranges_of(source, sorted({node.input[0] for node in products}), inputs)
    made, nodes = set(), []
    for node in model.graph.node:
        if any(node is product for product in products):
            for i, name in enumerate(node.input[:2]):
                if name not in made:
                    made.add(name)
                    tensor = constant(name) if i == 1 else None
                    top = float(np.abs(numpy_helper.to_array(tensor)).max()) if i == 1 else largest[name]
                    scales = grid(model, name, max(top, 1e-6) / LARGEST)
                    nodes.append(helper.make_node("QuantizeLinear", [name, *scales], [f"{name}_fp8"], f"{name}_QuantizeLinear"))
                    nodes.append(helper.make_node("DequantizeLinear", [f"{name}_fp8", *scales], [f"{name}_real"], f"{name}_DequantizeLinear"))
                node.input[i] = f"{name}_real"
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.opset_import[0].version = max(19, model.opset_import[0].version)  # the first with floats of 8 bits
    onnx.save(model, target)


def main():
    source, target = sys.argv[1:3]
    quantize(source, target, {key: np.load(file) for key, file in (argument.split("=", 1) for argument in sys.argv[3:])})


if __name__ == "__main__":
    main()
