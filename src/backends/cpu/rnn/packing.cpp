#include "backends/cpu/rnn/packing.h"

#include <algorithm>

#include "backends/cpu/dense/tile.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

int64_t depth_of(const Recurrence& r, size_t input) { return input == kRnnW ? r.inputs : r.hidden; }
int64_t bias_elements(const RnnColumns& c) { return c.all() + c.units(); }

// One panel of one direction.
template <class Get>
void pack_panel(const Recurrence& r, const RnnColumns& c, int64_t depth, int64_t direction, int64_t panel, Get get,
                float* to) {
  std::fill_n(to, depth * c.panel, 0.0f);
  for (int64_t i = 0; i < c.panel; ++i) {
    const int64_t column = panel * c.panel + i;
    if (column >= c.all() || c.unit(column) >= r.hidden) continue;
    const int64_t row = (direction * r.gates + c.gate(column)) * r.hidden + c.unit(column);
    for (int64_t e = 0; e < depth; ++e) to[e * c.panel + i] = get(row * depth + e);
  }
}

template <class Get>
void pack_bias(const Recurrence& r, const RnnColumns& c, int64_t direction, Get get, float* to) {
  const int64_t first = direction * 2 * r.width();
  const bool late = r.kind == RnnKind::kGru && r.linear_before_reset;  // the candidate's second one is reset too
  std::fill_n(to, bias_elements(c), 0.0f);
  for (int64_t column = 0; column < c.all(); ++column) {
    const int64_t unit = c.unit(column), at = first + c.gate(column) * r.hidden + unit;
    if (unit >= r.hidden) continue;
    const bool apart = late && column >= c.first();
    to[column] = get(at) + (apart ? 0.0f : get(at + r.width()));
    if (apart) to[c.all() + unit] = get(at + r.width());
  }
}

template <class Get>
void pack_pieces_as(const Recurrence& r, const RnnColumns& c, size_t input, int64_t begin, int64_t end, Get get,
                    float* to) {
  for (int64_t i = begin; i < end; ++i) {
    if (input == kRnnW || input == kRnnR) {
      const int64_t depth = depth_of(r, input);
      pack_panel(r, c, depth, i / c.panels(), i % c.panels(), get, to + i * c.panel * depth);
    } else if (input == kRnnBias) {
      pack_bias(r, c, i, get, to + i * bias_elements(c));
    } else {  // three vectors of each direction
      std::fill_n(to + i * c.units(), c.units(), 0.0f);
      for (int64_t u = 0; u < r.hidden; ++u) to[i * c.units() + u] = get(i * r.hidden + u);
    }
  }
}

}  // namespace

RnnColumns::RnnColumns(const Recurrence& r, Isa isa)
    : lanes(rnn_ops(isa).lanes), panel(dense_ops(isa).panel), blocks((r.hidden + lanes - 1) / lanes) {
  apart = r.kind == RnnKind::kGru ? 1 : 0;
  together = r.gates - apart;
}

int64_t packed_elements(const Recurrence& r, const RnnColumns& c, size_t input) {
  switch (input) {
    case kRnnW:
    case kRnnR: return r.directions * c.panels() * c.panel * depth_of(r, input);
    case kRnnBias: return r.directions * bias_elements(c);
    case kRnnPeepholes: return r.directions * 3 * c.units();
    default: return 0;
  }
}

int64_t packed_pieces(const Recurrence& r, const RnnColumns& c, size_t input) {
  return input == kRnnBias ? r.directions : input == kRnnPeepholes ? 3 * r.directions : r.directions * c.panels();
}

void pack_pieces(const Recurrence& r, const RnnColumns& c, size_t input, DType type, const void* from, int64_t begin,
                 int64_t end, float* to) {
  const auto* f = static_cast<const float*>(from);
  const auto* h = static_cast<const uint16_t*>(from);
  if (type == DType::kF32)
    pack_pieces_as(
        r, c, input, begin, end, [f](int64_t i) { return f[i]; }, to);
  else if (type == DType::kF16)
    pack_pieces_as(
        r, c, input, begin, end, [h](int64_t i) { return f16_to_f32(h[i]); }, to);
  else
    pack_pieces_as(
        r, c, input, begin, end, [h](int64_t i) { return bf16_to_f32(h[i]); }, to);
}

}  // namespace wootz::cpu
