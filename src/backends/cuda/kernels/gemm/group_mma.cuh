// Sums of products by four warps together: wgmma where a GPU has it (sm_90a), whose second operand comes from shared
// memory while the warps do something else; mma.sync otherwise, and in the emulator.
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

#if !defined(WOOTZ_ON_HOST) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
// What was written to shared memory before may be read by products from now on; before the barrier of its writers.
W_FN void w_group_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Matrices of 8 by 16 bytes: kAlongSum bytes on the other one of a sum's part, kAcross on the next eight rows or
// columns.
template <int kAlongSum, int kAcross>
W_FN u64 w_group_matrices(const u8* first) {
  return (u64)((u32)__cvta_generic_to_shared(first) >> 4 & 0x3fff) | (u64)(kAlongSum / 16) << 16 |
         (u64)(kAcross / 16) << 32;
}
// One after the other.
W_FN u64 w_group_matrix(const u8* b) { return w_group_matrices<128, 256>(b); }
// The same so many bytes on; no matrix lies beyond the addresses that it counts in.
W_FN u64 w_further(u64 matrices, int bytes) { return matrices + (u32)(bytes / 16); }

// The compiler neither moves what makes the value behind this, nor its other uses before.
W_FN void w_settle(u32& value) { asm volatile("" : "+r"(value)::"memory"); }
W_FN void w_settle(float& value) { asm volatile("" : "+f"(value)::"memory"); }

// d = a * b, with `on` d += a * b, on its way until w_group_wait().
template <class X>
W_FN void w_group_mma(float (&d)[4][4], const u32 (&a)[4], u64 b, int on);
template <class X>
W_FN void w_group_mma(float (&d)[8][4], const u32 (&a)[4], u64 b, int on);
// The same of rows in shared memory.
template <class X>
W_FN void w_group_mma(float (&d)[4][4], u64 a, u64 b, int on);
template <class X>
W_FN void w_group_mma(float (&d)[8][4], u64 a, u64 b, int on);

#define W_SUMS(n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
#define W_FACTORS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(on)
#define W_MATRICES "l"(a), "l"(b), "r"(on)
#define W_GROUP_MMA_OF(X, type)                                                                             \
  template <>                                                                                               \
  W_M void w_group_mma<X>(float(&d)[4][4], const u32(&a)[4], u64 b, int on) {                               \
    asm volatile(                                                                                           \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"                                                        \
        "wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type                                         \
        " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, %20, p, 1, 1, 0;\n}"  \
        : W_SUMS(0), W_SUMS(1), W_SUMS(2), W_SUMS(3)                                                        \
        : W_FACTORS);                                                                                       \
  }                                                                                                         \
  template <>                                                                                               \
  W_M void w_group_mma<X>(float(&d)[8][4], const u32(&a)[4], u64 b, int on) {                               \
    asm volatile(                                                                                           \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"                                                        \
        "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type                                         \
        " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%" \
        "26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, p, 1, 1, 0;\n}"                                   \
        : W_SUMS(0), W_SUMS(1), W_SUMS(2), W_SUMS(3), W_SUMS(4), W_SUMS(5), W_SUMS(6), W_SUMS(7)            \
        : W_FACTORS);                                                                                       \
  }                                                                                                         \
  template <>                                                                                               \
  W_M void w_group_mma<X>(float(&d)[4][4], u64 a, u64 b, int on) {                                          \
    asm volatile(                                                                                           \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"                                                        \
        "wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type                                         \
        " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, %16, %17, p, 1, 1, 0, 0;\n}"             \
        : W_SUMS(0), W_SUMS(1), W_SUMS(2), W_SUMS(3)                                                        \
        : W_MATRICES);                                                                                      \
  }                                                                                                         \
  template <>                                                                                               \
  W_M void w_group_mma<X>(float(&d)[8][4], u64 a, u64 b, int on) {                                          \
    asm volatile(                                                                                           \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                                        \
        "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type                                         \
        " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%" \
        "26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, 0;\n}"                                              \
        : W_SUMS(0), W_SUMS(1), W_SUMS(2), W_SUMS(3), W_SUMS(4), W_SUMS(5), W_SUMS(6), W_SUMS(7)            \
        : W_MATRICES);                                                                                      \
  }
W_GROUP_MMA_OF(f16, "f16")
W_GROUP_MMA_OF(bf16, "bf16")
#undef W_GROUP_MMA_OF
#undef W_MATRICES
#undef W_FACTORS
#undef W_SUMS

// Products are on their way in groups: until all but the last kBut are done. Registers that they read are theirs until
// then.
template <int kBut, int N>
W_FN void w_group_wait(u32 (&a)[N][4]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kBut) : "memory");
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) w_settle(a[i][e]);
}

// The sums of 16 rows for each warp of four, as w_mma() has them, by kColumns. load(step, a): a thread's part of the
// rows, as w_mma() has it; b: of each step, for eight columns after the other, two matrices of 8 by 16 bytes in shared
// memory, a column's bytes each row.
template <class X, int kSteps, int kColumns, class Load>
W_FN void w_group_products(const Load& load, const u8* b, float (&acc)[kColumns / 8][4]) {
  constexpr int kAtOnce = 3;  // steps that are read before their products begin; while those of the ones before run
  u32 a[2][kAtOnce][4];
#pragma unroll
  for (int from = 0; from < kSteps; from += kAtOnce) {
    u32(&own)[kAtOnce][4] = a[from / kAtOnce % 2];
    if (from >= 2 * kAtOnce) w_group_wait<1>(own);
#pragma unroll
    for (int i = 0; i < kAtOnce && from + i < kSteps; ++i) {
      load(from + i, own[i]);
#pragma unroll
      for (int e = 0; e < 4; ++e) w_settle(own[i][e]);
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < kAtOnce && from + i < kSteps; ++i)
      w_group_mma<X>(acc, own[i], w_group_matrix(b + (from + i) * kColumns * 32), from + i > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  w_group_wait<0>(a[0]);
  w_group_wait<0>(a[1]);
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) w_settle(acc[n][e]);
}

// The same of rows that are in registers already; with `more` added to the sums that there are.
template <class X, int kSteps, int kColumns>
W_FN void w_group_products(u32 (&a)[kSteps][4], const u8* b, float (&acc)[kColumns / 8][4], bool more = false) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
#pragma unroll
    for (int e = 0; e < 4; ++e) w_settle(a[step][e]);
  const u64 columns = w_group_matrix(b);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    w_group_mma<X>(acc, a[step], w_further(columns, step * kColumns * 32), more || step > 0);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  w_group_wait<0>(a);
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) w_settle(acc[n][e]);
}

// The same of rows in shared memory: of each step, at(step) bytes after `rows`, matrices of eight rows by 16 bytes,
// kAlongSum bytes on the other 16 bytes of each row, kAcross on the next eight rows.
template <class X, int kSteps, int kColumns, int kAlongSum, int kAcross, class At>
W_FN void w_group_products_of(const u8* rows, const At& at, const u8* b, float (&acc)[kColumns / 8][4]) {
  const u64 first = w_group_matrices<kAlongSum, kAcross>(rows), columns = w_group_matrix(b);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    w_group_mma<X>(acc, w_further(first, at(step)), w_further(columns, step * kColumns * 32), step > 0);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) w_settle(acc[n][e]);
}
#else
W_FN void w_group_fence() { W_EVENT(Fence, nullptr, 0, 0); }

template <class X, int kSteps, int kColumns, class Load>
W_FN void w_group_products(const Load& load, const u8* b, float (&acc)[kColumns / 8][4], bool more = false) {
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n)
    if (!more) acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    u32 a[4];
    load(step, a);
#pragma unroll
    for (int n = 0; n < kColumns / 16; ++n) {
      Pack<u32, 4> of;
      W_EVENT(Products, nullptr, 1, 0);
      w_matrices(&of, b + (step * kColumns / 16 + n) * 512, 0, [](int row) { return row * 16; });
      W_EVENT(Products, nullptr, 0, 0);
      w_mma<X>(acc[n * 2], a[0], a[1], a[2], a[3], of.v[0], of.v[1]);
      w_mma<X>(acc[n * 2 + 1], a[0], a[1], a[2], a[3], of.v[2], of.v[3]);
    }
  }
  W_EVENT(ProductsDone, nullptr, 0, 0);
  W_EVENT(ProductsLeft, nullptr, 0, 0);
}

template <class X, int kSteps, int kColumns>
W_FN void w_group_products(u32 (&rows)[kSteps][4], const u8* b, float (&acc)[kColumns / 8][4], bool more = false) {
  const auto load = [&](int step, u32(&a)[4]) {
#pragma unroll
    for (int e = 0; e < 4; ++e) a[e] = rows[step][e];
  };
  w_group_products<X, kSteps, kColumns>(load, b, acc, more);
}

template <class X, int kSteps, int kColumns, int kAlongSum, int kAcross, class At>
W_FN void w_group_products_of(const u8* rows, const At& at, const u8* b, float (&acc)[kColumns / 8][4]) {
  const auto load = [&](int step, u32(&a)[4]) {
    Pack<u32, 4> own;
    W_EVENT(Products, nullptr, 1, 0);
    w_matrices(&own, rows + at(step), 0, [](int lane) {
      return (threadIdx.x / 32 % 4 * 2 + lane / 8 % 2) * kAcross + lane % 8 * 16 + lane / 16 * kAlongSum;
    });
    W_EVENT(Products, nullptr, 0, 0);
#pragma unroll
    for (int e = 0; e < 4; ++e) a[e] = own.v[e];
  };
  w_group_products<X, kSteps, kColumns>(load, b, acc);
}
#endif
