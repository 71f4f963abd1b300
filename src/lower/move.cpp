// What only moves elements: transposes, slices, concatenations, padding, expansion, views, gather and scatter, resize.
#include <algorithm>

#include "lower/context.h"

namespace wootz {
namespace {

// Constant elements of an attribute or, failing that, of an input (tracked values included).
std::optional<std::vector<int64_t>> ints_of(const Node& node, std::string_view attr, int input) {
  if (node.has_attr(attr)) return node.attr_ints(attr);
  const Value* v = node.input(input);
  if (v == nullptr) return std::nullopt;
  std::vector<int64_t> values;
  if (v->is_constant()) {
    for (int64_t i = 0; i < v->constant().volume(); ++i) values.push_back(v->constant().get_i64(i));
    return values;
  }
  if (!v->shape_values()) return std::nullopt;
  for (const Dim& d : *v->shape_values()) {
    if (!d.is_const()) return std::nullopt;
    values.push_back(d.value());
  }
  return values;
}

// starts and steps for every axis; nullopt when a start counts from an end that is only known at run time.
bool slice_params(const Node& node, std::vector<int64_t>* starts, std::vector<int64_t>* steps) {
  const Shape& shape = node.input(0)->shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const auto first = ints_of(node, "starts", 1);
  if (!first) return false;
  std::vector<int64_t> axes = ints_of(node, "axes", 3).value_or(std::vector<int64_t>{});
  if (axes.empty())
    for (size_t i = 0; i < first->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  const bool steps_given = node.has_attr("steps") || node.input(4) != nullptr;
  const auto stride = ints_of(node, "steps", 4);
  if (steps_given && !stride) return false;
  starts->assign(shape.size(), 0);
  steps->assign(shape.size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || i >= first->size()) return false;
    const auto a = static_cast<size_t>(axis);
    const int64_t step = stride && i < stride->size() ? (*stride)[i] : 1;
    int64_t start = (*first)[i];
    const Dim& extent = shape[a];
    if (step < 0 || start < 0 || !extent.is_const()) {
      if (!extent.is_const()) {
        // A start at or beyond zero is clamped to the extent: an empty result, which needs no start.
        if (start < 0 || step < 0) return false;
      } else {
        const int64_t n = extent.value();
        if (start < 0) start += n;
        start =
            step > 0 ? std::clamp<int64_t>(start, 0, n) : std::clamp<int64_t>(start, 0, std::max<int64_t>(0, n - 1));
      }
    } else {
      start = std::min(start, extent.value());
    }
    (*starts)[a] = start;
    (*steps)[a] = step;
  }
  return true;
}

Result<bool> finish(LowerContext& ctx, const Node& node, Step step) {
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace

Result<bool> lower_view(LowerContext& ctx, const Node& node) {
  const Value* source = node.input(0);
  const Value* out = node.output();
  if (node.num_outputs() != 1 || source->dtype() != out->dtype()) return false;
  WOOTZ_RETURN_IF_ERROR(ctx.make_view(out, source));
  return true;
}

Result<bool> lower_move(LowerContext& ctx, const Node& node) {
  const Value* x = node.input(0);
  const auto rank = static_cast<size_t>(x->rank());
  const int inputs = node.is("Concat") ? LowerContext::main_inputs(node) : 1;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kMove, inputs));
  auto& params = step.problem.as<MoveParams>();
  if (node.is("Transpose")) {
    std::vector<int64_t> perm = node.attr_ints("perm");
    if (perm.empty())
      for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
    params.kind = MoveKind::kTranspose;
    params.perm = std::move(perm);
  } else if (node.is("Concat") || node.is("Split")) {
    WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(node.attr_int("axis", 0), x->rank()));
    params.kind = node.is("Concat") ? MoveKind::kConcat : MoveKind::kSplit;
    params.axis = axis;
  } else if (node.is("Slice")) {
    std::vector<int64_t> starts, steps;
    if (!slice_params(node, &starts, &steps)) return false;
    params.kind = MoveKind::kSlice;
    params.starts = std::move(starts);
    params.steps = std::move(steps);
  } else if (node.is("Pad")) {
    if (!node.has_attr("pads")) return false;
    std::vector<int64_t> pads = node.attr_ints("pads");
    const auto mode = choice_from_name<PadMode>(node.attr_string("mode", "constant"));
    if (pads.size() != 2 * rank || !mode) return false;
    double value = node.attr_float("value", 0);
    if (!node.has_attr("value") && node.input(2) != nullptr) {
      if (!node.input(2)->is_constant()) return false;
      value = node.input(2)->constant().get_f64(0);
    }
    params.kind = MoveKind::kPad;
    params.pads = std::move(pads);
    params.mode = *mode;
    params.value = value;
  } else if (node.is("Expand")) {
    params.kind = MoveKind::kExpand;
  } else if (node.is("Tile")) {
    params.kind = MoveKind::kTile;
  } else if (node.is("DepthToSpace") || node.is("SpaceToDepth")) {
    params.kind = node.is("DepthToSpace") ? MoveKind::kDepthToSpace : MoveKind::kSpaceToDepth;
    params.block = node.attr_int("blocksize", 1);
    std::string order = node.attr_string("mode", "DCR");
    std::transform(order.begin(), order.end(), order.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto split = choice_from_name<BlockOrder>(order);
    // The family splits channels one way only.
    if (!split || (node.is("SpaceToDepth") && *split != BlockOrder::kDcr)) return false;
    params.order = *split;
  } else {
    return false;
  }
  return finish(ctx, node, std::move(step));
}

Result<bool> lower_gather(LowerContext& ctx, const Node& node) {
  if (!node.is("Gather") && !node.is("GatherElements") && !node.is("GatherND")) return false;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kGather, 2));
  auto& params = step.problem.as<GatherParams>();
  params.kind = node.is("GatherElements") ? GatherKind::kElements
                : node.is("GatherND")     ? GatherKind::kNd
                                          : GatherKind::kGather;
  if (!node.is("GatherND")) {
    WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(node.attr_int("axis", 0), node.input(0)->rank()));
    params.axis = axis;
  }
  params.batch_dims = node.attr_int("batch_dims", 0);
  return finish(ctx, node, std::move(step));
}

Result<bool> lower_scatter(LowerContext& ctx, const Node& node) {
  const bool elements = node.is("ScatterElements");
  const auto reduction = choice_from_name<ScatterReduction>(node.attr_string("reduction", "none"));
  if ((!elements && !node.is("ScatterND")) || !reduction) return false;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kScatter, 3));
  auto& params = step.problem.as<ScatterParams>();
  params.kind = elements ? ScatterKind::kElements : ScatterKind::kNd;
  params.reduction = *reduction;
  if (elements) {
    WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(node.attr_int("axis", 0), node.input(0)->rank()));
    params.axis = axis;
  }
  return finish(ctx, node, std::move(step));
}

Result<bool> lower_resize(LowerContext& ctx, const Node& node) {
  const auto mode = choice_from_name<ResizeMode>(node.attr_string("mode", "nearest"));
  const auto coordinate =
      choice_from_name<ResizeCoordinate>(node.attr_string("coordinate_transformation_mode", "half_pixel"));
  const auto nearest = choice_from_name<ResizeNearest>(node.attr_string("nearest_mode", "round_prefer_floor"));
  if (!mode || !coordinate || !nearest) return false;
  const bool crop = *coordinate == ResizeCoordinate::kCrop;
  if (crop && !node.has_attr("roi") && node.input(3) != nullptr) return false;  // a data-dependent region
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kResize, 1));
  auto& params = step.problem.as<ResizeParams>();
  params.mode = *mode;
  params.coordinate = *coordinate;
  params.nearest = *nearest;
  params.cubic_a = node.attr_float("cubic_coeff_a", -0.75);
  params.exclude_outside = node.attr_int("exclude_outside", 0) != 0;
  params.antialias = node.attr_int("antialias", 0) != 0;
  params.extrapolation = node.attr_float("extrapolation_value", 0);
  std::vector<double> scales = node.attr_floats("scales");
  const auto rank = static_cast<size_t>(node.input(0)->rank());
  if (!scales.empty() && scales.size() != rank) return false;
  if (scales.empty()) {
    if (node.attr_string("keep_aspect_ratio_policy", "stretch") != "stretch") return false;
    scales.assign(rank, 0);
  }
  params.scales = std::move(scales);
  if (crop) params.roi = node.attr_floats("roi");
  return finish(ctx, node, std::move(step));
}

}  // namespace wootz
