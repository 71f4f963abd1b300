"""Tensors as plugins of decorated functions see them: descriptions while building, and with addresses while running."""
import ctypes
import math

import numpy as np

from .._numpy import nptype
from .._wootz import DataType, DynamicPluginTensorDesc, PluginTensorDesc, TensorFormat, _on_device
from ._exprs import ShapeExpr, ShapeExprs, SizeTensorShapeExpr

_PACKED = {DataType.INT4, DataType.FP4}


class Shape:
    """A shape in numbers; -1 where an extent is open, with the range that it has."""

    def __init__(self, tensor_desc=None):
        self._desc = tensor_desc if isinstance(tensor_desc, DynamicPluginTensorDesc) else None
        if self._desc is not None:
            self._extents = tuple(self._desc.desc.dims)
        elif isinstance(tensor_desc, PluginTensorDesc):
            self._extents = tuple(tensor_desc.dims)
        else:
            self._extents = tuple(tensor_desc or ())

    @property
    def is_dynamic(self):
        """Whether an extent is open."""
        return any(n < 0 for n in self._extents)

    def _range(self, name):
        return self._extents if self._desc is None else tuple(getattr(self._desc, name))

    @property
    def opt(self):
        """The extents that are tuned for."""
        return self._range("opt")

    @property
    def min(self):
        """The least extents."""
        return self._range("min")

    @property
    def max(self):
        """The largest extents."""
        return self._range("max")

    def numel(self):
        """The number of elements. Raises ValueError where an extent is open."""
        if self.is_dynamic:
            raise ValueError("a shape with open extents has no number of elements: look at is_dynamic first")
        return math.prod(self._extents)

    def __len__(self):
        return len(self._extents)

    def __iter__(self):
        return iter(self._extents)

    def __getitem__(self, index):
        return self._extents[index]

    def __eq__(self, other):
        return self._extents == tuple(other)

    __hash__ = None

    def __repr__(self):
        return f"Shape{self._extents}"


class TensorDesc:
    """What a tensor is; it has no data."""

    def __init__(self, shape_expr=None, dtype=None, format=None, scale=None):  # noqa: A002
        self._frozen = False
        self._shape_expr = shape_expr if isinstance(shape_expr, ShapeExprs) or shape_expr is None else ShapeExprs.from_tuple(shape_expr)
        self._dtype, self._format, self._scale = dtype, format, scale
        self._aliased_to, self._shape = None, None

    @classmethod
    def _described(cls, desc, source=None):
        """Of a DynamicPluginTensorDesc; `source`: the number of the input that it is, whose extents are then expressions."""
        dims = desc.desc.dims
        made = cls([n if n >= 0 else ShapeExpr._axis(source, a) if source is not None else ShapeExpr() for a, n in enumerate(dims)],
                   desc.desc.type, desc.desc.format, desc.desc.scale)
        made._shape = Shape(desc)
        return made

    def _set(self, name, value):
        if self._frozen:
            raise AttributeError("a description that aliased() gave cannot be changed")
        setattr(self, name, value)

    def _needs_shape(self, what):
        if self._shape is None:
            raise AttributeError(f"{what} is not known where has_shape is false")

    @property
    def has_shape(self):
        """Whether shape, format and scale are known: in functions of autotune and aot_impl."""
        return self._shape is not None

    @property
    def shape(self):
        self._needs_shape("the shape")
        return self._shape

    @property
    def ndim(self):
        return len(self._shape_expr)

    @property
    def is_size_tensor(self):
        return False

    @property
    def is_aliased(self):
        return self._aliased_to is not None

    def get_aliased(self):
        """The description of the tensor whose memory this one is in; None: it has its own."""
        return self._aliased_to

    def like(self):
        """A description of the same shape and type."""
        return TensorDesc(ShapeExprs.from_tuple(self._shape_expr), self._dtype, self._format, self._scale)

    def aliased(self):
        """The same, for an output that overwrites this input."""
        made = self.like()
        made._aliased_to, made._frozen = self, True
        return made

    shape_expr = property(lambda self: self._shape_expr,
                          lambda self, value: self._set("_shape_expr", value if isinstance(value, ShapeExprs) else ShapeExprs.from_tuple(value)))
    dtype = property(lambda self: self._dtype, lambda self, value: self._set("_dtype", value))

    @property
    def format(self):
        self._needs_shape("the format")
        return self._format

    @property
    def scale(self):
        self._needs_shape("the scale")
        return self._scale


class SizeTensorDesc(TensorDesc):
    """An output that holds an extent which the plugin finds by running: an INT32 scalar."""

    def __init__(self, opt, upper_bound):
        super().__init__((), DataType.INT32)
        self._opt, self._upper_bound = opt, upper_bound

    @property
    def opt(self):
        return self._opt

    @property
    def upper_bound(self):
        return self._upper_bound

    @property
    def is_size_tensor(self):
        return True

    def expr(self):
        """The extent, for the shape of another output."""
        return SizeTensorShapeExpr(self)


def size_tensor(opt, upper_bound):
    """An output that holds an extent which the plugin finds by running. `opt` is what to tune for, `upper_bound` the most that it may be."""
    return SizeTensorDesc(opt, upper_bound)


def from_shape_expr(shape_expr, dtype):
    """A description of a shape in expressions, and a type."""
    return TensorDesc(shape_expr, dtype)


def _row_major(shape):
    strides = [1] * len(shape)
    for a in range(len(shape) - 2, -1, -1):
        strides[a] = strides[a + 1] * max(shape[a + 1], 1)
    return tuple(strides)


def _strides(shape, format):  # noqa: A002
    """In elements, by axis; None for formats that group channels."""
    if format == TensorFormat.LINEAR:
        return _row_major(shape)
    if format in (TensorFormat.HWC, TensorFormat.DHWC):
        order = (0, *range(2, len(shape)), 1)
        strides = dict(zip(order, _row_major([shape[a] for a in order])))
        return tuple(strides[a] for a in range(len(shape)))
    return None


class Tensor:
    """A tensor with an address. On a CPU engine numpy.asarray() gives a view of it, on a GPU engine __cuda_array_interface__ does (torch, cupy)."""

    def __init__(self, desc, address, strides=None):
        self._desc, self._address = desc, address
        self._given_strides = None if strides is None else tuple(strides)
        self._aliased_to = None

    @property
    def data_ptr(self):
        """The address, a number."""
        return self._address

    @property
    def dtype(self):
        return self._desc.type

    @property
    def format(self):
        return self._desc.format

    @property
    def scale(self):
        return self._desc.scale

    @property
    def shape(self):
        return Shape(self._desc)

    @property
    def ndim(self):
        return len(self._desc.dims)

    @property
    def is_data_dependent(self):
        """Whether the plugin finds an extent of it by running; its extents are then the most that they may be, or -1."""
        return any(n < 0 for n in self._desc.dims)

    def numel(self):
        """The number of elements."""
        return self.shape.numel()

    @property
    def strides(self):
        """In elements, by axis."""
        if self._given_strides is not None:
            return self._given_strides
        strides = _strides(self._desc.dims, self._desc.format)
        if strides is None:
            raise ValueError(f"a tensor in format {self.format.name} has no strides")
        return strides

    @property
    def is_aliased(self):
        return self._aliased_to is not None

    def get_aliased(self):
        """The tensor whose memory this one is in; None: it has its own."""
        return self._aliased_to

    def aliased(self, shape=None):
        """The same memory with another shape of as many elements."""
        extents = tuple(self._desc.dims) if shape is None else tuple(shape.dims if isinstance(shape, PluginTensorDesc) else shape)
        if math.prod(extents) != math.prod(self._desc.dims):
            raise ValueError(f"{extents} has another number of elements than {tuple(self._desc.dims)}")
        desc = PluginTensorDesc()
        desc.dims, desc.type, desc.format, desc.scale = extents, self.dtype, self.format, self.scale
        made = Tensor(desc, self._address)
        made._aliased_to = self
        return made

    @property
    def on_device(self):
        """Whether the address is of a GPU's memory."""
        return _on_device(self._address)

    def _placed(self, itemsize):
        """Shape, strides in bytes, and how many elements memory has."""
        if self.dtype in _PACKED:
            raise ValueError(f"elements of {self.dtype.name} share bytes: use data_ptr")
        if _strides(self._desc.dims, self.format) is None:
            raise ValueError(f"a tensor in format {self.format.name} is no array: use data_ptr")
        shape = tuple(self._desc.dims)
        return shape, tuple(s * itemsize for s in self.strides), math.prod(shape)

    def numpy(self):
        """A view as a numpy array, of a CPU engine."""
        if self.on_device:
            raise ValueError("the tensor is in a GPU's memory: use __cuda_array_interface__, by torch or cupy")
        dtype = np.dtype(nptype(self.dtype))
        shape, strides, count = self._placed(dtype.itemsize)
        if count == 0:
            return np.empty(shape, dtype)
        memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(self._address)
        return np.ndarray(shape, dtype, memory, strides=strides)

    def __array__(self, dtype=None, copy=None):
        view = self.numpy()
        return view if dtype in (None, view.dtype) and not copy else np.array(view, dtype)

    def __dlpack__(self, **kwargs):
        return self.numpy().__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.numpy().__dlpack_device__()

    @property
    def __cuda_array_interface__(self):
        if not self.on_device:
            raise AttributeError("__cuda_array_interface__: the tensor is in the host's memory, use numpy.asarray")
        dtype = np.dtype(nptype(self.dtype))
        shape, strides, _ = self._placed(dtype.itemsize)
        kind = f"<u{dtype.itemsize}" if dtype.type.__module__ == "ml_dtypes" else dtype.str  # types that this interface lacks
        return {"shape": shape, "typestr": kind, "data": (self._address, False), "version": 3, "stream": None,
                "strides": None if self.format == TensorFormat.LINEAR else strides}

    def __repr__(self):
        return f"<Tensor {self.dtype.name} {tuple(self._desc.dims)}>"
