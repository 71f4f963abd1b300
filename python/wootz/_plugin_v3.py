"""The classes that plugins of V3, Quick plugins, and all creators derive from.

They are plain Python, so that a plugin can derive from several. The library's side is in python/plugin_*.cpp: it calls the methods by
these names, and what they raise is logged and ends the call that asked. A method that may be left out does the usual here.
"""
import copy

from ._plugin_base import _Attribute, _Copied, _missing, IVersionedInterface, PluginFieldCollection


class IPluginCapability(IVersionedInterface):
    """What answers for a PluginCapabilityType of a plugin."""


class IPluginResource(IVersionedInterface):
    """Something that plugins of one process share: see IPluginRegistry.acquire_plugin_resource."""

    _interface = ("IPluginResource", 1, 0)

    def __init__(self):
        """What a resource is made of is its own business."""

    def release(self):
        """Frees what the resource holds. Called for what clone() gave, once the last user has released it."""
        _missing(self, "release")

    def clone(self):
        """The object that the registry keeps, which holds the resource."""
        _missing(self, "clone")


class IPluginV3(_Copied, IVersionedInterface):
    """A plugin with a core, a build and a runtime capability, which may be the same object: derive from those as well."""

    _interface = ("PLUGIN", 1, 0)

    def get_capability_interface(self, type):  # noqa: A002
        """The part that answers for a PluginCapabilityType; None where there is none. By default the plugin itself."""
        return self

    def clone(self):
        """An equal plugin of its own. By default a shallow copy."""
        return copy.copy(self)

    def destroy(self):
        """The library, which owns this object, is done with it."""


class IPluginV3OneCore(_Copied, IPluginCapability):
    """Identity: by these three the creator is found again when a plan is loaded."""

    _interface = ("PLUGIN_V3ONE_CORE", 1, 0)
    plugin_name = _Attribute("The creator's name.")
    plugin_version = _Attribute("The creator's version.", "")
    plugin_namespace = _Attribute("The creator's namespace.", "")


class _Build(_Copied, IPluginCapability):
    num_outputs = _Attribute("How many outputs there are.")
    timing_cache_id = _Attribute("Text that tells this plugin's problem from others in the timing cache; None: it is timed anew.", None)
    metadata_string = _Attribute("Text that the engine inspector shows.", None)


class IPluginV3OneBuild(_Build):
    """What the builder asks."""

    _interface = ("PLUGIN_V3ONE_BUILD", 1, 0)
    DEFAULT_FORMAT_COMBINATION_LIMIT = 100
    format_combination_limit = _Attribute("How many combinations of formats the builder may try.", DEFAULT_FORMAT_COMBINATION_LIMIT)

    def configure_plugin(self, in_, out):
        """The types, formats and ranges of extents (DynamicPluginTensorDesc) that are about to be tried or settled on."""

    def get_output_data_types(self, input_types):
        """The types of the outputs, a list."""
        _missing(self, "get_output_data_types")

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        """The shapes of the outputs, a list of DimsExprs."""
        _missing(self, "get_output_shapes")

    def supports_format_combination(self, pos, in_out, num_inputs):
        """Whether type and format of in_out[pos].desc are acceptable, given those before it."""
        _missing(self, "supports_format_combination")

    def get_workspace_size(self, in_, out):
        """Bytes of scratch memory that are enough for all extents in range."""
        return 0

    def get_valid_tactics(self):
        """The plugin's own tactics: positive numbers, each of which is timed."""
        return []


class IPluginV3OneBuildV2(IPluginV3OneBuild):
    """With outputs that overwrite an input."""

    _interface = ("PLUGIN_V3ONE_BUILD", 2, 0)

    def get_aliased_input(self, output_index):
        """The number of the input that an output overwrites; -1: none."""
        return -1


class IPluginV3OneRuntime(_Copied, IPluginCapability):
    """What the runtime asks."""

    _interface = ("PLUGIN_V3ONE_RUNTIME", 1, 0)

    def set_tactic(self, tactic):
        """The tactic to use from now on: one of get_valid_tactics, or 0."""

    def on_shape_change(self, in_, out):
        """The extents (PluginTensorDesc) of the coming calls of enqueue."""

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        """Puts the work on the stream. Addresses are numbers: of the host on a CPU engine, otherwise of the device."""
        _missing(self, "enqueue")

    def attach_to_context(self, resource_context):
        """The plugin of one execution context. By default a clone."""
        return self.clone()

    def get_fields_to_serialize(self):
        """What the creator needs to make this plugin again when the plan is loaded."""
        return PluginFieldCollection()


class IPluginV3QuickCore(_Copied, IPluginCapability):
    """Identity of a Quick plugin."""

    _interface = ("PLUGIN_V3QUICK_CORE", 1, 0)
    plugin_name = _Attribute("The creator's name.")
    plugin_version = _Attribute("The creator's version.", "1")
    plugin_namespace = _Attribute("The creator's namespace.", "")


class IPluginV3QuickBuild(_Build):
    """What the builder asks a Quick plugin, which is what wootz.plugin makes of decorated functions."""

    _interface = ("PLUGIN_V3QUICK_BUILD", 1, 0)


class IPluginV3QuickAOTBuild(IPluginV3QuickBuild):
    """The same of one that is compiled while building."""

    _interface = ("PLUGIN_V3QUICKAOT_BUILD", 1, 0)


class IPluginV3QuickHostBuild(IPluginV3QuickBuild):
    """The same of one whose kernel is a function for the host, in a shared library. Not of TensorRT."""

    _interface = ("WOOTZ_V3QUICKHOST_BUILD", 1, 0)


class IPluginV3QuickRuntime(_Copied, IPluginCapability):
    """What the runtime asks a Quick plugin."""

    _interface = ("PLUGIN_V3QUICK_RUNTIME", 1, 0)


class IPluginCreatorInterface(IVersionedInterface):
    """What a registry holds: derive from IPluginCreatorV3One, or from IPluginCreator for plugins of V2."""

    def __repr__(self):
        return f"<{type(self).__name__} '{self.name}'>"


class _Creator(IPluginCreatorInterface):
    name = _Attribute("The name of its plugins.")
    plugin_version = _Attribute("Their version.", "")
    plugin_namespace = _Attribute("Their namespace.", "")
    field_names = _Attribute("The fields that create_plugin understands: a PluginFieldCollection.", PluginFieldCollection())

    def __init__(self):
        """Attributes are set in the object or its class."""


class IPluginCreator(_Creator):
    """Makes plugins of V2."""

    _interface = ("PLUGIN CREATOR_V1", 1, 0)

    def create_plugin(self, name, field_collection):
        """A plugin with these fields; None: it cannot be made."""
        _missing(self, "create_plugin")

    def deserialize_plugin(self, name, serialized_plugin):
        """A plugin of what its serialize() gave."""
        _missing(self, "deserialize_plugin")


class IPluginCreatorV3One(_Creator):
    """Makes plugins of V3."""

    _interface = ("PLUGIN CREATOR_V3ONE", 1, 0)

    def create_plugin(self, name, field_collection, phase):
        """A plugin: while building of a model's fields, at run time of those that its get_fields_to_serialize gave."""
        _missing(self, "create_plugin")


class IPluginCreatorV3Quick(_Creator):
    """Makes Quick plugins."""

    _interface = ("PLUGIN CREATOR_V3QUICK", 1, 0)

    def create_plugin(self, name, namespace, field_collection, phase, quickPluginType):  # noqa: N803
        _missing(self, "create_plugin")
