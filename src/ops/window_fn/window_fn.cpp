// WindowFunction: Hann, Hamming and Blackman windows of a length that is input 0.
#include <cmath>
#include <string_view>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
struct Window {
  std::string_view kind;
  double a0, a1, a2;
};
constexpr Window kWindows[] = {
    {"hann", 0.5, 0.5, 0}, {"hamming", 25.0 / 46, 21.0 / 46, 0}, {"blackman", 0.42, 0.5, 0.08}};

const Window* window_of(const Node& node) {
  const std::string kind = node.attr_string("kind");
  for (const Window& w : kWindows)
    if (w.kind == kind) return &w;
  return nullptr;
}

Status infer_window(InferContext& ctx) {
  if (window_of(ctx.node()) == nullptr) return ctx.fail("kind '{}' is not known", ctx.node().attr_string("kind"));
  const DType dtype = ctx.node().attr_dtype("dtype", DType::kF32);
  if (!accepts(Accept::kNumeric, dtype)) return ctx.fail("dtype is {}", dtype_name(dtype));
  const Dim count = volume(ctx.shape(0));
  if (!is_integer(ctx.dtype(0)) || (count.is_const() && count.value() != 1))
    return ctx.fail("the size is {}{}, it must be one integer", dtype_name(ctx.dtype(0)),
                    shape_to_string(ctx.shape(0)));
  const std::optional<std::vector<Dim>> size = ctx.dims_value(0);
  ctx.set_output(0, dtype, {size ? size->front() : ctx.data_dependent(0, 0)});
  return Status();
}

Status window_reference(EvalContext& ctx) {
  const Window* w = window_of(ctx.node);
  const int64_t size = ctx.outputs[0].volume();
  const int64_t period = ctx.node.attr_int("periodic", 1) != 0 ? size : size - 1;
  for (int64_t n = 0; n < size; ++n) {
    constexpr double kTau = 6.283185307179586476925;
    const double angle = kTau * static_cast<double>(n) / static_cast<double>(period);
    const double value = period == 0 ? 1 : w->a0 - w->a1 * std::cos(angle) + w->a2 * std::cos(2 * angle);
    ctx.outputs[0].set_f64(n, value);
  }
  return Status();
}

const OpDef kWindow{
    .name = "WindowFunction",
    .attributes = {{"kind", AttrKind::kString, true}, {"periodic", AttrKind::kInt}, {"dtype", AttrKind::kDType}},
    .infer = infer_window,
    .reference = window_reference,
    .traits = {}};
const OpDef* const kWindowFnDefs[] = {&kWindow};

}  // namespace

std::span<const OpDef* const> window_fn_ops() { return kWindowFnDefs; }

}  // namespace wootz::ops
