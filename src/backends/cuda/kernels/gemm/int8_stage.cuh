// What a block of gemm/int8.cuh reads: a stage is 64 bytes of the sum's length, for each share of the sum, of each row
// of x and each column of w. The problem: that of gemm/int8.cuh.
#pragma once
#include "backends/cuda/kernels/gemm/int8_mma.cuh"

constexpr int kStageBytes = kShares * (kRows + kColumns) * 64;
constexpr int kAtOnce = kThreads / 4;  // rows or columns that the block copies 64 bytes of at once
constexpr int kOwnRows = kRows < kAtOnce ? 1 : kRows / kAtOnce;  // that a thread copies from
constexpr u32 kOutsides = (u32)kOutside * 0x01010101u;
W_TABLE(u32, w_outside, 4) = {kOutsides, kOutsides, kOutsides, kOutsides};

// A row of x: where it begins. Of an image, a row is what the window of a pixel covers: its upper left corner.
struct Row {
  const X* base;
  int top, left;
};

W_FN Row row_of(const X* x, const Constants& c, int row) {
  if (row >= c.rows) row = c.rows - 1;
  if constexpr (kWindow) {
    const int ox = row % c.out_w, rest = row / c.out_w, oy = rest % c.out_h;
    return {x + (s64)(rest / c.out_h) * c.image, oy * c.stride_h - c.pad_top, ox * c.stride_w - c.pad_left};
  } else {
    return {x + (s64)row * c.channels, 0, 0};
  }
}

// A place in the sum as a tap of the window and a channel.
struct Tap {
  int r, s, channel;
};

W_FN Tap tap_of(const Constants& c, int k) {
  const int tap = k / c.channels, r = tap / c.taps_w;
  return {r, tap - r * c.taps_w, k - tap * c.channels};
}

// The element of x under a tap; false: it is outside of the image.
W_FN bool find(const Constants& c, const Row& row, const Tap& tap, s64* at) {
  const int h = row.top + tap.r * c.dilation_h, v = row.left + tap.s * c.dilation_w;
  *at = ((s64)h * c.in_w + v) * c.channels + tap.channel;
  return (u32)h < (u32)c.in_h && (u32)v < (u32)c.in_w;
}

// 16 bytes of the row from place k of the sum on, which need not be of one tap.
W_FN Pack<u32, 4> collect(const Constants& c, const Row& row, int k) {
  Tap tap = tap_of(c, k);
  Pack<u32, 4> g;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    if (i % 4 == 0) g.v[i / 4] = 0;
    u32 byte;
    if constexpr (kWindow) {
      s64 at;
      const bool in = find(c, row, tap, &at) && k + i < c.depth;
      byte = in ? (u8)row.base[at] : (u32)kOutside;
      if (++tap.channel == c.channels) {
        tap.channel = 0;
        if (++tap.s == c.taps_w) {
          tap.s = 0;
          ++tap.r;
        }
      }
    } else {
      byte = k + i < c.depth ? (u8)row.base[k + i] : 0u;
    }
    g.v[i / 4] |= byte << (i % 4 * 8);
  }
  return g;
}

// The same to shared memory. `x`: an address to copy nothing from.
W_FN void load_row(const X* x, const Constants& c, const Row& row, int k, u8* to) {
  if constexpr (!kBySixteen) {
    *(Pack<u32, 4>*)to = collect(c, row, k);
  } else if constexpr (kWindow) {
    s64 at;
    const bool in = find(c, row, tap_of(c, k), &at) && k < c.depth;
    w_copy16(to, in ? row.base + at : kOutside != 0 ? (const X*)w_outside : x, kOutside != 0 || in);
  } else {
    w_copy16(to, row.base + (k < c.depth ? k : 0), k < c.depth);
  }
}

// Stage `it` of the sum. Four threads copy 64 bytes: t / 4 is what they copy from, t % 4 their place in it.
W_FN void load_stage(const X* x, const s8* w, const Constants& c, const Row (&rows)[kOwnRows], int n0, int it,
                     u8* stage) {
  const int t = threadIdx.x, q = t % 4;
#pragma unroll
  for (int j = 0; j < kShares * kRows * 4 / kThreads; ++j) {
    // The share is known to the compiler where the block copies from no more than one at once.
    constexpr bool kKnown = kAtOnce <= kRows;
    const int share = kKnown ? j / kOwnRows : (t / 4 + j * kAtOnce) / kRows;
    const int row = (t / 4 + (kKnown ? j % kOwnRows : 0) * kAtOnce) % kRows;
    load_row(x, c, rows[j % kOwnRows], (it * kShares + share) * 64 + q * 16,
             stage + (share * (kRows + kColumns) + row) * 64 + q * 16);
  }
#pragma unroll
  for (int j = 0; j < kShares * kColumns * 4 / kThreads; ++j) {
    const int i = t / 4 + j * kAtOnce, share = i / kColumns, n = n0 + i % kColumns;
    const int k = (it * kShares + share) * 64 + q * 16;
    const bool in = n < c.columns && k < c.pitch;
    w_copy16(stage + (share * (kRows + kColumns) + kRows + i % kColumns) * 64 + q * 16,
             in ? w + (s64)n * c.pitch + k : w, in);
  }
  w_commit();
}
