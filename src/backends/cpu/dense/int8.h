// Quantized products and convolutions (backend/families.md) on processors without 8-bit dot products: units of rows and
// columns as for floats (blocks.h), the rows of a unit widened to 16 bits piece by piece.
#pragma once

#include "backend/quantized.h"
#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/dense/int8_tile.h"

namespace wootz::cpu {

// Errors: types, scales or zero points that these kernels do not have, sums that an int32 might not hold.
Result<GemmScales> dense_int8_scales(const Problem& problem, const DenseShape& shape);
// Errors: these, and a zero point of the weights.
Result<GemmScales> unshifted_int8_scales(const Problem& problem, const DenseShape& shape);

// `index(column, tap, element)` says where in the source, of i8, a weight lies.
size_t packed_int8_weights(const DenseShape& shape, const Int8Ops& ops);
template <class Index>
PackedForm pack_int8_panels(const DenseShape& s, const Int8Ops& ops, int32_t zero, const HostTensor& source,
                            Index index) {
  const auto make = [s, wide = ops.panel, zero, source, index](std::span<std::byte> bytes) {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});  // what a last pair or panel has too much
    const auto* from = static_cast<const int8_t*>(source.data());
    auto* const all = reinterpret_cast<int16_t*>(bytes.data());
    const int64_t depth = s.taps * s.depth, panel_size = (depth + 1) / 2 * 2 * wide;
    for (int64_t c = 0; c < s.columns; ++c) {
      int16_t* to = all + c / wide * panel_size + c % wide * 2;
      for (int64_t k = 0; k < depth; ++k)
        to[k / 2 * 2 * wide + k % 2] = static_cast<int16_t>(from[index(c, k / s.depth, k % s.depth)] - zero);
    }
    return Status();
  };
  return {packed_int8_weights(s, ops), make};
}

Result<std::unique_ptr<Call>> make_int8_call(const Problem& problem, const KernelOptions& options,
                                             const Epilogue& epilogue, const DenseShape& shape,
                                             const GemmScales& scales, std::unique_ptr<DenseRows<uint8_t>> rows,
                                             const BindArgs& args);
double int8_cost_us(const Problem& problem, const DenseShape& shape, const KernelOptions& options);

}  // namespace wootz::cpu
