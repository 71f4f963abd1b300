#include "backend/siblings.h"

#include <algorithm>

#include "backend/chain.h"
#include "backend/operand_dims.h"

namespace wootz {
namespace {

void set_extent(TensorDesc* t, size_t axis, int64_t extent) {
  if (axis < t->dims.size()) t->dims[axis] = extent;
  if (axis < t->max_dims.size()) t->max_dims[axis] = extent;
}

// The problem with so many channels.
Problem with_channels(const Problem& problem, const SiblingAxes& axes, int64_t channels) {
  Problem p = problem;
  for (size_t i = 0; i < axes.inputs.size(); ++i) set_extent(&p.inputs[axes.shared + i], axes.inputs[i], channels);
  set_extent(&p.outputs[0], axes.output, channels);
  return p;
}

int64_t channels_of(const Problem& p, const SiblingAxes& axes) { return p.inputs[axes.shared].dims[axes.inputs[0]]; }

// The parameters of the convolution or product whose weights lie beside those of others.
FamilyParams with_sparse(const FamilyParams& params, bool sparse) {
  FamilyParams made = params;
  if (auto* conv = std::get_if<ConvParams>(&made)) conv->sparse = sparse;
  if (auto* gemm = std::get_if<GemmParams>(&made)) gemm->sparse = sparse;
  if (auto* chain = std::get_if<ChainParams>(&made); chain != nullptr && chain->second.get() != nullptr)
    chain->second = box_params(with_sparse(chain->second.get()->params, sparse));
  return made;
}

bool is_sparse(const FamilyParams& params) { return !(with_sparse(params, false) == params); }

// The problem without what may differ among siblings.
std::string common_key(const Problem& problem, const SiblingAxes& axes) {
  Problem p = with_channels(problem, axes, 1);
  p.params = with_sparse(p.params, false);
  return p.key();
}

// Whether all operands from `shared` on are constants of the same channels, as the axes say.
bool go_together(const Problem& p, const SiblingAxes& axes) {
  if (axes.inputs.empty() || p.inputs.size() != axes.shared + axes.inputs.size()) return false;
  for (size_t i = 0; i < axes.inputs.size(); ++i) {
    const TensorDesc& t = p.inputs[axes.shared + i];
    if (!t.constant || axes.inputs[i] >= t.dims.size() || t.dims[axes.inputs[i]] != channels_of(p, axes)) return false;
  }
  return true;
}

std::optional<SiblingAxes> axes_of_convolution(const Problem& p) {
  const auto* chain = p.as_if<ChainParams>();
  const auto* box = chain == nullptr ? nullptr : chain->second.get();
  const auto* conv = chain == nullptr ? p.as_if<ConvParams>()
                     : box == nullptr ? nullptr
                                      : std::get_if<ConvParams>(&box->params);
  if (conv == nullptr || conv->transposed || conv->groups != 1 || !conv->x_scale.empty()) return std::nullopt;
  const auto shared = chain == nullptr ? size_t{1} : static_cast<size_t>(std::max<int64_t>(0, chain->first_inputs));
  SiblingAxes axes{.shared = shared, .inputs = std::vector<size_t>(conv->has_bias ? 2 : 1, 0), .output = 1};
  if (shared < 1 || p.outputs[0].dims.rank() < 3 || p.num_main != static_cast<int>(shared + axes.inputs.size()))
    return std::nullopt;
  return axes;
}

template <class Params>
const Params* in_box(const FamilyParamsBox& box) {
  return box.get() == nullptr ? nullptr : std::get_if<Params>(&box.get()->params);
}

// What the expression reads has a value for each column, too. The rows may be normalized.
std::optional<SiblingAxes> axes_of_product(const Problem& p) {
  const auto* chain = p.as_if<ChainParams>();
  if (chain != nullptr && in_box<NormParams>(chain->first) == nullptr) return std::nullopt;
  const auto* gemm = chain == nullptr ? p.as_if<GemmParams>() : in_box<GemmParams>(chain->second);
  const int64_t shared = chain == nullptr ? 1 : chain->first_inputs;
  if (gemm == nullptr || gemm->w_block == 0 || gemm->has_bias || shared < 1 || p.num_main < shared + 2 ||
      p.outputs[0].dims.rank() < 2 || p.inputs.size() < static_cast<size_t>(p.num_main))
    return std::nullopt;
  SiblingAxes axes{.shared = static_cast<size_t>(shared), .output = p.outputs[0].dims.size() - 1};
  for (size_t i = axes.shared; i < p.inputs.size(); ++i) {
    if (p.inputs[i].dims.empty()) return std::nullopt;
    axes.inputs.push_back(i == axes.shared && gemm->trans_b ? 0 : p.inputs[i].dims.size() - 1);
  }
  return axes;
}

}  // namespace

std::optional<SiblingAxes> sibling_axes(const Problem& p) {
  if (p.outputs.empty()) return std::nullopt;
  std::optional<SiblingAxes> axes = axes_of_product(p);
  if (!axes) axes = axes_of_convolution(p);
  return axes && go_together(p, *axes) ? axes : std::nullopt;
}

std::optional<Problem> make_siblings(std::span<const Problem> problems) {
  if (problems.size() < 2 || problems.size() > kMostSiblings) return std::nullopt;
  const Problem& first = problems[0];
  const std::optional<SiblingAxes> axes = sibling_axes(first);
  if (!axes || first.passing || first.outputs.size() != 1) return std::nullopt;
  const std::string key = common_key(first, *axes);
  bool sparse = true;  // the weights of all together
  int64_t channels = 0;
  std::vector<TensorDesc> results;
  for (const Problem& p : problems) {
    if (p.inputs.size() != first.inputs.size() || p.outputs.size() != 1 || !sibling_axes(p) ||
        common_key(p, *axes) != key)
      return std::nullopt;
    sparse = sparse && is_sparse(p.params);
    channels += channels_of(p, *axes);
    results.push_back(p.outputs[0]);
  }
  Problem made = with_channels(first, *axes, channels);
  made.params = SiblingsParams{.joint = box_params(with_sparse(first.params, sparse))};
  made.outputs = std::move(results);
  return made;
}

Result<Dims> joint_extents(std::span<const Dims> results, size_t axis) {
  if (results.empty() || results[0].size() <= axis) return invalid_argument("siblings: results without axis {}", axis);
  Dims y = results[0];
  y[axis] = 0;
  for (const Dims& d : results) {
    for (size_t a = 0; a < y.size(); ++a)
      if (d.size() != y.size() || d[a] < 0 || (a != axis && d[a] != y[a]))
        return invalid_argument("siblings: {} beside {}", d.to_string(), results[0].to_string());
    y[axis] += d[axis];
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
  const std::optional<SiblingAxes> axes = sibling_axes(made);
  if (!axes) return invalid_argument("siblings: a joint problem of family {}", family_name(made.family()));
  WOOTZ_ASSIGN_OR_RETURN(made.outputs[0].dims, joint_extents(dims, axes->output));
  WOOTZ_ASSIGN_OR_RETURN(made.outputs[0].max_dims, joint_extents(max_dims, axes->output));
  const TensorDesc& weights = made.inputs[axes->shared];
  if (channels_of(made, *axes) != made.outputs[0].dims[axes->output])
    return invalid_argument("siblings: weights {} for {} channels", weights.dims.to_string(),
                            made.outputs[0].dims[axes->output]);
  return made;
}

}  // namespace wootz
