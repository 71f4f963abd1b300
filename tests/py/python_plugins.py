"""Plugins written in Python, for plugin_cases.py and test_python_plugins.py: what they compute, on host addresses and on a GPU's."""
import ctypes

import numpy as np
import wootz as trt
from wootz.plugin import Tensor

HOST_TYPES = {trt.DataType.FLOAT: np.float32, trt.DataType.HALF: np.float16, trt.DataType.INT32: np.int32}


def driver():
    return ctypes.CDLL("libcuda.so.1")


def load(tensor, stream):
    """A copy of what a tensor holds, in the order of its memory."""
    if not tensor.on_device:
        return np.array(tensor)
    array = np.empty(tuple(tensor.shape), HOST_TYPES[tensor.dtype])
    wait(stream)
    copy(array.ctypes.data, tensor.data_ptr, array.nbytes)
    return array


def store(tensor, array):
    array = np.ascontiguousarray(array, HOST_TYPES[tensor.dtype])
    if tensor.on_device:
        copy(tensor.data_ptr, array.ctypes.data, array.nbytes)
    else:
        tensor.numpy()[...] = array


def copy(to, source, size):
    assert driver().cuMemcpy(ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(size)) == 0


def wait(stream):
    assert driver().cuStreamSynchronize(ctypes.c_void_p(stream)) == 0, "the stream cannot be waited for while it is recorded"


def same_shapes(inputs, shape_inputs, builder):
    return [trt.DimsExprs(inputs[0])]


class Scale(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuildV2, trt.IPluginV3OneRuntime):
    """y = x * factor, as TensorRT's samples write plugins. `fails`: the method that raises. `log`: what was called, with what mattered."""

    fails, log = None, []

    def __init__(self, factor=1.0):
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuildV2.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace = "PyScale", "1", ""
        self.num_outputs, self.timing_cache_id, self.metadata_string = 1, "scale", "a scale"
        self.factor, self.tactic = factor, 0

    def note(self, method, *what):
        if Scale.fails == method:
            raise ZeroDivisionError(f"{method} was told to fail")
        Scale.log.append((method, *(tuple(w) if hasattr(w, "__len__") else w for w in what)))

    def get_capability_interface(self, type):
        self.note("get_capability_interface", type)
        return self

    def clone(self):
        self.note("clone")
        made = Scale()
        made.__dict__.update(self.__dict__)
        return made

    def destroy(self):
        self.note("destroy")

    def configure_plugin(self, inp, out):
        self.note("configure_plugin", inp[0].desc.dims, inp[0].min, inp[0].opt, inp[0].max)

    def get_output_data_types(self, input_types):
        self.note("get_output_data_types")
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, builder):
        self.note("get_output_shapes")
        Scale.kept = inputs[0], builder  # which are of no use after this call
        return same_shapes(inputs, shape_inputs, builder)

    def supports_format_combination(self, pos, in_out, num_inputs):
        self.note("supports_format_combination", pos, num_inputs)
        desc = in_out[pos].desc
        return desc.format == trt.TensorFormat.LINEAR and desc.type == in_out[0].desc.type

    def get_workspace_size(self, inp, out):
        self.note("get_workspace_size", inp[0].max)
        return 64

    def get_valid_tactics(self):
        self.note("get_valid_tactics")
        return [3, 5]

    def get_aliased_input(self, output):
        self.note("get_aliased_input", output)
        return -1

    def set_tactic(self, tactic):
        self.note("set_tactic")
        self.tactic = tactic

    def on_shape_change(self, inp, out):
        self.note("on_shape_change", inp[0].dims, out[0].dims)

    def attach_to_context(self, context):
        self.note("attach_to_context")
        made = self.clone()
        made.context = context
        return made

    def get_fields_to_serialize(self):
        self.note("get_fields_to_serialize")
        return trt.PluginFieldCollection([trt.PluginField("factor", np.array([self.factor], np.float32), trt.PluginFieldType.FLOAT32)])

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        self.note("enqueue", self.tactic, workspace != 0)
        assert self.tactic in (3, 5), self.tactic
        x, y = Tensor(input_desc[0], inputs[0]), Tensor(output_desc[0], outputs[0])
        store(y, load(x, stream) * self.factor)


class ScaleCreator(trt.IPluginCreatorV3One):
    """Makes them; `fails`: it raises."""

    fails = False

    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "PyScale", "1", ""
        self.field_names = trt.PluginFieldCollection([trt.PluginField("factor", np.array([]), trt.PluginFieldType.FLOAT32)])

    def create_plugin(self, name, fields, phase):
        if ScaleCreator.fails:
            raise ValueError("the creator was told to fail")
        Scale.log.append(("create_plugin", phase))
        return Scale(float(fields[0].data[0]))


class Shift(trt.IPluginV2DynamicExt):
    """y = x + by, over twice the rows: x above, x + by below. Of V2, as TensorRT's samples write those."""

    fails = None

    def __init__(self, by=0.0):
        trt.IPluginV2DynamicExt.__init__(self)
        self.plugin_type, self.plugin_version, self.plugin_namespace, self.num_outputs = "PyShift", "1", "", 1
        self.by, self.ready = by, False

    def note(self, method):
        if Shift.fails == method:
            raise ZeroDivisionError(f"{method} was told to fail")

    def initialize(self):
        self.note("initialize")
        self.ready = True

    def terminate(self):
        self.note("terminate")
        self.ready = False

    def destroy(self):
        self.note("destroy")

    def get_output_datatype(self, index, input_types):
        self.note("get_output_datatype")
        return input_types[index]

    def get_output_dimensions(self, index, inputs, builder):
        self.note("get_output_dimensions")
        made = trt.DimsExprs(inputs[0])
        made[0] = builder.operation(trt.DimensionOperation.PROD, made[0], builder.constant(2))
        return made

    def supports_format_combination(self, pos, in_out, num_inputs):
        self.note("supports_format_combination")
        return in_out[pos].format == trt.TensorFormat.LINEAR and in_out[pos].type == trt.DataType.FLOAT

    def configure_plugin(self, inp, out):
        self.note("configure_plugin")
        self.rows = inp[0].desc.dims[0]

    def get_workspace_size(self, inp, out):
        self.note("get_workspace_size")
        return 128

    def serialize(self):
        self.note("serialize")
        return np.float32(self.by).tobytes()

    def clone(self):
        self.note("clone")
        made = Shift(self.by)
        made.__dict__.update(self.__dict__)
        return made

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        self.note("enqueue")
        assert workspace != 0 and self.rows == input_desc[0].dims[0], (workspace, self.rows)
        x = load(Tensor(input_desc[0], inputs[0]), stream)
        store(Tensor(output_desc[0], outputs[0]), np.concatenate([x, x + np.float32(self.by)]))


class ShiftCreator(trt.IPluginCreator):
    """Makes them."""

    def __init__(self):
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "PyShift", "1", ""
        self.field_names = trt.PluginFieldCollection([trt.PluginField("by", np.array([]), trt.PluginFieldType.FLOAT32)])

    def create_plugin(self, name, fields):
        return Shift(float(fields[0].data[0]))

    def deserialize_plugin(self, name, data):
        return Shift(float(np.frombuffer(data, np.float32)[0]))


def register():
    """Makes all of them known, once for a process."""
    registry = trt.get_plugin_registry()
    if registry.get_creator("PyScale", "1") is None:
        assert registry.register_creator(ScaleCreator(), "")
        assert registry.register_creator(ShiftCreator(), "")
    return registry


class Reasons(trt.ILogger):
    """Keeps errors."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors = ""

    def log(self, severity, message):
        if severity <= trt.Logger.ERROR:
            self.errors += message + "\n"

    def take(self):
        taken, self.errors = self.errors, ""
        return taken
