// Instructions of 9.0a: products by four warps at once, from shared memory to registers; barriers in shared memory that
// count arrivals and bytes; copies of whole blocks of memory to every block of a cluster. The emulator has its own.
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

#ifndef WOOTZ_ON_HOST
W_FN u32 w_shared(const void* p) { return (u32)__cvta_generic_to_shared(p); }

#define W_TEN(d) "%" d "0,%" d "1,%" d "2,%" d "3,%" d "4,%" d "5,%" d "6,%" d "7,%" d "8,%" d "9,"
#define W_32 W_TEN("") W_TEN("1") W_TEN("2") "%30,%31"
#define W_64 W_TEN("") W_TEN("1") W_TEN("2") W_TEN("3") W_TEN("4") W_TEN("5") "%60,%61,%62,%63"
#define W_96 \
  W_TEN("")  \
  W_TEN("1") W_TEN("2") W_TEN("3") W_TEN("4") W_TEN("5") W_TEN("6") W_TEN("7") W_TEN("8") "%90,%91,%92,%93,%94,%95"
#define W_128                                                                                         \
  W_TEN("")                                                                                           \
  W_TEN("1")                                                                                          \
  W_TEN("2") W_TEN("3") W_TEN("4") W_TEN("5") W_TEN("6") W_TEN("7") W_TEN("8") W_TEN("9") W_TEN("10") \
      W_TEN("11") "%120,%121,%122,%123,%124,%125,%126,%127"
#define W_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define W_D16(i) W_D4(i), W_D4(i + 4), W_D4(i + 8), W_D4(i + 12)
#define W_D32(i) W_D16(i), W_D16(i + 16)

// d (+)= a * b: 64 x 16 elements of a and 16 x 2 N of b, whose rows and columns are lines of 128 bytes, swizzled as
// line_at() has it, from byte `at` of each on; `first`: d is not read. Row and column of d[i] are those of
// mma.m16n8k16, 16 rows a warp.
template <class X, int N>
W_FN void w_wgmma(float (&d)[N], const u8* a, const u8* b, int at, bool first);
#define W_WGMMA_OF(X, type, N, columns, registers, da, db, p, ...)                                             \
  template <>                                                                                                  \
  W_M void w_wgmma<X, N>(float(&d)[N], const u8* a, const u8* b, int at, bool first) {                         \
    constexpr u64 kLayout = (1ull << 62) | (64ull << 32) | (1ull << 16);                                       \
    const u64 at_a = kLayout | (((w_shared(a) + at) & 0x3ffff) >> 4),                                          \
              at_b = kLayout | (((w_shared(b) + at) & 0x3ffff) >> 4);                                          \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" p                                                           \
                 ", 0;\n"                                                                                      \
                 "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" registers "}, %" da \
                 ", %" db ", p, 1, 1, 0, 0;}"                                                                  \
                 : __VA_ARGS__                                                                                 \
                 : "l"(at_a), "l"(at_b), "r"(first ? 0 : 1));                                                  \
  }
#define W_WGMMAS_OF(X, type)                                                             \
  W_WGMMA_OF(X, type, 32, "64", W_32, "32", "33", "34", W_D32(0))                        \
  W_WGMMA_OF(X, type, 64, "128", W_64, "64", "65", "66", W_D32(0), W_D32(32))            \
  W_WGMMA_OF(X, type, 96, "192", W_96, "96", "97", "98", W_D32(0), W_D32(32), W_D32(64)) \
  W_WGMMA_OF(X, type, 128, "256", W_128, "128", "129", "130", W_D32(0), W_D32(32), W_D32(64), W_D32(96))
W_WGMMAS_OF(f16, "f16")
W_WGMMAS_OF(bf16, "bf16")

W_FN void w_wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
W_FN void w_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kLeft>
W_FN void w_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
// What the compiler knows of the sums is void from here on.
template <int N>
W_FN void w_wgmma_end(float (&d)[N]) {
  w_wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
// What copies of 16 bytes brought to shared memory can be multiplied from here on.
W_FN void w_copied() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

W_FN void w_barrier_make(u64* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(w_shared(barrier)), "r"(arrivals) : "memory");
}
W_FN void w_barriers_made() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// An arrival as soon as the thread's copies of 16 bytes are there.
W_FN void w_barrier_arrive_copied(u64* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(w_shared(barrier)) : "memory");
}
// An arrival in block `rank` of the cluster, of kBytes of shared memory.
template <int kBytes>
W_FN void w_barrier_arrive_at(u64* barrier, int rank) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(w_shared(barrier)),
      "r"(rank)
      : "memory");
}
// An arrival; and so many bytes are still to come.
W_FN void w_barrier_expect(u64* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(w_shared(barrier)), "r"(bytes)
               : "memory");
}
// Until the phase of this parity is complete.
W_FN void w_barrier_wait(u64* barrier, u32 parity) {
  asm volatile(
      "{.reg .pred p;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again;}" ::"r"(w_shared(barrier)),
      "r"(parity)
      : "memory");
}
// Bytes to the same place in each of the kBlocks blocks of a cluster, of whose kBytes of shared memory `to` and
// `barrier` are in this one's; each block's barrier counts them.
template <int kBlocks, int kBytes>
W_FN void w_copy_block(void* to, const void* from, int bytes, u64* barrier) {
  if constexpr (kBlocks == 1)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(w_shared(to)),
        "l"(from), "r"(bytes), "r"(w_shared(barrier))
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
        "%4;" ::"r"(w_shared(to)),
        "l"(from), "r"(bytes), "r"(w_shared(barrier)), "h"((u16)((1 << kBlocks) - 1))
        : "memory");
}
#endif
