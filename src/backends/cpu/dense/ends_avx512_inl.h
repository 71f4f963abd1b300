// Which forms the ends of sums have (sums_end.h), and the roundings among them, in AVX-512. For files that are compiled
// for it.
#pragma once

#include <immintrin.h>

#include <cmath>
#include <limits>
#include <optional>

#include "backends/cpu/dense/amx_tile.h"

namespace wootz::cpu {
namespace {

inline bool is_relu(const SumsEnd& bounds) {
  return bounds.alpha == 0 && bounds.beta == std::numeric_limits<float>::infinity();
}

// The rounding of a Q and its DQ: three ends are to an integer, within bounds or not, and times a factor plus a shift.
constexpr int kGridEnds = 3;
struct Grid {
  bool bounded;
  __m512 low, high, factor, shift;
  __attribute__((always_inline)) explicit Grid(const SumsEnd* ends)
      : bounded(std::isfinite(ends[1].alpha) || std::isfinite(ends[1].beta)),
        low(_mm512_set1_ps(ends[1].alpha)),
        high(_mm512_set1_ps(ends[1].beta)),
        factor(_mm512_set1_ps(ends[2].alpha)),
        shift(_mm512_set1_ps(ends[2].beta)) {}
  __attribute__((always_inline)) void round(__m512 (&v)[4]) const {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) v[j] = _mm512_roundscale_ps(v[j], kNearest);
    if (bounded) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) v[j] = _mm512_min_ps(high, _mm512_max_ps(low, v[j]));
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) v[j] = _mm512_fmadd_ps(v[j], factor, shift);
  }
};

// Which roundings there are: ahead of what is added, or of the bounds; and after what is added.
enum class Rounds : uint8_t { kNone, kFirst, kLast, kBoth };
constexpr bool rounds_first(Rounds r) { return r == Rounds::kFirst || r == Rounds::kBoth; }
constexpr bool rounds_last(Rounds r) { return r == Rounds::kLast || r == Rounds::kBoth; }

// Takes the roundings out of the unit's ends: an operand to add, or none, and bounds, or none, are left.
template <Rounds kRounds>
struct Grids {
  std::optional<Grid> first, last;
  __attribute__((always_inline)) explicit Grids(AmxUnit* u) {
    if constexpr (rounds_first(kRounds)) {
      first.emplace(u->ends);
      u->ends += kGridEnds;
      u->num_ends -= kGridEnds;
    }
    added = u->ends;
    if constexpr (rounds_last(kRounds)) {
      last.emplace(u->ends + 1);
      u->num_ends -= kGridEnds;
    }
    bounds = u->ends + (rounds_last(kRounds) ? kGridEnds : 0) + u->num_ends - 1;
  }
  const SumsEnd *added, *bounds;  // if there are any
};

// Which forms the ends have.
struct Ends {
  bool active = false;  // an activation, then a factor or nothing
  Rounds rounds = Rounds::kNone;
  const SumsEnd* added = nullptr;  // an operand
  bool plain = false;              // roundings, an operand that is added, bounds, or nothing
};
inline Ends ends_of(const AmxUnit& u) {
  using Kind = SumsEnd::Kind;
  const bool factor = u.num_ends == 2 && u.ends[1].kind == Kind::kLinear && u.ends[1].beta == 0;
  Ends e;
  e.active = (u.num_ends == 1 || factor) && u.ends[0].kind == Kind::kActivation;
  const auto grid_at = [&](int i) {
    return i + kGridEnds <= u.num_ends && u.ends[i].kind == Kind::kRound && u.ends[i + 1].kind == Kind::kClip &&
           u.ends[i + 2].kind == Kind::kLinear;
  };
  int at = 0;
  const bool first = grid_at(0);
  if (first) at += kGridEnds;
  if (at < u.num_ends && u.ends[at].kind == Kind::kAdd && u.ends[at].beta == 0) e.added = u.ends + at++;
  const bool last = is_bytes(u.out_type) && e.added != nullptr && is_bytes(e.added->type) && grid_at(at);
  if (last) at += kGridEnds;
  e.rounds = first ? (last ? Rounds::kBoth : Rounds::kFirst) : last ? Rounds::kLast : Rounds::kNone;
  e.plain = at == u.num_ends || (at + 1 == u.num_ends && u.ends[at].kind == Kind::kClip);
  return e;
}

}  // namespace
}  // namespace wootz::cpu
