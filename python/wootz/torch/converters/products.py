"""Matrix products."""
import torch

from . import converts

_aten = torch.ops.aten


def _operand(w, node, x):
    """A matrix and whether it is to be transposed: the source of a transposition stands for it."""
    swaps = (_aten.t.default, _aten.permute.default, _aten.transpose.int)
    if getattr(node, "target", None) in swaps and node.args[0] in w.values:
        rank = len(x.shape)
        order = _order(node, rank)
        if order == [*range(rank - 2), rank - 1, rank - 2]:
            return w.values[node.args[0]], True
    return x, False


def _order(node, rank):
    if node.target is _aten.t.default:
        return list(range(rank - 1, -1, -1))
    if node.target is _aten.permute.default:
        return [a % rank for a in node.args[1]]
    order = list(range(rank))
    a, b = node.args[1:]
    order[a], order[b] = order[b], order[a]
    return order


def product(w, first, second, a, b):
    """a @ b, where `first` and `second` are their nodes."""
    a, transpose_a = _operand(w, first, a)
    b, transpose_b = _operand(w, second, b)
    return w.matmul(a, b, transpose_a, transpose_b)


@converts("mm", "bmm", "matmul")
def mm(w, a, b):
    if min(len(a.shape), len(b.shape)) < 2:
        return _with_vectors(w, a, b)
    return product(w, *w.node.args[:2], a, b)


def _with_vectors(w, a, b):
    one, two = len(a.shape) == 1, len(b.shape) == 1
    y = w.matmul(w.unsqueeze(a, [0]) if one else a, w.unsqueeze(b, [1]) if two else b)
    rank = len(y.shape)
    return w.squeeze(y, [a for a, gone in ((rank - 2, one), (rank - 1, two)) if gone])


@converts("dot", "mv")
def dot(w, a, b):
    return _with_vectors(w, a, b)


@converts("addmm", "baddbmm", "addmv")
def addmm(w, bias, a, b, *, beta=1, alpha=1):
    y = product(w, *w.node.args[1:3], a, b) if len(b.shape) > 1 else _with_vectors(w, a, b)
    y = y if alpha == 1 else w.binary("PROD", y, alpha)
    if beta == 0:
        return y
    return w.binary("SUM", y, bias if beta == 1 else w.binary("PROD", bias, beta))


@converts("linear")
def linear(w, x, weight, bias=None):
    if len(x.shape) < 2:
        y = w.squeeze(w.matmul(w.unsqueeze(x, [0]), weight, False, True), [0])
    else:
        y = w.matmul(x, weight, False, True)
    return y if bias is None else w.binary("SUM", y, bias)


def linear_of_view(w):
    """torch flattens the leading axes around a linear layer. The view after the product computes it without, so that what follows in the
    model's own shape can be fused with it; the flat product is then used by nothing, and goes. None: this view is another one."""
    flat = w.node.args[0]
    at = {_aten.mm.default: 0, _aten.addmm.default: 1}.get(getattr(flat, "target", None))
    if at is None or flat.kwargs:
        return None
    before, weight = flat.args[at:at + 2]
    if getattr(before, "target", None) not in (_aten.view.default, _aten._unsafe_view.default, _aten.reshape.default):
        return None
    source = before.args[0]
    have, want, wide = source.meta["val"].shape, w.result.shape, flat.meta["val"].shape
    if len(have) < 3 or len(have) != len(want) or have[-1] is None or not _same(have[:-1], want[:-1]):
        return None
    if not _same([want[-1]], [wide[-1]]) or not _same([have[-1]], [before.meta["val"].shape[-1]]) or source not in w.values:
        return None
    if weight not in w.values or len(flat.meta["val"].shape) != 2:
        return None
    y = product(w, source, weight, w.values[source], w.values[weight])
    if at == 0:
        return y
    bias = flat.args[0]
    w.require(bias in w.values, "the bias of a product")
    return w.binary("SUM", y, w.values[bias]) if len(w.values[bias].shape) == 1 else None


def _same(a, b):
    """Whether extents are equal whatever their symbols are."""
    return [getattr(getattr(v, "node", None), "expr", v) for v in a] == [getattr(getattr(v, "node", None), "expr", v) for v in b]
