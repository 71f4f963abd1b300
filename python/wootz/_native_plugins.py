"""Plugins and creators of C++ libraries, as the classes that Python's derive from."""
from . import _wootz
from ._plugin_v3 import IPluginCreator, IPluginCreatorV3One, IPluginCreatorV3Quick, IPluginV3, IPluginV3OneCore
from ._plugins_v2 import IPluginV2Ext
from ._wootz import PluginCapabilityType


def _of(native, methods, attributes=()):
    """A base whose methods and attributes are those of the object of C++ that it holds."""

    def method(name):
        def call(self, *args):
            return getattr(self._native, name)(*args)
        call.__name__ = name
        return call

    def attribute(name):
        return property(lambda self: getattr(self._native, name), lambda self, value: setattr(self._native, name, value))

    members = {name: method(name) for name in methods}
    members.update((name, attribute(name)) for name in attributes)
    members["__init__"] = lambda self, held: setattr(self, "_native", held)
    return type("_Of" + native.__name__, (), members)


_CREATOR = ("name", "plugin_version", "plugin_namespace", "field_names")


class LibraryPluginCreator(_of(_wootz._NativePluginCreator, ("create_plugin", "deserialize_plugin"), _CREATOR), IPluginCreator):
    """A creator of a C++ library."""


class LibraryPluginCreatorV3One(_of(_wootz._NativePluginCreatorV3One, ("create_plugin",), _CREATOR), IPluginCreatorV3One):
    """A creator of a C++ library."""


class LibraryPluginCreatorV3Quick(_of(_wootz._NativePluginCreatorV3Quick, ("create_plugin",), _CREATOR), IPluginCreatorV3Quick):
    """A creator of a C++ library."""


class LibraryPluginV2(_of(_wootz._NativePluginV2,
                          ("initialize", "terminate", "destroy", "serialize", "clone", "get_output_shape", "supports_format",
                           "configure_with_format", "execute_async", "get_workspace_size", "get_output_data_type", "detach_from_context"),
                          ("plugin_type", "plugin_version", "plugin_namespace", "num_outputs", "tensorrt_version", "serialization_size")),
                      IPluginV2Ext):
    """A plugin of a C++ library."""


class LibraryPluginV3(_of(_wootz._NativePluginV3, ("clone", "destroy")), IPluginV3):
    """A plugin of a C++ library. Its core tells its identity; its other capabilities are the library's alone."""

    def get_capability_interface(self, type):  # noqa: A002
        identity = self._native.identity() if type == PluginCapabilityType.CORE else None
        if identity is None:
            raise RuntimeError(f"the {type.name} capability of a plugin of C++ cannot be called from Python")
        core = IPluginV3OneCore()
        core.plugin_name, core.plugin_version, core.plugin_namespace = identity
        return core
