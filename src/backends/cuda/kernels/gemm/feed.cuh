// Copies to shared memory by the unit for tensors, and products of four warps of what it copied: wgmma of sm_90a, and
// the emulator's own. A stage's lines have 128 bytes, 64 places of a sum in 16 bits or 128 in 8; the unit exchanges
// their pieces of 16 bytes, so that those of a number of eight lines meet all banks. The problem: X.
#pragma once
#include "backends/cuda/kernels/gemm/bars.cuh"

constexpr int kLineBytes = 128, kPlaces = kLineBytes / (int)sizeof(X), kTeam = 128;

// Where piece q of a line is.
W_FN int w_piece_of(int line, int q) { return line * kLineBytes + (q ^ (line & 7)) * 16; }

// A stage of a ring, and the parity of its barrier's turn.
template <int kStages>
struct RingSpot {
  int stage;
  u32 parity;
  W_M void pass(int count) {
    for (stage += count; stage >= kStages; stage -= kStages) parity ^= 1;
  }
};

// A pixel of images, or a row with y and image of 0: where a window begins, which may be outside.
struct Corner {
  int x, y, image;
};

#ifndef WOOTZ_ON_HOST
constexpr int kOneForTeam = 1;  // arrivals of a team's at a barrier
W_FN void w_want(const TensorMap* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }
// Lines from (place, line) on, as many as the map says, on their way.
W_FN void w_fetch_lines(u8* to, const TensorMap* map, u64* bar, int place, int line) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(w_shared_at(to)),
      "l"(map), "r"(w_shared_at(bar)), "r"(place), "r"(line)
      : "memory");
}
// The same of one head's rows: `head` and `image` are the other axes of the map.
W_FN void w_fetch_heads(u8* to, const TensorMap* map, u64* bar, int place, int line, int head, int image) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(w_shared_at(to)),
      "l"(map), "r"(w_shared_at(bar)), "r"(place), "r"(line), "r"(head), "r"(image)
      : "memory");
}
// The same of pixels: of the windows that begin at `from` and at those after it, pixel (right, down), from `channel`
// on.
W_FN void w_fetch_pixels(u8* to, const TensorMap* map, u64* bar, int channel, const Corner& from, int right, int down) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6}], [%2], {%7, %8};" ::"r"(w_shared_at(to)),
      "l"(map), "r"(w_shared_at(bar)), "r"(channel), "r"(from.x), "r"(from.y), "r"(from.image), "h"((u16)right),
      "h"((u16)down)
      : "memory");
}

// A kernel's registers, of which a team takes more and others have less.
template <int kCount>
W_FN void w_more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
W_FN void w_less_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

// Eight lines are 1,024 bytes, where the next eight begin; exchanged.
W_FN u64 w_lines(const u8* lines) {
  return (u64)(w_shared_at(lines) >> 4 & 0x3fff) | (u64)1 << 16 | (u64)64 << 32 | (u64)1 << 62;
}

template <int kSets, int kEights>
W_FN void w_settle_sums(float (&acc)[kSets][kEights][4]) {
#pragma unroll
  for (int i = 0; i < kSets; ++i)
#pragma unroll
    for (int n = 0; n < kEights; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) asm volatile("" : "+f"(acc[i][n][e])::"memory");
}

// acc = or, with `on`, += the stage's products, of 64 rows for each set and columns of C, on their way until
// w_wide_left(). So many of the rows and columns are there.
template <class C = X, int kSets, int kEights>
W_FN void w_wide_products(const u8* rows, const u8* columns, int, int, int on, float (&acc)[kSets][kEights][4]) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int step = 0; step < kLineBytes / 32; ++step)
#pragma unroll
    for (int i = 0; i < kSets; ++i)
      w_wide_mma(acc[i], w_lines(rows + i * 64 * kLineBytes) + step * 2, w_lines(columns) + step * 2, on | step);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kLeft>
W_FN void w_wide_left() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
#else
constexpr int kOneForTeam = kTeam;  // each thread reads by itself here

W_FN void w_want(const TensorMap*) {}

// What the emulator's driver writes into a map: strides are in bytes.
struct View {
  const u8* base;
  s64 strides[3];
  int extents[4], lower[2], places[2], steps[2], lines, reserved;
};
W_UNSEEN W_FN void w_fetch_line(u8* to, u64* bar, int line, const View& v, int channel, bool in, const u8* from) {
  constexpr int kBytes = (int)sizeof(X);
  W_EVENT(Fetch, to + line * kLineBytes, (long)bar, in ? (long)(from + channel * kBytes) : 0);
  for (int q = 0; q < 8; ++q)
    for (int b = 0; b < 16; ++b) {
      const int byte = channel * kBytes + q * 16 + b;
      to[w_piece_of(line, q) + b] = in && byte < v.extents[0] * kBytes ? from[byte] : 0;
    }
  w_bar_came(bar, kLineBytes);
}
W_FN void w_fetch_lines(u8* to, const TensorMap* map, u64* bar, int place, int line) {
  const View& v = *(const View*)map;
  for (int i = 0; i < v.lines; ++i)
    w_fetch_line(to, bar, i, v, place, line + i < v.extents[1], v.base + (line + i) * v.strides[0]);
}
W_FN void w_fetch_heads(u8* to, const TensorMap* map, u64* bar, int place, int line, int head, int image) {
  const View& v = *(const View*)map;
  const u8* const from = v.base + head * v.strides[1] + image * v.strides[2];
  for (int i = 0; i < v.lines; ++i)
    w_fetch_line(to, bar, i, v, place, line + i < v.extents[1], from + (line + i) * v.strides[0]);
}
W_FN void w_fetch_pixels(u8* to, const TensorMap* map, u64* bar, int channel, const Corner& from, int right, int down) {
  const View& v = *(const View*)map;
  const int first_x = (from.x - v.lower[0]) / v.steps[0], first_y = (from.y - v.lower[1]) / v.steps[1];
  for (int i = 0; i < v.lines; ++i) {
    const int along = first_x + i, rest = first_y + along / v.places[0];
    const int x = v.lower[0] + along % v.places[0] * v.steps[0] + right;
    const int y = v.lower[1] + rest % v.places[1] * v.steps[1] + down, image = from.image + rest / v.places[1];
    const bool in = x >= 0 && x < v.extents[1] && y >= 0 && y < v.extents[2] && image < v.extents[3];
    w_fetch_line(to, bar, i, v, channel, in, v.base + x * v.strides[0] + y * v.strides[1] + image * v.strides[2]);
  }
}
template <int kCount>
W_FN void w_more_registers() {}
template <int kCount>
W_FN void w_less_registers() {}
template <int kSets, int kEights>
W_FN void w_settle_sums(float (&)[kSets][kEights][4]) {}
// Most of a test's time is spent here: each value is converted once.
template <class T>
W_UNSEEN W_FN float w_value_of(T x) {
  static float values[1 << 8 * sizeof(T)];
  static bool known[1 << 8 * sizeof(T)];
  if (!known[x.x]) {
    values[x.x] = w_get(x);
    known[x.x] = true;
  }
  return values[x.x];
}
template <class T = X>
W_UNSEEN W_FN void w_read_line(const u8* lines, int line, float (&to)[kPlaces]) {
  constexpr int kOfPiece = 16 / (int)sizeof(T);
  W_EVENT(Read, lines + line * kLineBytes, kLineBytes, (long)__builtin_return_address(0));
  for (int k = 0; k < kPlaces; ++k)
    to[k] = w_value_of(((const T*)(lines + w_piece_of(line, k / kOfPiece)))[k % kOfPiece]);
}
template <class C = X, int kSets, int kEights>
W_FN void w_wide_products(const u8* rows, const u8* columns, int row_count, int column_count, int on,
                          float (&acc)[kSets][kEights][4]) {
  const int lane = threadIdx.x % 32, first = threadIdx.x / 32 % 4 * 16 + lane / 4;
  float x[kSets * 2][kPlaces], w[kPlaces];
  W_EVENT(Products, nullptr, 1, 0);
  for (int i = 0; i < kSets * 2; ++i) w_read_line(rows, first + i / 2 * 64 + i % 2 * 8, x[i]);
  for (int n = 0; n < kEights * 2; ++n) {
    const bool is_there = n / 8 * 32 < column_count;
    if (is_there) w_read_line<C>(columns, n / 2 * 8 + lane % 4 * 2 + n % 2, w);
    for (int i = 0; i < kSets * 2; ++i) {
      float& sum = acc[i / 2][n / 2][i % 2 * 2 + n % 2];
      if (!on) sum = 0;
      if (!is_there || first + i / 2 * 64 + i % 2 * 8 >= row_count) continue;
      float parts[4] = {0, 0, 0, 0};  // none waits for the other
      for (int k = 0; k < kPlaces; k += 4)
        for (int j = 0; j < 4; ++j) parts[j] += x[i][k + j] * w[k + j];
      sum += parts[0] + parts[1] + (parts[2] + parts[3]);
    }
  }
  W_EVENT(Products, nullptr, 0, 0);
  W_EVENT(ProductsDone, nullptr, 0, 0);
}
template <int kLeft>
W_FN void w_wide_left() {
  W_EVENT(ProductsLeft, nullptr, kLeft, 0);
}
#endif
