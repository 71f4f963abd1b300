#include "tuner/measure/place_check.h"

#include <cstring>

#include "tuner/measure/random_data.h"

namespace wootz {
namespace {

constexpr int64_t kIndexBound = 8;  // of integers, should an operand have some

// The first outer axes of the result: elements that differ in these alone are to be equal.
int outer_axes(const Problem& problem) {
  const int rank = problem.outputs[0].dims.rank();
  if (const auto* gemm = problem.as_if<GemmParams>()) return std::max(0, rank - (gemm->trans_a ? 2 : 1));
  return rank > 1 ? 1 : 0;
}

int64_t slices(const Dims& dims, int axes) {
  int64_t count = 1;
  for (int a = 0; a < axes; ++a) count *= dims[static_cast<size_t>(a)];
  return count;
}

// Gives every slice the bytes of the first. Operands that have no such axes are the same for all of the results.
void repeat_first(HostTensor* tensor, int axes) {
  if (dtype_bits(tensor->dtype()) < 8) return;
  const int64_t count = axes > 0 && tensor->dims().rank() > axes ? slices(tensor->dims(), axes) : 1;
  if (count <= 1) return;
  const size_t bytes = tensor->bytes() / static_cast<size_t>(count);
  auto* const data = static_cast<std::byte*>(tensor->mutable_data());
  for (int64_t s = 1; s < count; ++s) std::memcpy(data + static_cast<size_t>(s) * bytes, data, bytes);
}

Result<std::vector<HostTensor>> repeated_operands(const Problem& problem, uint64_t seed) {
  const int rank = problem.outputs[0].dims.rank(), axes = outer_axes(problem);
  std::vector<HostTensor> inputs(problem.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorDesc& desc = problem.inputs[i];
    if (desc.dtype == DType::kInvalid) continue;
    WOOTZ_ASSIGN_OR_RETURN(inputs[i], random_operand(problem, i, desc.max_dims, seed + i, kIndexBound));
    if (desc.constant || desc.dims.rank() != rank) continue;
    // The second operand of a product has sums in its rows: only whole matrices are the same.
    const bool matrix = problem.is(Family::kGemm) && static_cast<int>(i) == 1;
    repeat_first(&inputs[i], matrix ? std::max(0, rank - 2) : axes);
  }
  return inputs;
}

std::string first_difference(const HostTensor& result, int axes) {
  const int64_t count = slices(result.dims(), axes);
  if (count <= 1 || result.volume() == 0) return "";
  const size_t bytes = result.bytes() / static_cast<size_t>(count);
  const auto* const data = static_cast<const std::byte*>(result.data());
  for (int64_t s = 1; s < count; ++s)
    if (std::memcmp(data, data + static_cast<size_t>(s) * bytes, bytes) != 0)
      return fmt::format("results depend on their place: slice {} of {} differs from the first for equal operands", s,
                         count);
  return "";
}

}  // namespace

Result<std::string> place_dependence(const Kernel& kernel, const Problem& problem, const PackedConstants& constants,
                                     uint64_t seed, Device& device, Stream* stream) {
  const bool sums = problem.is(Family::kGemm) || problem.is(Family::kConv);
  if (!sums || problem.outputs[0].max_dims.volume() == 0) return std::string();
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> inputs, repeated_operands(problem, seed));
  std::vector<Dims> outputs;
  for (const TensorDesc& desc : problem.outputs) outputs.push_back(desc.max_dims);
  WOOTZ_ASSIGN_OR_RETURN(const BenchmarkRun run,
                         BenchmarkRun::prepare(kernel, problem, constants, inputs, outputs, device, stream));
  WOOTZ_RETURN_IF_ERROR(run.run());
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, run.results());
  return first_difference(results[0], outer_axes(problem));
}

}  // namespace wootz
