"""Operations on each element alone."""
import math

import torch

from .._types import FLOATS, to_torch
from . import converts

_UNARY = {  # those of floats
    "exp": "EXP", "log": "LOG", "sqrt": "SQRT", "reciprocal": "RECIP", "sin": "SIN", "cos": "COS", "tan": "TAN", "sinh": "SINH",
    "cosh": "COSH", "asin": "ASIN", "acos": "ACOS", "atan": "ATAN", "asinh": "ASINH", "acosh": "ACOSH", "atanh": "ATANH", "erf": "ERF",
}
_SAME_TYPE = {"abs": "ABS", "neg": "NEG", "sign": "SIGN"}
_TO_INTEGER = {"ceil": "CEIL", "floor": "FLOOR", "round": "ROUND"}  # of integers: nothing
_ACTIVATIONS = {"relu": "RELU", "sigmoid": "SIGMOID", "tanh": "TANH"}
_COMPARISONS = {"eq": ("EQUAL", False), "ne": ("EQUAL", True), "gt": ("GREATER", False), "le": ("GREATER", True), "lt": ("LESS", False),
                "ge": ("LESS", True)}
_LOGIC = {"and": "AND", "or": "OR", "xor": "XOR"}


def _floating(w, x):
    """`x` in the floating type that the result has."""
    return w.cast(x, w.result.dtype)


def _each(table, make):
    for name, operation in table.items():
        converts(name)(make(operation))


_each(_UNARY, lambda operation: lambda w, x: w.unary(operation, _floating(w, x)))
_each(_SAME_TYPE, lambda operation: lambda w, x: w.unary(operation, x))
_each(_TO_INTEGER, lambda operation: lambda w, x: w.unary(operation, x) if w.is_float(x) else x)
_each(_ACTIVATIONS, lambda kind: lambda w, x: w.activation(kind, _floating(w, x)))


@converts("rsqrt")
def rsqrt(w, x):
    return w.unary("RECIP", w.unary("SQRT", _floating(w, x)))


@converts("log2", "log10", "log1p", "expm1", "exp2")
def logarithms(w, x):
    x, name = _floating(w, x), w.node.target.name().split("::")[1]
    half = w.cast(x, torch.float32)
    if name == "exp2":
        made = w.unary("EXP", w.binary("PROD", half, math.log(2)))
    elif name == "expm1":
        made = _expm1(w, half)
    elif name == "log1p":
        made = _log1p(w, half)
    else:
        made = w.binary("PROD", w.unary("LOG", half), 1 / math.log(2 if name == "log2" else 10))
    return w.cast(made, to_torch(x.dtype))


def _expm1(w, x):
    """2 sinh(x/2) exp(x/2), which loses nothing near 0."""
    middle = w.binary("PROD", x, 0.5)
    return w.binary("PROD", w.binary("PROD", w.unary("SINH", middle), w.unary("EXP", middle)), 2.0)


def _log1p(w, x):
    """2 atanh(x / (2 + x)) near 0, where 1 + x would lose what x is."""
    near = w.binary("PROD", w.unary("ATANH", w.binary("DIV", x, w.binary("SUM", x, 2.0))), 2.0)
    far = w.unary("LOG", w.binary("SUM", x, 1.0))
    return w.select(w.binary("LESS", w.unary("ABS", x), 0.5), near, far)


@converts("silu")
def silu(w, x):
    return w.binary("PROD", x, w.activation("SIGMOID", x))


@converts("gelu")
def gelu(w, x, *, approximate="none"):
    return w.activation("GELU_TANH" if approximate == "tanh" else "GELU_ERF", x)


@converts("hardsigmoid")
def hardsigmoid(w, x):
    return w.activation("HARD_SIGMOID", x, 1 / 6, 0.5)


@converts("hardswish")
def hardswish(w, x):
    return w.binary("PROD", x, w.activation("HARD_SIGMOID", x, 1 / 6, 0.5))


@converts("leaky_relu")
def leaky_relu(w, x, slope=0.01):
    return w.activation("LEAKY_RELU", x, slope)


@converts("elu")
def elu(w, x, alpha=1.0, scale=1.0, input_scale=1.0):
    w.require(input_scale == 1, "elu with a scale of its input")
    y = w.activation("ELU", x, alpha) if scale == 1 else w.activation("SELU", x, alpha, scale)
    return y


@converts("softplus")
def softplus(w, x, beta=1, threshold=20):
    y = w.activation("SOFTPLUS", x, 1 / beta, beta)
    return w.select(w.binary("GREATER", w.binary("PROD", x, beta), threshold), x, y)


@converts("mish")
def mish(w, x):
    return w.binary("PROD", x, w.activation("TANH", w.activation("SOFTPLUS", x, 1, 1)))


@converts("relu6")
def relu6(w, x):
    return w.activation("CLIP", x, 0, 6)


@converts("hardtanh", "clamp", "clamp.Tensor", "clamp_min", "clamp_max", "clip")
def clamp(w, x, low=None, high=None):
    if w.node.target in (torch.ops.aten.hardtanh.default,):
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    if w.node.target is torch.ops.aten.clamp_max.default:
        low, high = None, low
    limits = [v for v in (low, high) if v is not None]
    x, *limits = w.promoted(x, *limits, dtype=w.result.dtype)
    if low is not None:
        x = w.binary("MAX", x, limits[0])
    return x if high is None else w.binary("MIN", x, limits[-1])


@converts("trunc")
def trunc(w, x):
    if not w.is_float(x):
        return x
    return w.binary("PROD", w.unary("SIGN", x), w.unary("FLOOR", w.unary("ABS", x)))


@converts("add.Tensor", "add.Scalar")
def add(w, a, b, alpha=1):
    return _sum(w, "SUM", a, b, alpha)


@converts("sub.Tensor", "sub.Scalar")
def sub(w, a, b, alpha=1):
    return _sum(w, "SUB", a, b, alpha)


@converts("rsub.Tensor", "rsub.Scalar")
def rsub(w, a, b, alpha=1):
    return _sum(w, "SUB", b, a, alpha)


def _sum(w, operation, a, b, alpha):
    a, b = w.promoted(a, b, dtype=w.result.dtype)
    if w.result.dtype == torch.bool:
        return w.binary("OR", a, b)
    return w.binary(operation, a, b if alpha == 1 else w.binary("PROD", b, alpha))


@converts("mul.Tensor", "mul.Scalar")
def mul(w, a, b):
    a, b = w.promoted(a, b, dtype=w.result.dtype)
    return w.binary("AND" if w.result.dtype == torch.bool else "PROD", a, b)


@converts("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode", "floor_divide")
def div(w, a, b, rounding_mode=None):
    if w.node.target is torch.ops.aten.floor_divide.default:
        rounding_mode = "floor"
    dtype = w.result.dtype
    a, b = w.promoted(a, b, dtype=dtype)
    if dtype not in FLOATS:
        w.require(rounding_mode in ("floor", "trunc"), "a quotient of integers")
        return w.binary("FLOOR_DIV" if rounding_mode == "floor" else "DIV", a, b)
    quotient = w.binary("DIV", a, b)
    if rounding_mode is None:
        return quotient
    return w.unary("FLOOR", quotient) if rounding_mode == "floor" else trunc(w, quotient)


@converts("remainder.Tensor", "remainder.Scalar")
def remainder(w, a, b):
    """The sign is the divisor's."""
    a, b = w.promoted(a, b, dtype=w.result.dtype)
    return w.binary("SUB", a, w.binary("PROD", w.binary("FLOOR_DIV", a, b), b))


@converts("fmod.Tensor", "fmod.Scalar")
def fmod(w, a, b):
    a, b = w.promoted(a, b, dtype=w.result.dtype)
    quotient = w.binary("DIV", a, b)
    return w.binary("SUB", a, w.binary("PROD", trunc(w, quotient), b))


@converts("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def power(w, a, b):
    if b == 2 and not hasattr(b, "shape"):
        a = w.cast(a, w.result.dtype)
        return w.binary("PROD", a, a)
    a, b = w.promoted(a, b, dtype=w.result.dtype)
    return w.binary("POW", a, b)


@converts("maximum")
def maximum(w, a, b):
    return w.binary("OR" if w.result.dtype == torch.bool else "MAX", *w.promoted(a, b, dtype=w.result.dtype))


@converts("minimum")
def minimum(w, a, b):
    return w.binary("AND" if w.result.dtype == torch.bool else "MIN", *w.promoted(a, b, dtype=w.result.dtype))


@converts("atan2")
def atan2(w, y, x):
    y, x = w.promoted(y, x, dtype=w.result.dtype)
    angle = w.unary("ATAN", w.binary("DIV", y, x))
    turn = w.select(w.binary("LESS", y, 0), w.binary("SUB", angle, math.pi), w.binary("SUM", angle, math.pi))
    return w.select(w.binary("LESS", x, 0), turn, angle)


def _comparison(operation, negated):
    def convert(w, a, b):
        a, b = w.promoted(a, b)
        if a.dtype == w.scalar(True, torch.bool).dtype and operation != "EQUAL":
            a, b = w.cast(a, torch.int32), w.cast(b, torch.int32)
        y = w.binary(operation, a, b)
        if not negated:
            return y
        y = w.unary("NOT", y)
        if operation == "EQUAL" or not w.is_float(a):
            return y
        for x in (a, b):  # nothing is at least, or at most, a NaN
            y = w.binary("AND", y, w.unary("NOT", w.unary("ISNAN", x)))
        return y

    return convert


for _name, (_operation, _negated) in _COMPARISONS.items():
    converts(f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_operation, _negated))


def _logic(operation, logical):
    def convert(w, a, b):
        a, b = (_truth(w, v) for v in (a, b)) if logical else w.promoted(a, b)
        w.require(to_torch(a.dtype) == torch.bool, "bits of integers")
        return w.binary(operation, a, b)

    return convert


for _name, _operation in _LOGIC.items():
    converts(f"logical_{_name}")(_logic(_operation, True))
    converts(f"bitwise_{_name}.Tensor", f"bitwise_{_name}.Scalar")(_logic(_operation, False))


def _truth(w, x):
    if to_torch(x.dtype) == torch.bool:
        return x
    return w.unary("NOT", w.binary("EQUAL", x, 0))


@converts("logical_not", "bitwise_not")
def negation(w, x):
    if w.node.target is torch.ops.aten.bitwise_not.default and to_torch(x.dtype) != torch.bool:
        return w.binary("SUB", w.scalar(-1, to_torch(x.dtype), len(x.shape)), x)
    return w.unary("NOT", _truth(w, x))


@converts("isnan")
def isnan(w, x):
    return w.unary("ISNAN", w.cast(x, w.result.dtype) if not w.is_float(x) else x)


@converts("isinf")
def isinf(w, x):
    return w.unary("ISINF", x)


@converts("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(w, condition, a, b):
    a, b = w.promoted(a, b, dtype=w.result.dtype)
    return w.select(_truth(w, condition), a, b)


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(w, x, mask, value):
    x, value = w.promoted(x, value, dtype=w.result.dtype)
    return w.select(mask, value, x)


@converts("glu")
def glu(w, x, axis=-1):
    axis, sizes = axis % len(x.shape), list(w.result.shape)
    first, second = (w.part(x, sizes, axis, start, sizes[axis]) for start in (0, sizes[axis]))
    return w.binary("PROD", first, w.activation("SIGMOID", second))
