// Quantized products and convolutions on processors without 8-bit dot products, four bytes of a column at once.
//
// A value x is read as its absolute value and a mask of its sign: |x| * (w ^ mask) is x * w, less |x| where x is
// negative, and that is the same for all columns. So one operand is unsigned, as VPMADDUBSW wants it, which multiplies
// 32 bytes at once and adds neighbours in 16 bits. Several of its results are added in 16 bits before they are widened:
// as many as cannot leave 16 bits, whatever the values are, because the weights are known. Sums are exact.
#pragma once

#include "backend/kernel.h"
#include "backend/quantized.h"
#include "backends/cpu/dense/blocks.h"
#include "base/thread_pool.h"

namespace wootz::cpu {

inline constexpr int64_t kQuadsPart = 1024;  // elements of a column summed at once, at most
inline constexpr int kMostTogether = 4;      // quads whose products are added in 16 bits

// How weights are packed: as below, or as crossed_tile.cpp says.
struct QuadsForm : DenseGrain {
  uint32_t version;
  constexpr int64_t row_bytes() const { return 2 * part + 64; }  // from one row of a tile's values to the next
  int64_t (*block_bytes)(int64_t quads, int64_t panel);
  // `weights`: [quad][column of the panel][4].
  void (*pack)(const int8_t* weights, int64_t quads, int64_t panel, std::byte* to);
};

// The elements of a sum in parts of at most `most`, each of whole quads of four neighbours but the last.
struct QuadParts {
  QuadParts(int64_t elements, int64_t most);
  int64_t elements, count, length;
  int64_t size(int64_t part) const { return std::min(length, elements - part * length); }
};

// A panel's part: how many groups of 4, 3, 2 and 1 quads there are; where in a row the values of each quad begin, in
// the order of the weights; the weights, [quad][column][4].
struct QuadBlock {
  uint16_t groups[kMostTogether];
  static int64_t head_bytes(int64_t quads) {
    return (static_cast<int64_t>(sizeof(QuadBlock)) + 2 * quads + 63) / 64 * 64;
  }
  static int64_t bytes(int64_t quads, int64_t panel) { return head_bytes(quads) + quads * panel * 4; }
};

void pack_quads(const int8_t* weights, int64_t quads, int64_t panel, std::byte* to);

// Of all panels; then come, as int32, what each column's sums begin with: `offset` times the sum of its weights.
struct QuadPanels {
  QuadPanels(const DenseShape& shape, const QuadsForm& form);
  QuadsForm form;
  QuadParts parts;
  int64_t panel, panels;
  int64_t panel_bytes() const;
  int64_t part_offset(int64_t part) const { return part * form.block_bytes(parts.length / 4, panel); }
  size_t bytes() const { return static_cast<size_t>(panels * (panel_bytes() + panel * 4)); }
};

// `index(column, tap, element)` says where in the source, of i8, a weight lies.
template <class Index>
PackedForm pack_quad_panels(const DenseShape& s, const QuadsForm& form, int32_t offset, const HostTensor& source,
                            Index index) {
  const QuadPanels all(s, form);
  const auto make = [s, all, offset, source, index](std::span<std::byte> bytes) {
    const auto* from = static_cast<const int8_t*>(source.data());
    auto* const sums = reinterpret_cast<int32_t*>(bytes.data() + all.panels * all.panel_bytes());
    parallel_for(all.panels, 1, [&](int64_t begin, int64_t end) {
      std::vector<int8_t> block(static_cast<size_t>(kQuadsPart * all.panel));
      for (int64_t p = begin; p < end; ++p) {
        std::fill_n(sums + p * all.panel, all.panel, 0);
        for (int64_t part = 0; part < all.parts.count; ++part) {
          const int64_t size = all.parts.size(part), wide = std::min(all.panel, s.columns - p * all.panel);
          std::fill(block.begin(), block.end(), int8_t{0});  // what a last quad or panel has too much
          for (int64_t c = 0; c < wide; ++c)
            for (int64_t i = 0; i < size; ++i) {
              const int64_t column = p * all.panel + c, k = part * all.parts.length + i;
              const int8_t w = from[index(column, k / s.depth, k % s.depth)];
              block[static_cast<size_t>((i / 4 * all.panel + c) * 4 + i % 4)] = w;
              sums[column] += offset * w;
            }
          all.form.pack(block.data(), (size + 3) / 4, all.panel,
                        bytes.data() + p * all.panel_bytes() + all.part_offset(part));
        }
      }
    });
    return Status();
  };
  return {all.bytes(), make, all.form.version};
}

}  // namespace wootz::cpu
