// The tile registers of AMX. For files that are compiled for it.
#pragma once

#include <cstdint>

namespace wootz::cpu {
namespace {

constexpr int64_t kTileLine = 64;  // bytes of a row

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t line_bytes[16] = {};
  uint8_t rows[16] = {};
};

// The thread's tiles for as long as this lives; what was configured before comes back, for oneDNN remembers what it
// set.
class Tiles {
 public:
  explicit Tiles(int64_t rows) {
    __asm__ volatile("sttilecfg %0" : "=m"(before_));
    TileConfig c;
    for (int i = 0; i < 8; ++i) {
      c.line_bytes[i] = kTileLine;
      c.rows[i] = static_cast<uint8_t>(i < 6 ? rows : 16);
    }
    load(c);
  }
  ~Tiles() { load(before_); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

 private:
  static void load(const TileConfig& c) { __asm__ volatile("ldtilecfg %0" ::"m"(c)); }
  TileConfig before_;
};

// g++ 12's own functions for tiles take numbers of registers as text only.
template <int kTile>
inline void tile_load(const void* base, int64_t stride) {
  __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(kTile), "r"(base), "r"(stride));
}
template <int kTile>
inline void tile_store(void* base, int64_t stride) {
  __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(kTile), "r"(base), "r"(stride) : "memory");
}
template <int kTile>
inline void tile_zero() {
  __asm__ volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
// Tile kTo += tile kA * tile kB, whose rows hold four (BF16: two) neighbours along the sum for each column.
template <int kTo, int kA, int kB>
inline void tile_dot_u8_i8() {
  __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTo), "i"(kA), "i"(kB));
}
template <int kTo, int kA, int kB>
inline void tile_dot_i8_i8() {
  __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTo), "i"(kA), "i"(kB));
}
template <int kTo, int kA, int kB>
inline void tile_dot_bf16() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTo), "i"(kA), "i"(kB));
}

}  // namespace
}  // namespace wootz::cpu
