#include "backends/cuda/support/tf32.h"

#include "base/rounding.h"
#include "base/thread_pool.h"

namespace wootz::cuda {
namespace {

WeightRows rows_of(const Problem& p, int input, const Dims& dims) {
  if (p.family() == Family::kConv && input == 1)
    return p.as<ConvParams>().transposed
               ? transposed_conv_rows(dims, p.as<ConvParams>().groups, p.as<ConvParams>().strides,
                                      p.as<ConvParams>().dilations)
               : conv_rows(dims);
  if (p.family() == Family::kGemm && input < 2)
    return matrix_rows(dims, input == 0 ? !p.as<GemmParams>().trans_a : p.as<GemmParams>().trans_b);
  return single_elements(dims);
}

}  // namespace

std::vector<std::byte> round_to_tf32(const Problem& problem, int input, const HostTensor& source) {
  const auto* from = static_cast<const std::byte*>(source.data());
  std::vector<std::byte> bytes(from, from + source.bytes());
  auto* const values = reinterpret_cast<float*>(bytes.data());
  const ParallelScope all(0);  // the builder's limit is for a device of one thread
  round_rows({values, bytes.size() / sizeof(float)}, rows_of(problem, input, source.dims()), kTf32Grid);
  return bytes;
}

}  // namespace wootz::cuda
