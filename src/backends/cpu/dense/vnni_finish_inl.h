// What follows the sums of VNNI's blocks where results are bytes: columns lie among four vectors so that packing puts
// them in order. For the file of the blocks.
#pragma once

#include "backends/cpu/dense/amx_finish_inl.h"
#include "backends/cpu/dense/vnni_pack.h"

namespace wootz::cpu {
namespace {

// Sums of a block, whose rows lie one after the other.
struct VnniSums {
  const int32_t* sums = nullptr;
  int64_t row = 0, rows = 0, column = 0;
};

// A row of a panel, as vectors of its columns (vnni_place).
struct Quarters {
  __m512 v[4];
};

// What all rows of a panel have in common.
struct QuarterColumns {
  __mmask64 mask;
  __m512 scale[4], bias[4];
  __attribute__((always_inline)) QuarterColumns(const AmxUnit& u, int64_t column) {
    const int64_t left = u.columns - column;
    mask = left >= kVnniPanel ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      scale[j] = _mm512_loadu_ps(u.scale + column + j * kLanes);
      bias[j] = _mm512_loadu_ps(u.bias + column + j * kLanes);
    }
  }
};

// Byte 4 j + i of each 16 goes to lane i of vector j, into its lowest byte or, to be shifted with its sign, its
// highest.
template <SumsEnd::Type kType>
__attribute__((always_inline)) inline __m512 quarter_of(__m512i bytes, int j) {
  constexpr bool kSigned = kType == SumsEnd::Type::kI8;
  constexpr int64_t kNone = -1;
  alignas(16) int8_t order[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) order[i] = static_cast<int8_t>(i % 4 == (kSigned ? 3 : 0) ? 4 * j + i / 4 : kNone);
  const __m128i one = _mm_load_si128(reinterpret_cast<const __m128i*>(order));
  const __m512i placed = _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(one));
  return _mm512_cvtepi32_ps(kSigned ? _mm512_srai_epi32(placed, 24) : placed);
}

// `middle(row of the results, values)` for each row that is a result, then bytes.
template <SumsEnd::Type kStored, class Middle>
__attribute__((always_inline)) inline void each_row(const AmxUnit& u, const VnniSums& sums, bool least_zero,
                                                    const Middle& middle) {
  const QuarterColumns columns(u, sums.column);
  const int32_t* from = sums.sums;
  for (int64_t i = 0; i < sums.rows; ++i, from += kVnniPanel) {
    const int64_t place = u.places == nullptr ? sums.row + i : u.places[sums.row + i];
    if (place < 0) continue;
    const int64_t at = place * u.out_stride + sums.column;
    Quarters q;
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j)
      q.v[j] =
          _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(from + j * kLanes)), columns.scale[j], columns.bias[j]);
    middle(at, columns.mask, q);
    _mm512_mask_storeu_epi8(u.out + at, columns.mask, packed<kStored>(u, q.v, least_zero));
  }
}

// Roundings, or none, an operand of bytes that is added, or none, and bounds, or none.
template <SumsEnd::Type kStored, bool kAdds, SumsEnd::Type kAdded, Rounds kRounds>
void finish_quarters(const AmxUnit& unit, const VnniSums& sums) {
  AmxUnit u = unit;  // copies that nothing else points to stay in registers
  const Grids<kRounds> grids(&u);
  const bool has_bounds = u.num_ends > (kAdds ? 1 : 0);
  const SumsEnd bounds = has_bounds ? *grids.bounds : SumsEnd();
  const bool least_zero = has_bounds && is_relu(bounds), clips = has_bounds && !least_zero;
  const __m512 low = _mm512_set1_ps(bounds.alpha), high = _mm512_set1_ps(bounds.beta);
  const __m512 alpha = _mm512_set1_ps(kAdds ? grids.added->alpha : 0);
  const char* const added = kAdds ? static_cast<const char*>(u.inputs[grids.added->input]) + u.first : nullptr;
  each_row<kStored>(
      u, sums, least_zero, [&](int64_t at, __mmask64 mask, Quarters & q) __attribute__((always_inline)) {
        if constexpr (rounds_first(kRounds)) grids.first->round(q.v);
        if constexpr (kAdds) {
          const __m512i bytes = _mm512_maskz_loadu_epi8(mask, added + at);
#pragma GCC unroll 4
          for (int j = 0; j < 4; ++j) q.v[j] = _mm512_fmadd_ps(quarter_of<kAdded>(bytes, j), alpha, q.v[j]);
        }
        if constexpr (rounds_last(kRounds)) grids.last->round(q.v);
        if (!clips) return;
      // The second operand is kept when it is NaN.
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) q.v[j] = _mm512_min_ps(high, _mm512_max_ps(low, q.v[j]));
      });
}

// An activation, then a factor or nothing.
template <SumsEnd::Type kStored, Activation kActivation>
void finish_active_quarters(const AmxUnit& unit, const VnniSums& sums) {
  const AmxUnit u = unit;
  const SumsEnd e = u.ends[0];
  const __m512 factor = _mm512_set1_ps(u.num_ends > 1 ? u.ends[1].alpha : 1.0f);
  each_row<kStored>(
      u, sums, false, [&](int64_t, __mmask64, Quarters & q) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          q.v[j] = _mm512_mul_ps(activate<kActivation, true>(q.v[j], e.alpha, e.beta), factor);
      });
}

using QuartersFinish = void (*)(const AmxUnit& u, const VnniSums& sums);
template <SumsEnd::Type kStored>
QuartersFinish active_quarters_of(Activation activation) {
  switch (activation) {
    case Activation::kSilu: return finish_active_quarters<kStored, Activation::kSilu>;
    case Activation::kSigmoid: return finish_active_quarters<kStored, Activation::kSigmoid>;
    case Activation::kGeluErf: return finish_active_quarters<kStored, Activation::kGeluErf>;
    case Activation::kGeluTanh: return finish_active_quarters<kStored, Activation::kGeluTanh>;
    case Activation::kHardSigmoid: return finish_active_quarters<kStored, Activation::kHardSigmoid>;
    case Activation::kHardSwish: return finish_active_quarters<kStored, Activation::kHardSwish>;
    case Activation::kNone: break;
  }
  return nullptr;
}

template <SumsEnd::Type kStored, bool kAdds, SumsEnd::Type kAdded>
QuartersFinish plain_quarters_of(Rounds rounds) {
  switch (rounds) {
    case Rounds::kFirst: return finish_quarters<kStored, kAdds, kAdded, Rounds::kFirst>;
    case Rounds::kLast: return finish_quarters<kStored, kAdds, kAdded, Rounds::kLast>;
    case Rounds::kBoth: return finish_quarters<kStored, kAdds, kAdded, Rounds::kBoth>;
    case Rounds::kNone: break;
  }
  return finish_quarters<kStored, kAdds, kAdded, Rounds::kNone>;
}

// Null: another finish is needed.
template <SumsEnd::Type kStored>
QuartersFinish quarters_finish_of(const AmxUnit& u) {
  using Type = SumsEnd::Type;
  const Ends ends = ends_of(u);
  if (u.row_scales != nullptr) return nullptr;
  if (ends.active) return active_quarters_of<kStored>(u.ends[0].activation);
  if (!ends.plain || (ends.added != nullptr && !is_bytes(ends.added->type))) return nullptr;
  if (ends.added == nullptr) return plain_quarters_of<kStored, false, Type::kU8>(ends.rounds);
  if (ends.added->type == Type::kU8) return plain_quarters_of<kStored, true, Type::kU8>(ends.rounds);
  return plain_quarters_of<kStored, true, Type::kI8>(ends.rounds);
}
inline QuartersFinish quarters_finish_of(const AmxUnit& u) {
  if (u.out_type == SumsEnd::Type::kU8) return quarters_finish_of<SumsEnd::Type::kU8>(u);
  return u.out_type == SumsEnd::Type::kI8 ? quarters_finish_of<SumsEnd::Type::kI8>(u) : nullptr;
}

}  // namespace
}  // namespace wootz::cpu
