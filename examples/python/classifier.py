"""From ONNX to a plan in a file, and an inference on a stream of CUDA's: the whole way, with `with` blocks."""
import pathlib
import sys
import tempfile

import numpy as np
import tensorrt as trt

import models
from common import LOGGER, Buffers, expect


def build(onnx_model):
    with trt.Builder(LOGGER) as builder, builder.create_network(0) as network, builder.create_builder_config() as config, \
            trt.OnnxParser(network, LOGGER) as parser:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 28)
        if not parser.parse(onnx_model):
            for i in range(parser.num_errors):
                print(parser.get_error(i), file=sys.stderr)
            return None
        return builder.build_serialized_network(network, config)


onnx_model, reference = models.mlp()
plan = build(onnx_model)
assert plan is not None
path = pathlib.Path(tempfile.mkdtemp()) / "model.engine"
with open(path, "wb") as file:
    file.write(plan)

with open(path, "rb") as file, trt.Runtime(LOGGER) as runtime:
    engine = runtime.deserialize_cuda_engine(file.read())
with engine, engine.create_execution_context() as context, Buffers(engine, context) as buffers:
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((4, 8)).astype(np.float32)
        expect(buffers.infer(context, x=x)["y"], reference(x), f"inference {seed}")
