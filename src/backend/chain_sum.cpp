#include "backend/chain_sum.h"

#include <algorithm>

#include "base/expressions.h"

namespace wootz {
namespace {

bool is_alike(const TensorDesc& a, const TensorDesc& b) { return a.dims == b.dims && a.max_dims == b.max_dims; }

}  // namespace

std::optional<Problem> make_sum(const Problem& first, const Problem& second, uint16_t added) {
  const size_t at = static_cast<size_t>(second.num_main) + added - 1;
  if (!first.is(Family::kConv) || !second.is(Family::kConv) || !first.epilogue.empty() || second.epilogue.empty() ||
      first.outputs.size() != 1 || second.outputs.size() != 1 || added == 0 || at >= second.inputs.size() ||
      first.inputs.size() != static_cast<size_t>(first.num_main) || !is_alike(first.outputs[0], second.outputs[0]) ||
      first.outputs[0].dtype != second.acc_dtype)
    return std::nullopt;
  std::optional<PointwiseExpr> rest = without_addend(second.epilogue, added);
  if (!rest) return std::nullopt;
  // As if the second one read the first one's result in front of its own operands.
  Problem other = second;
  other.inputs.erase(other.inputs.begin() + static_cast<ptrdiff_t>(at));
  other.inputs.insert(other.inputs.begin(), first.outputs[0]);
  ++other.num_main;
  other.epilogue = std::move(*rest);
  Problem sum = make_chain(first, other);
  sum.as<ChainParams>().adds = true;
  return sum;
}

bool adds_results(const Problem& problem) {
  const auto* const chain = problem.as_if<ChainParams>();
  return chain != nullptr && chain->adds;
}

Result<ChainParts> sum_parts(const Problem& sum) {
  if (!adds_results(sum)) return unsupported("a problem other than results that are added up");
  Problem chain = sum;
  chain.as<ChainParams>().adds = false;
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(chain));
  Problem& second = parts.second;
  const TensorDesc& middle = parts.first.outputs[0];
  if (!parts.first.is(Family::kConv) || !second.is(Family::kConv) || second.num_main < 3 || sum.outputs.size() != 1 ||
      !parts.first.epilogue.empty() || !is_alike(middle, second.outputs[0]) || middle.dtype != second.acc_dtype)
    return invalid_argument("chain: results that are added up are two convolutions' of the same extents");
  std::rotate(second.inputs.begin(), second.inputs.begin() + 1, second.inputs.end());
  --second.num_main;
  const size_t operands = second.inputs.size() - static_cast<size_t>(second.num_main);  // the sum among them
  if (second.epilogue.num_inputs > operands)
    return invalid_argument("chain: an expression of {} operands over {}", second.epilogue.num_inputs, operands);
  second.epilogue = with_addend(second.epilogue, second.acc_dtype, static_cast<uint16_t>(operands));
  return parts;
}

}  // namespace wootz
