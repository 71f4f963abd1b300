"""The same elements in another shape, order or type."""
import torch

from .._types import Unsupported
from . import converts, products


@converts("view", "_unsafe_view", "reshape", "flatten.using_ints", "unflatten.int")
def view(w, x, *sizes):
    whole = products.linear_of_view(w)
    return w.reshape(x, w.result.shape) if whole is None else whole


@converts("permute")
def permute(w, x, order):
    return w.transpose(x, [a % len(x.shape) for a in order])


@converts("t", "numpy_T")
def t(w, x):
    return w.transpose(x, range(len(x.shape) - 1, -1, -1))


@converts("transpose.int")
def transpose(w, x, a, b):
    order = list(range(len(x.shape)))
    if order:
        order[a], order[b] = order[b], order[a]
    return w.transpose(x, order)


@converts("unsqueeze")
def unsqueeze(w, x, axis):
    return w.unsqueeze(x, [axis % (len(x.shape) + 1)])


@converts("squeeze.dim", "squeeze.dims", "squeeze")
def squeeze(w, x, axes=None):
    rank, sizes = len(x.shape), w.node.args[0].meta["val"].shape
    axes = range(rank) if axes is None else [a % rank for a in ([axes] if isinstance(axes, int) else axes)] if rank else []
    return w.squeeze(x, [a for a in axes if not isinstance(sizes[a], torch.SymInt) and sizes[a] == 1])


@converts("expand", "broadcast_to")
def expand(w, x, sizes, *, implicit=False):
    return w.expand(x, w.result.shape)


@converts("clone", "contiguous", "alias", "detach", "lift_fresh_copy", "lift", "view_of", "_conj", "resolve_conj", "positive")
def same(w, x, **layout):
    return x


@converts("native_dropout")
def dropout(w, x, p, train):
    w.require(not train, "dropout in training")
    return x, None


@converts("dropout")
def plain_dropout(w, x, p, train):
    w.require(not train, "dropout in training")
    return x


@converts("_to_copy", "to.dtype", "to.dtype_layout", "type_as")
def to_copy(w, x, *args, **layout):
    return w.cast(x, w.result.dtype)


@converts("copy")
def copy(w, x, source, non_blocking=False):
    """`source` in the place of `x`, in its type and shape."""
    return w.expand(w.cast(source, w.result.dtype), w.result.shape)


@converts("as_strided", "as_strided_copy")
def as_strided(w, x, sizes, strides, offset=None):
    """Only where it says what is: torch so states the strides of axes of one element."""
    value = w.node.args[0].meta["val"]
    told = [(size, stride) for size, stride in zip(sizes, strides) if size != 1]
    have = [(size, stride) for size, stride in zip(value.shape, value.stride()) if size != 1]
    w.require(not offset and list(sizes) == list(value.shape) and told == have, "elements read as others")
    return x


@converts("view.dtype", "view_as_complex", "view_as_real")
def reinterpreted(w, x, *args):
    raise Unsupported("elements read as others")


@converts("sym_size.int", "_assert_scalar", "_assert_tensor_metadata", "_assert_async.msg", "sym_constrain_range_for_size",
          "sym_constrain_range", "sym_stride.int", "sym_numel", "sym_storage_offset")
def nothing(w, *args, **kwargs):
    return None


def _register_prims():
    from . import TABLE

    TABLE[torch.ops.prims.convert_element_type.default] = to_copy
    TABLE[torch.ops.prims.device_put.default] = same_as_first


def same_as_first(w, x, *args):
    return x


_register_prims()
