#include "backend/siblings.h"

#include <algorithm>

#include "backend/chain.h"
#include "backend/operand_dims.h"

namespace wootz {
namespace {

void set_channels(TensorDesc* t, size_t axis, int64_t channels) {
  if (axis < t->dims.size()) t->dims[axis] = channels;
  if (axis < t->max_dims.size()) t->max_dims[axis] = channels;
}

// The problem with so many channels.
Problem with_channels(const Problem& problem, size_t weights, int64_t channels) {
  Problem p = problem;
  set_channels(&p.inputs[weights], 0, channels);
  if (weights + 1 < p.inputs.size()) set_channels(&p.inputs[weights + 1], 0, channels);
  set_channels(&p.outputs[0], 1, channels);
  return p;
}

}  // namespace

std::optional<size_t> sibling_weights(const Problem& p) {
  const auto* chain = p.as_if<ChainParams>();
  const auto* box = chain == nullptr ? nullptr : chain->second.get();
  const auto* conv = chain == nullptr ? p.as_if<ConvParams>()
                     : box == nullptr ? nullptr
                                      : std::get_if<ConvParams>(&box->params);
  if (conv == nullptr || conv->transposed || conv->groups != 1 || !conv->x_scale.empty()) return std::nullopt;
  const auto first = chain == nullptr ? size_t{1} : static_cast<size_t>(std::max<int64_t>(0, chain->first_inputs));
  const size_t end = first + (conv->has_bias ? 2 : 1);
  if (first < 1 || p.inputs.size() != end || p.num_main != static_cast<int>(end)) return std::nullopt;
  for (size_t i = first; i < end; ++i)
    if (!p.inputs[i].constant || p.inputs[i].dims.empty()) return std::nullopt;
  return first;
}

std::optional<Problem> make_siblings(std::span<const Problem> problems) {
  if (problems.size() < 2 || problems.size() > kMostSiblings) return std::nullopt;
  const Problem& first = problems[0];
  const std::optional<size_t> weights = sibling_weights(first);
  if (!weights || first.passing || first.outputs.size() != 1) return std::nullopt;
  const std::string key = with_channels(first, *weights, 1).key();
  int64_t channels = 0;
  std::vector<TensorDesc> results;
  for (const Problem& p : problems) {
    if (p.inputs.size() != first.inputs.size() || p.outputs.size() != 1 || sibling_weights(p) != weights ||
        with_channels(p, *weights, 1).key() != key)
      return std::nullopt;
    channels += p.inputs[*weights].dims[0];
    results.push_back(p.outputs[0]);
  }
  Problem made = with_channels(first, *weights, channels);
  made.params = SiblingsParams{.joint = box_params(first.params)};
  made.outputs = std::move(results);
  return made;
}

Result<Dims> joint_extents(std::span<const Dims> results) {
  if (results.empty() || results[0].rank() < 3) return invalid_argument("siblings: results that are no images");
  Dims y = results[0];
  y[1] = 0;
  for (const Dims& d : results) {
    for (size_t a = 0; a < y.size(); ++a)
      if (d.size() != y.size() || d[a] < 0 || (a != 1 && d[a] != y[a]))
        return invalid_argument("siblings: {} beside {}", d.to_string(), results[0].to_string());
    y[1] += d[1];
  }
  WOOTZ_RETURN_IF_ERROR(checked_volume(y.span()).status());
  return y;
}

Result<Problem> joint_of(const Problem& p) {
  const auto* params = p.as_if<SiblingsParams>();
  const auto* joint = params == nullptr ? nullptr : params->joint.get();
  if (joint == nullptr) return invalid_argument("siblings: their family is missing");
  if (p.outputs.size() < 2 || p.outputs.size() > kMostSiblings)
    return invalid_argument("siblings: {} results", p.outputs.size());
  std::vector<Dims> dims, max_dims;
  for (const TensorDesc& t : p.outputs) {
    if (t.dtype != p.outputs[0].dtype || t.layout != p.outputs[0].layout)
      return invalid_argument("siblings: results of unlike types or layouts");
    dims.push_back(t.dims);
    max_dims.push_back(t.max_dims);
  }
  Problem made = p;
  made.params = joint->params;
  made.outputs.resize(1);
  WOOTZ_ASSIGN_OR_RETURN(made.outputs[0].dims, joint_extents(dims));
  WOOTZ_ASSIGN_OR_RETURN(made.outputs[0].max_dims, joint_extents(max_dims));
  const std::optional<size_t> weights = sibling_weights(made);
  if (!weights) return invalid_argument("siblings: a joint problem of family {}", family_name(made.family()));
  if (made.inputs[*weights].dims[0] != made.outputs[0].dims[1])
    return invalid_argument("siblings: weights {} for {} channels", made.inputs[*weights].dims.to_string(),
                            made.outputs[0].dims[1]);
  return made;
}

}  // namespace wootz
