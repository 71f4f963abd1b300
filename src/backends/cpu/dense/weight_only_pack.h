// How the constants of weight-only products lie: panels of weights, and what brings them back (weight_only_tile.h).
#pragma once

#include <algorithm>

#include "backend/kernel.h"
#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/dense/weight_only_tile.h"

namespace wootz::cpu {

inline int64_t multiple(int64_t n, int64_t of) { return ceil_div(n, of) * of; }

struct NarrowShape {
  int64_t rows = 0, depth = 0, columns = 0, block = 0;
  int bits = 4;
  int64_t padded() const { return multiple(depth, kNarrowGroup); }
  int64_t panels() const { return ceil_div(columns, kNarrowPanel); }
  int64_t blocks() const { return ceil_div(depth, block); }
  int64_t panel_bytes() const { return padded() * kNarrowPanel * bits / 8; }
  size_t weight_bytes() const { return static_cast<size_t>(panels() * panel_bytes()); }
  int64_t grid_size() const { return blocks() * panels() * kNarrowPanel; }
};

constexpr size_t scale_bytes(NarrowScale kind) { return kind == NarrowScale::kF32 ? sizeof(float) : 1; }

PackedForm packed_weights(const NarrowShape& s, bool transposed, const HostTensor& source);
// Over whole panels, block by block: scales as f32, with the factor; zero points as bytes.
PackedForm packed_scales(const NarrowShape& s, const HostTensor& source, double factor);
PackedForm packed_zero_points(const NarrowShape& s, const HostTensor& source);
// The scales of floats: a panel's one after the other, since their blocks are short. Bytes as they are.
PackedForm scales_by_panel(const NarrowShape& s, const HostTensor& source, NarrowScale kind, double factor);

}  // namespace wootz::cpu
