"""What the signature of a decorated function says: tensors, attributes with their types, outputs."""
import inspect
import typing

import numpy as np
import numpy.typing as npt

from .._wootz import PluginField, PluginFieldType
from ._tensor import TensorDesc

# By the type of an attribute: the type of its field, of the field's array, and the way back from that.
_SCALARS = {int: (PluginFieldType.INT64, np.int64, lambda v: int(v[0])), float: (PluginFieldType.FLOAT64, np.float64, lambda v: float(v[0])),
            bool: (PluginFieldType.INT8, np.int8, lambda v: bool(v[0])), str: (PluginFieldType.CHAR, None, lambda v: v.decode().rstrip("\0")),
            bytes: (PluginFieldType.UNKNOWN, None, bytes)}
_ARRAYS = {np.dtype(t): f for t, f in ((np.int8, PluginFieldType.INT8), (np.int16, PluginFieldType.INT16), (np.int32, PluginFieldType.INT32),
                                       (np.int64, PluginFieldType.INT64), (np.float16, PluginFieldType.FLOAT16),
                                       (np.float32, PluginFieldType.FLOAT32), (np.float64, PluginFieldType.FLOAT64), (np.bool_, PluginFieldType.INT8))}


def _element(hint):
    """The numpy type of an annotation numpy.typing.NDArray[T]; None: it is another annotation."""
    origin = typing.get_origin(hint)
    if origin is npt.NDArray:  # an alias of its own in newer versions of numpy
        arguments = typing.get_args(hint)
    elif origin is np.ndarray:
        arguments = typing.get_args(typing.get_args(hint)[1])
    else:
        return None
    return np.dtype(arguments[0]) if arguments and isinstance(arguments[0], type) else None


class Attribute:
    """One attribute of a plugin, and its field."""

    def __init__(self, plugin, name, hint):
        self.name, self.hint, self.element = name, hint, _element(hint)
        if hint not in _SCALARS and self.element not in _ARRAYS:
            raise ValueError(f"{plugin}: attribute '{name}' is annotated {hint}; int, float, bool, str, bytes, or numpy.typing.NDArray of a "
                             "number type is wanted")
        self.type = _SCALARS[hint][0] if self.element is None else _ARRAYS[self.element]

    def field(self, value):
        """The value as a PluginField. Raises TypeError where it is of another type."""
        if self.element is not None:
            array = np.asarray(value)
            if array.ndim != 1 or array.dtype != self.element:
                raise TypeError(f"attribute '{self.name}' is a 1-D array of {self.element}, given is {array.dtype} of shape {array.shape}")
            return PluginField(self.name, array.astype(np.int8) if self.element == np.bool_ else array, self.type)
        if not isinstance(value, self.hint) and not (self.hint is float and isinstance(value, int)):
            raise TypeError(f"attribute '{self.name}' is {self.hint.__name__}, given is {type(value).__name__}")
        dtype = _SCALARS[self.hint][1]
        return PluginField(self.name, value if dtype is None else np.array([value], dtype), self.type)

    def value(self, field):
        """The value that a field holds."""
        if field.type != self.type:
            raise TypeError(f"field '{self.name}' is of type {field.type.name}, wanted is {self.type.name}")
        data = field.data
        if self.element is not None:
            return np.array(data, self.element)
        if field.size < 1 and self.hint not in (str, bytes):
            raise ValueError(f"field '{self.name}' holds no value")
        return _SCALARS[self.hint][2](data)


class Signature:
    """Of a function that register() decorates."""

    def __init__(self, plugin, function):
        hints = typing.get_type_hints(function)
        self.plugin, self.inputs, self.attributes = plugin, [], {}
        for name, parameter in inspect.signature(function).parameters.items():
            if name not in hints:
                raise ValueError(f"{plugin}: argument '{name}' has no annotation")
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise ValueError(f"{plugin}: argument '{name}' is no plain argument")
            if hints[name] is TensorDesc:
                if self.attributes:
                    raise ValueError(f"{plugin}: input '{name}' comes after an attribute")
                self.inputs.append(name)
            else:
                self.attributes[name] = Attribute(plugin, name, hints[name])
        self.outputs = self._outputs(hints.get("return"))
        self.defaults = {n: p.default for n, p in inspect.signature(function).parameters.items() if p.default is not p.empty}

    def _outputs(self, hint):
        """How many outputs the annotation says; None: any number."""
        if hint is TensorDesc:
            return 1
        arguments = typing.get_args(hint)
        if typing.get_origin(hint) is not tuple or any(a not in (TensorDesc, Ellipsis) for a in arguments):
            raise ValueError(f"{self.plugin}: the annotation of what is returned is {hint}; TensorDesc or Tuple[TensorDesc, ...] is wanted")
        return None if Ellipsis in arguments or len(arguments) == 1 else len(arguments)

    def check(self, function, kind, also, tensor):
        """The parameters of an impl, autotune or aot_impl function, which are to agree with these. `also`: names besides those of here."""
        hints = typing.get_type_hints(function)
        names = list(inspect.signature(function).parameters)
        where = f"{kind} of {self.plugin}"
        if names[:len(self.inputs)] != self.inputs:
            raise ValueError(f"{where}: the first arguments are to be {', '.join(self.inputs)}")
        for name in names:
            if name not in self.inputs and name not in self.attributes and name not in also:
                raise ValueError(f"{where}: there is no input or attribute '{name}'")
            expected = tensor if name in self.inputs else self.attributes[name].hint if name in self.attributes else None
            if expected is not None and name in hints and hints[name] != expected:
                raise ValueError(f"{where}: '{name}' is annotated {hints[name]}, and {expected} where it was registered")
        return names


def arguments(names, inputs, attributes, more):
    """What a function with these parameters is called with."""
    given = dict(inputs)
    given.update((name, attributes[name]) for name in names if name in attributes)
    given.update((name, value) for name, value in more.items() if name in names)
    return given

