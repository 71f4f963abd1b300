"""Open shapes: two profiles, one for single rows and one for batches, each with a context of its own."""
import numpy as np
import tensorrt as trt

import models
from common import LOGGER, Buffers, expect

onnx_model, reference = models.mlp(seed=2, batch="n")
builder = trt.Builder(LOGGER)
network = builder.create_network(0)
parser = trt.OnnxParser(network, LOGGER)
assert parser.parse(onnx_model)
config = builder.create_builder_config()
for low, opt, high in ((1, 1, 2), (4, 16, 32)):
    profile = builder.create_optimization_profile()
    profile.set_shape("x", min=(low, 8), opt=(opt, 8), max=(high, 8))
    assert config.add_optimization_profile(profile) >= 0
plan = builder.build_serialized_network(network, config)
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
assert engine.num_optimization_profiles == 2
assert tuple(engine.get_tensor_shape("x")) == (-1, 8)
print("profile 1 takes", [tuple(shape) for shape in engine.get_tensor_profile_shape("x", 1)])

for number, sizes in ((0, (1, 2)), (1, (4, 9, 32))):
    context = engine.create_execution_context()
    stream = 0
    assert context.set_optimization_profile_async(number, stream)
    for size in sizes:
        assert context.set_input_shape("x", (size, 8))
        with Buffers(engine, context) as buffers:
            x = np.random.default_rng(size).standard_normal((size, 8)).astype(np.float32)
            expect(buffers.infer(context, x=x)["y"], reference(x), f"profile {number}, {size} rows")
    assert not context.set_input_shape("x", (64, 8)), "beyond every profile"
