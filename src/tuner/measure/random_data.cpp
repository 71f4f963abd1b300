#include "tuner/measure/random_data.h"

#include <algorithm>
#include <random>
#include <span>

#include "backend/sparsity.h"
#include "base/two_of_four.h"

namespace wootz {
namespace {

// Values of a type of 8 bits are rounded element by element, slowly: some thousands are, and drawn from.
Status fill_with_codes(HostTensor* tensor, std::mt19937_64& rng) {
  constexpr int64_t kDrawn = 4096;
  WOOTZ_ASSIGN_OR_RETURN(HostTensor drawn, HostTensor::allocate(tensor->dtype(), Dims{kDrawn}));
  for (int64_t i = 0; i < kDrawn; ++i) drawn.set_f64(i, (2.0 * static_cast<double>(i) + 1) / kDrawn - 1);
  const std::span<const uint8_t> codes = drawn.as<uint8_t>();
  for (uint8_t& code : tensor->as_mutable<uint8_t>()) code = codes[rng() >> 52];
  return {};
}

}  // namespace

Result<HostTensor> random_tensor(DType dtype, const Dims& dims, uint64_t seed, int64_t index_bound) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(dtype, dims));
  const int64_t count = tensor.volume();
  std::mt19937_64 rng(seed);   // whose values the standard fixes, unlike those of its distributions
  if (dtype == DType::kF32) {  // by far the most common: without the look at the type per element
    float* values = static_cast<float*>(tensor.mutable_data());
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(static_cast<int64_t>(rng() >> 40) - (1 << 23)) * 0x1p-23f;
    return tensor;
  }
  const DTypeInfo& info = dtype_info(dtype);
  if (info.is_float && info.bits == 8 && dtype != DType::kF8E8M0) {
    WOOTZ_RETURN_IF_ERROR(fill_with_codes(&tensor, rng));
    return tensor;
  }
  const int64_t top = info.bits >= 32 ? std::max<int64_t>(1, index_bound) : int64_t{1} << std::min(info.bits - 1, 5);
  const int64_t low = info.bits < 32 && info.is_signed ? -top : 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t r = rng() >> 11;  // 53 bits
    if (info.is_float)
      tensor.set_f64(
          i, dtype == DType::kF8E8M0 ? static_cast<double>(1 << r % 4) / 8 : static_cast<double>(r) * 0x1p-52 - 1);
    else if (dtype == DType::kBool)
      tensor.set_i64(i, static_cast<int64_t>(r & 1));
    else
      tensor.set_i64(i, low + static_cast<int64_t>(r % static_cast<uint64_t>(top - low)));
  }
  return tensor;
}

Result<HostTensor> random_operand(const Problem& problem, size_t input, const Dims& dims, uint64_t seed,
                                  int64_t index_bound) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, random_tensor(problem.inputs[input].dtype, dims, seed, index_bound));
  for (const SummedWeights& w : summed_weights(problem))
    if (w.sparse && w.input == input) zero_two_of_four(&made, w.axis, seed);
  return made;
}

}  // namespace wootz
