"""The same model with other weights: python tools/gpu/reweight.py MODEL.onnx OTHER.onnx; each is changed by up to a tenth.

Biases and scales, which have one dimension or none, stay.
"""

import sys

import numpy as np
import onnx
from onnx import numpy_helper

SEED = 1


def main():
    rng, changed = np.random.default_rng(SEED), 0
    model = onnx.load(sys.argv[1])
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor)
        if value.dtype not in (np.float32, np.float16, np.int8) or value.ndim < 2:
            continue
        other = value * rng.uniform(0.9, 1.1, value.shape)
        if value.dtype == np.int8:
            other = np.clip(np.rint(other), -128, 127)
        tensor.CopyFrom(numpy_helper.from_array(other.astype(value.dtype), tensor.name))
        changed += 1
    onnx.save(model, sys.argv[2])
    print(f"{changed} weights changed")


main()
