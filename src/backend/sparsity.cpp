#include "backend/sparsity.h"

#include <algorithm>

#include "backend/chain_sum.h"
#include "backend/siblings.h"
#include "base/two_of_four.h"

namespace wootz {
namespace {

constexpr int64_t kFewest = 512;  // elements

bool holds_weights(const Problem& p, int rank) {
  return p.num_main >= 2 && p.inputs.size() >= 2 && p.inputs[1].constant && is_model_float(p.inputs[0].dtype) &&
         is_model_float(p.inputs[1].dtype) && p.inputs[1].dims.rank() == rank;
}

void add_shifted(const Problem& part, size_t shift, std::vector<SummedWeights>* weights) {
  for (SummedWeights w : summed_weights(part)) {
    w.input += shift;
    weights->push_back(w);
  }
}

std::vector<SummedWeights> of_chain(const Problem& p) {
  const bool added = adds_results(p);
  const Result<ChainParts> parts = added ? sum_parts(p) : chain_parts(p);
  std::vector<SummedWeights> weights;
  if (!parts.ok()) return weights;
  add_shifted(parts->first, 0, &weights);
  // What the second one of a chain reads first is no operand of the chain.
  const size_t before = parts->first.inputs.size();
  add_shifted(parts->second, added ? before : before - 1, &weights);
  return weights;
}

}  // namespace

std::vector<SummedWeights> summed_weights(const Problem& p) {
  if (const auto* conv = p.as_if<ConvParams>()) {
    const int rank = p.inputs.empty() ? 0 : p.inputs[0].dims.rank();
    if (conv->transposed || !conv->x_scale.empty() || !conv->w_scale.empty() || rank < 3 || !holds_weights(p, rank))
      return {};
    return {{1, 1, conv->sparse}};
  }
  if (const auto* gemm = p.as_if<GemmParams>()) {
    if (gemm->w_block > 0 || !gemm->x_scale.empty() || !gemm->w_scale.empty() || !holds_weights(p, 2)) return {};
    return {{1, gemm->trans_b ? 1 : 0, gemm->sparse}};
  }
  if (p.is(Family::kChain)) return of_chain(p);
  if (p.is(Family::kSiblings)) {
    const Result<Problem> joint = joint_of(p);
    return joint.ok() ? summed_weights(*joint) : std::vector<SummedWeights>();
  }
  return {};
}

bool has_sparse_weights(const Problem& p) {
  const std::vector<SummedWeights> weights = summed_weights(p);
  return std::any_of(weights.begin(), weights.end(), [](const SummedWeights& w) { return w.sparse; });
}

bool worth_sparse(const HostTensor& weights, int axis) {
  return axis >= 0 && axis < weights.rank() && weights.dims()[static_cast<size_t>(axis)] % 4 == 0 &&
         weights.volume() >= kFewest && is_two_of_four(weights, axis) && !all_zero(weights);
}

bool uses_sparsity(const Tactic& tactic) {
  const auto says = [](const std::string& text) { return text.find("_sparse_") != std::string::npos; };
  return says(tactic.kernel) || says(tactic.config);
}

const char* sparsity_text(const Problem& problem, const Tactic& tactic) {
  if (!has_sparse_weights(problem)) return "";
  return uses_sparsity(tactic) ? "2:4 weights, zeros left out" : "2:4 weights, computed as dense ones";
}

}  // namespace wootz
