"""Fusions of normalizations and attention; see rows.py."""
import numpy as np

from net import Net
from table import ATTENTION, GEMM, NORM, row

NORMS = "recognize_norms"


def centered(n, x, *axes):
    """x less its mean, and its variance."""
    d = n.Sub(x, n.ReduceMean(x, n.ints(*axes)))
    return d, n.ReduceMean(n.Pow(d, 2.0), n.ints(*axes))


@row("LayerNorm", "x less its mean over the root of its variance, Mul, Add", NORMS, [NORM])
def layer_norm():
    n = Net()
    d, variance = centered(n, n.input(1, 128, 768), -1)
    return n.model(n.Add(n.Mul(n.Div(d, n.Sqrt(n.Add(variance, 1e-5))), n.positive(768)), n.weights(768)))


@row("LayerNorm", "the square as a product, the reciprocal of the root, a residual in front", NORMS + " fuse_pointwise", [NORM, "pointwise"])
def layer_norm_residual():
    n = Net()
    x = n.Add(n.input(1, 128, 768), n.input(1, 128, 768, name="r"))
    d = n.Sub(x, n.ReduceMean(x, n.ints(-1)))
    variance = n.ReduceMean(n.Mul(d, d), n.ints(-1))
    y = n.Mul(d, n.Reciprocal(n.Sqrt(n.Add(variance, 1e-5))))
    return n.model(n.Add(n.Mul(y, n.positive(768)), n.weights(768)))


@row("RMSNorm", "x over the root of the mean of its squares, Mul", NORMS, [NORM])
def rms_norm():
    n = Net()
    x = n.input(1, 128, 768)
    root = n.Sqrt(n.Add(n.ReduceMean(n.Pow(x, 2.0), n.ints(-1)), 1e-6))
    return n.model(n.Mul(n.Mul(x, n.Reciprocal(root)), n.positive(768)))


@row("InstanceNorm", "the same over the spatial axes, Mul and Add by channel", NORMS, [NORM])
def instance_norm():
    n = Net()
    d, variance = centered(n, n.input(2, 32, 28, 28), 2, 3)
    y = n.Div(d, n.Sqrt(n.Add(variance, 1e-5)))
    return n.model(n.Add(n.Mul(y, n.positive(32, 1, 1)), n.weights(32, 1, 1)))


@row("GroupNorm", "Reshape, InstanceNormalization, Reshape, Mul and Add by channel", NORMS, [NORM])
def group_norm():
    n = Net()
    y = n.Reshape(n.input(2, 32, 28, 28), n.ints(0, 8, -1))
    y = n.InstanceNormalization(y, n.const(np.ones(8)), n.const(np.zeros(8)))
    return n.model(n.Add(n.Mul(n.Reshape(y, n.ints(2, 32, 28, 28)), n.positive(32, 1, 1)), n.weights(32, 1, 1)))


MHA = "Multi-head attention"
ATTENTION_PASSES = "fuse_attention merge_siblings"


def heads(n, x, count=4, size=64):
    y = n.Add(n.MatMul(x, n.weights(256, count * size)), n.weights(count * size, scale=0.1))
    return n.Transpose(n.Reshape(y, n.ints(0, 0, count, size)), perm=[0, 2, 1, 3])


def merged(n, y):
    y = n.Reshape(n.Transpose(y, perm=[0, 2, 1, 3]), n.ints(0, 0, 256))
    return n.Add(n.MatMul(y, n.weights(256, 256)), n.weights(256, scale=0.1))


def weighted(n, scores, v):
    return merged(n, n.MatMul(n.Softmax(scores, axis=-1), v))


@row(MHA, "products around Softmax, heads by Reshape and Transpose; query, key and value as one product", ATTENTION_PASSES,
     [GEMM, ATTENTION, GEMM])
def attention():
    n = Net()
    x = n.input(1, 128, 256)
    q, k, v = heads(n, x), heads(n, x), heads(n, x)
    return n.model(weighted(n, n.Div(n.MatMul(q, n.Transpose(k, perm=[0, 1, 3, 2])), 8.0), v))


@row(MHA, "with an additive mask, causal by a constant, scores capped by Tanh", ATTENTION_PASSES, [GEMM, ATTENTION, GEMM])
def attention_masked():
    n = Net()
    x = n.input(1, 128, 256)
    q, k, v = heads(n, x), heads(n, x), heads(n, x)
    scores = n.Mul(n.MatMul(q, n.Transpose(k, perm=[0, 1, 3, 2])), 0.125)
    scores = n.Mul(n.Tanh(n.Div(scores, 30.0)), 30.0)
    causal = np.triu(np.full((128, 128), np.finfo(np.float32).min), 1)
    return n.model(weighted(n, n.Add(scores, n.const(causal)), v))


@row(MHA, "groups of heads that share keys (Expand), past keys and values in front (Concat)", ATTENTION_PASSES,
     [GEMM, GEMM, GEMM, ATTENTION, GEMM, "move", "move", "move", "move"],
     note="The past and the new keys and values are copied side by side, for they are results of the network, too.")
def attention_groups():
    n = Net()
    x = n.input(1, 16, 256)
    pk, pv = n.input(1, 2, 112, 64, name="pk"), n.input(1, 2, 112, 64, name="pv")
    q = heads(n, x)
    k, v = n.Concat(pk, heads(n, x, 2), axis=2), n.Concat(pv, heads(n, x, 2), axis=2)
    many = lambda t: n.Reshape(n.Expand(n.Unsqueeze(t, n.ints(2)), n.ints(1, 2, 2, 128, 64)), n.ints(1, 4, 128, 64))
    scores = n.Mul(n.MatMul(q, n.Transpose(many(k), perm=[0, 1, 3, 2])), 0.125)
    return n.model(weighted(n, scores, many(v)), k, v)


@row(MHA, "written for [sequence, batch, columns], in a network that has the batch first; the residual behind it",
     f"{ATTENTION_PASSES} reorder_rows fuse_epilogue", [NORM, GEMM, ATTENTION, GEMM])
def attention_between_transposes():
    n = Net()
    x = n.input(4, 49, 256)
    rows = n.Transpose(n.LayerNormalization(x, n.positive(256), n.weights(256), axis=-1), perm=[1, 0, 2])
    wide = n.Add(n.MatMul(rows, n.weights(256, 768)), n.weights(768, scale=0.1))
    parts = n.Squeeze(n.Transpose(n.Unsqueeze(n.Reshape(wide, n.ints(49, 4, 3, 256)), n.ints(0)), perm=[3, 1, 2, 0, 4]), n.ints(3))
    of_heads = lambda i: n.Reshape(n.Transpose(n.Reshape(
        n.Gather(parts, n.const(i, np.int64), axis=0), n.ints(49, 16, 64)), perm=[1, 0, 2]), n.ints(4, 4, 49, 64))
    q, k, v = of_heads(0), of_heads(1), of_heads(2)
    p = n.Softmax(n.Mul(n.MatMul(q, n.Transpose(k, perm=[0, 1, 3, 2])), 0.125), axis=-1)
    y = n.Reshape(n.Transpose(n.MatMul(p, v), perm=[2, 0, 1, 3]), n.ints(196, 256))
    y = n.Reshape(n.Gemm(y, n.weights(256, 256), n.weights(256, scale=0.1)), n.ints(49, 4, 256))
    return n.model(n.Add(n.Transpose(y, perm=[1, 0, 2]), x))


@row("Rotary embedding", "halves cut, one negated, put together, times sines; times cosines", "fuse_rotary fuse_pointwise",
     ["gather"])
def rotary():
    n = Net()
    t = n.input(1, 8, 128, 64)
    cosine, sine = n.input(1, 1, 128, 64, name="cos"), n.input(1, 1, 128, 64, name="sin")
    low = n.Slice(t, n.ints(0), n.ints(32), n.ints(3), n.ints(1))
    high = n.Slice(t, n.ints(32), n.ints(2**62), n.ints(3), n.ints(1))
    turned = n.Concat(n.Neg(high), low, axis=-1)
    return n.model(n.Add(n.Mul(t, cosine), n.Mul(turned, sine)))
