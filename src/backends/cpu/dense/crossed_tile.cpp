// Quantized products and convolutions by half the multiplications: with w in 0 .. 255,
//
//   (256 x0 + w1) (256 x1 + w0) = 65536 x0 x1 + 256 (x0 w0 + x1 w1) + w0 w1
//
// where the first term is the same for all columns, the last one for all rows, and what is added on the left has no
// bits in common. VPMADDWD multiplies two such factors of 16 bits and adds; all modulo 2^32. What is left without the
// first and the last terms is 256 times the sum, of which 24 bits are known: enough for a part of 384 elements.
#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dense/crossed_tile.cpp"
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

constexpr int kVectors = 4;
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 6;
#else
constexpr int kRows = 3;
#endif
constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int64_t kPanel = kVectors * kLanes;
constexpr int64_t kEndPanel = 2 * kLanes;  // of finish_rows
constexpr int64_t kPart = 384;             // of weights in 24 KiB with AVX2
static_assert(kPart * 128 * 128 < 1 << 23 && kPart <= kQuadsPart);

// A part of a panel: what its sums begin with, as int32; then the weights of each quad and vector, of 16 bits: w1 and
// w3 of each column, w0 and w2 of each column.
int64_t block_bytes(int64_t quads, int64_t panel) { return panel * 4 + quads * panel * 8; }

void pack(const int8_t* weights, int64_t quads, int64_t panel, std::byte* to) {
  auto* const start = reinterpret_cast<uint32_t*>(to);
  auto* at = reinterpret_cast<uint16_t*>(start + panel);
  std::fill_n(start, panel, 0U);
  for (int64_t q = 0; q < quads; ++q)
    for (int64_t v = 0; v < panel; v += kLanes, at += 4 * kLanes)
      for (int64_t c = 0; c < kLanes; ++c) {
        uint32_t w[4];
        for (int i = 0; i < 4; ++i) w[i] = static_cast<uint32_t>(weights[(q * panel + v + c) * 4 + i] + 128);
        at[2 * c] = static_cast<uint16_t>(w[1]);
        at[2 * c + 1] = static_cast<uint16_t>(w[3]);
        at[2 * kLanes + 2 * c] = static_cast<uint16_t>(w[0]);
        at[2 * kLanes + 2 * c + 1] = static_cast<uint16_t>(w[2]);
        start[v + c] -= w[0] * w[1] + w[2] * w[3];
      }
}

constexpr QuadsForm kForm{{kPanel, kRows, 128, kPart, 1, 384}, 0, block_bytes, pack};
constexpr int64_t kRow = kForm.row_bytes();

HWY_INLINE hn::Vec<I> four_bytes(const char* p) {
  int32_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return hn::Set(I(), bytes);
}

template <int kM>
HWY_INLINE void block(const QuadsTile& t, int64_t row) {
  hn::Vec<I> acc[kM][kVectors];
  hn::Vec<I> unused = hn::Zero(I());
  const auto* first = reinterpret_cast<const int32_t*>(t.block);
#pragma GCC unroll 6
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      acc[i][v] = hn::Add(hn::LoadU(I(), first + v * kLanes), hn::Set(I(), t.more[row + i]));
  const char* values = t.values + row * kRow;
  const int32_t* weights = first + kPanel;
  for (int64_t q = 0; q < t.quads; ++q, values += 8, weights += 2 * kPanel) {
#pragma GCC unroll 6
    for (int i = 0; i < kM; ++i) {
      const auto even = four_bytes(values + i * kRow), odd = four_bytes(values + i * kRow + 4);
      // Weights are read again for each row: kept in registers, they would put sums into memory.
      const int32_t* w = weights;
      asm volatile("" : "+r"(w));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const auto a = hn::Or(even, hn::LoadU(I(), w + 2 * v * kLanes));
        const auto b = hn::Or(odd, hn::LoadU(I(), w + (2 * v + 1) * kLanes));
        acc[i][v] = hn::ReorderWidenMulAccumulate(I(), hn::BitCast(I16(), a), hn::BitCast(I16(), b), acc[i][v], unused);
      }
    }
  }
  int32_t* sums = t.sums + row * t.stride;
#pragma GCC unroll 6
  for (int i = 0; i < kM; ++i, sums += t.stride)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const auto before = hn::LoadU(I(), (t.start == nullptr ? sums : t.start) + v * kLanes);
      hn::StoreU(hn::Add(before, hn::ShiftRight<8>(acc[i][v])), I(), sums + v * kLanes);
    }
}

void tile(const QuadsTile& t, int64_t rows) {
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) block<kRows>(t, i);
  for (; i + 2 <= rows; i += 2) block<2>(t, i);
  for (; i < rows; ++i) block<1>(t, i);
}

// Of four values, in 16 bits: 256 x0, 256 x2, 256 x1, 256 x3. Gives what takes the first terms away, and the 128 that
// are added to weights.
int32_t spread(const uint8_t* from, uint8_t flip, int64_t n, char* to) {
  const hn::FixedTag<uint8_t, 16> u8;
  const hn::FixedTag<int16_t, 8> i16;
  const hn::FixedTag<int32_t, 4> i32;
  alignas(16) static constexpr uint8_t kOrder[16] = {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15};
  const auto order = hn::Load(u8, kOrder);
  const auto zero = hn::Zero(u8);
  auto products = hn::Zero(i32), values = hn::Zero(i32), unused = hn::Zero(i32);
  const auto one = [&](const uint8_t* p) HWY_ATTR {
    const auto x = hn::Xor(hn::LoadU(u8, p), hn::Set(u8, flip));
    const auto odd = hn::ShiftRight<8>(hn::BitCast(i16, x));
    const auto even = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(i16, x)));
    products = hn::ReorderWidenMulAccumulate(i32, even, odd, products, unused);
    values = hn::ReorderWidenMulAccumulate(i32, hn::Add(even, odd), hn::Set(i16, 1), values, unused);
    const auto ordered = hn::TableLookupBytes(x, order);
    hn::StoreU(hn::InterleaveLower(u8, zero, ordered), u8, reinterpret_cast<uint8_t*>(to));
    hn::StoreU(hn::InterleaveUpper(u8, zero, ordered), u8, reinterpret_cast<uint8_t*>(to + 16));
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
  uint32_t sums[4];
  const auto sum = hn::Add(hn::ShiftLeft<16>(products), hn::ShiftLeft<15>(values));
  hn::StoreU(sum, i32, reinterpret_cast<int32_t*>(sums));
  return static_cast<int32_t>(0U - (sums[0] + sums[1] + sums[2] + sums[3]));
}

void end(const QuadsEnd& unit, int64_t rows) {
  QuadsEnd e = unit;
  for (int64_t c = 0; c < unit.columns; c += kEndPanel) {
    e.columns = std::min(kEndPanel, unit.columns - c);
    finish_rows(e, rows);
    e.sums += kEndPanel;
    e.advance(kEndPanel);
  }
}

}  // namespace

const QuadsOps& crossed_kernels() {
  static constexpr QuadsOps kOps{kForm, spread, tile, end};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const QuadsOps& crossed_ops(Isa isa) { return WOOTZ_BY_ISA(isa, crossed_kernels()); }
}  // namespace wootz::cpu
#endif
