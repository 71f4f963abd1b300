// What follows the sums of AMX's tiles, in AVX-512. For the file of the tiles.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <optional>

#include "backends/cpu/dense/activation_avx512_inl.h"
#include "backends/cpu/dense/amx_tile.h"
#include "backends/cpu/dense/ends_avx512_inl.h"
#include "backends/cpu/dense/pack_avx512_inl.h"
#include "backends/cpu/simd/lanes_avx512_inl.h"

namespace wootz::cpu {
namespace {

// Sums of a block that wait for what follows them.
struct Pending {
  const int32_t* sums = nullptr;  // row i at sums + i * 32
  int64_t row = 0, rows = 0, column = 0, next = 0;
  bool done() const { return next >= rows; }
};
// Goes on with the next `pairs` pairs of rows.
using Finish = void (*)(const AmxUnit& u, Pending* pending, int64_t pairs);

// What all rows of a panel have in common.
struct Columns {
  __mmask16 mask[2];
  __m512 scale[2], bias[2];
  __attribute__((always_inline)) Columns(const AmxUnit& u, int64_t column) {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const int64_t c = column + i * kLanes;
      mask[i] = first_lanes(u.columns - c);
      scale[i] = _mm512_loadu_ps(u.scale + c);
      bias[i] = _mm512_loadu_ps(u.bias + c);
    }
  }
};

// Two rows of a panel: v[0], v[1] and v[2], v[3]; where there is no second one, the first twice.
struct Pair {
  __m512 v[4];
  int64_t at[2];  // where the rows' results lie, from the unit's first on
  __m512 by[2];   // what the rows' sums are multiplied by: of ScaledRows
};

// Goes from pair to pair; `next` false: there are no more. Of rows that all are results, one after the other:
struct AllRows {
  static constexpr bool kScaled = false;
  const int32_t* sums;
  int64_t at, stride, left;
  __attribute__((always_inline)) AllRows(const AmxUnit& u, const Pending& from)
      : sums(from.sums + from.next * kAmxPanel),
        at((from.row + from.next) * u.out_stride + from.column),
        stride(u.out_stride),
        left(from.rows - from.next) {}
  __attribute__((always_inline)) bool next(const int32_t* (&of)[2], Pair* p) {
    if (left <= 0) return false;
    const bool two = left > 1;
    of[0] = sums;
    of[1] = sums + (two ? kAmxPanel : 0);
    p->at[0] = at;
    p->at[1] = at + (two ? stride : 0);
    sums += 2 * kAmxPanel;
    at += 2 * stride;
    left -= 2;
    return true;
  }
  int64_t passed(const Pending& from) const { return from.rows - (left < 0 ? 0 : left); }
};
// Of rows that all are results, and have a scale each:
struct ScaledRows {
  static constexpr bool kScaled = true;
  AllRows rows;
  const float* scales;
  __attribute__((always_inline)) ScaledRows(const AmxUnit& u, const Pending& from)
      : rows(u, from), scales(u.row_scales + from.row + from.next) {}
  __attribute__((always_inline)) bool next(const int32_t* (&of)[2], Pair* p) {
    const int second = rows.left > 1 ? 1 : 0;
    if (!rows.next(of, p)) return false;
    p->by[0] = _mm512_set1_ps(scales[0]);
    p->by[1] = _mm512_set1_ps(scales[second]);
    scales += 2;
    return true;
  }
  int64_t passed(const Pending& from) const { return rows.passed(from); }
};
// Of rows some of which are none:
struct SomeRows {
  static constexpr bool kScaled = false;
  const int32_t* sums;
  const int32_t* places;
  int64_t row, rows, column, stride;
  __attribute__((always_inline)) SomeRows(const AmxUnit& u, const Pending& from)
      : sums(from.sums),
        places(u.places + from.row),
        row(from.next),
        rows(from.rows),
        column(from.column),
        stride(u.out_stride) {}
  __attribute__((always_inline)) bool next(const int32_t* (&of)[2], Pair* p) {
    while (row < rows && places[row] < 0) ++row;
    if (row >= rows) return false;
    const int64_t second = row + 1 < rows && places[row + 1] >= 0 ? row + 1 : row;
    of[0] = sums + row * kAmxPanel;
    of[1] = sums + second * kAmxPanel;
    p->at[0] = places[row] * stride + column;
    p->at[1] = places[second] * stride + column;
    row = second + 1;
    return true;
  }
  int64_t passed(const Pending&) const { return row; }
};

// The next rows that are results; false: there are none.
template <bool kIntegers, class Rows>
__attribute__((always_inline)) inline bool load(const Columns& columns, Rows* rows, Pair* p) {
  const int32_t* of[2];
  if (!rows->next(of, p)) return false;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i sum = _mm512_load_si512(of[j / 2] + j % 2 * kLanes);
    __m512 value = kIntegers ? _mm512_cvtepi32_ps(sum) : _mm512_castsi512_ps(sum);
    if constexpr (Rows::kScaled) value = _mm512_mul_ps(value, p->by[j / 2]);
    p->v[j] = _mm512_fmadd_ps(value, columns.scale[j % 2], columns.bias[j % 2]);
  }
  return true;
}

template <SumsEnd::Type kType>
inline __m512 operand(const void* base, int64_t at, __mmask16 mask) {
  if constexpr (kType == SumsEnd::Type::kF32) return _mm512_maskz_loadu_ps(mask, static_cast<const float*>(base) + at);
  if constexpr (kType == SumsEnd::Type::kBf16) {
    const __m256i bits = _mm256_maskz_loadu_epi16(mask, static_cast<const uint16_t*>(base) + at);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  const __m128i bytes = _mm_maskz_loadu_epi8(mask, static_cast<const char*>(base) + at);
  return _mm512_cvtepi32_ps(kType == SumsEnd::Type::kU8 ? _mm512_cvtepu8_epi32(bytes) : _mm512_cvtepi8_epi32(bytes));
}

// An operand that is added: alpha * operand + beta.
struct Added {
  const char* base;
  int64_t first;  // where what belongs to the unit's first result lies
  __m512 alpha, beta;
  __attribute__((always_inline)) Added(const AmxUnit& u, const SumsEnd& e)
      : base(static_cast<const char*>(u.inputs[e.input])),
        first(u.first),
        alpha(_mm512_set1_ps(e.alpha)),
        beta(_mm512_set1_ps(e.beta)) {}
};
template <SumsEnd::Type kType, bool kShifts>
__attribute__((always_inline)) inline void add(const Added& added, const Columns& columns, Pair& p) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 x = operand<kType>(added.base, added.first + p.at[j / 2] + j % 2 * kLanes, columns.mask[j % 2]);
    p.v[j] = _mm512_fmadd_ps(x, added.alpha, kShifts ? _mm512_add_ps(p.v[j], added.beta) : p.v[j]);
  }
}

// The second operand is kept when it is NaN.
inline void clip(__m512 low, __m512 high, Pair& p) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) p.v[j] = _mm512_min_ps(high, _mm512_max_ps(low, p.v[j]));
}

template <SumsEnd::Type kType>
inline void store_bytes(const AmxUnit& u, const Columns& columns, const Pair& p, bool least_zero) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i rows = _mm512_permutexvar_epi32(order, packed<kType>(u, p.v, least_zero));
  const auto mask = static_cast<__mmask32>(columns.mask[0] | (uint32_t{columns.mask[1]} << 16));
  _mm256_mask_storeu_epi8(u.out + p.at[0], mask, _mm512_castsi512_si256(rows));
  _mm256_mask_storeu_epi8(u.out + p.at[1], mask, _mm512_extracti64x4_epi64(rows, 1));
}

template <SumsEnd::Type kType>
inline void store(const AmxUnit& u, const Columns& columns, const Pair& p, bool least_zero = false) {
  if constexpr (is_bytes(kType)) return store_bytes<kType>(u, columns, p, least_zero);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const int64_t at = p.at[j / 2] + j % 2 * kLanes;
    if constexpr (kType == SumsEnd::Type::kF32)
      _mm512_mask_storeu_ps(u.out + 4 * at, columns.mask[j % 2], p.v[j]);
    else
      _mm256_mask_storeu_epi16(u.out + 2 * at, columns.mask[j % 2], rounded_to_bf16(p.v[j]));
  }
}

template <Activation kActivation, bool kFine>
inline void activate(const SumsEnd& e, Pair& p) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) p.v[j] = activate<kActivation, kFine>(p.v[j], e.alpha, e.beta);
}
inline void activate(const SumsEnd& e, Pair& p) {
  switch (e.activation) {
    case Activation::kSilu: return activate<Activation::kSilu, true>(e, p);
    case Activation::kSigmoid: return activate<Activation::kSigmoid, true>(e, p);
    case Activation::kGeluErf: return activate<Activation::kGeluErf, true>(e, p);
    case Activation::kGeluTanh: return activate<Activation::kGeluTanh, true>(e, p);
    case Activation::kHardSigmoid: return activate<Activation::kHardSigmoid, true>(e, p);
    case Activation::kHardSwish: return activate<Activation::kHardSwish, true>(e, p);
    case Activation::kNone: break;
  }
}

inline void add(const AmxUnit& u, const Columns& columns, const SumsEnd& e, Pair& p) {
  switch (e.type) {
    case SumsEnd::Type::kF32: return add<SumsEnd::Type::kF32, true>(Added(u, e), columns, p);
    case SumsEnd::Type::kBf16: return add<SumsEnd::Type::kBf16, true>(Added(u, e), columns, p);
    case SumsEnd::Type::kU8: return add<SumsEnd::Type::kU8, true>(Added(u, e), columns, p);
    case SumsEnd::Type::kI8: return add<SumsEnd::Type::kI8, true>(Added(u, e), columns, p);
  }
}

inline void apply(const AmxUnit& u, const Columns& columns, const SumsEnd& e, Pair& p) {
  const __m512 alpha = _mm512_set1_ps(e.alpha), beta = _mm512_set1_ps(e.beta);
  switch (e.kind) {
    case SumsEnd::Kind::kLinear:
      for (__m512& x : p.v) x = _mm512_fmadd_ps(x, alpha, beta);
      return;
    case SumsEnd::Kind::kClip: return clip(alpha, beta, p);
    case SumsEnd::Kind::kRound:
      for (__m512& x : p.v) x = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      return;
    case SumsEnd::Kind::kAdd: return add(u, columns, e, p);
    case SumsEnd::Kind::kActivation: return activate(e, p);
  }
}

// `end` for each pair of rows that is left, `pairs` at most.
template <bool kIntegers, class Rows, class End>
__attribute__((always_inline)) inline void each_pair(const AmxUnit& u, const Columns& columns, Pending* pending,
                                                     int64_t pairs, const End& end) {
  Rows rows(u, *pending);
  Pair p;
  for (; pairs > 0 && load<kIntegers>(columns, &rows, &p); --pairs) end(p);
  pending->next = rows.passed(*pending);
}
template <bool kIntegers, class End>
__attribute__((always_inline)) inline void each_pair(const AmxUnit& u, const Columns& columns, Pending* pending,
                                                     int64_t pairs, const End& end) {
  if constexpr (kIntegers)
    if (u.row_scales != nullptr) return each_pair<kIntegers, ScaledRows>(u, columns, pending, pairs, end);
  if (u.places == nullptr) return each_pair<kIntegers, AllRows>(u, columns, pending, pairs, end);
  each_pair<kIntegers, SomeRows>(u, columns, pending, pairs, end);
}

// Any ends, by way of memory.
template <bool kIntegers, SumsEnd::Type kStored>
void finish_any(const AmxUnit& u, Pending* pending, int64_t pairs) {
  const Columns columns(u, pending->column);
  each_pair<kIntegers>(u, columns, pending, pairs, [&](Pair& p) {
    for (int i = 0; i < u.num_ends; ++i) apply(u, columns, u.ends[i], p);
    store<kStored>(u, columns, p);
  });
}

// Roundings, or none, an operand that is added, or none (kI8 and kAdds false), and bounds, or none: in registers.
template <bool kIntegers, SumsEnd::Type kStored, bool kAdds, SumsEnd::Type kAdded, Rounds kRounds = Rounds::kNone>
void finish_plain(const AmxUnit& unit, Pending* pending, int64_t pairs) {
  // Copies that nothing else points to stay in registers.
  AmxUnit u = unit;
  const Grids<kRounds> grids(&u);
  Pending from = *pending;
  const Columns columns(u, from.column);
  const bool has_bounds = u.num_ends > (kAdds ? 1 : 0);
  const SumsEnd bounds = has_bounds ? *grids.bounds : SumsEnd();
  // Bytes are compared with 0 once they are bytes.
  const bool least_zero = is_bytes(kStored) && has_bounds && is_relu(bounds), clips = has_bounds && !least_zero;
  std::optional<Added> added;
  if constexpr (kAdds) added.emplace(u, *grids.added);
  const __m512 low = _mm512_set1_ps(bounds.alpha), high = _mm512_set1_ps(bounds.beta);
  each_pair<kIntegers>(
      u, columns, &from, pairs, [&](Pair & p) __attribute__((always_inline)) {
        if constexpr (rounds_first(kRounds)) grids.first->round(p.v);
        if constexpr (kAdds) add<kAdded, false>(*added, columns, p);
        if constexpr (rounds_last(kRounds)) grids.last->round(p.v);
        if (clips) clip(low, high, p);
        store<kStored>(u, columns, p, least_zero);
      });
  pending->next = from.next;
}

// An activation, then a factor or nothing: in registers.
template <bool kIntegers, SumsEnd::Type kStored, Activation kActivation>
void finish_active(const AmxUnit& unit, Pending* pending, int64_t pairs) {
  // Copies that nothing else points to stay in registers.
  const AmxUnit u = unit;
  Pending from = *pending;
  const Columns columns(u, from.column);
  constexpr bool kFine = kStored != SumsEnd::Type::kBf16;
  const SumsEnd e = u.ends[0];
  const __m512 factor = _mm512_set1_ps(u.num_ends > 1 ? u.ends[1].alpha : 1.0f);
  each_pair<kIntegers>(
      u, columns, &from, pairs, [&](Pair & p) __attribute__((always_inline)) {
        activate<kActivation, kFine>(e, p);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) p.v[j] = _mm512_mul_ps(p.v[j], factor);
        store<kStored>(u, columns, p);
      });
  pending->next = from.next;
}
template <bool kIntegers, SumsEnd::Type kStored>
Finish finish_active_of(Activation activation) {
  switch (activation) {
    case Activation::kSilu: return finish_active<kIntegers, kStored, Activation::kSilu>;
    case Activation::kSigmoid: return finish_active<kIntegers, kStored, Activation::kSigmoid>;
    case Activation::kGeluErf: return finish_active<kIntegers, kStored, Activation::kGeluErf>;
    case Activation::kGeluTanh: return finish_active<kIntegers, kStored, Activation::kGeluTanh>;
    case Activation::kHardSigmoid: return finish_active<kIntegers, kStored, Activation::kHardSigmoid>;
    case Activation::kHardSwish: return finish_active<kIntegers, kStored, Activation::kHardSwish>;
    case Activation::kNone: break;
  }
  return finish_any<kIntegers, kStored>;
}

template <bool kIntegers, SumsEnd::Type kStored, bool kAdds, SumsEnd::Type kAdded>
Finish finish_plain_of(Rounds rounds) {
  if (rounds == Rounds::kFirst) return finish_plain<kIntegers, kStored, kAdds, kAdded, Rounds::kFirst>;
  if constexpr (is_bytes(kStored) && kAdds && is_bytes(kAdded)) {
    if (rounds == Rounds::kLast) return finish_plain<kIntegers, kStored, kAdds, kAdded, Rounds::kLast>;
    if (rounds == Rounds::kBoth) return finish_plain<kIntegers, kStored, kAdds, kAdded, Rounds::kBoth>;
  }
  return finish_plain<kIntegers, kStored, kAdds, kAdded>;
}

template <bool kIntegers, SumsEnd::Type kStored>
Finish finish_of(const AmxUnit& u) {
  using Type = SumsEnd::Type;
  const Ends ends = ends_of(u);
  if (ends.active) return finish_active_of<kIntegers, kStored>(u.ends[0].activation);
  if (!ends.plain) return finish_any<kIntegers, kStored>;
  if (ends.added == nullptr) return finish_plain_of<kIntegers, kStored, false, Type::kI8>(ends.rounds);
  switch (ends.added->type) {
    case Type::kF32: return finish_plain_of<kIntegers, kStored, true, Type::kF32>(ends.rounds);
    case Type::kBf16: return finish_plain_of<kIntegers, kStored, true, Type::kBf16>(ends.rounds);
    case Type::kU8: return finish_plain_of<kIntegers, kStored, true, Type::kU8>(ends.rounds);
    case Type::kI8: break;
  }
  return finish_plain_of<kIntegers, kStored, true, Type::kI8>(ends.rounds);
}
template <bool kIntegers>
Finish finish_of(const AmxUnit& u) {
  switch (u.out_type) {
    case SumsEnd::Type::kF32: return finish_of<kIntegers, SumsEnd::Type::kF32>(u);
    case SumsEnd::Type::kBf16: return finish_of<kIntegers, SumsEnd::Type::kBf16>(u);
    case SumsEnd::Type::kU8: return finish_of<kIntegers, SumsEnd::Type::kU8>(u);
    case SumsEnd::Type::kI8: break;
  }
  return finish_of<kIntegers, SumsEnd::Type::kI8>(u);
}

}  // namespace
}  // namespace wootz::cpu
