// Barriers in shared memory, which count arrivals and bytes that come by themselves: those of the unit for tensors
// (gemm/feed.cuh), and those that the blocks of a cluster send to each other.
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

#ifndef WOOTZ_ON_HOST
W_FN u32 w_shared_at(const void* p) { return (u32)__cvta_generic_to_shared(p); }

W_FN void w_bar_init(u64* bar, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(w_shared_at(bar)), "r"(arrivals) : "memory");
}
W_FN void w_bars_are_there() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
W_FN void w_bar_arrive(u64* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(w_shared_at(bar)) : "memory");
}
// The same, and so many bytes are to come before the barrier opens.
W_FN void w_bar_expect(u64* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(w_shared_at(bar)), "r"(bytes) : "memory");
}
// Until the barrier's turn of this parity is over.
W_FN void w_bar_wait(u64* bar, u32 parity) {
  asm volatile(
      "{\n.reg .pred over;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n@over bra DONE;\n"
      "bra AGAIN;\nDONE:\n}" ::"r"(w_shared_at(bar)),
      "r"(parity)
      : "memory");
}
// To the place in block `rank` of the cluster that `to` is in this one, on their way until the barrier has counted them
// that is there as `bar` is here; both are among kBytes of shared memory. Of the receiver's threads those that have
// waited for the barrier see them; nobody waits for the sender's earlier stores, as a barrier of the cluster would.
template <int kBytes, class T, int N>
W_FN void w_send(T* to, u64* bar, int rank, const Pack<T, N>& v) {
  u32 there, counts, bits[N];
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(w_shared_at(to)), "r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counts) : "r"(w_shared_at(bar)), "r"(rank));
#pragma unroll
  for (int i = 0; i < N; ++i) bits[i] = w_bits(v.v[i]);
#pragma unroll
  for (int i = 0; i < N; ++i)
    if constexpr (N % 4 == 0) {
      if (i % 4 == 0)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(
                         there + i * 4),
                     "r"(counts), "r"(bits[i]), "r"(bits[i + 1]), "r"(bits[i + 2]), "r"(bits[i + 3])
                     : "memory");
    } else if constexpr (N % 2 == 0) {
      if (i % 2 == 0)
        asm volatile(
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%2, %3}, [%1];" ::"r"(there + i * 4),
            "r"(counts), "r"(bits[i]), "r"(bits[i + 1])
            : "memory");
    } else {
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %2, [%1];" ::"r"(there + i * 4),
                   "r"(counts), "r"(bits[i])
                   : "memory");
    }
}
#else
#ifdef W_RACES
W_FN void w_bar_init(u64* bar, int arrivals) { W_EVENT(BarInit, bar, arrivals, 0); }
W_FN void w_bar_arrive(u64* bar) { W_EVENT(BarArrive, bar, 0, 0); }
W_FN void w_bar_expect(u64* bar, int bytes) { W_EVENT(BarArrive, bar, bytes, 0); }
W_FN void w_bar_wait(u64* bar, u32 parity) { W_EVENT(BarWait, bar, (long)parity, 0); }
W_FN void w_bar_came(u64*, int) {}  // as the search for races lets them
template <int kBytes>
W_FN u64* w_bar_there(u64* bar, int rank) {
  return (u64*)((u8*)bar + (rank - (int)w_host->rank) * (s64)kBytes);
}
template <int kBytes, class T, int N>
W_UNSEEN W_FN void w_send(T* to, u64* bar, int rank, const Pack<T, N>& v) {
  u8* const there = (u8*)to + (rank - (int)w_host->rank) * (s64)kBytes;
  W_EVENT(Send, there, (long)sizeof v, (long)w_bar_there<kBytes>(bar, rank));
  __builtin_memcpy(there, &v, sizeof v);
}
#else
// Of a barrier: how many arrive, how many are still to come, how many bytes are, whose turn it is.
W_FN void w_bar_change(u64* bar, int arrivals, int bytes) {
  const u64 all = *bar & 0xffff;
  u64 left = (*bar >> 16 & 0xffff) - (u64)arrivals, to_come = (*bar >> 32 & 0x7fffffff) + (u64)(s64)bytes,
      turn = *bar >> 63;
  if (left == 0 && to_come == 0) left = all, turn ^= 1;
  *bar = all | left << 16 | to_come << 32 | turn << 63;
}
W_FN void w_bar_init(u64* bar, int arrivals) { *bar = (u64)arrivals | (u64)arrivals << 16; }
W_FN void w_bar_arrive(u64* bar) { w_bar_change(bar, 1, 0); }
W_FN void w_bar_expect(u64* bar, int bytes) { w_bar_change(bar, 1, bytes); }
W_FN void w_bar_came(u64* bar, int bytes) { w_bar_change(bar, 0, -bytes); }
W_FN void w_bar_wait(u64* bar, u32 parity) {
  while ((u32)(*bar >> 63) == parity) w_host->meet();
}
template <int kBytes, class T, int N>
W_FN void w_send(T* to, u64* bar, int rank, const Pack<T, N>& v) {
  const s64 there = (rank - (int)w_host->rank) * (s64)kBytes;
  __builtin_memcpy((u8*)to + there, &v, sizeof v);
  w_bar_came((u64*)((u8*)bar + there), (int)sizeof v);
}
#endif
W_FN void w_bars_are_there() {}
#endif
