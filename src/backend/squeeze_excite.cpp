#include "backend/squeeze_excite.h"

#include <algorithm>

#include "backend/quantized.h"

namespace wootz {
namespace {

// Of 8 bits with an expression that quantizes it.
bool is_mean_of_images(const Problem& p) {
  if (p.inputs.size() != 1 || p.outputs.size() != 1 || (!p.epilogue.empty() && !has_scales(p))) return false;
  const int rank = p.inputs[0].dims.rank();
  if (rank < 3 || p.outputs[0].dims.rank() != rank) return false;
  if (const auto* pool = p.as_if<PoolParams>()) return pool->kind == PoolKind::kAvg && pool->global;
  const auto* reduce = p.as_if<ReduceParams>();
  if (reduce == nullptr || reduce->kind != ReduceKind::kMean) return false;
  Ints axes = reduce->axes, spatial;
  std::sort(axes.begin(), axes.end());
  for (int axis = 2; axis < rank; ++axis) spatial.push_back(axis);
  return axes == spatial;
}

bool is_one(const Dims& dims, int first) {
  for (int axis = first; axis < dims.rank(); ++axis)
    if (dims[static_cast<size_t>(axis)] != 1) return false;
  return true;
}

// A product by channels, of images of one pixel.
bool is_product(const Problem& p) {
  const auto* conv = p.as_if<ConvParams>();
  if (conv == nullptr || conv->transposed || conv->groups != 1 || !conv->w_zero.empty()) return false;
  if (p.inputs.size() != (conv->has_bias ? 3 : 2) || p.num_main != static_cast<int>(p.inputs.size()) ||
      p.outputs.size() != 1)
    return false;
  const Dims& w = p.inputs[1].dims;
  const auto zero = [](int64_t pad) { return pad == 0; };
  return w.rank() >= 3 && is_one(w, 2) && is_one(p.outputs[0].max_dims, 2) &&
         std::all_of(conv->pads.begin(), conv->pads.end(), zero);
}

// Scales of all three, or of none.
bool add_grids(std::span<const Problem> steps, SqueezeExciteParams* params) {
  const auto scaled = std::count_if(steps.begin(), steps.end(), has_scales);
  if (scaled == 0) return true;
  for (const Problem& step : steps) {
    const Grids grids = grids_of(step);
    if (grids.x_scale->size() != 1 || grids.x_zero->size() > 1) return false;
    params->x_scale.push_back(grids.x_scale->front());
    params->x_zero.push_back(grids.x_zero->empty() ? 0 : grids.x_zero->front());
  }
  params->mean = steps[0].epilogue;
  params->w1_scale = steps[1].as<ConvParams>().w_scale;
  params->w2_scale = steps[2].as<ConvParams>().w_scale;
  return !params->mean.empty() && !params->w1_scale.empty() && !params->w2_scale.empty();
}

}  // namespace

std::optional<Problem> make_squeeze_excite(std::span<const Problem> steps) {
  if (steps.size() != 3) return std::nullopt;
  const Problem &mean = steps[0], &first = steps[1], &second = steps[2];
  if (!is_mean_of_images(mean) || !is_product(first) || !is_product(second)) return std::nullopt;
  Problem made;
  SqueezeExciteParams params{
      .has_b1 = first.as<ConvParams>().has_bias, .has_b2 = second.as<ConvParams>().has_bias, .hidden = first.epilogue};
  if (!add_grids(steps, &params)) return std::nullopt;
  made.params = std::move(params);
  made.passing = mean.passing || first.passing || second.passing;
  made.inputs = mean.inputs;
  made.inputs.insert(made.inputs.end(), first.inputs.begin() + 1, first.inputs.end());
  made.inputs.insert(made.inputs.end(), second.inputs.begin() + 1, second.inputs.end());
  made.num_main = static_cast<int>(made.inputs.size());
  made.outputs = second.outputs;
  made.epilogue = second.epilogue;
  made.acc_dtype = second.acc_dtype;
  return made;
}

}  // namespace wootz
