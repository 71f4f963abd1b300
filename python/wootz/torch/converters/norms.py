"""Normalizations, as torch leaves them when it does not train."""
import torch

from .._types import to_torch
from . import converts


@converts("_native_batch_norm_legit_no_training", "_batch_norm_no_update", "cudnn_batch_norm", "native_batch_norm")
def batch_norm(w, x, weight, bias, mean, variance, *rest):
    """A factor and an offset for each channel; from constants, the passes make them constants again."""
    if "legit" not in w.node.target.name() and "no_update" not in w.node.target.name():
        w.require(not rest[0], "batch normalization in training")
    epsilon, dtype = rest[-1], to_torch(x.dtype)
    mean, variance = w.cast(mean, torch.float32), w.cast(variance, torch.float32)
    factor = w.unary("RECIP", w.unary("SQRT", w.binary("SUM", variance, epsilon)))
    if weight is not None:
        factor = w.binary("PROD", factor, w.cast(weight, torch.float32))
    offset = w.unary("NEG", w.binary("PROD", mean, factor))
    if bias is not None:
        offset = w.binary("SUM", offset, w.cast(bias, torch.float32))
    shape = (1, -1) + (1,) * (len(x.shape) - 2)
    factor, offset = (w.reshape(w.cast(v, dtype), shape) for v in (factor, offset))
    return w.binary("SUM", w.binary("PROD", x, factor), offset), None, None, None


@converts("_native_batch_norm_legit.no_stats")
def instance_norm(w, x, weight, bias, train, momentum, epsilon):
    """By the statistics of the input itself: what torch makes of instance normalization, with a batch of one."""
    sizes, dtype, rank = w.node.args[0].meta["val"].shape, to_torch(x.dtype), len(x.shape)
    w.require(sizes[0] == 1 and rank > 2 and not isinstance(sizes[1], torch.SymInt), "batch normalization in training")
    scale, offset = (_affine(w, v, fill, (int(sizes[1]),), dtype) for v, fill in ((weight, 1), (bias, 0)))
    layer = w.network.add_normalization_v2(x, scale, offset, sum(1 << a for a in range(2, rank)))
    layer.epsilon = epsilon
    return w.made(layer), None, None


def _affine(w, value, fill, sizes, dtype):
    return w.constant(torch.full(sizes, fill, dtype=dtype)) if value is None else w.cast(value, dtype)


def layer_norm_of(w, x, sizes, weight, bias, epsilon):
    rank, dtype = len(x.shape), to_torch(x.dtype)
    w.require(not any(isinstance(s, torch.SymInt) for s in sizes), "layer normalization over an open extent")
    axes = sum(1 << a for a in range(rank - len(sizes), rank))
    layer = w.network.add_normalization_v2(x, _affine(w, weight, 1, tuple(sizes), dtype), _affine(w, bias, 0, tuple(sizes), dtype), axes)
    layer.epsilon = epsilon
    return w.made(layer)


@converts("native_layer_norm")
def native_layer_norm(w, x, sizes, weight, bias, epsilon):
    return layer_norm_of(w, x, sizes, weight, bias, epsilon), None, None


@converts("layer_norm")
def layer_norm(w, x, sizes, weight=None, bias=None, epsilon=1e-5, enable_cudnn=True):
    return layer_norm_of(w, x, sizes, weight, bias, epsilon)


@converts("native_group_norm")
def native_group_norm(w, x, weight, bias, batch, channels, positions, groups, epsilon):
    return group_norm(w, x, groups, weight, bias, epsilon), None, None


@converts("group_norm")
def group_norm(w, x, groups, weight=None, bias=None, epsilon=1e-5, enable_cudnn=True):
    sizes, dtype, rank = w.node.args[0].meta["val"].shape, to_torch(x.dtype), len(x.shape)
    channels = int(sizes[1])
    if groups > 1 and rank > 2:
        layer = w.network.add_normalization_v2(x, _affine(w, weight, 1, (channels,), dtype), _affine(w, bias, 0, (channels,), dtype),
                                               sum(1 << a for a in range(2, rank)))
        layer.epsilon, layer.num_groups = epsilon, groups
        return w.made(layer)
    count = channels // groups
    for size in sizes[2:]:
        count = count * size
    flat = w.reshape(x, [sizes[0], groups, count])
    y = w.reshape(layer_norm_of(w, flat, [count], None, None, epsilon), sizes)
    shape = (1, channels) + (1,) * (rank - 2)
    if weight is not None:
        y = w.binary("PROD", y, w.reshape(weight, shape))
    return y if bias is None else w.binary("SUM", y, w.reshape(bias, shape))


@converts("rms_norm", "_fused_rms_norm")
def rms_norm(w, x, sizes, weight=None, epsilon=None):
    dtype, wide = to_torch(x.dtype), w.cast(x, torch.float32)
    epsilon = torch.finfo(dtype).eps if epsilon is None else epsilon
    axes = range(len(x.shape) - len(sizes), len(x.shape))
    square = w.reduce("AVG", w.binary("PROD", wide, wide), list(axes), True)
    y = w.binary("PROD", wide, w.unary("RECIP", w.unary("SQRT", w.binary("SUM", square, epsilon))))
    if weight is not None:
        y = w.binary("PROD", y, w.cast(weight, torch.float32))
    y = w.cast(y, dtype)
    return (y, None) if "fused" in w.node.target.name() else y
