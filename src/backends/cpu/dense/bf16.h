// Products and convolutions of BF16: units of rows and columns as for f32 (blocks.h), weights in pairs, sums of f32.
#pragma once

#include "backends/cpu/dense/bf16_tile.h"
#include "backends/cpu/dense/blocks.h"

namespace wootz::cpu {

// BF16 operands, a constant second one, a bias of f32 or BF16, an epilogue that we have.
Status check_bf16_operands(const Problem& problem);

// Columns of the panel that begins at `first`: the last one is as narrow as vectors allow.
int64_t bf16_panel_width(const DenseShape& shape, int64_t first);
// What lies in front of a panel, in elements.
int64_t bf16_panel_start(const DenseShape& shape, int64_t first);
size_t packed_bf16_weights(const DenseShape& shape);

// `index(column, tap, element)` says where in the source a weight lies.
template <class Index>
PackedForm pack_bf16_panels(const DenseShape& s, const HostTensor& source, Index index) {
  const auto make = [s, source, index](std::span<std::byte> bytes) {
    const auto* from = static_cast<const uint16_t*>(source.data());
    auto* const all = reinterpret_cast<uint16_t*>(bytes.data());
    const int64_t pairs = (s.depth + 1) / 2;
    parallel_for(ceil_div(s.columns, kBf16Panel), 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t first = panel * kBf16Panel, wide = bf16_panel_width(s, first);
        uint16_t* to = all + bf16_panel_start(s, first);
        for (int64_t tap = 0; tap < s.taps; ++tap)
          for (int64_t p = 0; p < pairs; ++p)
            for (int64_t c = 0; c < wide; ++c)
              for (int64_t e = 2 * p; e < 2 * p + 2; ++e)
                *to++ = first + c < s.columns && e < s.depth ? from[index(first + c, tap, e)] : uint16_t{0};
      }
    });
    return Status();
  };
  return {packed_bf16_weights(s), make};
}

Result<std::unique_ptr<Call>> make_bf16_call(const Problem& problem, const KernelOptions& options,
                                             const Epilogue& epilogue, const DenseShape& shape,
                                             std::unique_ptr<DenseRows<uint16_t>> rows, const BindArgs& args);
double bf16_cost_us(const Problem& problem, const DenseShape& shape, const KernelOptions& options);

}  // namespace wootz::cpu
