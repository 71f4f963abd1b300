"""Every fusion of the optimizer: what it is called where TensorRT's users look for it, a graph that has it, the steps it leaves.

Why so long: it is a list. `tests/py/test_fusions.py` checks each row; `tools/docs/optimizations.py` measures them and writes docs/optimizations.md.
"""
import numpy as np

import net
from net import Net
from table import (CHAIN, CONV, GEMM, MOVE, POINTWISE, POOL, REDUCE, ROWS, SOFTMAX, TOPK, row)

EPILOGUE = "fuse_epilogue"
ACTIVATION = "Convolution + Activation"


def conv_then(activation):
    n = Net()
    y = activation(n, n.conv(n.input(1, 32, 56, 56), 32, 64, kernel=1))
    return n.model(y)


@row(ACTIVATION, "Conv, Relu", EPILOGUE, [CONV])
def conv_relu():
    return conv_then(lambda n, x: n.Relu(x))


@row(ACTIVATION, "Conv, x * (1 + erf(x / sqrt 2)) * 0.5", EPILOGUE, [CONV])
def conv_gelu_erf():
    return conv_then(net.gelu_erf)


@row(ACTIVATION, "Conv, GELU by tanh", EPILOGUE, [CONV])
def conv_gelu_tanh():
    return conv_then(net.gelu_tanh)


@row(ACTIVATION, "Conv, Clip", EPILOGUE, [CONV])
def conv_clip():
    return conv_then(lambda n, x: n.Clip(x, 0.0, 6.0))


def residual(kind):
    n = Net()
    x = n.input(1, 64, 56, 56)
    return n.model(n.Relu(n.op(kind, n.conv(x, 64, 64, kernel=1), x)))


ELEMENTWISE = "Convolution + ElementWise (sum, min, max)"


@row(ELEMENTWISE, "Conv, Add with the block's input, Relu", EPILOGUE, [CONV])
def conv_sum():
    return residual("Add")


@row(ELEMENTWISE, "Conv, Min, Relu", EPILOGUE, [CONV])
def conv_min():
    return residual("Min")


@row(ELEMENTWISE, "Conv, Max, Relu", EPILOGUE, [CONV])
def conv_max():
    return residual("Max")


@row("", "Conv, Mul by [N,C,1,1] of the network, Add with [1,C,1,1]", EPILOGUE, [CONV])
def conv_broadcast():
    n = Net()
    y = n.conv(n.input(2, 32, 28, 28), 32, 64, kernel=1)
    return n.model(n.Add(n.Mul(y, n.input(2, 64, 1, 1, name="s")), n.input(1, 64, 1, 1, name="b")))


@row("Convolution + Scale", "Conv, Mul by channel, Add by channel, Relu", "fold_scale fuse_epilogue", [CONV])
def conv_scale():
    n = Net()
    y = n.conv(n.input(1, 32, 56, 56), 32, 64, kernel=1)
    return n.model(n.Relu(n.Add(n.Mul(y, n.positive(64, 1, 1)), n.weights(64, 1, 1, scale=0.1))))


@row("Convolution + Scale", "Conv, BatchNormalization as tf2onnx spells it out, Relu", "fold_scale fuse_epilogue", [CONV])
def conv_batch_norm():
    n = Net()
    y = n.conv(n.input(1, 32, 56, 56), 32, 64, kernel=1, bias=False)
    return n.model(n.Relu(net.batch_norm_spelled(n, y, (64, 1, 1), 64)))


@row("Convolution + Pooling", "Conv, MaxPool, Relu", f"{EPILOGUE} fuse_chains", [CHAIN],
     note="One step that convolves a band of rows at a time and pools it while it is in the cache, or the two kernels one "
     "behind the other: both are measured. The activation goes into the pooling, where it has less to do.")
def conv_pool():
    n = Net()
    y = n.conv(n.input(1, 3, 112, 112), 3, 64, kernel=7, stride=2)
    return n.model(n.Relu(n.MaxPool(y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])))


@row("Convolution + BatchNormalization + Activation", "Conv, BatchNormalization, Relu", "fold_batch_norm fuse_epilogue", [CONV])
def conv_batch_norm_node():
    n = Net()
    y = n.conv(n.input(1, 32, 56, 56), 32, 64, kernel=1, bias=False)
    return n.model(n.Relu(n.batch_norm(y, 64)))


GENERIC = "Convolution + generic activation"


@row(GENERIC, "Conv, x * Sigmoid(x)", EPILOGUE, [CONV])
def conv_silu():
    return conv_then(net.silu)


@row(GENERIC, "Conv, x * Clip(x + 3, 0, 6) / 6", EPILOGUE, [CONV])
def conv_hard_swish():
    return conv_then(net.hard_swish)


@row(GENERIC, "Conv, x * Tanh(Log(1 + Exp(x)))", EPILOGUE, [CONV])
def conv_mish():
    return conv_then(net.mish)


@row(GENERIC, "Conv, Max(x, 0.1 * x)", EPILOGUE, [CONV])
def conv_leaky_relu():
    return conv_then(net.leaky_relu)


@row(GENERIC, "Conv, Elu, Abs, + 1, Sqrt", EPILOGUE, [CONV])
def conv_any_expression():
    return conv_then(lambda n, x: n.Sqrt(n.Add(n.Abs(n.Elu(x)), 1.0)))


@row(GENERIC, "Conv over 1 axis, Tanh", EPILOGUE, [CONV])
def conv_1d():
    n = Net()
    return n.model(n.Tanh(n.conv(n.input(1, 64, 4096), 64, 64, rank=1)))


@row(GENERIC, "Conv over 3 axes, Relu", EPILOGUE, [CONV])
def conv_3d():
    n = Net()
    return n.model(n.Relu(n.conv(n.input(1, 8, 16, 28, 28), 8, 16, rank=3)))


@row("Deconvolution + Activation", "ConvTranspose, Add with a convolution, Sigmoid", EPILOGUE, [CONV, CONV])
def deconv_sigmoid():
    n = Net()
    x = n.input(1, 32, 28, 28)
    y = n.ConvTranspose(x, n.weights(32, 16, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
    return n.model(n.Sigmoid(n.Add(y, n.conv(n.input(1, 8, 56, 56, name="r"), 8, 16, kernel=1))))


@row("Padding + Convolution", "Pad, Conv", "fuse_padding", [CONV])
def pad_conv():
    n = Net()
    x = n.Pad(n.input(1, 32, 56, 56), n.ints(0, 0, 0, 0, 0, 0, 1, 1))
    return n.model(n.conv(x, 32, 64, stride=2, pads=[0, 0, 0, 0]))


@row("Padding + Deconvolution", "Pad, ConvTranspose that cuts as much", "fuse_padding", [CONV])
def pad_deconv():
    n = Net()
    x = n.Pad(n.input(1, 32, 28, 28), n.ints(0, 0, 1, 1, 0, 0, 1, 1))
    return n.model(n.ConvTranspose(x, n.weights(32, 16, 4, 4), kernel_shape=[4, 4], strides=[2, 2], pads=[3, 3, 3, 3]))


@row("", "Relu, Pad, MaxPool; Pad, AveragePool", "fuse_padding fuse_epilogue", [CHAIN, POOL])
def pad_pool():
    n = Net()
    y = n.Relu(n.conv(n.input(1, 3, 112, 112), 3, 32))
    y = n.MaxPool(n.Pad(y, n.ints(0, 0, 0, 0, 0, 0, 1, 1)), kernel_shape=[3, 3], strides=[2, 2])
    y = n.Pad(y, n.ints(0, 0, 1, 1, 0, 0, 1, 1))
    return n.model(n.AveragePool(y, kernel_shape=[3, 3], strides=[2, 2]))


@row("Depthwise separable convolution", "depthwise Conv, Relu, Conv, Relu", f"{EPILOGUE} fuse_chains", [CHAIN],
     note="One step by bands of rows, as for Convolution + Pooling, or the two kernels one behind the other. TensorRT makes "
     "one layer of the two in INT8 only.")
def depthwise_separable():
    n = Net()
    y = n.Relu(n.conv(n.input(1, 64, 56, 56), 64, 64, groups=64))
    return n.model(n.Relu(n.conv(y, 64, 128, kernel=1)))


@row("", "depthwise Conv between two pointwise ones, Clip", f"{EPILOGUE} fuse_chains", [CHAIN, CONV],
     note="The depthwise convolution goes with the one behind it.")
def inverted_residual():
    n = Net()
    relu6 = lambda v: n.Clip(v, 0.0, 6.0)
    x = n.input(1, 24, 56, 56)
    y = relu6(n.conv(relu6(n.conv(x, 24, 144, kernel=1)), 144, 144, groups=144))
    return n.model(n.Add(x, n.conv(y, 144, 24, kernel=1)))


@row("", "pointwise Conv, Clip, depthwise Conv, Clip", f"{EPILOGUE} fuse_chains", [CHAIN, REDUCE])
def pointwise_depthwise():
    n = Net()
    relu6 = lambda v: n.Clip(v, 0.0, 6.0)
    y = relu6(n.conv(relu6(n.conv(n.input(1, 24, 56, 56), 24, 144, kernel=1)), 144, 144, groups=144))
    return n.model(n.ReduceMean(y, n.ints(2, 3)))


@row("", "Sigmoid gate [N,C,1,1] times x, pointwise Conv", f"fuse_chains", [CHAIN],
     note="The scaling of a squeeze-and-excitation: part of the step that reads its result, band by band or as a whole.")
def gate_conv():
    n = Net()
    y = n.Mul(n.input(1, 144, 56, 56), n.input(1, 144, 1, 1, name="s"))
    return n.model(n.conv(y, 144, 24, kernel=1))


@row("Horizontal fusion", "convolutions alike over one input, each with Relu, Concat", "merge_convolutions", [CONV])
def sibling_convolutions():
    n = Net()
    x = n.input(1, 64, 28, 28)
    return n.model(n.Concat(*[n.Relu(n.conv(x, 64, channels)) for channels in (32, 48, 16)], axis=1))


@row("Scale + Activation", "Mul, Add, Relu", "fuse_pointwise", [POINTWISE])
def scale_activation():
    n = Net()
    x = n.input(1, 64, 56, 56)
    return n.model(n.Relu(n.Add(n.Mul(x, n.positive(64, 1, 1)), n.weights(64, 1, 1))))


@row("Shuffle + Shuffle", "Transpose, Transpose", "eliminate_identities push_transposes", [MOVE])
def shuffle_shuffle():
    n = Net()
    y = n.Transpose(n.input(1, 64, 56, 56), perm=[0, 2, 3, 1])
    return n.model(n.Transpose(y, perm=[2, 1, 0, 3]))


@row("Shuffle + Shuffle", "Transpose, Relu, Concat, Softmax, inverse Transpose",
     "eliminate_identities push_transposes", [MOVE, POINTWISE, SOFTMAX])
def shuffles_that_cancel():
    n = Net()
    a = n.Relu(n.Transpose(n.input(1, 32, 56, 56), perm=[0, 2, 3, 1]))
    b = n.Transpose(n.input(1, 32, 56, 56, name="z"), perm=[0, 2, 3, 1])
    y = n.Softmax(n.Concat(a, b, axis=3), axis=3)
    return n.model(n.Transpose(y, perm=[0, 3, 1, 2]))


@row("", "convolutions between Transposes, as written for channels-last frameworks", "push_transposes fuse_padding",
     [CONV, CONV])
def channels_last_block():
    n = Net()
    x = n.input(1, 32, 28, 28)
    last = lambda v: n.Transpose(v, perm=[0, 2, 3, 1])
    first = lambda v: n.Transpose(v, perm=[0, 3, 1, 2])
    y = last(n.conv(x, 32, 32, bias=False))
    y = n.Relu(n.Add(y, n.weights(32)))
    y = n.Pad(y, n.ints(0, 1, 1, 0, 0, 1, 1, 0))
    z = last(n.conv(first(y), 32, 32, pads=[0] * 4))
    return n.model(first(n.Add(z, last(x))))


@row("Scale identity elimination", "+ 0, * 1, ^ 1", "eliminate_identities fuse_pointwise fold_scale", [SOFTMAX, SOFTMAX])
def scale_identity():
    n = Net()
    y = n.Softmax(n.input(64, 1000))
    y = n.Pow(n.Mul(n.Add(y, 0.0), [1.0]), [[1.0]])
    return n.model(n.Softmax(y))


@row("Softmax + Log", "Softmax, Log", "fuse_softmax fuse_epilogue", [SOFTMAX])
def softmax_log():
    n = Net()
    return n.model(n.Log(n.Softmax(n.input(64, 1000))))


@row("Softmax + TopK", "Softmax, TopK", "fuse_softmax", [TOPK])
def softmax_topk():
    n = Net()
    return n.model(*n.TopK(n.Softmax(n.input(64, 1000)), n.ints(5), outputs=2))


@row("Shuffle + Reduce", "Transpose, ReduceMean with kept axes", "push_transposes", [REDUCE])
def shuffle_reduce():
    n = Net()
    y = n.Transpose(n.input(1, 64, 56, 56), perm=[0, 2, 3, 1])
    return n.model(n.ReduceMean(y, n.ints(1, 2)))


@row("GELU", "MatMul, Add, GELU by erf", "fuse_epilogue fold_scale", [GEMM])
def gemm_gelu_erf():
    n = Net()
    return n.model(net.gelu_erf(n, n.Add(n.MatMul(n.input(128, 256), n.weights(256, 1024)), n.weights(1024))))


@row("GELU", "MatMul, Add, GELU by tanh", "fuse_epilogue fold_scale", [GEMM])
def gemm_gelu_tanh():
    n = Net()
    return n.model(net.gelu_tanh(n, n.Add(n.MatMul(n.input(128, 256), n.weights(256, 1024)), n.weights(1024))))


NORM_PASSES = "fuse_reductions fuse_epilogue"


@row("L1Norm", "Abs, ReduceSum", NORM_PASSES, [REDUCE])
def l1_norm():
    n = Net()
    return n.model(n.ReduceSum(n.Abs(n.input(256, 1024)), n.ints(-1)))


@row("L2Norm", "x * x, ReduceSum, Sqrt", NORM_PASSES, [REDUCE])
def l2_norm():
    n = Net()
    x = n.input(256, 1024)
    return n.model(n.Sqrt(n.ReduceSum(n.Mul(x, x), n.ints(-1))))


@row("L2Norm", "x ^ 2, ReduceSum, ^ 0.5", NORM_PASSES, [REDUCE])
def l2_norm_by_powers():
    n = Net()
    return n.model(n.Pow(n.ReduceSum(n.Pow(n.input(256, 1024), 2.0), n.ints(-1)), 0.5))


@row("LogSum", "Softplus, ReduceSum, Log", NORM_PASSES, [POINTWISE, REDUCE])
def log_sum():
    n = Net()
    return n.model(n.Log(n.ReduceSum(n.Softplus(n.input(256, 1024)), n.ints(0))))


@row("LogSumExp", "Exp, ReduceSum, Log", NORM_PASSES, [REDUCE],
     note="The largest element of a line is taken away first, which costs a reading and keeps the exponentials finite.")
def log_sum_exp():
    n = Net()
    return n.model(n.Log(n.ReduceSum(n.Exp(n.input(256, 1024)), n.ints(-1))))


@row("LogSumExp", "largest taken away, Exp, ReduceSum, Log, largest added", NORM_PASSES, [REDUCE])
def log_sum_exp_shifted():
    n = Net()
    x = n.input(256, 1024)
    top = n.ReduceMax(x, n.ints(-1))
    return n.model(n.Add(n.Log(n.ReduceSum(n.Exp(n.Sub(x, top)), n.ints(-1))), top))


@row("", "ReduceMean over columns, then over rows", "merge_reductions", [REDUCE])
def mean_of_means():
    n = Net()
    return n.model(n.ReduceMean(n.ReduceMean(n.input(1, 64, 56, 56), n.ints(3), keepdims=0), n.ints(2), keepdims=0))


@row("", "ReduceSum over a number", NORM_PASSES, [REDUCE])
def mean_by_sum():
    n = Net()
    return n.model(n.Div(n.ReduceSum(n.input(1, 64, 56, 56), n.ints(2, 3)), 56.0 * 56.0))


@row("", "largest taken away, Exp over its ReduceSum", "fuse_reductions fuse_epilogue fuse_siblings", [SOFTMAX])
def softmax_spelled():
    n = Net()
    x = n.input(256, 1024)
    e = n.Exp(n.Sub(x, n.ReduceMax(x, n.ints(-1))))
    return n.model(n.Div(e, n.ReduceSum(e, n.ints(-1))))


@row("", "x - max, less the Log of the ReduceSum of its Exp", "fuse_reductions fuse_epilogue fuse_siblings", [SOFTMAX])
def log_softmax_spelled():
    n = Net()
    x = n.input(256, 1024)
    d = n.Sub(x, n.ReduceMax(x, n.ints(-1)))
    return n.model(n.Sub(d, n.Log(n.ReduceSum(n.Exp(d), n.ints(-1)))))


@row("PointWise fusion", "Add, Sigmoid, Mul, Max, Select, Cast to half", "fuse_pointwise", [POINTWISE], tolerance=1e-3)
def pointwise_tree():
    n = Net()
    x, z = n.input(1, 64, 56, 56), n.input(1, 64, 56, 56, name="z")
    a = n.Mul(n.Sigmoid(n.Add(x, z)), n.Max(x, z))
    y = n.Where(n.Greater(z, 0.0), a, n.Neg(x))
    return n.model(n.Cast(n.Mul(y, 3.0), to=10))


@row("PointWise fusion", "scalars of shapes [], [1], [1,1,1,1] on either side", "fuse_pointwise", [POINTWISE])
def pointwise_scalars():
    n = Net()
    y = n.Mul(n.Sub(1.5, n.input(1, 64, 56, 56)), [0.5])
    return n.model(n.Exp(n.Neg(n.Add([[[[0.25]]]], y))))


@row("", "pointwise ops side by side over one operand", "fuse_siblings", [POINTWISE])
def siblings():
    n = Net()
    p, l, r = n.input(1, 4, 8400, name="p"), n.input(1, 4, 8400, name="l"), n.input(1, 4, 8400, name="r")
    low, high = n.Sub(p, l), n.Add(p, r)
    return n.model(n.Mul(n.Add(low, high), 0.5), n.Sub(high, low))


@row("Reshape + FullyConnected", "Flatten, Gemm, Relu", EPILOGUE, [GEMM])
def flatten_gemm():
    n = Net()
    y = n.Gemm(n.Flatten(n.input(4, 64, 7, 7)), n.weights(256, 3136), n.weights(256), transB=1)
    return n.model(n.Relu(y))


@row("FullyConnected + bias + Activation", "MatMul, Add, Relu", "fold_scale fuse_epilogue", [GEMM])
def gemm_bias():
    n = Net()
    return n.model(n.Relu(n.Add(n.weights(1024), n.MatMul(n.input(128, 256), n.weights(256, 1024)))))


@row("FullyConnected + Scale", "MatMul, Mul by channel, residual Add", "fold_scale fuse_epilogue", [GEMM])
def gemm_scale_sum():
    n = Net()
    x = n.input(128, 256)
    return n.model(n.Add(x, n.Mul(n.MatMul(x, n.weights(256, 256)), n.positive(256))))


@row("", "Transpose of the last axes, MatMul", "push_transposes", [GEMM])
def transposed_product():
    n = Net()
    a, b = n.input(8, 64, 128, name="a"), n.input(8, 96, 128, name="b")
    return n.model(n.MatMul(a, n.Transpose(b, perm=[0, 2, 1])))


@row("", "Concat of convolutions, Reshape, Sigmoid", "hoist_pointwise", [CONV, CONV, MOVE])
def activation_behind_concat():
    n = Net()
    x = n.input(1, 32, 40, 40)
    y = n.Concat(n.conv(x, 32, 64, kernel=1), n.conv(x, 32, 80, kernel=3), axis=1)
    return n.model(n.Sigmoid(n.Reshape(y, n.ints(1, 144, -1))))


@row("", "Concat of results that are made where they belong", "", [SOFTMAX, SOFTMAX],
     note="No pass: the tuner places them once layouts are chosen.")
def concat_in_place():
    n = Net()
    a, b = n.input(64, 500, name="a"), n.input(64, 500, name="b")
    return n.model(n.Concat(n.Softmax(a), n.Softmax(b), axis=0))


@row("", "Split of a Concat at the same places", "cancel_splits", [SOFTMAX, SOFTMAX])
def split_of_concat():
    n = Net()
    a, b = n.input(1, 64, 8400, name="a"), n.input(1, 80, 8400, name="b")
    return n.model(*[n.Softmax(p) for p in n.Split(n.Concat(a, b, axis=1), n.ints(64, 80), axis=1, outputs=2)])


@row("", "Slices without a gap", "join_slices cancel_splits", [POINTWISE, MOVE])
def slices():
    n = Net()
    x = n.input(2, 64, 28, 28)
    low = n.Slice(x, n.ints(0), n.ints(32), n.ints(1))
    high = n.Slice(x, n.ints(32), n.ints(2**62), n.ints(1))
    return n.model(n.Mul(low, n.Sigmoid(high)))


@row("", "Gather of one position, MatMul", "slice_gathers", [SOFTMAX, GEMM])
def gather_of_one():
    n = Net()
    token = n.Gather(n.Softmax(n.input(1, 197, 768)), n.const(0, np.int64), axis=1)
    return n.model(n.MatMul(token, n.weights(768, 100)))


@row("Constant folding", "ops of constants only", "fold_constants eliminate_dead", [POINTWISE])
def constants():
    n = Net()
    table = n.Exp(n.Transpose(n.weights(64, 56, 56), perm=[2, 0, 1]))
    return n.model(n.Mul(n.input(56, 64, 56), table))


@row("Common subexpression elimination", "the same op on the same operand twice",
     "eliminate_common fuse_pointwise fuse_siblings", [SOFTMAX, SOFTMAX])
def common():
    n = Net()
    x = n.input(64, 1000)
    return n.model(n.Softmax(n.Add(n.Softmax(x), n.Softmax(x))))


@row("Dead layer elimination", "what no output needs", "", [SOFTMAX])
def dead():
    n = Net()
    x = n.input(64, 1000)
    n.Exp(n.Softmax(x, axis=0))
    return n.model(n.Softmax(x))


import rows_sequences  # noqa: E402  more of the list, by topic
import rows_quantized  # noqa: E402
