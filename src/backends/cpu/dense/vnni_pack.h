// Weights as blocks of VNNI read them (dot_tile_vnni.cpp): panels of 64 columns, one half after the other, four bytes
// of each column at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backends/cpu/dense/amx_rows.h"

namespace wootz::cpu {

inline constexpr int64_t kVnniPanel = 64, kVnniHalf = 32;

// Where a column lies among those of its panel: packing four vectors to bytes puts these in order.
constexpr int64_t vnni_place(int64_t column) {
  const int64_t c = column % kVnniPanel;
  return column - c + c / 4 % 4 * 16 + c / 16 * 4 + c % 4;
}

// As pack_amx_panels.
template <class Index>
PackedForm pack_vnni_panels(const DenseShape& s, const SumRuns& runs, int32_t x_zero, const HostTensor& source,
                            Index index) {
  const int64_t lines = amx_steps(runs, 1), panels = ceil_div(s.columns, kVnniPanel);
  const int64_t weights = panels * kVnniPanel * lines * kAmxLine;
  const auto make = [s, runs, x_zero, source, index, lines, panels, weights](std::span<std::byte> bytes) {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});  // what last lines and panels have too much
    const auto* from = static_cast<const int8_t*>(source.data());
    auto* const sums = reinterpret_cast<int32_t*>(bytes.data() + weights);
    parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin * kVnniPanel; c < std::min(s.columns, end * kVnniPanel); ++c) {
        const int64_t panel = c / kVnniPanel, place = vnni_place(c % kVnniPanel);
        std::byte* const to = bytes.data() + (panel * kVnniPanel + place / kVnniHalf * kVnniHalf) * lines * kAmxLine +
                              place % kVnniHalf * 4;
        int64_t sum = 0;
        for (int64_t k = 0; k < s.taps * s.depth; ++k) {
          const int8_t w = from[index(c, k / s.depth, k % s.depth)];
          const int64_t e = k / runs.run * ceil_div(runs.run, kAmxLine) * kAmxLine + k % runs.run;
          to[e / 4 * 4 * kVnniHalf + e % 4] = static_cast<std::byte>(w);
          sum += w;
        }
        sums[vnni_place(c)] = static_cast<int32_t>(-x_zero * sum);
      }
    });
    return Status();
  };
  return {static_cast<size_t>(weights + panels * kVnniPanel * static_cast<int64_t>(sizeof(int32_t))), make};
}

}  // namespace wootz::cpu
