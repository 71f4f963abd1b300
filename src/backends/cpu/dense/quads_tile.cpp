#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dense/quads_tile.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/dense/quads_end_inl.h"
#include "backends/cpu/dense/quads_tile.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

using I16 = hn::ScalableTag<int16_t>;

constexpr int kVectors = 2;
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 10;
#else
constexpr int kRows = 5;
#endif
constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int64_t kPanel = kVectors * kLanes;
constexpr QuadsForm kForm{{kPanel, kRows, 64, kQuadsPart}, 1, QuadBlock::bytes, pack_quads};
constexpr int64_t kRow = kForm.row_bytes();

HWY_INLINE hn::Vec<I> four_bytes(const char* p) {
  int32_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return hn::Set(I(), bytes);
}

// Products of u8 by i8, neighbours added in 16 bits.
HWY_INLINE hn::Vec<I16> multiply(hn::Vec<I> u, hn::Vec<I> w) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<I16>{_mm512_maddubs_epi16(u.raw, w.raw)};
#else
  return hn::Vec<I16>{_mm256_maddubs_epi16(u.raw, w.raw)};
#endif
}

// What a block of rows needs on its way.
struct Cursor {
  const char* values;
  const uint16_t* order;
  const int8_t* weights;
};

// The next `count` groups of kN quads.
template <int kM, int kN>
HWY_INLINE void groups(int64_t count, Cursor& at, hn::Vec<I> (&acc)[kM][kVectors]) {
  const auto ones = hn::Set(I16(), 1);
  hn::Vec<I> unused = hn::Zero(I());
  for (; count > 0; --count, at.order += kN, at.weights += kN * 4 * kPanel) {
    const char* from[kN];
#pragma GCC unroll 4
    for (int q = 0; q < kN; ++q) from[q] = at.values + at.order[q] % (2 * kQuadsPart);  // a plan may say anything
#pragma GCC unroll 10
    for (int i = 0; i < kM; ++i) {
      hn::Vec<I16> sum[kVectors];
      // Weights are read again for each row: kept in registers, they would put sums into memory.
      const int8_t* weights = at.weights;
      asm volatile("" : "+r"(weights));
#pragma GCC unroll 4
      for (int q = 0; q < kN; ++q) {
        const auto x = four_bytes(from[q] + i * kRow), sign = four_bytes(from[q] + i * kRow + 4);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          const auto w = hn::LoadU(I(), reinterpret_cast<const int32_t*>(weights) + q * kPanel + v * kLanes);
          const auto product = multiply(x, hn::Xor(sign, w));
          sum[v] = q == 0 ? product : hn::Add(sum[v], product);
        }
      }
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        acc[i][v] = hn::ReorderWidenMulAccumulate(I(), sum[v], ones, acc[i][v], unused);
    }
  }
}

template <int kM>
HWY_INLINE void block(const QuadsTile& t, const QuadBlock& head, int64_t row) {
  hn::Vec<I> acc[kM][kVectors];
  int32_t* sums = t.sums + row * t.stride;
#pragma GCC unroll 10
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int32_t* from = (t.start == nullptr ? sums + i * t.stride : t.start) + v * kLanes;
      acc[i][v] = hn::Add(hn::LoadU(I(), from), hn::Set(I(), t.more[row + i]));
    }
  Cursor at{t.values + row * kRow, reinterpret_cast<const uint16_t*>(t.block + sizeof head),
            reinterpret_cast<const int8_t*>(t.block + QuadBlock::head_bytes(t.quads))};
  groups<kM, 4>(head.groups[0], at, acc);
  groups<kM, 3>(head.groups[1], at, acc);
  groups<kM, 2>(head.groups[2], at, acc);
  groups<kM, 1>(head.groups[3], at, acc);
#pragma GCC unroll 10
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[i][v], I(), sums + i * t.stride + v * kLanes);
}

void tile(const QuadsTile& t, int64_t rows) {
  QuadBlock head;
  std::memcpy(&head, t.block, sizeof head);
  // A plan may say anything, but not lead beyond the weights.
  int64_t quads = 0;
  for (int i = 0; i < kMostTogether; ++i) quads += (kMostTogether - i) * int64_t{head.groups[i]};
  if (quads != t.quads) head = QuadBlock{{0, 0, 0, static_cast<uint16_t>(t.quads)}};
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) block<kRows>(t, head, i);
  for (; i + 4 <= rows; i += 4) block<4>(t, head, i);
  for (; i + 2 <= rows; i += 2) block<2>(t, head, i);
  for (; i < rows; ++i) block<1>(t, head, i);
}

// Gives the sum of the absolute values of those that are negative.
int32_t spread(const uint8_t* from, uint8_t flip, int64_t n, char* to) {
  const hn::FixedTag<uint8_t, 16> u8;
  const hn::FixedTag<int8_t, 16> i8;
  const hn::FixedTag<int32_t, 4> i32;
  auto negatives = hn::Zero(hn::FixedTag<uint64_t, 2>());
  const auto one = [&](const uint8_t* p) HWY_ATTR {
    const auto x = hn::BitCast(i8, hn::Xor(hn::LoadU(u8, p), hn::Set(u8, flip)));
    const auto sign = hn::VecFromMask(i8, hn::Lt(x, hn::Zero(i8)));
    const auto size = hn::Abs(x);
    negatives = hn::Add(negatives, hn::SumsOf8(hn::BitCast(u8, hn::And(size, sign))));
    const auto a = hn::BitCast(i32, size), b = hn::BitCast(i32, sign);
    hn::StoreU(hn::InterleaveLower(i32, a, b), i32, reinterpret_cast<int32_t*>(to));
    hn::StoreU(hn::InterleaveUpper(i32, a, b), i32, reinterpret_cast<int32_t*>(to + 16));
    to += 32;
  };
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) one(from + i);
  if (i < n) {
    uint8_t last[16];
    std::memset(last, flip, sizeof last);
    std::memcpy(last, from + i, static_cast<size_t>(n - i));
    one(last);
  }
  uint64_t sums[2];
  hn::StoreU(negatives, hn::FixedTag<uint64_t, 2>(), sums);
  return static_cast<int32_t>(sums[0] + sums[1]);
}

void end(const QuadsEnd& e, int64_t rows) { finish_rows(e, rows); }

}  // namespace

const QuadsOps& quads_kernels() {
  static constexpr QuadsOps kOps{kForm, spread, tile, end};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const QuadsOps& quads_ops(Isa isa) { return WOOTZ_BY_ISA(isa, quads_kernels()); }
}  // namespace wootz::cpu
#endif
