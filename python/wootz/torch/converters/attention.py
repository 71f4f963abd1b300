"""scaled_dot_product_attention, in all the forms that torch chooses among."""
import math

import torch

from .._shapes import is_symbolic
from .._types import to_torch
from . import converts
from .norms import layer_norm_of


def _attention(w, q, k, v, mask=None, causal=False, scale=None, groups=False):
    """Written as products and a softmax, which the passes make one step of."""
    shapes = [n.meta["val"].shape for n in w.node.args[:3]]
    width, dtype = shapes[0][-1], to_torch(q.dtype)
    if scale is None and is_symbolic(width):
        scale = w.cast(w.unary("RECIP", w.unary("SQRT", w.number(width, torch.float32))), dtype)
    elif scale is None:
        scale = 1 / math.sqrt(width)
    if groups:
        k, v = (_repeated(w, x, s, shapes[0][-3]) for x, s in zip((k, v), shapes[1:]))
    scores = w.matmul(w.binary("PROD", q, scale), k, False, True)
    guard = mask is not None
    if causal:
        blocked = _causal(w, shapes[0][-2], shapes[1][-2], len(scores.shape), dtype)
        scores = w.binary("SUM", scores, blocked)
    if mask is not None:
        scores = w.binary("SUM", scores, _additive(w, mask, dtype))
    weights = w.softmax(scores, -1)
    if guard:  # a row that sees nothing gives zeros
        weights = w.select(w.unary("ISNAN", weights), w.scalar(0.0, dtype), weights)
    return w.matmul(weights, v)


def _repeated(w, x, sizes, heads):
    """Heads of keys and values, each for several of the queries'."""
    if sizes[-3] == heads:
        return x
    times = int(heads) // int(sizes[-3])
    rank = len(sizes)
    x = w.expand(w.unsqueeze(x, [rank - 2]), [*sizes[:-2], times, *sizes[-2:]])
    return w.reshape(x, [*sizes[:-3], heads, *sizes[-2:]])


def _additive(w, mask, dtype):
    if to_torch(mask.dtype) != torch.bool:
        return w.cast(mask, dtype)
    return w.select(mask, w.scalar(0.0, dtype), w.scalar(-math.inf, dtype))


def _causal(w, rows, columns, rank, dtype):
    """What is added to scores so that a row sees no later column."""
    if not is_symbolic(rows) and not is_symbolic(columns):
        seen = torch.ones(int(rows), int(columns), dtype=torch.bool).tril()
        return w.constant(torch.zeros(seen.shape, dtype=dtype).masked_fill(~seen, -math.inf).reshape((1,) * (rank - 2) + tuple(seen.shape)))
    later = w.binary("LESS", w.unsqueeze(w.iota(rows), [1]), w.unsqueeze(w.iota(columns), [0]))
    return w.select(later, w.scalar(-math.inf, dtype), w.scalar(0.0, dtype))


def _dropout(w, p):
    w.require(p == 0, "attention with dropout")


@converts("scaled_dot_product_attention")
def composite(w, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    _dropout(w, dropout_p)
    return _attention(w, q, k, v, attn_mask, is_causal, scale, enable_gqa)


@converts("_scaled_dot_product_attention_math", "_scaled_dot_product_attention_math_for_mps")
def math_form(w, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, dropout_mask=None, *, scale=None, enable_gqa=False):
    _dropout(w, dropout_p)
    return _attention(w, q, k, v, attn_mask, is_causal, scale, enable_gqa), None


@converts("_scaled_dot_product_flash_attention_for_cpu")
def for_cpu(w, q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    _dropout(w, dropout_p)
    return _attention(w, q, k, v, attn_mask, is_causal, scale, True), None


@converts("_scaled_dot_product_flash_attention")
def flash(w, q, k, v, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    _dropout(w, dropout_p)
    return (_attention(w, q, k, v, None, is_causal, scale, True),) + (None,) * 8


@converts("_scaled_dot_product_efficient_attention")
def efficient(w, q, k, v, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    _dropout(w, dropout_p)
    return (_attention(w, q, k, v, attn_bias, is_causal, scale, True),) + (None,) * 3


@converts("_scaled_dot_product_cudnn_attention")
def cudnn(w, q, k, v, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    _dropout(w, dropout_p)
    return (_attention(w, q, k, v, attn_bias, is_causal, scale, True),) + (None,) * 8


@converts("_scaled_dot_product_fused_attention_overrideable")
def overrideable(w, q, k, v, attn_bias=None, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    _dropout(w, dropout_p)
    return (_attention(w, q, k, v, attn_bias, is_causal, scale, True),) + (None,) * 7


@converts("_transformer_encoder_layer_fwd")
def encoder_layer(w, x, width, heads, qkv, qkv_bias, project, project_bias, use_gelu, norm_first, epsilon, scale_1, offset_1, scale_2, offset_2,
                  up, up_bias, down, down_bias, mask=None, mask_type=None):
    """torch.nn.TransformerEncoderLayer as torch runs it when it does not train."""
    w.require(mask is None, "an encoder layer's fused form with a mask")
    y = x if not norm_first else layer_norm_of(w, x, [width], scale_1, offset_1, epsilon)
    y = w.binary("SUM", _self_attention(w, y, width, heads, (qkv, qkv_bias), (project, project_bias)), x)
    y = y if norm_first else layer_norm_of(w, y, [width], scale_1, offset_1, epsilon)
    z = y if not norm_first else layer_norm_of(w, y, [width], scale_2, offset_2, epsilon)
    z = w.activation("GELU_ERF" if use_gelu else "RELU", _linear(w, z, up, up_bias))
    z = w.binary("SUM", _linear(w, z, down, down_bias), y)
    return z if norm_first else layer_norm_of(w, z, [width], scale_2, offset_2, epsilon)


def _linear(w, x, weight, bias):
    y = w.matmul(x, weight, False, True)
    return y if bias is None else w.binary("SUM", y, bias)


def _self_attention(w, x, width, heads, qkv, project):
    batch, length = w.node.args[0].meta["val"].shape[:2]
    three = w.transpose(w.reshape(_linear(w, x, *qkv), [batch, length, 3, heads, width // heads]), [2, 0, 3, 1, 4])
    sizes = [3, batch, heads, length, width // heads]
    q, k, v = (w.squeeze(w.part(three, sizes, 0, i, 1), [0]) for i in range(3))
    scores = w.matmul(w.binary("PROD", q, 1 / math.sqrt(width // heads)), k, False, True)
    y = w.transpose(w.matmul(w.softmax(scores, -1), v), [0, 2, 1, 3])
    return _linear(w, w.reshape(y, [batch, length, width]), *project)
