"""Everything that plugins and their creators derive from; where the extension looks for it."""
from ._native_plugins import *  # noqa: F401,F403
from ._plugin_base import *  # noqa: F401,F403
from ._plugin_base import _as_buffer, _field_data  # noqa: F401
from ._plugin_v3 import *  # noqa: F401,F403
from ._plugins_v2 import *  # noqa: F401,F403

__all__ = ["InterfaceInfo", "IVersionedInterface", "PluginFieldCollection", "PluginFieldCollection_", "IPluginCapability", "IPluginResource",
           "IPluginV3", "IPluginV3OneCore", "IPluginV3OneBuild", "IPluginV3OneBuildV2", "IPluginV3OneRuntime", "IPluginV3QuickCore",
           "IPluginV3QuickBuild", "IPluginV3QuickAOTBuild", "IPluginV3QuickRuntime", "IPluginCreatorInterface", "IPluginCreator",
           "IPluginCreatorV3One", "IPluginCreatorV3Quick", "IPluginV2", "IPluginV2Ext", "IPluginV2DynamicExtBase", "IPluginV2DynamicExt", "FallbackString"]


def _add_plugin(network, call, aot=None):
    from .plugin._register import add_plugin  # which most programs do without
    return add_plugin(network, call, aot)
