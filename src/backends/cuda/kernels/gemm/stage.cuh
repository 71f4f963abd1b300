// What a block of gemm/tile.cuh reads: a stage is kLine bytes of the sum's length, for each share of the sum, of each
// row of x and each column of w, and with kGated of the gate. The problem: that of gemm/tile.cuh.
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

constexpr int kGateAt = (kRows + kColumns) * kLine;  // where a share's part of the gate is, behind rows and columns
constexpr int kGateBytes = kGated ? kLine / (int)sizeof(X) * (int)sizeof(G) : 0;
constexpr bool kBytesGated = kGated && sizeof(X) == 1;
constexpr int kFactorsAt = kGateAt + kGateBytes;  // of bytes: the gate times their factor, as floats
constexpr int kShareBytes = kFactorsAt + (kBytesGated ? kLine * 4 : 0), kStageBytes = kShares * kShareBytes;
constexpr int kPieces = kLine / 16;                                // of a line, a thread each
constexpr int kStep = kLine / sizeof(X), kPiece = 16 / sizeof(X);  // elements
constexpr int kOfShare = kThreads / kShares;  // threads, which copy what they multiply and wait for nobody else
constexpr int kAtOnce = kOfShare / kPieces;   // rows or columns that they copy a line of at once
constexpr int kOwnRows = kRows / kAtOnce;     // that a thread copies from
constexpr int kFours = kStep / 4;             // of gates, a thread each
static_assert(kRows % kAtOnce == 0 && kColumns % kAtOnce == 0 && (!kBytesGated || kFours <= kOfShare));
constexpr u32 kOutsides = (u32)kOutside * 0x01010101u;
W_TABLE(u32, w_outside, 4) = {kOutsides, kOutsides, kOutsides, kOutsides};

// Where piece `q` of a line is: so exchanged that the pieces of a number of eight lines, which are read at once, meet
// all banks.
W_FN int piece_at(int line, int q) { return line * kLine + (kLine == 128 ? q ^ (line & 7) : q ^ (line >> 1 & 3)) * 16; }

W_FN bool is_row(const Constants& c, int row) { return kAllRows || row < c.rows; }
W_FN bool is_column(const Constants& c, int column) { return kAllColumns || column < c.columns; }

// A row of x: where it begins; with kJoined its number. Of an image, a row is what the window of a pixel covers: its
// upper left corner, which may be outside. Rows behind the last are outside altogether.
struct Row {
  int at, top, left;
};

W_FN Row row_of(const Constants& c, int row) {
  const bool in = is_row(c, row);
  if constexpr (kWindow) {
    const int ox = row % c.out_w, rest = row / c.out_w, oy = rest % c.out_h;
    const int top = oy * c.stride_h - c.pad_top, left = ox * c.stride_w - c.pad_left;
    return {rest / c.out_h * c.image + (top * c.in_w + left) * c.channels, in ? top : -(1 << 29), left};
  } else {
    return {in ? kJoined ? row : row * c.channels : -1, 0, 0};
  }
}

// n / d, where `inverse` is 2 to the 32th over d, rounded up, or 0 for a d of 1. Exact while n * d is below 2 to the
// 32th.
W_FN int w_over(int n, u32 inverse) { return inverse == 0 ? n : (int)(((u64)(u32)n * inverse) >> 32); }

// A place in the sum as a tap of the window and a channel.
struct Tap {
  int r, s, channel;
};

W_FN Tap tap_of(const Constants& c, int k) {
  const int tap = w_over(k, (u32)c.per_channel), r = w_over(tap, (u32)c.per_tap);
  return {r, tap - r * c.taps_w, k - tap * c.channels};
}

// The element of x under a tap; false: it is outside of the image.
W_FN bool find(const Constants& c, const Row& row, const Tap& tap, int* at) {
  const int down = tap.r * c.dilation_h, right = tap.s * c.dilation_w;
  *at = row.at + ((down * c.in_w + right) * c.channels + tap.channel);
  return (u32)(row.top + down) < (u32)c.in_h && (u32)(row.left + right) < (u32)c.in_w;
}

W_FN u32 w_bits_of(s8 v) { return (u8)v; }
W_FN u32 w_bits_of(u8 v) { return v; }
W_FN u32 w_bits_of(f8e4m3 v) { return v.x; }
W_FN u32 w_bits_of(f8e5m2 v) { return v.x; }
W_FN u32 w_bits_of(f16 v) { return v.x; }
W_FN u32 w_bits_of(bf16 v) { return v.x; }

// 16 bytes of the row from place k of the sum on, which need not be of one tap.
W_FN Pack<u32, 4> collect(const X* x, const Constants& c, const Row& row, int k) {
  constexpr int kInWord = 4 / sizeof(X);
  Tap tap = tap_of(c, k);
  Pack<u32, 4> g;
#pragma unroll
  for (int i = 0; i < kPiece; ++i) {
    if (i % kInWord == 0) g.v[i / kInWord] = 0;
    u32 bits;
    if constexpr (kWindow) {
      int at;
      const bool in = find(c, row, tap, &at) && k + i < c.depth;
      bits = in ? w_bits_of(x[at]) : (u32)kOutside;
      if (++tap.channel == c.channels) {
        tap.channel = 0;
        if (++tap.s == c.taps_w) {
          tap.s = 0;
          ++tap.r;
        }
      }
    } else {
      bits = row.at >= 0 && k + i < c.depth ? w_bits_of(x[row.at + k + i]) : 0u;
    }
    g.v[i / kInWord] |= bits << (i % kInWord * (8 * sizeof(X)));
  }
  return g;
}

// The same to shared memory.
W_FN void load_row(const X* x, const Constants& c, const Row& row, const Tap& tap, int k, u8* to) {
  if constexpr (kByEight) {
    constexpr int kHalf = kPiece / 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int own = k + half * kHalf;
      bool in = kAllDepth || own < c.depth;
      int at = row.at + own;
      if constexpr (kWindow)
        in = find(c, row, half == 0 ? tap : tap_of(c, own), &at) && in;
      else
        in = in && (kAllRows || row.at >= 0);
      w_copy8(to + half * 8, in ? x + at : kOutside != 0 ? (const X*)w_outside : x, kOutside != 0 || in);
    }
  } else if constexpr (!kBySixteen) {
    *(Pack<u32, 4>*)to = collect(x, c, row, k);
  } else if constexpr (kWindow) {
    int at;
    const bool in = find(c, row, tap, &at) && (kAllDepth || k < c.depth);
    w_copy16(to, in ? x + at : kOutside != 0 ? (const X*)w_outside : x, kOutside != 0 || in);
  } else {
    const bool in = (kAllRows || row.at >= 0) && (kAllDepth || k < c.depth);
    w_copy16(to, in ? x + row.at + k : x, in);
  }
}

// Place of the sum from which a thread copies 16 bytes in stage `it`, numbered over all blocks that share the sum.
// Neighbours copy a line.
W_FN int place_in(int it) {
  const int t = threadIdx.x;
  return (it * kShares + t / kOfShare) * kStep + t % kPieces * kPiece;
}

// Each half of a times that of b, as floats of 16 bits. Nothing multiplies bytes.
template <class T>
W_FN u32 w_times_halves(u32 a, u32 b) {
  u32 d = 0;
  if constexpr (sizeof(T) == 2)
    for (int shift = 0; shift < 32; shift += 16) {
      T x, y;
      x.x = (u16)(a >> shift);
      y.x = (u16)(b >> shift);
      d |= (u32)Put<T>::to(w_get(x) * w_get(y)).x << shift;
    }
  return d;
}
#ifndef WOOTZ_ON_HOST
template <>
W_M u32 w_times_halves<f16>(u32 a, u32 b) {
  u32 d;
  asm("mul.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
template <>
W_M u32 w_times_halves<bf16>(u32 a, u32 b) {
  u32 d;  // minus 0 is added, which leaves every product as it is
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(0x80008000u));
  return d;
}
#endif

// A factor of bytes that w_times_bytes() takes: within what leaves every product a short integer, and 0 for what is not
// a number, as which any byte times it is quantized.
W_FN float w_byte_factor(float by) {
  constexpr float kMost = 16000.f;
  return by == by ? w_clip<float>(by, -kMost, kMost) : 0.f;
}

template <class T>
constexpr bool kInteger8 = false;
template <>
constexpr bool kInteger8<s8> = true;
template <>
constexpr bool kInteger8<u8> = true;

// Four bytes, each times one of `by`, which are floats, as bytes again: the nearest, or the last one there is.
template <class T>
W_FN u32 w_times_bytes(u32 bytes, const float* by) {
  if constexpr (kInteger8<T>) {
    constexpr bool kSigned = (T)-1 < (T)0;
    constexpr float kFrom = kIntegersFrom + (kSigned ? 128.f : 0.f);
    const u32 word = bytes ^ (kSigned ? 0x80808080u : 0u);
    int made[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float x = w_bits2f(w_bytes_of(word, 0x4B400000u, 0x7650u | (u32)k)) - kFrom;
      made[k] = (int)(w_f2bits(fmaf(x, by[k], kIntegersFrom)) - 0x4B400000u);
    }
    return w_near_bytes<kSigned>(made[0], made[1], made[2], made[3]);
  }
  return 0;  // nothing else has bytes
}

// Rows of stage `it` to what the thread's share has of a stage, and the gate.
W_FN void load_rows(const Operands& p, const X* x, const Constants& c, const Row (&rows)[kOwnRows], int it, u8* stage) {
  const int t = threadIdx.x, k = place_in(it);
  Tap tap{};
  if constexpr (kWindow) tap = tap_of(c, k);
  const bool within = kAllDepth || k < c.depth;
  const Source from = source_of(p, c, k);
#pragma unroll
  for (int j = 0; j < kOwnRows; ++j) {
    u8* const to = stage + piece_at(t % kOfShare / kPieces + j * kAtOnce, t % kPieces);
    if constexpr (kJoined) {
      const bool in = rows[j].at >= 0 && within;
      w_copy16(to, in ? from.x + rows[j].at * from.wide + from.at : from.x, in);
    } else {
      load_row(x, c, rows[j], tap, k, to);
    }
  }
  if constexpr (kGated) {
    const G* const gate = gate_of(p);
    if constexpr (kBytesGated) {
      const int i = t % kOfShare, own = (it * kShares + t / kOfShare) * kStep + i * 4;
      const bool in = kAllDepth || own < c.depth;
      if (i < kFours) w_copy8(stage + kGateAt + i * 8, in ? gate + own : gate, in);
    } else if (t % kOfShare < kPieces) {
      w_copy16(stage + kGateAt + t % kPieces * 16, within ? gate + k : gate, within);
    }
  }
}

// The line of a stage that a column is on. With kDirect columns lie so, 32 at a time, that a thread's sums are of eight
// neighbours.
W_FN int line_of(int column) {
  return kDirect ? (column & ~31) | (column >> 1 & 3) << 3 | (column >> 3 & 3) << 1 | (column & 1) : column;
}

// Of bytes: what a thread has copied of the gate, as factors for all threads of the share.
W_FN void make_factors(u8* stage, float factor) {
  if constexpr (kBytesGated) {
    const int i = threadIdx.x % kOfShare;
    if (i >= kFours) return;
    const Pack<G, 4> gates = ((const Pack<G, 4>*)(stage + kGateAt))[i];
    Pack<float, 4> factors;
#pragma unroll
    for (int k = 0; k < 4; ++k) factors.v[k] = w_byte_factor((float)w_get(gates.v[k]) * factor);
    ((Pack<float, 4>*)(stage + kFactorsAt))[i] = factors;
  }
}

// Its columns.
W_FN void load_columns(const W* w, const Constants& c, int n0, int it, u8* stage) {
  const int t = threadIdx.x, k = place_in(it);
#pragma unroll
  for (int j = 0; j < kColumns / kAtOnce; ++j) {
    const int i = t % kOfShare / kPieces + j * kAtOnce, n = n0 + i;
    const bool in = is_column(c, n) && (kAllDepth || k < c.pitch);
    w_copy16(stage + piece_at(kRows + line_of(i), t % kPieces), in ? w + (n * c.pitch + k) : w, in);
  }
}

// The block's columns from stage `from` to `end` on their way to the L2: what no stage has room for yet.
W_FN void prefetch_columns(const W* w, const Constants& c, int n0, int from, int end) {
  constexpr int kFetched = 128 / sizeof(W);
  const int first = from * kShares * kStep / kFetched * kFetched, last = end * kShares * kStep;
  const int most = last < c.pitch ? last : c.pitch, lines = most > first ? (most - first + kFetched - 1) / kFetched : 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < lines * kColumns; i += kThreads) {
    const int n = n0 + i % kColumns, k = first + i / kColumns * kFetched;
    if (n < c.columns) w_prefetch(w + (n * c.pitch + k));
  }
}
