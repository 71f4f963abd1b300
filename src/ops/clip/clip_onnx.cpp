#include <cfloat>
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_clip_1(ImportContext& ctx) {
  AttrMap attrs;
  if (ctx.has_attr("min") && ctx.attr_float("min", 0) > -FLT_MAX) attrs["min"] = ctx.attr_float("min", 0);
  if (ctx.has_attr("max") && ctx.attr_float("max", 0) < FLT_MAX) attrs["max"] = ctx.attr_float("max", 0);
  const char* name = attrs.empty() ? "Identity" : "Clip";
  return import_as(ctx, name, {ctx.input(0)}, std::move(attrs));
}

// A bound goes into an attribute when a double holds it exactly.
bool exact(const HostTensor& bound) {
  if (bound.volume() != 1) return false;
  if (is_float(bound.dtype())) return !std::isnan(bound.get_f64(0));
  const int64_t v = bound.get_i64(0);
  return bound.dtype() != DType::kU64 && v > -(int64_t{1} << 53) && v < (int64_t{1} << 53);
}

Status import_clip_11(ImportContext& ctx) {
  std::vector<Value*> inputs{ctx.input(0)};
  AttrMap attrs;
  for (int i : {1, 2}) {
    if (!ctx.has_input(i)) continue;
    const HostTensor* bound = ctx.constant(i);
    if (bound != nullptr && exact(*bound)) {
      attrs[i == 1 ? "min" : "max"] = bound->get_f64(0);
    } else {
      inputs.resize(static_cast<size_t>(i) + 1);
      inputs[static_cast<size_t>(i)] = ctx.input(i);
    }
  }
  if (attrs.empty() && inputs.size() == 1) return import_as(ctx, "Identity", {ctx.input(0)});
  return import_as(ctx, "Clip", std::move(inputs), std::move(attrs));
}

constexpr OnnxImport kClipImports[] = {{"Clip", 1, import_clip_1}, {"Clip", 11, import_clip_11}};

}  // namespace

std::span<const OnnxImport> clip_onnx() { return kClipImports; }

}  // namespace wootz::ops
