// Instructions for products on tensor cores: mma.sync, asynchronous copies to shared memory, a cluster's barrier, the
// wait for the kernel ahead. The emulator has its own.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

#ifndef WOOTZ_ON_HOST
#define W_EVENT(what, p, a, b)  // the emulator looks for races
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

// The same of 16 x 16 and 16 x 8 elements of 16 bits, whose bytes lie as those of the above do.
#define W_MMA_OF(X, type)                                                           \
  template <>                                                                       \
  W_M void w_mma<X>(float(&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) { \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type             \
                 ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"       \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                   \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));           \
  }
template <class X>
W_FN void w_mma(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1);
W_MMA_OF(f16, "f16")
W_MMA_OF(bf16, "bf16")
// And of 16 x 8 and 8 x 8 floats, of which the instruction reads what TF32 has.
template <>
W_M void w_mma<float>(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
// The nearest TF32.
W_FN u32 w_tf32(u32 bits) {
  u32 d;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(d) : "f"(w_bits2f(bits)));
  return d;
}

// Four matrices of eight rows of 16 bytes in shared memory, spread over a warp as w_mma() has its operands: row lane %
// 8 of matrix lane / 8 is at from + after + row(lane), and a thread gets four bytes of row lane / 4 of each.
template <class RowOf>
W_FN void w_matrices(Pack<u32, 4>* to, const u8* from, int after, const RowOf& row) {
  const u32 own = (u32)__cvta_generic_to_shared(from) + (u32)row(threadIdx.x % 32);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to->v[0]), "=r"(to->v[1]), "=r"(to->v[2]), "=r"(to->v[3])
               : "r"(own + (u32)after));
}

// The same of elements of 16 bits, each matrix turned: a thread gets element lane / 4 of rows lane % 4 * 2 and one
// more.
template <class RowOf>
W_FN void w_turned_matrices(Pack<u32, 4>* to, const u8* from, const RowOf& row) {
  const u32 own = (u32)__cvta_generic_to_shared(from) + (u32)row(threadIdx.x % 32);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to->v[0]), "=r"(to->v[1]), "=r"(to->v[2]), "=r"(to->v[3])
               : "r"(own));
}

// Two floats as neighbours of 16 bits.
template <class X>
W_FN u32 w_halves(float first, float second);
template <>
W_M u32 w_halves<f16>(float first, float second) {
  u32 d;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(second), "f"(first));
  return d;
}
template <>
W_M u32 w_halves<bf16>(float first, float second) {
  u32 d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(second), "f"(first));
  return d;
}

// 16 bytes to shared memory, on their way until w_wait(); zeros unless `in`.
W_FN void w_copy16(void* to, const void* from, bool in) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from),
               "r"(in ? 16 : 0)
               : "memory");
}
// 8 bytes.
W_FN void w_copy8(void* to, const void* from, bool in = true) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from),
               "r"(in ? 8 : 0)
               : "memory");
}
W_FN void w_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
W_FN void w_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
// The barrier of one of kGroups groups of kOf threads, which are neighbours.
template <int kOf, int kGroups>
W_FN void w_meet(int group) {
  if constexpr (kGroups == 1)
    __syncthreads();
  else if constexpr (kOf == 32)
    __syncwarp();
  else
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(kOf) : "memory");
}
// Whether a whole warp may leave what the warps beside it meet in: if it has nothing to do there.
W_FN bool w_leaves(bool idle) { return idle; }
// A line of memory on its way to the L2.
W_FN void w_prefetch(const void* from) { asm volatile("prefetch.global.L2 [%0];" ::"l"(from)); }

W_FN u32 w_bits(float f) { return w_f2bits(f); }
W_FN u32 w_bits(int i) { return (u32)i; }
#if __CUDA_ARCH__ >= 900
// What other kernels make may be read from here on; the kernel behind this one may begin.
W_FN void w_begin() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
}
// The same apart: the kernel behind this one may begin as soon as all blocks of this one have, and reads constants
// meanwhile. It waits for this one to end, which waits for the one before.
W_FN void w_let_next() { asm volatile("griddepcontrol.launch_dependents;"); }
W_FN void w_after() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// A cluster's barrier, by threads that have made barriers in shared memory at most (gemm/bars.cuh): it orders nothing
// else that they did before, and needs no fence, for which an arrival that releases waits (MEMBAR.ALL.GPU).
W_FN void w_cluster_begin() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
W_FN void w_cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
#else  // no clusters, and no kernel that asks for them
W_FN void w_begin() {}
W_FN void w_let_next() {}
W_FN void w_after() {}
W_FN void w_cluster_begin() {}
W_FN void w_cluster_wait() {}
#endif
#define W_SHARED(name, bytes) extern __shared__ __align__(32) u8 name[]
#define W_TABLE(type, name, count) __device__ alignas(16) const type name[count]
#endif
