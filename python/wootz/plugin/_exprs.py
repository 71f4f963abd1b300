"""Extents and arguments of kernels as expressions: trees of integers, extents of inputs and operations.

They become the library's expressions when it asks for shapes or for a launch (`_resolve`); until then they know no builder.
"""
import operator

from .._wootz import DimensionOperation, IDimensionExpr, PluginArgDataType

# What an operation computes of known numbers.
_FOLD = {DimensionOperation.SUM: operator.add, DimensionOperation.PROD: operator.mul, DimensionOperation.SUB: operator.sub,
         DimensionOperation.MAX: max, DimensionOperation.MIN: min, DimensionOperation.EQUAL: lambda a, b: int(a == b),
         DimensionOperation.LESS: lambda a, b: int(a < b), DimensionOperation.FLOOR_DIV: operator.floordiv,
         DimensionOperation.CEIL_DIV: lambda a, b: -(-a // b)}


def _node(value):
    """The tree of a value: ("const", n), ("axis", input, axis), ("expr", IDimensionExpr), ("size", desc), ("fake",), (operation, a, b)."""
    if isinstance(value, SymIntExpr):
        return value._node
    if isinstance(value, IDimensionExpr):
        return ("const", value.get_constant_value()) if value.is_constant() else ("expr", value)
    if value is None:
        return ("fake",)
    return ("const", operator.index(value))


def _known(node):
    return node[0] == "const"


def _is_fake(node):
    return node[0] == "fake" or any(_is_fake(n) for n in node[1:] if isinstance(n, tuple))


class SymExpr:
    """A value that may be known only once extents are."""


class SymIntExpr(SymExpr):
    """An integer: a number, or an expression over extents."""

    def __init__(self, value=None):
        self._node = _node(value)

    def _op(self, operation, other, swapped=False):
        a, b = (_node(other), self._node) if swapped else (self._node, _node(other))
        made = self._made()
        if _known(a) and _known(b):
            if b[1] == 0 and operation in (DimensionOperation.FLOOR_DIV, DimensionOperation.CEIL_DIV):
                raise ValueError("an expression divides by zero")
            made._node = ("const", _FOLD[operation](a[1], b[1]))
        else:
            made._node = (operation, a, b)
        return made

    def _made(self):
        return SymIntExpr()

    @property
    def is_fake(self):
        """It stands for an extent that is not known here: see is_constant."""
        return _is_fake(self._node)

    @property
    def is_constant(self):
        """Whether it is a number while building. Raises RuntimeError where that is not known yet."""
        if self.is_fake:
            raise RuntimeError("this expression stands for one that is not known yet: look at is_fake first")
        return _known(self._node)

    def constant_value(self):
        """That number."""
        if not self.is_constant:
            raise RuntimeError("this expression is no constant: look at is_constant first")
        return self._node[1]

    def __bool__(self):
        if not _known(self._node):
            raise ValueError("an expression over extents is neither true nor false while building")
        return self._node[1] != 0

    def __index__(self):
        return self.constant_value()

    __hash__ = object.__hash__

    def __repr__(self):
        return f"<{type(self).__name__} {self._node[1] if _known(self._node) else '?'}>"


def _binary(operation):
    return lambda self, other: self._op(operation, other)


def _swapped(operation):
    return lambda self, other: self._op(operation, other, swapped=True)


for _name, _operation in (("add", DimensionOperation.SUM), ("sub", DimensionOperation.SUB), ("mul", DimensionOperation.PROD),
                          ("floordiv", DimensionOperation.FLOOR_DIV)):
    setattr(SymIntExpr, f"__{_name}__", _binary(_operation))
    setattr(SymIntExpr, f"__r{_name}__", _swapped(_operation))
SymIntExpr.__eq__, SymIntExpr.__lt__, SymIntExpr.__gt__ = (_binary(DimensionOperation.EQUAL), _binary(DimensionOperation.LESS),
                                                           _swapped(DimensionOperation.LESS))
SymIntExpr.__ne__ = lambda self, other: 1 - (self == other)
SymIntExpr.__le__ = lambda self, other: 1 - (self > other)
SymIntExpr.__ge__ = lambda self, other: 1 - (self < other)


class SymInt8(SymIntExpr):
    """An argument of 8 bits."""

    dtype = PluginArgDataType.INT8


class SymInt16(SymIntExpr):
    """An argument of 16 bits."""

    dtype = PluginArgDataType.INT16


class SymInt32(SymIntExpr):
    """An argument of 32 bits."""

    dtype = PluginArgDataType.INT32


class ShapeExpr(SymIntExpr):
    """An extent of a tensor."""

    def _made(self):
        return ShapeExpr()

    @classmethod
    def _axis(cls, source, axis):
        made = cls()
        made._node = ("axis", source, axis)
        return made

    @property
    def is_size_tensor(self):
        """Whether it is what a size tensor says."""
        return self._node[0] == "size"

    def _clone(self):
        return ShapeExpr(self)


class SizeTensorShapeExpr(ShapeExpr):
    """An extent that the plugin finds by running, which an output of it holds: a size tensor."""

    def __init__(self, size_tensor_desc):
        self._node = ("size", size_tensor_desc)


class _Exprs:
    _item = SymIntExpr

    def __init__(self, length=0):
        self._items = [self._item() for _ in range(length)]

    @classmethod
    def from_tuple(cls, exprs):
        made = cls(0)
        made._items = [e if isinstance(e, SymIntExpr) else cls._item(e) for e in exprs]
        return made

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __getitem__(self, index):
        return type(self).from_tuple(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __setitem__(self, index, value):
        self._items[index] = value if isinstance(value, SymIntExpr) else self._item(value)

    def __repr__(self):
        return f"{type(self).__name__}({self._items})"


class SymExprs(_Exprs):
    """Arguments of a kernel."""


class SymIntExprs(SymExprs):
    """Arguments of a kernel that are integers: SymInt32 and its like."""

    _item = SymInt32


class ShapeExprs(_Exprs):
    """A shape, as expressions."""

    _item = ShapeExpr

    def __init__(self, length, _is_dummy=False):
        super().__init__(length)
        self._is_dummy = _is_dummy
        if length > 8:
            raise ValueError(f"a shape of {length} dimensions; there may be 8")

    def numel(self):
        """The number of elements, as an expression."""
        count = ShapeExpr(1)
        for extent in self:
            count = count * extent
        return count


def _both(operation, name):
    def compute(first, second):
        if not isinstance(first, SymIntExpr) and not isinstance(second, SymIntExpr):
            raise ValueError(f"{name}: one of both is to be an expression")
        return ShapeExpr(first)._op(operation, second)
    compute.__name__ = compute.__qualname__ = name
    return compute


cdiv = _both(DimensionOperation.CEIL_DIV, "cdiv")
cdiv.__doc__ = "The quotient, rounded up."
max = _both(DimensionOperation.MAX, "max")  # noqa: A001
max.__doc__ = "The larger one."
min = _both(DimensionOperation.MIN, "min")  # noqa: A001
min.__doc__ = "The smaller one."


class _Resolver:
    """Turns trees into the library's expressions. `inputs`: DimsExprs; `sizes`: the outputs that are size tensors, by id."""

    def __init__(self, builder, inputs, sizes=None):
        self.builder, self.inputs, self.sizes, self.declared = builder, inputs, sizes or {}, {}

    def __call__(self, value):
        return self.node(_node(value))

    def node(self, node):
        kind = node[0]
        if kind == "const":
            return self.builder.constant(node[1])
        if kind == "axis":
            return self.inputs[node[1]][node[2]]
        if kind == "expr":
            return node[1]
        if kind == "size":
            return self.size(node[1])
        if kind == "fake":
            raise RuntimeError("an expression was kept from a call in which shapes were not known")
        return self.builder.operation(kind, self.node(node[1]), self.node(node[2]))

    def size(self, desc):
        if id(desc) not in self.sizes:
            raise ValueError("an extent is of a size tensor that is none of the outputs")
        if id(desc) not in self.declared:
            self.declared[id(desc)] = self.builder.declare_size_tensor(self.sizes[id(desc)], self(desc.opt), self(desc.upper_bound))
        return self.declared[id(desc)]
