"""A layer of one's own as a class, with an attribute that the plan keeps, and its creator in the registry."""
import numpy as np
import tensorrt as trt

from common import LOGGER, Buffers, array_at, device_arrays, expect


class Clamp(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    def __init__(self, most):
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace, self.num_outputs = "ExampleClamp", "1", "", 1
        self.most = most

    def get_capability_interface(self, type):
        return self

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, builder):
        return [trt.DimsExprs(inputs[0])]

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.type == trt.float32 and in_out[pos].desc.format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inputs, outputs):
        pass

    def on_shape_change(self, inputs, outputs):
        pass

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([trt.PluginField("most", np.float32([self.most]), trt.PluginFieldType.FLOAT32)])

    def attach_to_context(self, context):
        return self.clone()

    def clone(self):
        return Clamp(self.most)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        with device_arrays(stream) as package:
            x, y = (array_at(address, input_desc[0].dims) for address in (inputs[0], outputs[0]))
            package.minimum(x, self.most, out=y)


class ClampCreator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "ExampleClamp", "1", ""
        self.field_names = trt.PluginFieldCollection([trt.PluginField("most", np.array([]), trt.PluginFieldType.FLOAT32)])

    def create_plugin(self, name, fields, phase):
        return Clamp(float(fields[0].data[0]))


registry = trt.get_plugin_registry()
assert registry.register_creator(ClampCreator(), "")
builder = trt.Builder(LOGGER)
network = builder.create_network(0)
x = network.add_input("x", trt.float32, (3, 5))
y = network.add_plugin_v3([x], [], Clamp(0.5)).get_output(0)
y.name = "y"
network.mark_output(y)
engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
context = engine.create_execution_context()
with Buffers(engine, context) as buffers:
    values = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    expect(buffers.infer(context, x=values)["y"], np.minimum(values, 0.5), "a class")
