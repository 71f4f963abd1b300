"""Fusions of QuantizeLinear and DequantizeLinear with what is between them; see rows.py."""
import numpy as np

from net import Net
from table import CONV, GEMM, POINTWISE, QUANTIZE_ROWS, row

PASSES = "propagate_qdq fuse_qdq"


def eight_bits(n, v, scale, zero=0, kind=np.int8):
    zero = n.const(zero, kind)
    return n.DequantizeLinear(n.QuantizeLinear(v, scale, zero), scale, zero)


def weights(n, *shape, axis=0):
    """One scale for each output channel."""
    w = n.const(n.random.integers(-127, 128, shape), np.int8)
    scales = n.random.uniform(5e-4, 1e-3, shape[axis])
    return n.DequantizeLinear(w, n.const(scales), n.const(np.zeros(shape[axis]), np.int8), axis=axis)


def conv(n, v, cin=32, cout=32, kernel=3, groups=1):
    return n.Conv(v, weights(n, cout, cin // groups, kernel, kernel), kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4,
                  group=groups)


@row("QuantizeLinear + Convolution + DequantizeLinear", "x and weights in 8 bits, Conv, Relu, the result in 8 bits",
     PASSES, [POINTWISE, CONV, CONV], tolerance=2e-2, same_steps=True)
def quantized_convolution():
    n = Net()
    y = eight_bits(n, n.Relu(conv(n, eight_bits(n, n.input(1, 32, 28, 28), 0.03))), 0.04)
    return n.model(eight_bits(n, n.Relu(conv(n, y)), 0.04))


@row("", "x in 8 bits by the largest magnitude of each row over 127, behind a normalization that others read too; weights in 8 bits",
     "quantize_rows fuse_qdq", [QUANTIZE_ROWS, GEMM], tolerance=1e-2)
def rows_quantized_while_running():
    n = Net(opset=21)
    x = n.LayerNormalization(n.input(1, 128, 256), n.positive(256), n.weights(256, scale=0.1), axis=-1)
    scale = n.Max(n.Div(n.ReduceMax(n.Abs(x), n.ints(-1), keepdims=1), 127.0), 1e-20)
    q = n.QuantizeLinear(x, scale, axis=-1, block_size=256, output_dtype=3)
    y = n.MatMul(n.DequantizeLinear(q, scale, axis=-1, block_size=256), weights(n, 256, 256, axis=1))
    return n.model(n.Add(n.Add(y, n.weights(256, scale=0.1)), x))


# What else is quantized in networks, for its results alone: how much of it computes in 8 bits is the processor's affair.
QUANTIZED = []


def quantized(build):
    QUANTIZED.append((build.__name__, build))
    return build


@quantized
def quantized_depthwise():
    n = Net()
    y = eight_bits(n, n.input(1, 32, 28, 28), 0.03, 120, np.uint8)
    y = eight_bits(n, n.Relu(conv(n, y, groups=32)), 0.004, 0, np.uint8)
    return n.model(n.Relu(conv(n, y, kernel=1)))


@quantized
def quantized_residual():
    n = Net()
    x = eight_bits(n, n.input(1, 32, 28, 28), 0.03)
    y = eight_bits(n, n.Relu(n.Add(conv(n, x), x)), 0.04)
    return n.model(n.Relu(n.Add(conv(n, y), y)))


@quantized
def quantized_product():
    n = Net()
    x = eight_bits(n, n.input(128, 256), 0.03)
    y = n.Add(n.MatMul(x, weights(n, 256, 512, axis=1)), n.weights(512, scale=0.1))
    return n.model(n.Relu(y))


@quantized
def quantized_pooling():
    n = Net()
    y = n.Relu(conv(n, eight_bits(n, n.input(1, 32, 56, 56), 0.03)))
    y = n.MaxPool(y, kernel_shape=[2, 2], strides=[2, 2])
    return n.model(n.Relu(conv(n, eight_bits(n, y, 0.04))))


@quantized
def quantized_concat_resize():
    n = Net()
    x = eight_bits(n, n.input(1, 32, 28, 28), 0.03)
    y = eight_bits(n, n.Relu(conv(n, x)), 0.04)
    both = eight_bits(n, n.Concat(eight_bits(n, x, 0.04), y, axis=1), 0.04)
    large = n.Resize(both, None, n.const([1, 1, 2, 2]), mode="nearest", nearest_mode="floor",
                     coordinate_transformation_mode="asymmetric")
    return n.model(n.Relu(conv(n, eight_bits(n, large, 0.04), cin=64)))


@quantized
def quantized_average():
    n = Net()
    y = n.Relu(conv(n, eight_bits(n, n.input(1, 32, 28, 28), 0.03)))
    return n.model(n.GlobalAveragePool(eight_bits(n, y, 0.04)))
