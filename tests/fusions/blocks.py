"""Blocks of well-known networks, as their exporters write them, and the steps that each may leave at most."""
from collections import Counter

import numpy as np

import net
from net import Net

BLOCKS = []


def block(**most):
    def keep(build):
        BLOCKS.append((build.__name__, build, Counter(most)))
        return build

    return keep


def conv_bn(n, x, cin, cout, kernel=1, stride=1, groups=1, then=lambda n, y: n.Relu(y)):
    return then(n, n.batch_norm(n.conv(x, cin, cout, kernel, stride, groups, bias=False), cout))


plain = lambda n, y: y


@block(chain=1)
def resnet_stem():
    n = Net()
    y = conv_bn(n, n.input("N", 3, 64, 64), 3, 16, 7, 2)
    return n.model(n.MaxPool(y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))


@block(conv=4)
def resnet_bottleneck():
    n = Net()
    x = n.Relu(n.input(1, 16, 28, 28))
    y = conv_bn(n, conv_bn(n, conv_bn(n, x, 16, 8), 8, 8, 3, 2), 8, 32, then=plain)
    return n.model(n.Relu(n.Add(y, conv_bn(n, x, 16, 32, stride=2, then=plain))))


BLOCKS[-1][2]["pointwise"] = 1  # the Relu of the graph's input


@block(conv=4)
def resnet_bottleneck_dynamic():
    n = Net()
    x = n.conv(n.input("N", 3, "H", "W"), 3, 16)
    y = conv_bn(n, conv_bn(n, conv_bn(n, x, 16, 8), 8, 8, 3), 8, 16, then=plain)
    return n.model(n.Relu(n.Add(x, y)))


@block(reduce=1, pool=1, gemm=1, softmax=1)
def classifier_head():
    n = Net()
    y = n.Flatten(n.GlobalAveragePool(n.input("N", 64, 7, 7)))
    return n.model(n.Softmax(n.Gemm(y, n.weights(10, 64), n.weights(10), transB=1)))


def squeeze_excite(n, y, channels, gate):
    s = n.ReduceMean(y, n.ints(2, 3), keepdims=1)
    s = net.silu(n, n.conv(s, channels, channels // 4, 1))
    return n.Mul(gate(n, n.conv(s, channels // 4, channels, 1)), y)


@block(conv=3, chain=2, reduce=1)  # the multiplication by the gate is part of the convolution that reads it
def mbconv_squeeze_excite():
    n = Net()
    x = n.conv(n.input(1, 3, 28, 28), 3, 16, stride=2)
    y = conv_bn(n, x, 16, 64, then=net.silu)
    y = conv_bn(n, y, 64, 64, 3, groups=64, then=net.silu)
    y = squeeze_excite(n, y, 64, lambda n, s: n.Sigmoid(s))
    return n.model(n.Add(conv_bn(n, y, 64, 16, then=plain), x))



@block(conv=3, chain=2, reduce=1)
def inverted_residual_hard_swish():
    n = Net()
    x = n.conv(n.input("N", 3, "H", "W"), 3, 16)
    y = conv_bn(n, x, 16, 64, then=net.hard_swish)
    y = conv_bn(n, y, 64, 64, 5, groups=64, then=net.hard_swish)
    y = squeeze_excite(n, y, 64, lambda n, s: n.Div(n.Clip(n.Add(s, 3.0), 0.0, 6.0), 6.0))
    return n.model(n.Add(x, conv_bn(n, y, 64, 16, then=plain)))


@block(conv=6, move=2)
def c2f():
    n = Net()
    y = conv_bn(n, n.input(1, 16, 40, 40), 16, 32, then=net.silu)
    a, b = n.Split(y, n.ints(16, 16), axis=1, outputs=2)
    c = n.Add(b, conv_bn(n, conv_bn(n, b, 16, 16, 3, then=net.silu), 16, 16, 3, then=net.silu))
    d = n.Add(c, conv_bn(n, conv_bn(n, c, 16, 16, 3, then=net.silu), 16, 16, 3, then=net.silu))
    return n.model(conv_bn(n, n.Concat(a, b, c, d, axis=1), 64, 32, then=net.silu))


@block(conv=2, pool=3, move=1)
def sppf():
    n = Net()
    y = [conv_bn(n, n.input(1, 32, 20, 20), 32, 16, then=net.silu)]
    for _ in range(3):
        y.append(n.MaxPool(y[-1], kernel_shape=[5, 5], pads=[2, 2, 2, 2]))
    return n.model(conv_bn(n, n.Concat(*y, axis=1), 64, 32, then=net.silu))


# Two scales: 4 convolutions; boxes and classes joined once each, boxes parted, all joined; one expression for the boxes.
@block(conv=4, move=4, softmax=1, reduce=1, pointwise=1)
def detection_head():
    n = Net()
    bins, classes, scales = 16, 10, ((8, 64), (4, 64))
    flat = []
    for i, (extent, channels) in enumerate(scales):
        x = n.input(1, channels, extent, extent, name=f"x{i}")
        both = n.Concat(n.conv(x, channels, 4 * bins, 1), n.conv(x, channels, classes, 1), axis=1)
        flat.append(n.Reshape(both, n.ints(1, 4 * bins + classes, -1)))
    total = sum(extent**2 for extent, _ in scales)
    box, score = n.Split(n.Concat(*flat, axis=2), n.ints(4 * bins, classes), axis=1, outputs=2)
    spread = n.Transpose(n.Reshape(box, n.ints(1, 4, bins, total)), perm=[0, 2, 1, 3])
    weighted = n.Mul(n.Softmax(spread, axis=1), n.const(np.arange(bins).reshape(1, bins, 1, 1)))
    low, high = n.Split(n.ReduceSum(weighted, n.ints(1), keepdims=0), n.ints(2, 2), axis=1, outputs=2)
    anchors = n.positive(1, 2, total)
    corner, opposite = n.Sub(anchors, low), n.Add(anchors, high)
    boxes = n.Concat(n.Div(n.Add(corner, opposite), 2.0), n.Sub(opposite, corner), axis=1)
    return n.model(n.Concat(n.Mul(boxes, n.positive(1, total)), n.Sigmoid(score), axis=1))


@block(conv=3, move=2)  # a Transpose for the graph's input and one for its output
def channels_last_residual():
    n = Net()
    first = lambda v: n.Transpose(v, perm=[0, 3, 1, 2])
    last = lambda v: n.Transpose(v, perm=[0, 2, 3, 1])
    spelled = lambda v: net.batch_norm_spelled(n, v, (16,), 16)
    relu6 = lambda v: n.Max(n.Min(v, 6.0), 0.0)
    x = relu6(spelled(last(n.conv(first(n.input("N", 28, 28, 3)), 3, 16, bias=False))))
    y = n.Pad(x, n.ints(0, 1, 1, 0, 0, 1, 1, 0))
    y = relu6(spelled(last(n.conv(first(y), 16, 16, groups=16, pads=[0] * 4, bias=False))))
    y = spelled(last(n.conv(first(y), 16, 16, 1, bias=False)))
    return n.model(n.Add(x, y))


@block(conv=2)
def channels_last_between_convolutions():
    n = Net()
    first = lambda v: n.Transpose(v, perm=[0, 3, 1, 2])
    last = lambda v: n.Transpose(v, perm=[0, 2, 3, 1])
    y = net.hard_swish(n, n.Add(last(n.conv(n.input(1, 8, "H", "W"), 8, 16, bias=False)), n.weights(16)))
    return n.model(n.conv(first(y), 16, 8))
