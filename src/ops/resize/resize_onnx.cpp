#include <algorithm>
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

// An optional list input; an empty tensor stands for an omitted one.
Value* list_input(const ImportContext& ctx, int i) {
  Value* v = ctx.input(i);
  return v == nullptr || (v->rank() == 1 && v->shape()[0] == Dim(0)) ? nullptr : v;
}

std::vector<double> floats(const HostTensor& t) {
  std::vector<double> values;
  for (int64_t i = 0; i < t.volume(); ++i) values.push_back(t.get_f64(i));
  return values;
}

// Values along `axes` as one per axis of the input; `parts` lists follow each other (roi: begins, ends).
Result<std::vector<double>> per_axis(ImportContext& ctx, const std::vector<double>& values,
                                     const std::vector<int64_t>& axes, size_t rank, const std::vector<double>& fill) {
  if (values.size() != axes.size() * fill.size()) return ctx.fail("{} values for {} axes", values.size(), axes.size());
  std::vector<double> all;
  for (size_t part = 0; part < fill.size(); ++part) {
    all.insert(all.end(), rank, fill[part]);
    for (size_t i = 0; i < axes.size(); ++i)
      all[part * rank + static_cast<size_t>(axes[i])] = values[part * axes.size() + i];
  }
  return all;
}

// keep_aspect_ratio_policy with everything known: the sizes and scales that follow.
bool fix_policy(const Value* x, const std::vector<int64_t>& axes, const std::vector<int64_t>& wanted, bool larger,
                std::vector<int64_t>* sizes, std::vector<double>* scales) {
  double scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& d = x->shape()[static_cast<size_t>(axes[i])];
    if (!d.is_const() || d.value() < 1) return false;
    const double s = static_cast<double>(wanted[i]) / static_cast<double>(d.value());
    scale = i == 0 ? s : larger ? std::max(scale, s) : std::min(scale, s);
  }
  scales->assign(x->shape().size(), 1);
  for (size_t a = 0; a < x->shape().size(); ++a) {
    if (!x->shape()[a].is_const()) return false;
    const bool listed = std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) != axes.end();
    if (listed) (*scales)[a] = scale;
    const auto extent = static_cast<double>(x->shape()[a].value());
    sizes->push_back(static_cast<int64_t>(listed ? std::floor(scale * extent + 0.5) : extent));
  }
  return scale > 0;
}

Status import_resize(ImportContext& ctx) {
  Value* x = ctx.input(0);
  if (x == nullptr) return ctx.fail("input is required");
  const auto rank = x->shape().size();
  AttrMap attrs;
  for (const auto& [name, fallback] :
       {std::pair("mode", "nearest"), std::pair("coordinate_transformation_mode", "half_pixel"),
        std::pair("nearest_mode", "round_prefer_floor")})
    attrs[name] = ctx.attr_string(name, fallback);
  attrs["cubic_coeff_a"] = ctx.attr_float("cubic_coeff_a", -0.75);
  for (const char* name : {"exclude_outside", "antialias"})
    if (ctx.attr_int(name, 0) != 0) attrs[name] = int64_t{1};
  if (const double v = ctx.attr_float("extrapolation_value", 0); v != 0) attrs["extrapolation_value"] = v;

  std::vector<int64_t> axes = ctx.attr_ints("axes");
  const bool some_axes = !axes.empty();
  if (!some_axes)
    for (size_t a = 0; a < rank; ++a) axes.push_back(static_cast<int64_t>(a));
  for (int64_t& axis : axes) {
    WOOTZ_ASSIGN_OR_RETURN(axis, normalize_axis(axis, x->rank()));
  }
  Value *roi = list_input(ctx, 1), *scales = list_input(ctx, 2), *sizes = list_input(ctx, 3);
  if (std::get<std::string>(attrs["coordinate_transformation_mode"]) != "tf_crop_and_resize") roi = nullptr;
  if ((scales == nullptr) == (sizes == nullptr)) return ctx.fail("exactly one of scales and sizes is needed");
  if (roi != nullptr && roi->is_constant()) {
    WOOTZ_ASSIGN_OR_RETURN(attrs["roi"], per_axis(ctx, floats(roi->constant()), axes, rank, {0, 1}));
    roi = nullptr;
  }
  if (scales != nullptr && scales->is_constant()) {
    WOOTZ_ASSIGN_OR_RETURN(attrs["scales"], per_axis(ctx, floats(scales->constant()), axes, rank, {1}));
    scales = nullptr;
  }
  const std::string policy = ctx.attr_string("keep_aspect_ratio_policy", "stretch");
  bool fixed = false;
  if (sizes != nullptr && policy != "stretch") {
    std::vector<int64_t> all;
    std::vector<double> factors;
    const std::vector<int64_t> wanted = ctx.constant_ints(3);
    if (wanted.size() == axes.size() && fix_policy(x, axes, wanted, policy == "not_smaller", &all, &factors)) {
      sizes = ctx.ints(all);
      attrs["scales"] = factors;
      fixed = true;
    } else {
      attrs["keep_aspect_ratio_policy"] = policy;
    }
  }
  if (some_axes && !fixed && (sizes != nullptr || scales != nullptr || roi != nullptr)) attrs["axes"] = axes;
  std::vector<Value*> inputs{x, sizes, scales, roi};
  while (inputs.back() == nullptr) inputs.pop_back();
  Composer c(ctx);
  return c.output(0, c.op("Resize", std::move(inputs), std::move(attrs)));
}

// Upsample, and Resize before opset 11: asymmetric coordinates, rounded toward the kept element.
Status import_simple(ImportContext& ctx, Value* scales, std::vector<double> known) {
  Value* x = ctx.input(0);
  if (x == nullptr) return ctx.fail("input is required");
  if (scales != nullptr && scales->is_constant()) {
    known = floats(scales->constant());
    scales = nullptr;
  }
  std::string mode = ctx.attr_string("mode", "nearest");
  if (mode == "bilinear" || mode == "trilinear") mode = "linear";
  AttrMap attrs{{"mode", mode},
                {"coordinate_transformation_mode", std::string("asymmetric")},
                {"nearest_mode", std::string("floor")}};
  std::vector<Value*> inputs{x};
  if (scales == nullptr) {
    if (known.size() != x->shape().size())
      return ctx.fail("{} scales for input {}", known.size(), shape_to_string(x->shape()));
    const bool shrinks = std::any_of(known.begin(), known.end(), [](double s) { return s < 1; });
    const bool grows = std::any_of(known.begin(), known.end(), [](double s) { return s > 1; });
    if (shrinks && grows && mode == "nearest")
      return ctx.fail("nearest with scales on both sides of 1 is not supported");
    if (shrinks) attrs["nearest_mode"] = std::string("ceil");
    attrs["scales"] = known;
  } else {
    inputs.insert(inputs.end(), {nullptr, scales});
  }
  Composer c(ctx);
  return c.output(0, c.op("Resize", std::move(inputs), std::move(attrs)));
}

Status import_second_input(ImportContext& ctx) {
  if (!ctx.has_input(1)) return ctx.fail("scales are required");
  return import_simple(ctx, ctx.input(1), {});
}
Status import_upsample_attr(ImportContext& ctx) { return import_simple(ctx, nullptr, ctx.attr_floats("scales")); }
Status import_upsample_first(ImportContext& ctx) {
  return import_simple(ctx, nullptr, {1, 1, ctx.attr_float("height_scale", 1), ctx.attr_float("width_scale", 1)});
}

}  // namespace

std::span<const OnnxImport> resize_onnx() {
  static constexpr OnnxImport kResizeImports[] = {
      {"Resize", 10, import_second_input},    {"Resize", 11, import_resize},
      {"Upsample", 1, import_upsample_first}, {"Upsample", 7, import_upsample_attr},
      {"Upsample", 9, import_second_input},
  };
  return kResizeImports;
}

}  // namespace wootz::ops
