// Products and convolutions on AMX: 8 bits with sums of integers, and BF16; and of 8 bits by VNNI. Each thread computes
// a range of rows and columns; how the rows are read is in amx_rows.h, what follows the sums in sums_finish.h.
#pragma once

#include "backend/quantized.h"
#include "backends/cpu/dense/amx_rows.h"
#include "backends/cpu/dense/amx_tile.h"
#include "backends/cpu/dense/blocks.h"

namespace wootz::cpu {

// Weights as tiles read them; of 8 bits, after them what the sums begin with: -zero * (a column's weights).
size_t packed_amx_weights(const DenseShape& shape, const SumRuns& sum, DType weights, Dots dots = Dots::kAmx);
template <class T, class Index>
PackedForm pack_amx_panels(const DenseShape& s, const SumRuns& runs, int32_t x_zero, const HostTensor& source,
                           Index index) {
  const DType type = source.dtype();
  const auto make = [s, runs, x_zero, source, index, type](std::span<std::byte> bytes) {
    constexpr int64_t kGroup = 4 / sizeof(T), kLineElements = kAmxLine / static_cast<int64_t>(sizeof(T));
    std::fill(bytes.begin(), bytes.end(), std::byte{0});  // what last lines and tiles have too much
    const auto* from = static_cast<const T*>(source.data());
    const int64_t steps = amx_steps(runs, sizeof(T)), tiles = ceil_div(s.columns, kAmxColumns);
    auto* const sums = reinterpret_cast<int32_t*>(bytes.data() + tiles * steps * kAmxTileBytes);
    parallel_for(tiles, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin * kAmxColumns; c < std::min(s.columns, end * kAmxColumns); ++c) {
        const int64_t panel = c / kAmxPanel, wide = std::min<int64_t>(2, tiles - 2 * panel);
        std::byte* const to =
            bytes.data() + panel * 2 * steps * kAmxTileBytes + c % kAmxPanel / kAmxColumns * kAmxTileBytes;
        int64_t sum = 0;
        for (int64_t k = 0; k < s.taps * s.depth; ++k) {
          const T w = from[index(c, k / s.depth, k % s.depth)];
          const int64_t first = k / runs.run * ceil_div(runs.run, kLineElements), e = k % runs.run;
          auto* line = reinterpret_cast<T*>(to + (first + e / kLineElements) * wide * kAmxTileBytes);
          line[e % kLineElements / kGroup * kLineElements + c % kAmxColumns * kGroup + e % kGroup] = w;
          if constexpr (sizeof(T) == 1) sum += w;
        }
        if constexpr (sizeof(T) == 1) sums[c] = static_cast<int32_t>(-x_zero * sum);
      }
    });
    return Status();
  };
  return {packed_amx_weights(s, runs, type), make};
}

// The operand whose memory the result may take, or -1: each value is read where its result is written, just before.
int amx_in_place(const Problem& problem);

// What the call reads of a problem of 8 bits; of BF16: null.
template <class T>
Result<std::unique_ptr<Call>> make_amx_call(const Problem& problem, const KernelOptions& options,
                                            const Epilogue& epilogue, const DenseShape& shape, const SumRuns& sum,
                                            const GemmScales* scales, std::unique_ptr<DenseRows<T>> rows,
                                            const BindArgs& args, Dots dots = Dots::kAmx);
const LineTiles& line_tiles(Dots dots);
// What is subtracted from rows as these are multiplied.
int32_t line_zero(Dots dots, const Problem& problem, const GemmScales& scales);
double amx_cost_us(const AmxWork& work, const KernelOptions& options);

}  // namespace wootz::cpu
