"""Values out of nothing."""
import torch

from .._shapes import is_symbolic
from . import converts


@converts("full")
def full(w, sizes, value, **layout):
    return w.full(w.result.shape, value, w.result.dtype)


@converts("full_like", "new_full", "fill.Scalar", "fill.Tensor")
def full_like(w, x, *args, **layout):
    value = args[-1]
    if hasattr(value, "is_network_input"):
        return w.expand(w.cast(value, w.result.dtype), w.result.shape)
    return w.full(w.result.shape, value, w.result.dtype)


@converts("zeros", "zeros_like", "new_zeros", "empty.memory_format", "empty_like", "new_empty", "empty_permuted", "empty_strided",
          "new_empty_strided")
def zeros(w, *args, **layout):
    """Elements that torch leaves open are zeros."""
    return w.full(w.result.shape, 0, w.result.dtype)


@converts("ones", "ones_like", "new_ones")
def ones(w, *args, **layout):
    return w.full(w.result.shape, 1, w.result.dtype)


@converts("scalar_tensor")
def scalar_tensor(w, value, **layout):
    return w.number(value, w.result.dtype)


@converts("arange.start_step", "arange.start", "arange")
def arange(w, *args, **layout):
    start, step = (args[0] if len(args) > 1 else 0), (args[2] if len(args) > 2 else 1)
    count = w.result.shape[0]
    if not any(map(is_symbolic, (start, step, count))):
        return w.constant(torch.arange(int(count), dtype=torch.float64 if isinstance(start + step, float) else torch.int64)
                          .mul(step).add(start).to(w.result.dtype))
    w.require(not is_symbolic(step) and isinstance(step, int), "arange with an open step")
    if is_symbolic(start):
        return w.cast(w.binary("SUM", w.iota(count, 0, step), w.number(start, torch.int64, 1)), w.result.dtype)
    w.require(isinstance(start, int) or int(start) == start, "arange from a fraction to an open end")
    return w.cast(w.iota(count, int(start), step), w.result.dtype)


@converts("tril", "triu")
def triangle(w, x, diagonal=0):
    rows, columns = w.result.shape[-2:]
    w.require(not is_symbolic(diagonal), "a triangle with an open diagonal")
    row, column = w.unsqueeze(w.iota(rows), [1]), w.unsqueeze(w.iota(columns), [0])
    column = w.binary("SUB", column, diagonal) if diagonal else column
    lower = w.node.target is torch.ops.aten.tril.default
    gone = w.binary("GREATER" if lower else "LESS", column, row)
    return w.select(gone, w.scalar(0, w.result.dtype), x)
