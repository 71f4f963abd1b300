"""Layers of a network, written in torch's terms: what converters call."""
import torch

from .._wootz import (ActivationType, ElementWiseOperation, FillOperation, MatrixOperation, ReduceOperation, SampleMode,
                      UnaryOperation)
from ._shapes import ExtentWriter, is_symbolic, plain
from ._types import FLOATS, Unsupported, to_network, to_torch


class Writer:
    """Adds layers to a network. Tensors are ITensor; sizes are numbers or torch.SymInt."""

    def __init__(self, network):
        self.network, self.extents = network, ExtentWriter(self)
        self.scalars, self.kept = {}, []
        self.node = self.result = None  # the operation under conversion: its fx.Node, and what torch says of its result

    # Layers and constants.
    def made(self, layer, index=0):
        """A layer's output; Unsupported where the network refused the layer."""
        if layer is None:
            raise Unsupported("the network refuses the layer: the log says why")
        return layer.get_output(index)

    def constant(self, tensor):
        """A constant of a torch tensor, whose elements are not copied where they are contiguous and in the host's memory."""
        to_network(tensor.dtype)
        held = tensor.detach().cpu().contiguous()
        self.kept.append(held)
        return self.made(self.network.add_constant(tuple(held.shape), held))

    def ints(self, values):
        """A list of int64."""
        return self.scalar(tuple(values), torch.int64, None)

    def scalar(self, value, dtype, rank=0):
        """A number as a constant of `rank` axes, of one element."""
        key = (repr(value), dtype, rank)
        if key not in self.scalars:
            made = torch.tensor(list(value) if isinstance(value, tuple) else value, dtype=dtype)
            self.scalars[key] = self.constant(made if rank is None else made.reshape((1,) * rank))
        return self.scalars[key]

    # Element by element.
    def cast(self, x, dtype):
        kind = to_network(dtype)
        return x if x.dtype == kind else self.made(self.network.add_cast(x, kind))

    def unary(self, operation, x):
        return self.made(self.network.add_unary(x, getattr(UnaryOperation, operation)))

    def activation(self, kind, x, alpha=None, beta=None):
        layer = self.network.add_activation(x, getattr(ActivationType, kind))
        if alpha is not None:
            layer.alpha = alpha
        if beta is not None:
            layer.beta = beta
        return self.made(layer)

    def binary(self, operation, a, b):
        """`a` and `b` of one type, or one of them a number."""
        if not _is_tensor(a):
            a = self.scalar(a, to_torch(b.dtype), len(b.shape))
        if not _is_tensor(b):
            b = self.scalar(b, to_torch(a.dtype), len(a.shape))
        a, b = self.same_rank(a, b)
        return self.made(self.network.add_elementwise(a, b, getattr(ElementWiseOperation, operation)))

    def select(self, condition, a, b):
        condition, a, b = self.same_rank(condition, a, b)
        return self.made(self.network.add_select(condition, a, b))

    def same_rank(self, *tensors):
        rank = max(len(t.shape) for t in tensors)
        return [t if len(t.shape) == rank else self.unsqueeze(t, range(rank - len(t.shape))) for t in tensors]

    def promoted(self, *values, dtype=None):
        """Tensors and numbers as tensors of the type that torch computes them in, or of `dtype`."""
        dtype = dtype or _result_type([_sample(v) for v in values])
        rank = max([len(v.shape) for v in values if _is_tensor(v)], default=0)
        return [self.cast(v, dtype) if _is_tensor(v) else self.number(v, dtype, rank) for v in values]

    def number(self, value, dtype, rank=0):
        """A number of torch's, symbolic ones included, as a tensor of one element."""
        if isinstance(value, (torch.SymFloat, torch.SymBool)):
            raise Unsupported("a symbolic number")
        if not is_symbolic(value):
            value = int(value) if isinstance(value, torch.SymInt) else value
            return self.scalar(value, dtype, rank)
        return self.cast(self.reshape(self.extents(value), (1,) * rank), dtype)

    # Shapes.
    def shape_tensor(self, sizes):
        """Extents as an int64 tensor."""
        sizes = [plain(s) for s in sizes]
        if not any(is_symbolic(s) for s in sizes):
            return self.ints(sizes)
        layer = self.network.add_concatenation([self.extents(s) for s in sizes])
        layer.axis = 0
        return self.made(layer)

    def reshape(self, x, sizes):
        sizes = [plain(s) for s in sizes]
        layer, open_axes = self.network.add_shuffle(x), [i for i, s in enumerate(sizes) if is_symbolic(s)]
        layer.zero_is_placeholder = False
        if len(open_axes) == 1 and 0 not in sizes:
            sizes[open_axes[0]] = -1
            open_axes = []
        if open_axes:
            layer.set_input(1, self.shape_tensor(sizes))
        else:
            layer.reshape_dims = tuple(sizes)
        return self.made(layer)

    def transpose(self, x, order):
        order = [int(a) for a in order]
        if order == sorted(order):
            return x
        layer = self.network.add_shuffle(x)
        layer.first_transpose = tuple(order)
        return self.made(layer)

    def unsqueeze(self, x, axes):
        """Axes of extent 1, at these places of the result."""
        axes = list(axes)
        return x if not axes else self.made(self.network.add_unsqueeze(x, self.ints(axes)))

    def squeeze(self, x, axes):
        axes = list(axes)
        return x if not axes else self.made(self.network.add_squeeze(x, self.ints(axes)))

    def slice(self, x, starts, sizes, strides):
        """A part of a tensor; a stride of 0 repeats."""
        starts, sizes = [plain(s) for s in starts], [plain(s) for s in sizes]
        rank = len(sizes)
        if not any(is_symbolic(s) for s in (*starts, *sizes)):
            return self.made(self.network.add_slice(x, tuple(starts), tuple(sizes), tuple(strides)))
        layer = self.network.add_slice(x, (0,) * rank, (1,) * rank, tuple(strides))
        layer.set_input(1, self.shape_tensor(starts))
        layer.set_input(2, self.shape_tensor(sizes))
        return self.made(layer)

    def part(self, x, sizes, axis, start, count, stride=1):
        """`count` elements along one axis of `x`, whose extents are `sizes`."""
        starts, strides, sizes = [0] * len(sizes), [1] * len(sizes), list(sizes)
        starts[axis], sizes[axis], strides[axis] = start, count, stride
        return self.slice(x, starts, sizes, strides)

    def expand(self, x, sizes):
        """`x` with its axes of extent 1, and axes in front, repeated to these extents."""
        x = self.unsqueeze(x, range(len(sizes) - len(x.shape)))
        strides = [0 if have == 1 and (is_symbolic(want) or want != 1) else 1 for have, want in zip(x.shape, sizes)]
        return x if all(strides) else self.slice(x, [0] * len(sizes), sizes, strides)

    def full(self, sizes, value, dtype):
        return self.expand(self.number(value, dtype, len(sizes)), sizes)

    def concat(self, tensors, axis):
        layer = self.network.add_concatenation(tensors)
        layer.axis = axis
        return self.made(layer)

    def padded(self, x, sizes, before, after, value):
        """Constants around `x` (extents `sizes`); negative amounts cut off."""
        if not any(is_symbolic(amount) or amount for amount in (*before, *after)):
            return x
        starts = [-b for b in before]
        extents = [s + b + a for s, b, a in zip(sizes, before, after)]
        rank, dtype = len(sizes), to_torch(x.dtype)
        layer = self.network.add_slice(x, tuple(starts), (1,) * rank if any(map(is_symbolic, extents)) else
                                       tuple(int(e) for e in extents), (1,) * rank)
        if any(map(is_symbolic, extents)):
            layer.set_input(1, self.ints(starts))
            layer.set_input(2, self.shape_tensor(extents))
        layer.mode = SampleMode.FILL
        layer.set_input(4, self.scalar(value, dtype))
        return self.made(layer)

    # Products and sums.
    def reduce(self, kind, x, axes, keep):
        if not axes:
            return x
        mask = sum(1 << (a % len(x.shape)) for a in axes)
        return self.made(self.network.add_reduce(x, getattr(ReduceOperation, kind), mask, keep))

    def matmul(self, a, b, transpose_a=False, transpose_b=False):
        kinds = (MatrixOperation.NONE, MatrixOperation.TRANSPOSE)
        rank = max(len(a.shape), len(b.shape))
        if min(len(a.shape), len(b.shape)) >= 2:
            a, b = (self.unsqueeze(t, range(rank - len(t.shape))) for t in (a, b))
        return self.made(self.network.add_matrix_multiply(a, kinds[transpose_a], b, kinds[transpose_b]))

    def softmax(self, x, axis):
        layer = self.network.add_softmax(x)
        layer.axes = 1 << (axis % len(x.shape))
        return self.made(layer)

    def gather(self, x, indices, axis):
        return self.made(self.network.add_gather(x, indices, axis))

    def iota(self, count, start=0, step=1):
        """start, start + step, ...: `count` int64."""
        if not is_symbolic(count):
            return self.constant(torch.arange(int(count), dtype=torch.int64) * step + start)
        layer = self.network.add_fill((1,), FillOperation.LINSPACE, to_network(torch.int64))
        layer.set_input(0, self.shape_tensor([count]))
        layer.set_alpha_int64(start)
        layer.set_beta_int64(step)
        return self.made(layer)

    def require(self, condition, why):
        if not condition:
            raise Unsupported(why)

    def is_float(self, x):
        return to_torch(x.dtype) in FLOATS


def _is_tensor(value):
    return hasattr(value, "is_network_input")


def _sample(value):
    """What torch's promotion sees of a value: type, and whether it has axes."""
    if isinstance(value, torch.SymInt):
        return 1
    return torch.empty((1,) * len(value.shape), dtype=to_torch(value.dtype)) if _is_tensor(value) else value


def _result_type(samples):
    """torch's promotion over any number of tensors and numbers."""
    kind = samples[0]
    for other in samples[1:]:
        rank = max(getattr(kind, "ndim", 0), getattr(other, "ndim", 0))
        kind = torch.empty((1,) * rank, dtype=torch.result_type(kind, other))
    return kind.dtype if isinstance(kind, torch.Tensor) else torch.result_type(torch.empty(0, dtype=torch.bool), kind)
