"""What all plugins of Python are made of: attributes, fields, interfaces."""
import abc

import numpy as np

from . import _wootz
from ._wootz import APILanguage, PluginField, PluginFieldType

_NUMBERS = {PluginFieldType.FLOAT16: np.float16, PluginFieldType.FLOAT32: np.float32, PluginFieldType.FLOAT64: np.float64,
            PluginFieldType.INT8: np.int8, PluginFieldType.INT16: np.int16, PluginFieldType.INT32: np.int32,
            PluginFieldType.INT64: np.int64}


class _Bytes(bytes):
    """Text or bytes of a field; tobytes() as arrays have it."""

    def tobytes(self):
        return bytes(self)


def _field_data(data, kind):
    """The data of a field: an array of numbers, or bytes."""
    dtype = _NUMBERS.get(kind)
    return _Bytes(data) if dtype is None else np.frombuffer(data, dtype)


def _as_buffer(data):
    """What has the bytes of `data` as the interpreter gives them: arrays of types that numpy borrows have no such form of their own."""
    if isinstance(data, np.ndarray) and data.dtype.kind == "V" or type(data).__module__ == "ml_dtypes":
        return np.ascontiguousarray(data).view(f"u{data.dtype.itemsize}")
    return data if isinstance(data, (bytes, bytearray, memoryview)) else np.ascontiguousarray(data)


class _Attribute(property):
    """A property that a plugin sets in its objects or its class. It is kept in the object's __dict__, so that copies have it."""

    def __init__(self, doc, *default):
        super().__init__(self._get, self._put, None, doc)
        self.default = default

    def __set_name__(self, owner, name):
        self.name = name

    def _get(self, obj):
        if self.name in obj.__dict__:
            return obj.__dict__[self.name]
        if not self.default:
            raise AttributeError(f"{type(obj).__name__} sets no {self.name}")
        return self.default[0]

    def _put(self, obj, value):
        obj.__dict__[self.name] = value


def _missing(self, method):
    raise NotImplementedError(f"{type(self).__name__} has no {method}")


class InterfaceInfo(abc.ABC):
    """Which interface an object implements."""

    kind, major, minor = _Attribute("Its name.", ""), _Attribute("Its version.", 1), _Attribute("What was added to that.", 0)


class IVersionedInterface(abc.ABC):
    """What objects are that an application implements and the library calls."""

    _interface = ("", 1, 0)

    @property
    def api_language(self):
        return APILanguage.PYTHON

    @property
    def interface_info(self):
        info = InterfaceInfo()
        info.kind, info.major, info.minor = self._interface
        return info


for _interface in (InterfaceInfo, IVersionedInterface):
    if hasattr(_wootz, _interface.__name__):  # of the extension's own classes, from which callbacks derive: they are of these, too
        _interface.register(getattr(_wootz, _interface.__name__))


class FallbackString(str):
    """Text, as PluginField takes it."""

    def __init__(self, arg0):
        super().__init__()


def _field(value):
    if not isinstance(value, PluginField):
        raise TypeError(f"a PluginField is wanted, given is {type(value).__name__}")
    return value


class PluginFieldCollection(list):
    """The fields of a plugin. Creators take any list of them."""

    def __init__(self, fields=()):
        super().__init__(map(_field, fields))

    def __len__(self):
        return super().__len__()

    def __iter__(self):
        return super().__iter__()

    def __getitem__(self, s):
        return PluginFieldCollection(super().__getitem__(s)) if isinstance(s, slice) else super().__getitem__(s)

    def __setitem__(self, index, value):
        super().__setitem__(index, list(map(_field, value)) if isinstance(index, slice) else _field(value))

    def append(self, x):
        super().append(_field(x))

    def extend(self, L):  # noqa: N803: TensorRT's name
        super().extend(map(_field, L))

    def insert(self, i, x):
        super().insert(i, _field(x))

    def pop(self, i=-1):
        return super().pop(i)

    def clear(self):
        super().clear()


class PluginFieldCollection_(PluginFieldCollection):  # noqa: N801
    """What creators are handed: the fields of a plugin."""

    def __init__(self, fields):
        super().__init__(fields)


class _Copied:
    def __init__(self, other=None):
        if other is not None:
            self.__dict__.update(other.__dict__)
