// Resize: separable interpolation, one axis after the other.
#include "ops/resize/resize_axis.h"

#include <algorithm>
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/module_util.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

// Inputs x, [sizes], [scales], [roi]. sizes, scales and roi are along attribute axes (all when absent); attribute
// scales has one per axis of x. Extents: from sizes, else floor(extent * scale). Coordinates: by scales, else extent by
// extent.
constexpr int kSizes = 1, kScales = 2, kRoi = 3;

Result<std::vector<int64_t>> read_axes(const Node& node, int rank) {
  std::vector<int64_t> axes = node.attr_ints("axes");
  if (!node.has_attr("axes"))
    for (int a = 0; a < rank; ++a) axes.push_back(a);
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (int64_t& axis : axes) {
    WOOTZ_ASSIGN_OR_RETURN(const int at, normalize_axis(axis, rank));
    if (seen[static_cast<size_t>(at)]) return invalid_argument("axis {} is given twice", axis);
    seen[static_cast<size_t>(at)] = true;
    axis = at;
  }
  return axes;
}

bool keeps_ratio(const Node& node) { return node.attr_string("keep_aspect_ratio_policy", "stretch") != "stretch"; }

// One scale for all axes, so that the result is no larger (smaller) than wanted.
double common_scale(const Node& node, const std::vector<int64_t>& axes, const std::vector<double>& in,
                    const std::vector<double>& wanted) {
  const bool larger = node.attr_string("keep_aspect_ratio_policy") == "not_smaller";
  double scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const double s = wanted[i] / std::max(1.0, in[static_cast<size_t>(axes[i])]);
    scale = i == 0 ? s : larger ? std::max(scale, s) : std::min(scale, s);
  }
  return scale;
}

Status check_choices(InferContext& ctx) {
  const auto one_of = [&](const char* attr, const char* fallback, std::initializer_list<const char*> allowed) {
    const std::string value = ctx.node().attr_string(attr, fallback);
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return Status();
    return ctx.fail("unknown {} '{}'", attr, value);
  };
  WOOTZ_RETURN_IF_ERROR(one_of("mode", "nearest", {"nearest", "linear", "cubic"}));
  WOOTZ_RETURN_IF_ERROR(one_of("coordinate_transformation_mode", "half_pixel",
                               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  WOOTZ_RETURN_IF_ERROR(
      one_of("nearest_mode", "round_prefer_floor", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  return one_of("keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"});
}

Status infer_sizes(InferContext& ctx, const std::vector<int64_t>& axes, Shape* y) {
  const Shape& x = ctx.shape(0);
  if (ctx.rank(kSizes) != 1 || is_float(ctx.dtype(kSizes))) return ctx.fail("sizes must be a list of integers");
  std::vector<std::optional<Dim>> wanted = known_elements(ctx, kSizes);
  const Dim& count = ctx.shape(kSizes)[0];
  if ((count.is_const() && count.value() != static_cast<int64_t>(axes.size())) ||
      (!wanted.empty() && wanted.size() != axes.size()))
    return ctx.fail("{} sizes for {} axes", count.to_string(), axes.size());
  wanted.resize(axes.size());
  const bool policy = keeps_ratio(ctx.node()) && !ctx.node().has_attr("scales");
  bool known = true;
  std::vector<double> in(x.size()), sizes;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    (*y)[axis] = wanted[i] && !policy ? *wanted[i] : ctx.data_dependent(0, static_cast<int>(axis));
    known = known && x[axis].is_const() && wanted[i] && wanted[i]->is_const();
    if (known) {
      in[axis] = static_cast<double>(x[axis].value());
      sizes.push_back(static_cast<double>(wanted[i]->value()));
    }
  }
  if (!policy || !known) return {};
  const double scale = common_scale(ctx.node(), axes, in, sizes);
  for (int64_t axis : axes) {
    const double extent = std::floor(scale * in[static_cast<size_t>(axis)] + 0.5);
    if (!(extent >= 0 && extent < 1e9)) return ctx.fail("an extent of {}", extent);
    (*y)[static_cast<size_t>(axis)] = Dim(static_cast<int64_t>(extent));
  }
  return {};
}

Status infer_resize(InferContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(check_choices(ctx));
  const Shape& x = ctx.shape(0);
  const DType type = ctx.dtype(0);
  if (!is_float(type) && !is_integer(type) && type != DType::kBool)
    return ctx.fail("input of type {}", dtype_name(type));
  Result<std::vector<int64_t>> axes = read_axes(ctx.node(), ctx.rank(0));
  if (!axes.ok()) return ctx.fail("{}", axes.status().message());
  const std::vector<double> scales = ctx.node().attr_floats("scales");
  if (!scales.empty() && scales.size() != x.size())
    return ctx.fail("{} scales for input {}", scales.size(), shape_to_string(x));
  for (double s : scales)
    if (!(s > 0 && s < 1e9)) return ctx.fail("a scale of {}", s);
  Shape y = x;
  if (ctx.has(kSizes)) {
    WOOTZ_RETURN_IF_ERROR(infer_sizes(ctx, *axes, &y));
  } else if (!scales.empty()) {
    for (size_t a = 0; a < x.size(); ++a) y[a] = scaled_extent(x[a], scales[a]);
  } else if (ctx.has(kScales)) {
    const HostTensor* given = ctx.constant(kScales);
    if (!is_float(ctx.dtype(kScales))) return ctx.fail("scales of type {}", dtype_name(ctx.dtype(kScales)));
    if (given != nullptr && given->volume() != static_cast<int64_t>(axes->size()))
      return ctx.fail("{} scales for {} axes", given->volume(), axes->size());
    for (size_t i = 0; i < axes->size(); ++i) {
      const auto axis = static_cast<size_t>((*axes)[i]);
      const double s = given != nullptr ? given->get_f64(static_cast<int64_t>(i)) : 1;
      if (!(s > 0 && s < 1e9)) return ctx.fail("a scale of {}", s);
      y[axis] = given != nullptr ? scaled_extent(x[axis], s) : ctx.data_dependent(0, static_cast<int>(axis));
    }
  } else {
    return ctx.fail("neither sizes nor scales");
  }
  for (size_t a = 0; a < x.size(); ++a)
    if (x[a].is_const() && x[a].value() == 0 && y[a].is_const() && y[a].value() != 0)
      return ctx.fail("input {} has nothing to resize to {}", shape_to_string(x), shape_to_string(y));
  ctx.set_output(0, type, y);
  return {};
}

// Scale and region of every axis for one run.
Status read_axis_settings(const EvalContext& ctx, const std::vector<int64_t>& axes, std::vector<ResizeAxis>* out) {
  const Dims &x = ctx.in(0).dims(), &y = ctx.outputs[0].dims();
  const std::vector<double> scales = ctx.node.attr_floats("scales"), roi = ctx.node.attr_floats("roi");
  const auto rank = x.size();
  out->resize(rank);
  double common = 0;
  const bool policy = scales.empty() && ctx.has(kSizes) && keeps_ratio(ctx.node);
  if (policy) {
    std::vector<double> in, wanted;
    for (int64_t d : x) in.push_back(static_cast<double>(d));
    for (size_t i = 0; i < axes.size(); ++i) wanted.push_back(ctx.in(kSizes).get_f64(static_cast<int64_t>(i)));
    common = common_scale(ctx.node, axes, in, wanted);
  }
  for (size_t a = 0; a < rank; ++a) {
    ResizeAxis& axis = (*out)[a];
    axis.in = x[a];
    axis.out = y[a];
    const auto found = std::find(axes.begin(), axes.end(), static_cast<int64_t>(a));
    const auto at = static_cast<int64_t>(found - axes.begin());
    const bool listed = found != axes.end();
    if (!scales.empty())
      axis.scale = scales[a];
    else if (policy)
      axis.scale = listed ? common : 1;
    else if (ctx.has(kSizes))
      axis.scale = x[a] == 0 ? 1 : static_cast<double>(y[a]) / static_cast<double>(x[a]);
    else
      axis.scale = listed ? ctx.in(kScales).get_f64(at) : 1;
    axis.exact_out = !scales.empty() || policy || !ctx.has(kSizes) ? axis.scale * static_cast<double>(axis.in)
                                                                   : static_cast<double>(axis.out);
    if (roi.size() == 2 * rank) {
      axis.roi_begin = roi[a];
      axis.roi_end = roi[a + rank];
    } else if (ctx.has(kRoi) && listed && ctx.in(kRoi).volume() == 2 * static_cast<int64_t>(axes.size())) {
      axis.roi_begin = ctx.in(kRoi).get_f64(at);
      axis.roi_end = ctx.in(kRoi).get_f64(at + static_cast<int64_t>(axes.size()));
    }
  }
  return {};
}

Status reference_resize(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  HostTensor& y = ctx.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, read_axes(ctx.node, x.rank()));
  std::vector<ResizeAxis> settings;
  WOOTZ_RETURN_IF_ERROR(read_axis_settings(ctx, axes, &settings));
  const ResizeMode mode = read_resize_mode(ctx.node);
  std::vector<double> data = load_f64(x);
  Dims dims = x.dims();
  for (size_t a = 0; a < settings.size(); ++a) {
    const ResizeAxis& axis = settings[a];
    if (axis.scale == 1 && axis.in == axis.out && axis.roi_begin == 0 && axis.roi_end == 1) continue;
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<ResizeTaps> taps, resize_taps(mode, axis));
    const int64_t inner = dims.strides()[a], outer = inner * dims[a] == 0 ? 0 : dims.volume() / (inner * dims[a]);
    std::vector<double> next(static_cast<size_t>(outer * axis.out * inner), 0.0);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < axis.out; ++i) {
        const ResizeTaps& tap = taps[static_cast<size_t>(i)];
        double* to = next.data() + (o * axis.out + i) * inner;
        if (tap.outside) std::fill(to, to + inner, mode.extrapolation_value);
        for (size_t t = 0; t < tap.weights.size() && !tap.outside; ++t) {
          const double* from = data.data() + (o * axis.in + tap.indices[t]) * inner;
          for (int64_t e = 0; e < inner; ++e) to[e] += tap.weights[t] * from[e];
        }
      }
    }
    data = std::move(next);
    dims[a] = axis.out;
  }
  if (is_integer(y.dtype())) {
    const bool sign = dtype_info(y.dtype()).is_signed;
    const double span = std::ldexp(1.0, dtype_bits(y.dtype()) - (sign ? 1 : 0));
    for (double& v : data) v = std::clamp(v, sign ? -span : 0, span - 1);
  }
  store_f64(&y, 0, data);
  return {};
}

const OpDef kResize{
    .name = "Resize",
    .max_inputs = 4,
    .attributes = {{"mode", AttrKind::kString},
                   {"coordinate_transformation_mode", AttrKind::kString},
                   {"nearest_mode", AttrKind::kString},
                   {"cubic_coeff_a", AttrKind::kFloat},
                   {"exclude_outside", AttrKind::kInt},
                   {"antialias", AttrKind::kInt},
                   {"extrapolation_value", AttrKind::kFloat},
                   {"keep_aspect_ratio_policy", AttrKind::kString},
                   {"scales", AttrKind::kFloats},
                   {"axes", AttrKind::kInts},
                   {"roi", AttrKind::kFloats}},
    .infer = infer_resize,
    .reference = reference_resize,
    .lowering = Lowering::kResize,
};

}  // namespace

std::span<const OpDef* const> resize_ops() {
  static const OpDef* const kResizeDefs[] = {&kResize};
  return kResizeDefs;
}

}  // namespace wootz::ops
