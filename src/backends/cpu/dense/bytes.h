// Quantized products and convolutions (backend/families.md) on processors without 8-bit dot products: units of rows and
// columns as for floats (blocks.h), the rows of a unit widened to 16 bits piece by piece.
#pragma once

#include "backend/quantized.h"
#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/dense/bytes_tile.h"

namespace wootz::cpu {

// Errors: types, scales or zero points that these kernels do not have, sums that an int32 might not hold.
Result<ProductScales> read_byte_scales(const Problem& problem, const DenseShape& shape);

// `at(column, tap, element)`: the weight, an i8.
size_t packed_byte_weights(const DenseShape& shape, const ByteOps& ops);
template <class At>
std::vector<std::byte> pack_byte_panels(const DenseShape& s, const ByteOps& ops, int32_t zero, At at) {
  std::vector<std::byte> bytes(packed_byte_weights(s, ops));  // zeros: what a last pair or panel has too much
  auto* all = reinterpret_cast<int16_t*>(bytes.data());
  const int64_t depth = s.taps * s.depth, panel_size = (depth + 1) / 2 * 2 * ops.panel;
  for (int64_t c = 0; c < s.columns; ++c) {
    int16_t* to = all + c / ops.panel * panel_size + c % ops.panel * 2;
    for (int64_t k = 0; k < depth; ++k)
      to[k / 2 * 2 * ops.panel + k % 2] = static_cast<int16_t>(at(c, k / s.depth, k % s.depth) - zero);
  }
  return bytes;
}

Result<std::unique_ptr<Call>> make_byte_call(const Problem& problem, const KernelOptions& options,
                                             const Epilogue& epilogue, const DenseShape& shape,
                                             const ProductScales& scales, std::unique_ptr<DenseRows<uint8_t>> rows,
                                             const BindArgs& args);
double byte_cost_us(const Problem& problem, const DenseShape& shape, const KernelOptions& options);

}  // namespace wootz::cpu
