"""Parts of tensors, and tensors put together."""
import torch

from .._shapes import is_symbolic
from .._types import to_torch
from . import converts


def _sizes(w, argument=0):
    return w.node.args[argument].meta["val"].shape


@converts("slice.Tensor")
def slice_(w, x, axis=0, start=None, end=None, step=1):
    sizes = _sizes(w)
    axis = axis % len(sizes)
    start = 0 if start is None else start
    if not is_symbolic(start) and start < 0:
        start = sizes[axis] + start
        start = start if is_symbolic(start) else max(0, int(start))
    elif not is_symbolic(start) and not is_symbolic(sizes[axis]):
        start = min(int(start), int(sizes[axis]))
    count = w.result.shape[axis]
    if start == 0 and step == 1 and not is_symbolic(start) and count is sizes[axis]:
        return x
    return w.part(x, w.result.shape, axis, start, count, step)


@converts("select.int")
def select(w, x, axis, index):
    sizes = _sizes(w)
    axis = axis % len(sizes)
    if not is_symbolic(index) and index < 0:
        index = sizes[axis] + index
    return w.squeeze(w.part(x, sizes, axis, index, 1), [axis])


@converts("narrow")
def narrow(w, x, axis, start, length):
    return w.part(x, _sizes(w), axis % len(x.shape), start, length)


def _pieces(w, x, axis):
    """The parts that the result is a list of, one after another."""
    start, parts = 0, []
    for value in w.result:
        count = value.shape[axis]
        parts.append(w.part(x, value.shape, axis, start, count))
        start = start + count
    return tuple(parts)


@converts("split_with_sizes", "split.Tensor", "chunk", "tensor_split.sections", "split_with_sizes_copy")
def split(w, x, sizes, axis=0):
    return _pieces(w, x, axis % len(x.shape))


@converts("unbind.int")
def unbind(w, x, axis=0):
    axis, sizes = axis % len(x.shape), _sizes(w)
    return tuple(w.squeeze(w.part(x, sizes, axis, i, 1), [axis]) for i in range(len(w.result)))


@converts("cat", "concat")
def cat(w, tensors, axis=0):
    values = [t for t, n in zip(tensors, w.node.args[0]) if n.meta["val"].shape != (0,)]
    tensors = [w.cast(t, w.result.dtype) for t in values]
    return tensors[0] if len(tensors) == 1 else w.concat(tensors, axis % len(w.result.shape))


@converts("stack")
def stack(w, tensors, axis=0):
    axis = axis % len(w.result.shape)
    return w.concat([w.unsqueeze(w.cast(t, w.result.dtype), [axis]) for t in tensors], axis)


@converts("flip")
def flip(w, x, axes):
    sizes = list(_sizes(w))
    w.require(not any(is_symbolic(sizes[a]) for a in axes), "flip along an open extent")
    starts, strides = [0] * len(sizes), [1] * len(sizes)
    for axis in axes:
        starts[axis], strides[axis] = int(sizes[axis]) - 1, -1
    if any(map(is_symbolic, sizes)):
        for axis in axes:
            x = w.gather(x, w.constant(torch.arange(int(sizes[axis]) - 1, -1, -1)), axis % len(sizes))
        return x
    return w.slice(x, starts, sizes, strides)


@converts("roll")
def roll(w, x, shifts, axes=()):
    w.require(len(axes) == len(shifts), "roll of all elements")
    sizes = _sizes(w)
    for shift, axis in zip(shifts, axes):
        axis, count = axis % len(sizes), sizes[axis]
        w.require(not is_symbolic(count) and not is_symbolic(shift), "roll along an open extent")
        cut = int(count) - shift % int(count)
        if cut != int(count):
            x = w.concat([w.part(x, sizes, axis, cut, int(count) - cut), w.part(x, sizes, axis, 0, cut)], axis)
    return x


@converts("repeat")
def repeat(w, x, times):
    """Each axis becomes two, the first of which repeats."""
    sizes = [1] * (len(times) - len(x.shape)) + list(_sizes(w))
    x = w.reshape(x, [e for s in sizes for e in (1, s)])
    x = w.expand(x, [e for s, n in zip(sizes, times) for e in (n, s)])
    return w.reshape(x, w.result.shape)


@converts("constant_pad_nd")
def constant_pad(w, x, amounts, value=0):
    return w.padded(x, _sizes(w), *_around(len(x.shape), amounts), value)


def _around(rank, amounts):
    """torch's list of amounts, the last axis first, as amounts before and after."""
    before, after = [0] * rank, [0] * rank
    for i in range(len(amounts) // 2):
        before[rank - 1 - i], after[rank - 1 - i] = amounts[2 * i], amounts[2 * i + 1]
    return before, after


@converts("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d")
def sampled_pad(w, x, amounts):
    """Positions worked out here, gathered axis by axis."""
    sizes, reflects = _sizes(w), "reflection" in w.node.target.name()
    for axis, (before, after) in enumerate(zip(*_around(len(sizes), amounts))):
        if not before and not after:
            continue
        w.require(not is_symbolic(sizes[axis]), "padding along an open extent")
        count = int(sizes[axis])
        at = torch.arange(-before, count + after)
        if reflects:
            at = at.abs()
            at = torch.where(at >= count, 2 * (count - 1) - at, at)
        x = w.gather(x, w.constant(at.clamp(0, count - 1)), axis)
    return x


def _placed(w, x, part, axis, start, stop):
    """`x` with `part` from `start` to `stop` along an axis."""
    sizes = _sizes(w)
    part, pieces = w.cast(part, to_torch(x.dtype)), []
    if start > 0:
        pieces.append(w.part(x, sizes, axis, 0, start))
    pieces.append(part)
    if stop < int(sizes[axis]):
        pieces.append(w.part(x, sizes, axis, stop, int(sizes[axis]) - stop))
    return pieces[0] if len(pieces) == 1 else w.concat(pieces, axis)


@converts("slice_scatter")
def slice_scatter(w, x, part, axis=0, start=None, end=None, step=1):
    sizes = _sizes(w)
    axis = axis % len(sizes)
    w.require(step == 1 and not any(map(is_symbolic, (sizes[axis], start or 0, end or 0))), "slice_scatter with steps or open extents")
    count = int(sizes[axis])
    start, end = (count if v is None else min(max(v + count if v < 0 else v, 0), count) for v in (start or 0, end))
    return x if start >= end else _placed(w, x, part, axis, start, end)


@converts("select_scatter")
def select_scatter(w, x, part, axis, index):
    sizes = _sizes(w)
    axis = axis % len(sizes)
    w.require(not is_symbolic(sizes[axis]) and not is_symbolic(index), "select_scatter along an open extent")
    index = index % int(sizes[axis])
    return _placed(w, x, w.unsqueeze(part, [axis]), axis, index, index + 1)
