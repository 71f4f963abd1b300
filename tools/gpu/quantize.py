"""Quantizes an exported model for the GPU check: Q/DQ in i8, zero points of 0, weights by channel, as TensorRT wants it.

    python tools/gpu/quantize.py MODEL.onnx INT8.onnx INPUT=FILE.npy...

Ranges come from the given inputs. What a convolution or product gives is quantized where it is read, not where it is
written; of an addition only the other branch is; products of two activations stay in float, so that attention stays
one step.
"""

import logging
import sys

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

SUMS = ["Conv", "Gemm", "MatMul", "Add"]


class Once(CalibrationDataReader):
    def __init__(self, inputs):
        self.rest = iter([inputs])

    def get_next(self):
        return next(self.rest, None)


def keep_sums_whole(path):
    """Takes away the Q and DQ between a convolution and the addition that alone reads it."""
    model = onnx.load(path)
    made = {name: node for node in model.graph.node for name in node.output}
    readers = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    gone = []
    for add in model.graph.node:
        if add.op_type != "Add":
            continue
        for i, name in enumerate(add.input):
            dequantize = made.get(name)
            quantize = made.get(dequantize.input[0]) if dequantize is not None and dequantize.op_type == "DequantizeLinear" else None
            if quantize is None or quantize.op_type != "QuantizeLinear":
                continue
            source = made.get(quantize.input[0])
            alone = all(len(readers[n]) == 1 for n in (quantize.input[0], quantize.output[0], name))
            if source is not None and source.op_type in SUMS and alone:
                add.input[i] = quantize.input[0]
                gone += [quantize.output[0], name]
                break  # the other branch stays in 8 bits
    kept = [node for node in model.graph.node if node.output[0] not in gone]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    onnx.save(model, path)


def products_of_activations(path):
    model = onnx.load(path, load_external_data=False)
    made = {name: node for node in model.graph.node for name in node.output}
    computed = lambda name: name in made and made[name].op_type not in ("Constant", "Identity")
    return [node.name for node in model.graph.node if node.op_type == "MatMul" and all(map(computed, node.input))]


def quantize(source, target, inputs, ops):
    logging.disable(logging.WARNING)
    quantize_static(
        source,
        target,
        Once(inputs),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        op_types_to_quantize=ops,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=products_of_activations(source),
        extra_options={"ActivationSymmetric": True, "OpTypesToExcludeOutputQuantization": SUMS},
    )
    keep_sums_whole(target)


def ops_of(name):
    """What is worth 8 bits: in a transformer, products with weights; residuals and norms stay as they are."""
    return ["MatMul", "Gemm"] if "bert" in name or "vit" in name else SUMS + ["MaxPool", "GlobalAveragePool"]


def main():
    source, target = sys.argv[1:3]
    inputs = {key: np.load(file) for key, file in (argument.split("=", 1) for argument in sys.argv[3:])}
    quantize(source, target, inputs, ops_of(source.rsplit("/", 1)[-1]))


if __name__ == "__main__":
    main()
