// Attention on [batch, heads, sequence, size]; key and value may have fewer heads, each serving a group of query heads.
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/ref_math.h"
#include "ops/room_table.h"

namespace wootz::ops {
namespace {

// Inputs q [B,H,S,D], k [B,Hkv,T,D] ([B,Hkv,D,T] with k_transposed), v [B,Hkv,T,Dv], [mask] that broadcasts to
// [B,H,S,T]: bool (true: attend) or float (added). Attributes: scale (default 1/sqrt(D)), causal (query i sees keys j
// <= i), softcap (0: none). A row that may attend to nothing gives zeros. Outputs: y [B,H,S,Dv], and, if asked for, the
// scores [B,H,S,T] after the stage `qk_output`: 0 product, 1 softcap, 2 mask, 3 softmax.
Status infer_attention(InferContext& ctx) {
  const Node& node = ctx.node();
  for (int i = 0; i < 3; ++i) {
    if (ctx.rank(i) != 4)
      return ctx.fail("input {} of shape {}; four axes are needed", i, shape_to_string(ctx.shape(i)));
    if (!is_float(ctx.dtype(i)) || ctx.dtype(i) != ctx.dtype(0))
      return ctx.fail("input {} of type {}", i, dtype_name(ctx.dtype(i)));
  }
  const bool transposed = node.attr_int("k_transposed") != 0;
  const Shape &q = ctx.shape(0), &k = ctx.shape(1), &v = ctx.shape(2);
  const Dim &keys = k[transposed ? 3 : 2], &size = k[transposed ? 2 : 3];
  const auto differ = [](const Dim& a, const Dim& b) { return a.is_const() && b.is_const() && a.value() != b.value(); };
  const auto refuse = [&] {
    return ctx.fail("query {}, key {} and value {} do not fit", shape_to_string(q), shape_to_string(k),
                    shape_to_string(v));
  };
  if (differ(q[0], k[0]) || differ(q[0], v[0]) || differ(k[1], v[1]) || differ(keys, v[2]) || differ(q[3], size))
    return refuse();
  if (q[1].is_const() && k[1].is_const() && (k[1].value() < 1 || q[1].value() % k[1].value() != 0)) return refuse();
  const Shape scores{q[0], q[1], q[2], keys};
  if (ctx.has(3)) {
    if (ctx.dtype(3) != DType::kBool && !is_float(ctx.dtype(3)))
      return ctx.fail("mask of type {}", dtype_name(ctx.dtype(3)));
    const Result<Shape> all = broadcast_shapes(scores, ctx.shape(3));
    bool fits = all.ok() && all->size() == 4;
    for (size_t i = 0; fits && i < 4; ++i) fits = !differ(scores[i], (*all)[i]);
    if (!fits) return ctx.fail("mask {} for scores {}", shape_to_string(ctx.shape(3)), shape_to_string(scores));
  }
  const int64_t stage = node.attr_int("qk_output");
  if (stage < 0 || stage > 3) return ctx.fail("qk_output is {}", stage);
  if (!(node.attr_float("softcap") >= 0)) return ctx.fail("softcap is {}", node.attr_float("softcap"));
  ctx.set_output(0, ctx.dtype(0), {q[0], q[1], q[2], v[3]});
  ctx.set_output(1, ctx.dtype(0), scores);
  return {};
}

// Softmax of one row, where -inf means masked. All masked: zeros.
void masked_softmax(std::span<double> row) {
  double top = -INFINITY, sum = 0;
  for (double x : row) top = std::isnan(x) || x > top ? x : top;
  if (top == -INFINITY) return std::fill(row.begin(), row.end(), 0.0);
  for (double& x : row) sum += x = std::exp(x - top);
  for (double& x : row) x /= sum;
}

Status reference_attention(EvalContext& ctx) {
  const HostTensor &q = ctx.in(0), &k = ctx.in(1), &v = ctx.in(2);
  const Node& node = ctx.node;
  const bool transposed = node.attr_int("k_transposed") != 0, causal = node.attr_int("causal") != 0;
  const int64_t batch = q.dims()[0], heads = q.dims()[1], rows = q.dims()[2], size = q.dims()[3];
  const int64_t kv_heads = k.dims()[1], keys = v.dims()[2], v_size = v.dims()[3],
                group = kv_heads == 0 ? 1 : heads / kv_heads;
  const double scale = node.attr_float("scale", 1 / std::sqrt(static_cast<double>(size))),
               cap = node.attr_float("softcap");
  const int64_t stage = node.attr_int("qk_output");
  const Dims score_dims{batch, heads, rows, keys};
  const bool has_mask = ctx.has(3), flags = has_mask && ctx.in(3).dtype() == DType::kBool;
  const std::vector<double> mask = has_mask ? load_f64(ctx.in(3)) : std::vector<double>();
  StridedWalk walk(score_dims, {has_mask ? broadcast_strides(ctx.in(3).dims(), score_dims) : Dims::filled(4, 0)});
  const auto count = [](int64_t n) { return static_cast<size_t>(n); };
  std::vector<double> qs(count(rows * size)), ks(count(size * keys)), vs(count(keys * v_size)),
      loaded(count(keys * size));
  for (int64_t h = 0; h < batch * heads; ++h) {
    const int64_t kv = h / heads * kv_heads + h % heads / group;
    load_f64(q, h * rows * size, qs);
    load_f64(v, kv * keys * v_size, vs);
    load_f64(k, kv * keys * size, loaded);
    if (transposed) ks = loaded;
    for (int64_t t = 0; !transposed && t < keys; ++t)
      for (int64_t d = 0; d < size; ++d) ks[count(d * keys + t)] = loaded[count(t * size + d)];
    std::vector<double> scores(count(rows * keys), 0.0), y(count(rows * v_size), 0.0);
    matmul_accumulate(rows, keys, size, qs.data(), ks.data(), scores.data());
    const auto emit = [&](int64_t at) {
      if (ctx.outputs.size() > 1 && stage == at) store_f64(&ctx.outputs[1], h * rows * keys, scores);
    };
    for (double& s : scores) s *= scale;
    emit(0);
    for (double& s : scores) s = cap > 0 ? cap * std::tanh(s / cap) : s;
    emit(1);
    for (int64_t e = 0; e < rows * keys; ++e, walk.next()) {
      double& s = scores[count(e)];
      const double m = has_mask ? mask[count(walk.offset(0))] : 0;
      const bool hidden = (flags && m == 0) || (causal && e % keys > e / keys) || (!flags && m == -INFINITY);
      s = hidden ? -INFINITY : s + (flags ? 0 : m);
    }
    emit(2);
    for (int64_t r = 0; r < rows; ++r) masked_softmax({scores.data() + r * keys, count(keys)});
    emit(3);
    matmul_accumulate(rows, v_size, keys, scores.data(), vs.data(), y.data());
    store_f64(&ctx.outputs[0], h * rows * v_size, y);
  }
  return {};
}

const OpDef kAttention{
    .name = "Attention",
    .min_inputs = 3,
    .max_inputs = 4,
    .max_outputs = 2,
    .attributes = {{"scale", AttrKind::kFloat},
                   {"causal", AttrKind::kInt},
                   {"softcap", AttrKind::kFloat},
                   {"k_transposed", AttrKind::kInt},
                   {"qk_output", AttrKind::kInt}},
    .infer = infer_attention,
    .reference = reference_attention,
    .lowering = Lowering::kAttention,
};

}  // namespace

std::span<const OpDef* const> attention_ops() {
  static const OpDef* const kOps[] = {&kAttention, &linear_attention_op()};
  return kOps;
}

}  // namespace wootz::ops
