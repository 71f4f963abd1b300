// Instructions for products of 8-bit elements: mma.sync, and asynchronous copies to shared memory. The emulator has its
// own.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

#ifndef WOOTZ_ON_HOST
// d += a * b for a 16 x 32 tile of X and a 32 x 8 tile of s8, spread over a warp as mma.m16n8k32 has it.
template <class X>
W_FN void w_mma(int (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  if constexpr ((X)-1 < 0)
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// 16 bytes to shared memory, on their way until w_wait(); zeros unless `in`.
W_FN void w_copy16(void* to, const void* from, bool in) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from),
               "r"(in ? 16 : 0)
               : "memory");
}
W_FN void w_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
W_FN void w_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
#define W_SHARED(name, bytes) extern __shared__ __align__(16) u8 name[]
#define W_TABLE(type, name, count) __device__ alignas(16) const type name[count]
#endif
