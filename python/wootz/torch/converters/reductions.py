"""Sums, extremes and the like along axes."""
import torch

from .._types import to_torch
from ..._wootz import CumulativeOperation, TopKOperation
from . import converts


def _axes(x, axes):
    """A list of axes; none means all."""
    rank = len(x.shape)
    if axes is None or (isinstance(axes, (list, tuple)) and not axes):
        return list(range(rank))
    return [a % rank for a in ([axes] if isinstance(axes, int) else axes)] if rank else []


@converts("sum.dim_IntList", "sum")
def total(w, x, axes=None, keep=False, *, dtype=None):
    return w.reduce("SUM", w.cast(x, w.result.dtype), _axes(x, axes), keep)


@converts("mean.dim", "mean")
def mean(w, x, axes=None, keep=False, *, dtype=None):
    return w.reduce("AVG", w.cast(x, w.result.dtype), _axes(x, axes), keep)


@converts("amax", "max")
def amax(w, x, axes=None, keep=False):
    return w.reduce("MAX", x, _axes(x, axes), keep)


@converts("amin", "min")
def amin(w, x, axes=None, keep=False):
    return w.reduce("MIN", x, _axes(x, axes), keep)


@converts("prod.dim_int", "prod")
def prod(w, x, axes=None, keep=False, *, dtype=None):
    return w.reduce("PROD", w.cast(x, w.result.dtype), _axes(x, axes), keep)


def _any_or_all(kind):
    def convert(w, x, axes=None, keep=False):
        if to_torch(x.dtype) != torch.bool:
            x = w.unary("NOT", w.binary("EQUAL", x, 0))
        return w.cast(w.reduce(kind, w.cast(x, torch.int32), _axes(x, axes), keep), torch.bool)

    return convert


converts("any", "any.dim", "any.dims")(_any_or_all("MAX"))
converts("all", "all.dim", "all.dims")(_any_or_all("MIN"))


@converts("var.correction", "var_mean.correction", "std.correction")
def variance(w, x, axes=None, *, correction=1, keepdim=False):
    axes = _axes(x, axes)
    dtype, x = to_torch(x.dtype), w.cast(x, torch.float32)
    count, sizes = 1, _sizes(w)
    for a in axes:
        count = count * sizes[a]
    w.require(not isinstance(count, torch.SymInt), "a variance over an open extent")
    mean_of = w.reduce("AVG", x, axes, True)
    centered = w.binary("SUB", x, mean_of)
    result = w.reduce("AVG", w.binary("PROD", centered, centered), axes, keepdim)
    correction = 1 if correction is None else correction
    if correction:
        w.require(count > correction, "a variance of one element")
        result = w.binary("PROD", result, count / (count - correction))
    if "std" in w.node.target.name():
        result = w.unary("SQRT", result)
    result = w.cast(result, dtype)
    if "var_mean" not in w.node.target.name():
        return result
    return result, w.cast(mean_of if keepdim else w.squeeze(mean_of, axes), dtype)


def _sizes(w):
    return w.node.args[0].meta["val"].shape


@converts("linalg_vector_norm")
def vector_norm(w, x, order=2, axes=None, keep=False, *, dtype=None):
    w.require(order in (1, 2, float("inf")), f"the norm of order {order}")
    wide, axes = w.cast(x, torch.float32), _axes(x, axes)
    if order == 2:
        y = w.unary("SQRT", w.reduce("SUM", w.binary("PROD", wide, wide), axes, keep))
    else:
        y = w.reduce("SUM" if order == 1 else "MAX", w.unary("ABS", wide), axes, keep)
    return w.cast(y, w.result.dtype)


def _top(w, x, axis, k, largest, index=None):
    layer = w.network.add_topk(x, TopKOperation.MAX if largest else TopKOperation.MIN, k, 1 << (axis % len(x.shape)))
    return (w.made(layer, 0), w.made(layer, 1)) if index is None else w.made(layer, index)


def _extreme(largest):
    def convert(w, x, axis=None, keep=False):
        if axis is None:
            x, axis, whole = w.reshape(x, [_volume(w)]), 0, True
        else:
            whole = False
        y = _top(w, x, axis, 1, largest, 1)
        if whole:
            return w.reshape(y, (1,) * len(w.result.shape))
        return y if keep else w.squeeze(y, [axis % len(x.shape)])

    return convert


def _volume(w):
    count = 1
    for size in _sizes(w):
        count = count * size
    return count


converts("argmax")(_extreme(True))
converts("argmin")(_extreme(False))


def _extreme_of_axis(largest):
    def convert(w, x, axis, keep=False):
        values, indices = _top(w, x, axis, 1, largest)
        return (values, indices) if keep else tuple(w.squeeze(v, [axis % len(x.shape)]) for v in (values, indices))

    return convert


converts("max.dim")(_extreme_of_axis(True))
converts("min.dim")(_extreme_of_axis(False))


@converts("topk")
def topk(w, x, k, axis=-1, largest=True, ordered=True):
    w.require(not isinstance(k, torch.SymInt), "topk of an open count")
    return _top(w, x, axis, k, largest)


@converts("sort", "sort.stable")
def sort(w, x, *args, stable=None, dim=-1, descending=False):
    axis, descending = (args + (dim, descending)[len(args):])[:2] if w.node.target is torch.ops.aten.sort.default else (
        args[1] if len(args) > 1 else dim, args[2] if len(args) > 2 else descending)
    count = _sizes(w)[axis]
    w.require(not isinstance(count, torch.SymInt), "sort along an open extent")
    return _top(w, x, axis, count, descending)


@converts("cumsum")
def cumsum(w, x, axis, *, dtype=None):
    x = w.cast(x, w.result.dtype)
    if not len(x.shape):
        return x
    w.require(hasattr(w.network, "add_cumulative"), "running sums")
    layer = w.network.add_cumulative(x, w.scalar(axis % len(x.shape), torch.int32), CumulativeOperation.SUM, False, False)
    return w.made(layer)


@converts("_softmax", "softmax.int", "_safe_softmax")
def softmax(w, x, axis, half_to_float=False, dtype=None):
    y = w.softmax(w.cast(x, w.result.dtype), axis)
    if "safe" in w.node.target.name():
        y = w.select(w.unary("ISNAN", y), w.scalar(0.0, w.result.dtype), y)
    return y


@converts("_log_softmax", "log_softmax.int")
def log_softmax(w, x, axis, half_to_float=False, dtype=None):
    """x - max - log(sum(exp(x - max))): a probability that rounds to 0 has its logarithm."""
    x = w.cast(x, torch.float32)
    shifted = w.binary("SUB", x, w.reduce("MAX", x, [axis], True))
    total_of = w.unary("LOG", w.reduce("SUM", w.unary("EXP", shifted), [axis], True))
    return w.cast(w.binary("SUB", shifted, total_of), w.result.dtype)


@converts("logsumexp")
def logsumexp(w, x, axes, keep=False):
    wide, axes = w.cast(x, torch.float32), _axes(x, axes)
    top = w.reduce("MAX", wide, axes, True)
    y = w.binary("SUM", w.unary("LOG", w.reduce("SUM", w.unary("EXP", w.binary("SUB", wide, top)), axes, True)), top)
    return w.cast(y if keep else w.squeeze(y, axes), w.result.dtype)


