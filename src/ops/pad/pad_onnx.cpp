#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_with_attrs(ImportContext& ctx, const char* pads) {
  if (!ctx.has_attr(pads)) return ctx.fail("attribute '{}' is required", pads);
  return import_as(ctx, "Pad", {ctx.input(0)},
                   {{"pads", ctx.attr_ints(pads)},
                    {"mode", ctx.attr_string("mode", "constant")},
                    {"value", ctx.attr_float("value", 0)}});
}

Status import_pad_1(ImportContext& ctx) {
  return import_with_attrs(ctx, ctx.has_attr("paddings") ? "paddings" : "pads");
}

Status import_pad_2(ImportContext& ctx) { return import_with_attrs(ctx, "pads"); }

// Pads of the listed axes as pads of all axes; nullopt when they are not known yet.
Result<std::optional<std::vector<int64_t>>> known_pads(ImportContext& ctx) {
  const std::optional<std::vector<int64_t>> pads = known_ints(ctx.input(1));
  if (!pads) return std::optional<std::vector<int64_t>>();
  if (!ctx.has_input(3)) return pads;
  const std::optional<std::vector<int64_t>> given = known_ints(ctx.input(3));
  if (!given) return std::optional<std::vector<int64_t>>();
  const int rank = ctx.input(0)->rank();
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, normalize_axes(*given, rank));
  if (pads->size() != 2 * axes.size()) return ctx.fail("{} pads for {} axes", pads->size(), axes.size());
  std::vector<int64_t> all(static_cast<size_t>(2 * rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    all[static_cast<size_t>(axes[i])] = (*pads)[i];
    all[static_cast<size_t>(axes[i] + rank)] = (*pads)[axes.size() + i];
  }
  return std::optional(std::move(all));
}

Status import_pad_11(ImportContext& ctx) {
  AttrMap attrs{{"mode", ctx.attr_string("mode", "constant")}};
  std::vector<Value*> inputs{ctx.input(0), nullptr, nullptr, nullptr};
  WOOTZ_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> pads, known_pads(ctx));
  if (pads) {
    attrs["pads"] = std::move(*pads);
  } else {
    inputs[1] = ctx.input(1);
    inputs[3] = ctx.input(3);
  }
  if (const HostTensor* value = ctx.constant(2);
      value != nullptr && value->volume() == 1 && dtype_bits(value->dtype()) < 64)
    attrs["value"] = value->get_f64(0);
  else if (value != nullptr && value->dtype() == DType::kF64 && value->volume() == 1)
    attrs["value"] = value->get_f64(0);
  else if (value != nullptr && value->volume() == 0)
    attrs["value"] = 0.0;
  else
    inputs[2] = ctx.input(2);  // 64-bit integers need not fit into the attribute
  while (inputs.back() == nullptr) inputs.pop_back();
  return import_as(ctx, "Pad", std::move(inputs), std::move(attrs));
}

constexpr OnnxImport kPadImports[] = {{"Pad", 1, import_pad_1}, {"Pad", 2, import_pad_2}, {"Pad", 11, import_pad_11}};

}  // namespace

std::span<const OnnxImport> pad_onnx() { return kPadImports; }

}  // namespace wootz::ops
