"""A layer of one's own as two functions: what it gives, and what it does."""
import numpy as np
import tensorrt as trt
import tensorrt.plugin as trtp

from common import LOGGER, Buffers, device_arrays, expect


@trtp.register("example::leaky")
def describe(x: trtp.TensorDesc, slope: float) -> trtp.TensorDesc:
    return x.like()


@trtp.impl("example::leaky")
def run(x: trtp.Tensor, slope: float, outputs: tuple, stream: int):
    with device_arrays(stream) as package:
        source, target = package.asarray(x), package.asarray(outputs[0])
        target[...] = source * (source > 0) + source * slope * (source <= 0)


builder = trt.Builder(LOGGER)
network = builder.create_network(0)
x = network.add_input("x", trt.float32, (4, 6))
layer = network.add_plugin(trtp.op.example.leaky(x, slope=0.25))
doubled = network.add_elementwise(layer.get_output(0), layer.get_output(0), trt.ElementWiseOperation.SUM)
doubled.get_output(0).name = "y"
network.mark_output(doubled.get_output(0))
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
context = engine.create_execution_context()
with Buffers(engine, context) as buffers:
    values = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    expect(buffers.infer(context, x=values)["y"], 2 * np.where(values > 0, values, values * 0.25), "functions")
