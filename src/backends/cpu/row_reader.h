// Rows of f32, f16 or bf16 as f32, in chunks that stay in the first-level cache.
#pragma once

#include "backends/cpu/pointwise/ops.h"

namespace wootz::cpu {

inline constexpr int64_t kRowChunk = 2048;  // elements

inline bool is_row_type(DType type) { return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16; }

class RowReader {
 public:
  RowReader() = default;
  RowReader(DType type, Isa isa) : widen_(type == DType::kF32 ? nullptr : find_widen(isa, type)) {}
  bool direct() const { return widen_ == nullptr; }
  // Elements [at, at + n) of the tensor at `base`: in place, or widened into `buffer`. n <= kRowChunk unless direct().
  const float* read(const void* base, int64_t at, int64_t n, float* buffer) const {
    if (widen_ == nullptr) return static_cast<const float*>(base) + at;
    widen_({buffer, static_cast<const char*>(base) + 2 * at, nullptr, nullptr, n, 0, 0});
    return buffer;
  }

 private:
  OpFn widen_ = nullptr;
};

}  // namespace wootz::cpu
