"""One meaning, many spellings: graphs that must become a single convolution or product whichever exporter wrote them."""
import itertools

import numpy as np

import net
from net import Net

SPELLINGS = []


def spelling(family="conv"):
    def keep(build):
        SPELLINGS.append((build.__name__, family, build))
        return build

    return keep


def over_conv(name, activation, family="conv"):
    def build():
        n = Net(opset=20)
        return n.model(activation(n, n.conv(n.input(1, 4, 8, 8), 4, 8)))

    SPELLINGS.append((name, family, build))


# Scalars of every shape on either side.
for shape, left in itertools.product([(), (1,), (1, 1, 1, 1)], [False, True]):
    def scalar(n, value, shape=shape):
        return n.const(np.full(shape, value))

    def two(n, kind, x, value, left=left, scalar=scalar):
        return n.op(kind, scalar(n, value), x) if left else n.op(kind, x, scalar(n, value))

    tag = f"{len(shape)}d_{'left' if left else 'right'}"
    over_conv(f"bias_{tag}", lambda n, x, two=two: n.Relu(two(n, "Add", two(n, "Mul", x, 1.5), 0.25)))
    over_conv(f"relu6_{tag}", lambda n, x, two=two: two(n, "Min", two(n, "Max", x, 0.0), 6.0))
    over_conv(f"relu6_min_first_{tag}", lambda n, x, two=two: two(n, "Max", two(n, "Min", x, 6.0), 0.0))
    over_conv(f"gelu_{tag}", lambda n, x, two=two: two(
        n, "Mul", n.Mul(x, two(n, "Add", n.Erf(two(n, "Mul", x, 0.5**0.5)), 1.0)), 0.5))
    over_conv(f"hard_swish_{tag}", lambda n, x, two=two: n.Mul(
        x, two(n, "Mul", n.Clip(two(n, "Add", x, 3.0), 0.0, 6.0), 1 / 6)))
    over_conv(f"leaky_relu_{tag}", lambda n, x, two=two: n.Max(two(n, "Mul", x, 0.2), x))

over_conv("gelu_op", lambda n, x: n.Gelu(x))
over_conv("gelu_op_tanh", lambda n, x: n.Gelu(x, approximate="tanh"))
over_conv("gelu_half_inside", lambda n, x: n.Mul(x, n.Mul(0.5, n.Add(1.0, n.Erf(n.Div(x, 2**0.5))))))
over_conv("gelu_cube_by_products", lambda n, x: n.Mul(n.Mul(0.5, x), n.Add(1.0, n.Tanh(n.Mul(
    (2 / np.pi) ** 0.5, n.Add(x, n.Mul(0.044715, n.Mul(n.Mul(x, x), x))))))))
over_conv("gelu_factored", lambda n, x: n.Mul(n.Mul(x, 0.5), n.Add(1.0, n.Tanh(n.Mul(
    n.Mul(x, (2 / np.pi) ** 0.5), n.Add(1.0, n.Mul(n.Mul(x, 0.044715), x)))))))
over_conv("silu_by_division", lambda n, x: n.Div(x, n.Add(n.Exp(n.Neg(x)), 1.0)))
over_conv("mish_op", lambda n, x: n.Mish(x))
over_conv("mish_softplus", lambda n, x: n.Mul(x, n.Tanh(n.Softplus(x))))
over_conv("prelu_one_number", lambda n, x: n.PRelu(x, n.const([[[0.1]]])))
over_conv("prelu_by_channel", lambda n, x: n.PRelu(x, n.positive(8, 1, 1)))
over_conv("prelu_by_relus", lambda n, x: n.Add(n.Relu(x), n.Mul(-0.1, n.Relu(n.Neg(x)))))
over_conv("leaky_relu_where", lambda n, x: n.Where(n.Greater(x, 0.0), x, n.Mul(x, 0.1)))
over_conv("hard_sigmoid_gate", lambda n, x: n.Mul(x, n.HardSigmoid(x, alpha=1 / 6, beta=0.5)))
over_conv("cast_around", lambda n, x: n.Relu(n.Cast(n.Cast(x, to=11), to=1)))
over_conv("identity_and_dropout", lambda n, x: n.Relu(n.Dropout(n.Identity(x))))
over_conv("sqrt_two_computed", lambda n, x: n.Mul(n.Mul(x, n.Add(n.Erf(n.Div(x, n.Sqrt(2.0))), 1.0)), 0.5))


@spelling()
def half_precision_with_casts():
    n = Net()
    x = n.Cast(n.input(1, 4, 8, 8, dtype=np.float16), to=1)
    return n.model(n.Cast(n.Relu(n.conv(x, 4, 8)), to=10))


@spelling()
def constants_shared_by_two():
    n = Net()
    x = n.input(1, 8, 8, 8)
    scale, shift = n.positive(8, 1, 1), n.positive(8, 1, 1)
    layer = lambda v: n.Relu(n.Add(n.Mul(n.conv(v, 8, 8, bias=False), scale), shift))
    return n.model(layer(layer(x)))


@spelling()
def symmetric_padding_before():
    n = Net()
    x = n.Pad(n.input("N", 4, "H", "W"), n.ints(0, 0, 1, 1, 0, 0, 1, 1), 0.0)
    return n.model(n.Relu(n.conv(x, 4, 8, pads=[0] * 4)))


@spelling()
def padding_of_chosen_axes():
    n = Net(opset=18)
    x = n.Pad(n.input(1, 4, 8, 8), n.ints(1, 1, 1, 1), 0.0, n.ints(2, 3))
    return n.model(n.conv(x, 4, 8, pads=[0] * 4))


@spelling("gemm")
def linear_of_torch():
    n = Net()
    return n.model(n.Relu(n.Gemm(n.input("N", 16), n.weights(8, 16), n.weights(8), transB=1)))


@spelling("gemm")
def linear_of_sequences():
    n = Net()
    return n.model(net.gelu_erf(n, n.Add(n.weights(32), n.MatMul(n.input("N", "T", 16), n.weights(16, 32)))))


@spelling("gemm")
def linear_with_transposed_weights():
    n = Net()
    return n.model(n.Add(n.MatMul(n.input("N", 16), n.Transpose(n.weights(8, 16))), n.weights(1, 8)))


@spelling("gemm")
def linear_with_residual():
    n = Net()
    x = n.input("N", "T", 16)
    return n.model(n.Add(x, n.Add(n.MatMul(x, n.weights(16, 16)), n.weights(16))))
