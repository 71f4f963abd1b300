#include "backend/quantized.h"

#include <cmath>

namespace wootz {
namespace {

bool whole(double z, double low, double high) { return z == std::floor(z) && z >= low && z <= high; }

}  // namespace

Grids grids_of(const Problem& p) {
  static const Floats none;
  if (const auto* c = p.as_if<ConvParams>()) return {&c->x_scale, &c->x_zero, &c->w_scale, &c->w_zero};
  if (const auto* g = p.as_if<GemmParams>()) return {&g->x_scale, &g->x_zero, &g->w_scale, &g->w_zero};
  if (const auto* a = p.as_if<PoolParams>()) return {&a->x_scale, &a->x_zero, &none, &none};
  return {&none, &none, &none, &none};
}

void drop_grids(Problem* p) {
  const auto clear = [](auto*... lists) { (lists->clear(), ...); };
  if (auto* c = std::get_if<ConvParams>(&p->params)) clear(&c->x_scale, &c->x_zero, &c->w_scale, &c->w_zero);
  if (auto* g = std::get_if<GemmParams>(&p->params)) clear(&g->x_scale, &g->x_zero, &g->w_scale, &g->w_zero);
  if (auto* a = std::get_if<PoolParams>(&p->params)) clear(&a->x_scale, &a->x_zero);
}

bool has_bias(const Problem& p) {
  const auto* conv = p.as_if<ConvParams>();
  const auto* gemm = p.as_if<GemmParams>();
  return conv != nullptr ? conv->has_bias : gemm != nullptr && gemm->has_bias;
}

bool has_scales(const Problem& p) {
  if (const auto* a = p.as_if<AttentionParams>())
    return !(a->q_scale.empty() && a->k_scale.empty() && a->v_scale.empty());
  return !grids_of(p).x_scale->empty();
}

Result<GemmScales> read_gemm_scales(const Problem& p, int64_t columns) {
  const Grids grids = grids_of(p);
  const Floats &x_scale = *grids.x_scale, &x_zero = *grids.x_zero, &w_zero = *grids.w_zero;
  if (x_scale.size() > 1 || x_zero.size() > 1)
    return unsupported("{} scales and {} zero points of the data: one each", x_scale.size(), x_zero.size());
  GemmScales s;
  s.given = !x_scale.empty();
  if (s.given) s.x = x_scale[0];
  s.w = *grids.w_scale;
  if (s.w.empty()) s.w = {1};
  if (s.w.size() != 1 && static_cast<int64_t>(s.w.size()) != columns)
    return invalid_argument("{}: {} scales of weights for {} columns", family_name(p.family()), s.w.size(), columns);
  if (!x_zero.empty()) {
    const bool is_signed = p.inputs[0].dtype == DType::kI8;
    if (!whole(x_zero[0], is_signed ? -128 : 0, is_signed ? 127 : 255))
      return invalid_argument("{}: zero point {} of {}", family_name(p.family()), x_zero[0],
                              dtype_name(p.inputs[0].dtype));
    s.x_zero = static_cast<int32_t>(x_zero[0]);
  }
  for (const double z : w_zero)
    if (z != w_zero[0] || !whole(z, -128, 127))
      return unsupported("weights with zero point {}: one whole number for all", z);
  if (!w_zero.empty()) s.w_zero = static_cast<int32_t>(w_zero[0]);
  return s;
}

}  // namespace wootz
