"""Tensors of torch as an engine's buffers: their addresses, torch's stream, and no copy in between."""
import contextlib
import sys

import tensorrt as trt

import cudart
import models
from common import LOGGER, check, expect

try:
    import torch
except ImportError:
    print("skipped: torch is not installed")
    sys.exit()

TYPES = {trt.float32: torch.float32, trt.float16: torch.float16, trt.int32: torch.int32, trt.int64: torch.int64}
PLACE = torch.device("cpu" if cudart.ON_HOST else "cuda")

onnx_model, reference = models.mlp(seed=9)
builder = trt.Builder(LOGGER)
network = builder.create_network(0)
parser = trt.OnnxParser(network, LOGGER)
assert parser.parse(onnx_model)
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
context = engine.create_execution_context()
tensors = {}
for i in range(engine.num_io_tensors):
    name = engine.get_tensor_name(i)
    tensors[name] = torch.empty(tuple(context.get_tensor_shape(name)), dtype=TYPES[engine.get_tensor_dtype(name)], device=PLACE)
    context.set_tensor_address(name, tensors[name].data_ptr())

torch.manual_seed(0)
stream = torch.cuda.Stream() if PLACE.type == "cuda" else None
with torch.cuda.stream(stream) if stream else contextlib.nullcontext():
    for number in range(3):
        tensors["x"].copy_(torch.randn(4, 8))
        assert context.execute_async_v3(stream.cuda_stream if stream else 0)
        if stream is None:
            check(cudart.cudaStreamSynchronize(0))  # torch knows no streams of the processor
        result = tensors["y"] * 2  # on the stream, behind the inference
        expect(result.cpu().numpy(), 2 * reference(tensors["x"].cpu().numpy()), f"inference {number}")
