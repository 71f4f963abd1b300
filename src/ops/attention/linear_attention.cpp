// LinearAttention: attention with a recurrent state in place of a cache.
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

struct Rule {
  bool gated = false, delta = false;
};

// Inputs q [B,T,H*D], k [B,T,Hkv*D], v [B,T,Hkv*Dv], [past [B,Hkv,D,Dv]], [decay [B,T,Hkv] or [B,T,Hkv*D]],
// [beta [B,T,Hkv or 1]]. Outputs y [B,T,H*Dv], state [B,Hkv,D,Dv].
Status infer_linear_attention(InferContext& ctx) {
  const Node& node = ctx.node();
  const int64_t heads = node.attr_int("q_heads"), kv = node.attr_int("kv_heads");
  const std::string rule = node.attr_string("rule");
  if (heads < 1 || kv < 1 || heads % kv != 0) return ctx.fail("{} query heads with {} key heads", heads, kv);
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return ctx.fail("unknown rule '{}'", rule);
  const Rule r{rule.starts_with("gated"), rule.ends_with("delta")};
  if (ctx.has(4) != r.gated || ctx.has(5) != r.delta) return ctx.fail("rule '{}' with the given decay and beta", rule);
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) continue;
    if (!is_float(ctx.dtype(i)) || ctx.rank(i) != (i == 3 ? 4 : 3))
      return ctx.fail("input {} is {}{}", i, dtype_name(ctx.dtype(i)), shape_to_string(ctx.shape(i)));
    if (i == 3) continue;
    for (size_t a = 0; a < 2; ++a)
      if (ctx.shape(i)[a].is_const() && ctx.shape(0)[a].is_const() &&
          ctx.shape(i)[a].value() != ctx.shape(0)[a].value())
        return ctx.fail("query {} with input {} of shape {}", shape_to_string(ctx.shape(0)), i,
                        shape_to_string(ctx.shape(i)));
    if (!ctx.shape(i)[2].is_const())
      return ctx.fail("input {} of shape {}: the last extent must be known", i, shape_to_string(ctx.shape(i)));
  }
  const int64_t q = ctx.shape(0)[2].value(), k = ctx.shape(1)[2].value(), v = ctx.shape(2)[2].value();
  if (q % heads != 0 || k % kv != 0 || v % kv != 0 || q / heads != k / kv)
    return ctx.fail("widths {}, {} and {} with {} and {} heads", q, k, v, heads, kv);
  const int64_t size = k / kv, v_size = v / kv;
  const auto width = [&](int i) { return ctx.shape(i)[2].value(); };
  if ((r.gated && width(4) != kv && width(4) != k) || (r.delta && width(5) != kv && width(5) != 1))
    return ctx.fail("decay or beta of the wrong width");
  const Shape state{ctx.shape(0)[0], Dim(kv), Dim(size), Dim(v_size)};
  if (ctx.has(3)) {
    for (size_t a = 0; a < 4; ++a)
      if (ctx.shape(3)[a].is_const() && state[a].is_const() && ctx.shape(3)[a].value() != state[a].value())
        return ctx.fail("state {}; {} is needed", shape_to_string(ctx.shape(3)), shape_to_string(state));
  }
  ctx.set_output(0, ctx.dtype(0), {ctx.shape(0)[0], ctx.shape(0)[1], Dim(heads * v_size)});
  ctx.set_output(1, ctx.has(3) ? ctx.dtype(3) : ctx.dtype(0), state);
  return {};
}

Status reference_linear_attention(EvalContext& ctx) {
  const Node& node = ctx.node;
  const int64_t heads = node.attr_int("q_heads"), kv = node.attr_int("kv_heads"), group = heads / kv;
  const int64_t batch = ctx.in(0).dims()[0], steps = ctx.in(0).dims()[1];
  const int64_t size = ctx.in(1).dims()[2] / kv, v_size = ctx.in(2).dims()[2] / kv;
  double scale = node.attr_float("scale");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size));
  const auto load = [&](size_t i) { return ctx.has(i) ? load_f64(ctx.in(i)) : std::vector<double>(); };
  const std::vector<double> q = load(0), k = load(1), v = load(2), decay = load(4), beta = load(5);
  std::vector<double> state = load(3);
  if (state.empty()) state.assign(static_cast<size_t>(batch * kv * size * v_size), 0.0);
  const int64_t decay_width = ctx.has(4) ? ctx.in(4).dims()[2] : 0, beta_width = ctx.has(5) ? ctx.in(5).dims()[2] : 0;
  std::vector<double> y(static_cast<size_t>(batch * steps * heads * v_size)), write(static_cast<size_t>(v_size));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t row = b * steps + t;
      for (int64_t h = 0; h < kv; ++h) {
        double* s = state.data() + (b * kv + h) * size * v_size;
        const double *kt = k.data() + (row * kv + h) * size, *vt = v.data() + (row * kv + h) * v_size;
        for (int64_t d = 0; decay_width > 0 && d < size; ++d) {
          const double g = decay[static_cast<size_t>(row * decay_width + (decay_width == kv ? h : h * size + d))];
          for (int64_t m = 0; m < v_size; ++m) s[d * v_size + m] *= std::exp(g);
        }
        for (int64_t m = 0; m < v_size; ++m) {
          double known = 0;
          for (int64_t d = 0; beta_width > 0 && d < size; ++d) known += s[d * v_size + m] * kt[d];
          const double rate =
              beta_width > 0 ? beta[static_cast<size_t>(row * beta_width + (beta_width == 1 ? 0 : h))] : 1;
          write[static_cast<size_t>(m)] = rate * (vt[m] - known);
        }
        for (int64_t d = 0; d < size; ++d)
          for (int64_t m = 0; m < v_size; ++m) s[d * v_size + m] += kt[d] * write[static_cast<size_t>(m)];
        for (int64_t g = h * group; g < (h + 1) * group; ++g) {
          const double* qt = q.data() + (row * heads + g) * size;
          for (int64_t m = 0; m < v_size; ++m) {
            double sum = 0;
            for (int64_t d = 0; d < size; ++d) sum += qt[d] * s[d * v_size + m];
            y[static_cast<size_t>((row * heads + g) * v_size + m)] = sum * scale;
          }
        }
      }
    }
  }
  store_f64(&ctx.outputs[0], 0, y);
  if (ctx.outputs.size() > 1) store_f64(&ctx.outputs[1], 0, state);
  return {};
}

}  // namespace

const OpDef& linear_attention_op() {
  static const OpDef kLinearAttention{.name = "LinearAttention",
                                      .min_inputs = 3,
                                      .max_inputs = 6,
                                      .max_outputs = 2,
                                      .attributes = {{"q_heads", AttrKind::kInt, true},
                                                     {"kv_heads", AttrKind::kInt, true},
                                                     {"rule", AttrKind::kString, true},
                                                     {"scale", AttrKind::kFloat}},
                                      .infer = infer_linear_attention,
                                      .reference = reference_linear_attention};
  return kLinearAttention;
}

}  // namespace wootz::ops
