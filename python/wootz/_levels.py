"""The package at each level of TensorRT's API (10 is 10.16, 11 is 11.1).

`wootz` itself is at level 10. At level 11 there is a second instance of its modules, `wootz._level_11`, over the extension
that is compiled at that level: enumerators have that level's numbers, and classes that level's members. Objects of one level
are none of the other's.
"""
import importlib
import importlib.util
import os
import sys

# What the package has beyond TensorRT's: it is not among the names of a level.
_OWN = frozenset((
    "BuildError", "DeviceMemory", "backend_libraries", "build", "compare", "compare_reports", "default_backend", "devices",
    "infer", "infer_async", "DeviceArray", "load_engine", "plan_header", "quantize", "read_memory", "runtime_library", "set_thread_pool", "tap", "to_device",
    "torch", "kernel", "onnx_backend"))


def package(level):
    """The package at a level: a module with `Builder`, `Runtime` and so on."""
    here = __name__.partition(".")[0]
    if level == 10:
        return sys.modules[here]
    if level != 11:
        raise ValueError(f"level: {level!r} is neither 10 nor 11")
    name = f"{here}._level_11"
    if name not in sys.modules:
        folder = os.path.dirname(os.path.abspath(__file__))
        spec = importlib.util.spec_from_file_location(name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
        module = importlib.util.module_from_spec(spec)
        extension = importlib.import_module(f"{here}._wootz_11")
        sys.modules[name], sys.modules[f"{name}._wootz"] = module, extension
        module._wootz = extension
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name], sys.modules[f"{name}._wootz"]
            raise
    return sys.modules[name]


def names(level):
    """{name: object} of what TensorRT's package offers at a level: classes, enumerations, functions, `float32` and the like."""
    module = package(level)
    return {name: value for name, value in vars(module).items()
            if not name.startswith("_") and name not in _OWN and not _is_foreign(name, value)}


def _is_foreign(name, value):
    return type(value) is type(sys) and name != "plugin"
