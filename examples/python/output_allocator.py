"""Results whose number is found by running: an allocator gives the memory when the size is known."""
import cudart
import numpy as np
import tensorrt as trt

import models
from common import LOGGER, TO_DEVICE, TO_HOST, check


class Allocator(trt.IOutputAllocator):
    def __init__(self):
        trt.IOutputAllocator.__init__(self)
        self.memory, self.size, self.shape = 0, 0, None

    def reallocate_output_async(self, tensor_name, memory, size, alignment, stream):
        if size > self.size:
            if self.memory:
                check(cudart.cudaFree(self.memory))
            self.memory, self.size = check(cudart.cudaMalloc(size)), size
        return self.memory

    def notify_shape(self, tensor_name, shape):
        self.shape = tuple(shape)


builder = trt.Builder(LOGGER)
network = builder.create_network(0)
parser = trt.OnnxParser(network, LOGGER)
assert parser.parse(models.nonzero())
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
context = engine.create_execution_context()
allocator = Allocator()
assert context.set_output_allocator("y", allocator)
stream = check(cudart.cudaStreamCreate())
x_memory = check(cudart.cudaMalloc(4 * 6 * 4))
context.set_tensor_address("x", x_memory)
for threshold in (0.0, 1.0, 100.0):  # fewer, and none in the end
    x = (np.random.default_rng(1).standard_normal((4, 6)) - threshold).astype(np.float32)
    check(cudart.cudaMemcpyAsync(x_memory, x.ctypes.data, x.nbytes, TO_DEVICE, stream))
    assert context.execute_async_v3(stream)
    check(cudart.cudaStreamSynchronize(stream))
    result = np.empty(allocator.shape, trt.nptype(engine.get_tensor_dtype("y")))
    if result.size:
        check(cudart.cudaMemcpy(result.ctypes.data, allocator.memory, result.nbytes, TO_HOST))
    assert (result == np.stack(np.nonzero(x > 0))).all(), (result, x)
    print(f"{allocator.shape[1]} places")
