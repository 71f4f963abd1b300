#include "backends/cpu/dense/weight_only_pack.h"

#include <cstring>

namespace wootz::cpu {
namespace {

uint8_t nibble(const uint8_t* from, int64_t i) { return static_cast<uint8_t>((from[i / 2] >> (i % 2 * 4)) & 15); }

void pack_panel(const NarrowShape& s, bool transposed, const uint8_t* from, int64_t panel, uint8_t* to) {
  const int64_t first = panel * kNarrowPanel, count = std::min(kNarrowPanel, s.columns - first);
  std::memset(to, 0, static_cast<size_t>(s.panel_bytes()));
  for (int64_t k = 0; k < s.depth; ++k)
    for (int64_t c = 0; c < count; ++c) {
      const int64_t at = transposed ? (first + c) * s.depth + k : k * s.columns + first + c;
      if (s.bits == 8)
        to[k * kNarrowPanel + c] = from[at];
      else
        to[(k / kNarrowGroup * kNarrowPanel + c) * 4 + k % kNarrowGroup / 2] |=
            static_cast<uint8_t>(nibble(from, at) << (k % 2 * 4));
    }
}

// Scales as f32, zero points as bytes, over whole panels.
template <class T>
PackedForm packed_grid(const NarrowShape& s, const HostTensor& source, double factor) {
  return {static_cast<size_t>(s.grid_size()) * sizeof(T), [s, source, factor](std::span<std::byte> bytes) {
            auto* to = reinterpret_cast<T*>(bytes.data());
            for (int64_t b = 0; b < s.blocks(); ++b)
              for (int64_t c = 0; c < s.panels() * kNarrowPanel; ++c) {
                const int64_t at = b * s.columns + c;
                if constexpr (std::is_same_v<T, float>)
                  *to++ = c < s.columns ? static_cast<float>(source.get_f64(at) * factor) : 0.0f;
                else
                  *to++ = c < s.columns ? static_cast<T>(source.get_i64(at)) : T{0};
              }
            return Status();
          }};
}

}  // namespace

PackedForm packed_weights(const NarrowShape& s, bool transposed, const HostTensor& source) {
  return {s.weight_bytes(), [s, transposed, source](std::span<std::byte> bytes) {
            parallel_for(s.panels(), 1, [&](int64_t begin, int64_t end) {
              for (int64_t panel = begin; panel < end; ++panel)
                pack_panel(s, transposed, static_cast<const uint8_t*>(source.data()), panel,
                           reinterpret_cast<uint8_t*>(bytes.data()) + panel * s.panel_bytes());
            });
            return Status();
          }};
}

PackedForm scales_by_panel(const NarrowShape& s, const HostTensor& source, NarrowScale kind, double factor) {
  return {static_cast<size_t>(s.grid_size()) * scale_bytes(kind),
          [s, source, kind, factor](std::span<std::byte> bytes) {
            std::fill(bytes.begin(), bytes.end(), std::byte{0});
            size_t place = 0;
            for (int64_t first = 0; first < s.panels() * kNarrowPanel; first += kNarrowPanel)
              for (int64_t b = 0; b < s.blocks(); ++b)
                for (int64_t c = first; c < first + kNarrowPanel; ++c, ++place) {
                  const int64_t at = b * s.columns + c;
                  if (c >= s.columns) continue;
                  if (kind == NarrowScale::kF32)
                    reinterpret_cast<float*>(bytes.data())[place] = static_cast<float>(source.get_f64(at) * factor);
                  else
                    bytes[place] = static_cast<const std::byte*>(source.data())[at];
                }
            return Status();
          }};
}

PackedForm packed_scales(const NarrowShape& s, const HostTensor& source, double factor) {
  return packed_grid<float>(s, source, factor);
}

PackedForm packed_zero_points(const NarrowShape& s, const HostTensor& source) {
  return packed_grid<uint8_t>(s, source, 1);
}

}  // namespace wootz::cpu
