"""Convolutions."""
import torch

from .._shapes import is_symbolic
from . import converts


@converts("convolution")
def convolution(w, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    kernel = [int(k) for k in w.node.args[1].meta["val"].shape]
    space = len(kernel) - 2
    w.require(len(x.shape) == len(kernel), "a convolution without a batch")
    w.require(space in (1, 2, 3), f"a convolution over {space} axes")
    stride, padding, dilation, output_padding = (_each(v, space) for v in (stride, padding, dilation, output_padding))
    w.require(not any(map(is_symbolic, (*stride, *padding, *dilation))), "a convolution with open strides")
    if space == 1:  # an image of one row
        x, weight = w.unsqueeze(x, [2]), w.unsqueeze(weight, [2])
        kernel.insert(2, 1)
        stride, padding, dilation, output_padding = [1, *stride], [0, *padding], [1, *dilation], [0, *output_padding]
    maps = kernel[1] * groups if transposed else kernel[0]
    add = w.network.add_deconvolution_nd if transposed else w.network.add_convolution_nd
    layer = add(x, maps, tuple(kernel[2:]), torch.empty(0))  # no weights: the kernel is an input
    layer.set_input(1, weight)
    if bias is not None:
        layer.set_input(2, bias)
    layer.num_groups, layer.stride_nd, layer.dilation_nd = groups, tuple(stride), tuple(dilation)
    after = [p - o for p, o in zip(padding, output_padding)] if transposed else padding
    w.require(min(after) >= 0, "an output padding beyond the padding")
    layer.pre_padding, layer.post_padding = tuple(padding), tuple(after)
    y = w.made(layer)
    return w.squeeze(y, [2]) if space == 1 else y


def _each(value, count):
    """A setting of each axis."""
    value = list(value) if isinstance(value, (list, tuple)) else [value]
    return value * count if len(value) == 1 else value
