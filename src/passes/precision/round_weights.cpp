#include "passes/precision/round_weights.h"

#include <algorithm>

#include "base/half.h"
#include "base/rounding.h"
#include "base/thread_pool.h"
#include "ir/op_def.h"

namespace wootz {
namespace {

constexpr int64_t kGrain = 1 << 16;

// Which elements of its operand a node multiplies and sums up.
std::optional<WeightRows> rows_read_by(const Use& use, const Dims& dims) {
  const Node& node = *use.node;
  if (node.is("Conv") && use.index == 1) return conv_rows(dims);
  if (node.is("ConvTranspose") && use.index == 1)
    return transposed_conv_rows(dims, node.attr_int("groups", 1), node.attr_ints("strides"),
                                node.attr_ints("dilations"));
  if (node.is("MatMul") && use.index < 2)
    return matrix_rows(dims, use.index == 0 ? node.attr_int("trans_a") == 0 : node.attr_int("trans_b") != 0);
  return std::nullopt;
}

std::optional<WeightRows> rows_of(const Value& constant) {
  std::optional<WeightRows> rows;
  for (const Use& use : constant.uses()) {
    std::optional<WeightRows> read = rows_read_by(use, constant.constant().dims());
    if (!read || (rows && *rows != *read)) return std::nullopt;
    rows = std::move(read);
  }
  return rows;
}

}  // namespace

Result<HostTensor> round_constant(const Value& constant, DType type) {
  const HostTensor& source = constant.constant();
  HostTensor exact = source;
  if (const std::optional<WeightRows> rows = rows_of(constant)) {
    WOOTZ_ASSIGN_OR_RETURN(exact, HostTensor::allocate(DType::kF32, source.dims()));
    std::copy_n(source.as<float>().begin(), source.volume(), exact.as_mutable<float>().begin());
    round_rows(exact.as_mutable<float>(), *rows, type == DType::kF16 ? kF16Grid : kBf16Grid);
  }
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(type, source.dims()));
  const float* const from = exact.as<float>().data();
  auto* const to = static_cast<uint16_t*>(made.mutable_data());
  const auto narrow = type == DType::kF16 ? f32_to_f16 : [](float v) { return f32_to_bf16(v); };
  parallel_for(made.volume(), kGrain,
               [&](int64_t begin, int64_t end) { std::transform(from + begin, from + end, to + begin, narrow); });
  source.release_pages();
  return made;
}

}  // namespace wootz
