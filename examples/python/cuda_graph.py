"""One inference as a CUDA graph: recorded once, launched for every input."""
import cudart
import numpy as np
import tensorrt as trt

import models
from common import LOGGER, Buffers, check, expect

onnx_model, reference = models.mlp(seed=8)
builder = trt.Builder(LOGGER)
network = builder.create_network(0)
parser = trt.OnnxParser(network, LOGGER)
assert parser.parse(onnx_model)
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
context = engine.create_execution_context()
with Buffers(engine, context) as buffers:
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    expect(buffers.infer(context, x=x)["y"], reference(x), "before the capture")  # sets up what is set up once
    check(cudart.cudaStreamBeginCapture(buffers.stream, cudart.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal))
    buffers.copy_in()
    assert context.execute_async_v3(buffers.stream)
    buffers.copy_out()
    graph = check(cudart.cudaStreamEndCapture(buffers.stream))
    run = check(cudart.cudaGraphInstantiate(graph, 0))
    for seed in range(1, 4):
        x = np.random.default_rng(seed).standard_normal((4, 8)).astype(np.float32)
        np.copyto(buffers.host["x"], x)
        check(cudart.cudaGraphLaunch(run, buffers.stream))
        check(cudart.cudaStreamSynchronize(buffers.stream))
        expect(buffers.host["y"], reference(x), f"launch {seed}")
    check(cudart.cudaGraphExecDestroy(run))
    check(cudart.cudaGraphDestroy(graph))
