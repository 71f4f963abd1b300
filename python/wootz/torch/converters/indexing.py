"""Elements picked by indices, and put by them."""
import torch

from .._types import to_torch
from ..._wootz import GatherMode, ScatterMode
from . import converts


def _indices(w, x):
    w.require(to_torch(x.dtype) in (torch.int64, torch.int32), "indices that are no integers")
    return x


@converts("embedding")
def embedding(w, weight, indices, padding=-1, scale_by_frequency=False, sparse=False):
    return w.gather(weight, _indices(w, indices), 0)


@converts("index_select")
def index_select(w, x, axis, indices):
    return w.gather(x, _indices(w, indices), axis % len(x.shape))


@converts("gather", "take_along_dim")
def gather(w, x, axis, indices, sparse_grad=False):
    layer = w.network.add_gather_v2(x, _indices(w, indices), GatherMode.ELEMENT)
    layer.axis = axis % len(x.shape)
    return w.made(layer)


@converts("index.Tensor", "_unsafe_index.Tensor")
def index(w, x, indices):
    axes = [a for a, i in enumerate(indices) if i is not None]
    picks = [_indices(w, indices[a]) for a in axes]
    if len(axes) == 1:
        return w.gather(x, picks[0], axes[0])
    return _points(w, x, axes, picks)


def _points(w, x, axes, picks):
    """Several lists of indices, taken together: the axes that they are for go first, and a point is a row of coordinates."""
    shape = torch.broadcast_shapes(*[w.node.args[1][a].meta["val"].shape for a in axes])
    rank, places = len(x.shape), len(shape)
    others = [a for a in range(rank) if a not in axes]
    rows = [w.unsqueeze(w.expand(w.cast(p, torch.int64), shape), [places]) for p in picks]
    layer = w.network.add_gather_v2(w.transpose(x, axes + others), w.concat(rows, places), GatherMode.ND)
    y = w.made(layer)
    front = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    order = [*range(places, places + front), *range(places), *range(places + front, places + len(others))]
    return w.transpose(y, order)


def _scattered(w, x, axis, indices, updates):
    """Along the first axis, which the layer takes by itself: another one is brought to the front."""
    order = list(range(len(x.shape)))
    order[0], order[axis] = order[axis], order[0]
    x, indices, updates = (w.transpose(t, order) for t in (x, indices, updates))
    return w.transpose(w.made(w.network.add_scatter(x, indices, updates, ScatterMode.ELEMENT)), order)


@converts("scatter.src")
def scatter_src(w, x, axis, indices, source):
    sizes = [n.meta["val"].shape for n in w.node.args[2:4]]
    w.require(sizes[0] == sizes[1], "scatter of a part of its source")
    return _scattered(w, x, axis, _indices(w, indices), source)


@converts("scatter.value")
def scatter_value(w, x, axis, indices, value):
    return _scattered(w, x, axis, _indices(w, indices), w.full(w.node.args[2].meta["val"].shape, value, w.result.dtype))


@converts("index_put", "_unsafe_index_put")
def index_put(w, x, indices, values, accumulate=False):
    w.require(not accumulate, "index_put that adds up")
    w.require(all(i is not None for i in indices), "index_put with whole axes in front")
    if len(indices) == 1 and to_torch(indices[0].dtype) == torch.bool:
        w.require(len(values.shape) == 0, "index_put of many values by a mask")
        mask = w.unsqueeze(indices[0], range(len(indices[0].shape), len(x.shape)))
        return w.select(mask, values, x)
    shapes = [i.meta["val"].shape for i in w.node.args[1]]
    shape = torch.broadcast_shapes(*shapes)
    rows = [w.unsqueeze(w.expand(w.cast(_indices(w, i), torch.int64), shape), [len(shape)]) for i in indices]
    updates = w.expand(values, [*shape, *w.result.shape[len(indices):]])
    points = rows[0] if len(rows) == 1 else w.concat(rows, len(shape))
    return w.made(w.network.add_scatter(x, points, updates, ScatterMode.ND))
