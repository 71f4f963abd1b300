"""Pooling over space."""
import torch

from .._shapes import is_symbolic
from .._types import to_torch
from ..._wootz import PaddingMode, PoolingType
from . import converts
from .convolutions import _each


def _pool(w, x, kind, window, stride, padding, round_up, exclude=False):
    """Over the last axes, as many as `window` has entries."""
    space, rank = len(window), len(x.shape)
    if rank == space + 1:  # without a batch
        return w.squeeze(_pool(w, w.unsqueeze(x, [0]), kind, window, stride, padding, round_up, exclude), [0])
    if space == 1:
        y = _pool(w, w.unsqueeze(x, [2]), kind, [1, *window], [1, *stride], [0, *padding], round_up, exclude)
        return w.squeeze(y, [2])
    layer = w.network.add_pooling_nd(x, kind, tuple(window))
    layer.stride_nd = tuple(stride)
    layer.padding_nd = tuple(padding)
    layer.average_count_excludes_padding = exclude
    layer.padding_mode = PaddingMode.EXPLICIT_ROUND_UP if round_up else PaddingMode.EXPLICIT_ROUND_DOWN
    return w.made(layer)


def _settings(space, window, stride, padding):
    window = _each(window, space)
    return window, _each(stride, space) if stride else window, _each(padding, space)


def _max_pool(space, with_indices):
    def convert(w, x, window, stride=(), padding=0, dilation=1, ceil_mode=False):
        w.require(all(d == 1 for d in _each(dilation, space)), "pooling with dilation")
        y = _pool(w, x, PoolingType.MAX, *_settings(space, window, stride, padding), ceil_mode)
        return (y, None) if with_indices else y

    return convert


def _average_pool(space):
    def convert(w, x, window, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        window, stride, padding = _settings(space, window, stride, padding)
        if ceil_mode:
            sizes = w.node.args[0].meta["val"].shape[-space:]
            exact = all(not is_symbolic(s) and (s + 2 * p - k) % t == 0 for s, k, t, p in zip(sizes, window, stride, padding))
            w.require(exact or not any(padding), "average pooling that rounds up, with padding")
            y = _pool(w, x, PoolingType.AVERAGE, window, stride, padding, not exact, not (exact and count_include_pad))
        else:
            y = _pool(w, x, PoolingType.AVERAGE, window, stride, padding, False, not count_include_pad)
        if divisor_override is None:
            return y
        w.require(count_include_pad and not ceil_mode, "average pooling with a divisor and padding left out")
        count = 1
        for k in window:
            count *= k
        return w.binary("PROD", y, count / divisor_override)

    return convert


for _space in (1, 2, 3):
    converts(f"max_pool{_space}d_with_indices")(_max_pool(_space, True))
    converts(f"max_pool{_space}d")(_max_pool(_space, False))
    converts(f"avg_pool{_space}d")(_average_pool(_space))


def _adaptive(space):
    def convert(w, x, extents):
        extents, sizes = _each(extents, space), w.node.args[0].meta["val"].shape[-space:]
        if all(e == 1 for e in extents):
            return w.reduce("AVG", x, list(range(-space, 0)), True)
        w.require(not any(map(is_symbolic, sizes)), "adaptive pooling of open extents")
        if all(s % e == 0 for s, e in zip(sizes, extents)):
            window = [int(s) // e for s, e in zip(sizes, extents)]
            return _pool(w, x, PoolingType.AVERAGE, window, window, [0] * space, False)
        w.require(space == 2, "adaptive pooling over other than two axes")
        dtype = to_torch(x.dtype)
        rows, columns = (w.constant(_shares(int(s), e).to(dtype)) for s, e in zip(sizes, extents))
        return w.matmul(w.matmul(rows, x), columns, False, True)

    return convert


def _shares(size, count):
    """A matrix whose row i averages the elements that are part i of `count`."""
    rows = torch.zeros(count, size)
    for i in range(count):
        first, last = i * size // count, -((i + 1) * size // -count)
        rows[i, first:last] = 1 / (last - first)
    return rows


for _space in (1, 2, 3):
    converts(f"adaptive_avg_pool{_space}d", f"_adaptive_avg_pool{_space}d")(_adaptive(_space))


@converts("adaptive_max_pool2d")
def adaptive_max_pool2d(w, x, extents):
    sizes = w.node.args[0].meta["val"].shape[-2:]
    if all(e == 1 for e in extents):
        return w.reduce("MAX", x, [-2, -1], True), None
    w.require(not any(map(is_symbolic, sizes)) and all(s % e == 0 for s, e in zip(sizes, extents)), "adaptive pooling with uneven parts")
    window = [int(s) // e for s, e in zip(sizes, extents)]
    return _pool(w, x, PoolingType.MAX, window, window, [0, 0], False), None
