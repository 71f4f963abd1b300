#include "backends/cuda/tf32.h"

#include "base/rounding.h"
#include "base/thread_pool.h"

namespace wootz::cuda {
namespace {

WeightRows rows_of(const Problem& p, int input, const Dims& dims) {
  if (p.family == Family::kConv && input == 1)
    return p.get_int("transposed") != 0
               ? transposed_conv_rows(dims, p.get_int("groups", 1), p.get_ints("strides"), p.get_ints("dilations"))
               : conv_rows(dims);
  if (p.family == Family::kGemm && input < 2)
    return matrix_rows(dims, input == 0 ? p.get_int("trans_a") == 0 : p.get_int("trans_b") != 0);
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
