"""The classes that plugins of V2 derive from."""
import copy

from . import _wootz
from ._plugin_base import _Attribute, _Copied, _missing, IVersionedInterface


class IPluginV2(IVersionedInterface):
    """A plugin of V2. Those of Python derive from IPluginV2DynamicExt."""

    plugin_type = _Attribute("The creator's name.")
    plugin_version = _Attribute("The creator's version.", "")
    plugin_namespace = _Attribute("The creator's namespace.", "")
    num_outputs = _Attribute("How many outputs there are.", 1)

    @property
    def tensorrt_version(self):
        return _wootz._python_plugin_version

    @property
    def serialization_size(self):
        return len(self.serialize())

    def initialize(self):
        """Acquires what enqueue needs; once for an engine."""
        return 0

    def terminate(self):
        """Frees it."""

    def destroy(self):
        """The library, which owns this object, is done with it."""

    def serialize(self):
        """Bytes of which the creator makes this plugin again."""
        return b""

    def clone(self):
        """An equal plugin. By default a shallow copy."""
        return copy.copy(self)

    def get_output_shape(self, index, input_shapes):
        _missing(self, "get_output_shape")

    def supports_format(self, dtype, format):  # noqa: A002
        _missing(self, "supports_format")

    def configure_with_format(self, input_shapes, output_shapes, dtype, format, max_batch_size):  # noqa: A002
        _missing(self, "configure_with_format")

    def execute_async(self, batch_size, inputs, outputs, workspace, stream_handle):
        _missing(self, "execute_async")

    def get_workspace_size(self, max_batch_size):
        return 0


class IPluginV2Ext(IPluginV2):
    """With types of outputs."""

    def get_output_data_type(self, index, input_types):
        _missing(self, "get_output_data_type")

    def configure_plugin(self, input_shapes, output_shapes, input_types, output_types, input_is_broadcasted, output_is_broacasted, format,  # noqa: A002
                         max_batch_size):
        _missing(self, "configure_plugin")

    def attach_to_context(self, cudnn, cublas, allocator):
        """An execution context begins to use the plugin."""

    def detach_from_context(self):
        """It ends that."""


class IPluginV2DynamicExtBase(IPluginV2):
    """Base of IPluginV2DynamicExt."""


class IPluginV2DynamicExt(_Copied, IPluginV2DynamicExtBase):
    """A plugin of V2 with extents that may be open until run time."""

    FORMAT_COMBINATION_LIMIT = 100

    def get_output_datatype(self, index, input_types):
        """The type of an output."""
        _missing(self, "get_output_datatype")

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        """The shape of an output, a DimsExprs."""
        _missing(self, "get_output_dimensions")

    def supports_format_combination(self, pos, in_out, num_inputs):
        """Whether type and format of in_out[pos] are acceptable, given those before it."""
        _missing(self, "supports_format_combination")

    def configure_plugin(self, pos, in_out):
        """Inputs, and outputs (DynamicPluginTensorDesc), as they were settled on; at run time with the extents of the coming calls."""

    def get_workspace_size(self, in_, out):
        """Bytes of scratch memory for these extents (PluginTensorDesc)."""
        return 0

    def get_serialization_size(self):
        return len(self.serialize())

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        """Puts the work on the stream. Addresses are numbers: of the host on a CPU engine, otherwise of the device."""
        _missing(self, "enqueue")
