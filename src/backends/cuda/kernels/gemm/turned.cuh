// Products of 64 rows in a team's registers, as sums of wgmma lie there, and of lines in shared memory as the unit for
// tensors brings them: a line has 64 columns of what one element of a row multiplies, so matrices are read turned.
// The problem: w_turned_mma().
#pragma once
#include "backends/cuda/kernels/gemm/feed.cuh"

// Columns from 64 on lie `apart` bytes on.
#ifndef WOOTZ_ON_HOST
// What products on their way read is not another's register before this.
template <int kRows, int kCount>
W_FN void w_settle_words(u32 (&a)[kRows][kCount]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int e = 0; e < kCount; ++e) asm volatile("" : "+r"(a[i][e])::"memory");
}
// acc = or, with `on`, += the products, on their way until w_wide_left(), after which w_settle_words(). So many lines
// are there.
template <int kSteps, int kEights>
W_FN void w_turned_products(u32 (&a)[kSteps][4], const u8* lines, int apart, int, int on, float (&acc)[kEights][4]) {
  w_settle_words(a);
  const u64 first = (u64)(w_shared_at(lines) >> 4 & 0x3fff) | (u64)(apart / 16) << 16 | (u64)64 << 32 | (u64)1 << 62;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int step = 0; step < kSteps; ++step) w_turned_mma(acc, a[step], first + step * kLineBytes, on | step);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
#else
template <int kRows, int kCount>
W_FN void w_settle_words(u32 (&)[kRows][kCount]) {}
// A row's sixteen elements of a step, of which its four threads have four each.
W_FN void w_whole_rows(const u32 (&a)[4], float (&x)[2][16]) {
  for (int m = 0; m < 4; ++m) {
    Pack<u32, 4> own = {{a[0], a[1], a[2], a[3]}};
    if (m != 0) own = __shfl_xor_sync(0xffffffffu, own, m);
    for (int e = 0; e < 4; ++e)
      for (int half = 0; half < 2; ++half) {
        X v;
        v.x = (u16)(own.v[e] >> half * 16);
        x[e % 2][e / 2 * 8 + (threadIdx.x % 4 ^ m) * 2 + half] = w_get(v);
      }
  }
}
W_UNSEEN W_FN void w_add_line(const u8* lines, int line, float x0, float x1, float (*acc)[4], int eights) {
  W_EVENT(Read, lines + line * kLineBytes, kLineBytes, (long)__builtin_return_address(0));
  for (int n = 0; n < eights; ++n)
    for (int e = 0; e < 2; ++e) {
      const float w = w_value_of(((const X*)(lines + w_piece_of(line, n)))[threadIdx.x % 4 * 2 + e]);
      acc[n][e] += x0 * w;
      acc[n][2 + e] += x1 * w;
    }
}
template <int kSteps, int kEights>
W_FN void w_turned_products(u32 (&a)[kSteps][4], const u8* lines, int apart, int line_count, int on,
                            float (&acc)[kEights][4]) {
  if (!on)
    for (int n = 0; n < kEights; ++n) acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;
  for (int step = 0; step < kSteps && step * 16 < line_count; ++step) {
    float x[2][16];
    w_whole_rows(a[step], x);
    W_EVENT(Products, nullptr, 1, 0);
    for (int k = 0; k < 16; ++k)
      for (int n = 0; n < kEights; n += 8)
        w_add_line(lines + n / 8 * apart, step * 16 + k, x[0][k], x[1][k], acc + n, kEights - n < 8 ? kEights - n : 8);
    W_EVENT(Products, nullptr, 0, 0);
  }
  W_EVENT(ProductsDone, nullptr, 0, 0);
}
#endif
