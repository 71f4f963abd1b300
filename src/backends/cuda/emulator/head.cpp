#include "backends/cuda/emulator/head.h"

#include "backends/cuda/emulator/races.h"

namespace wootz::cuda {
namespace {

// No header but the smallest: those of the standard library take longer to read than most kernels to compile.
constexpr const char* kBasics = R"(
#include <stddef.h>
struct W3 { unsigned x, y, z; };
struct WHost {
  float (*h2f)(unsigned short); unsigned short (*f2h)(float); void (*meet)(); void* slots;
  W3 thread, block; unsigned fiber, rank, threads, arrived;
  void (*event)(int, const void*, long, long); const char *stack, *stack_end, *slots_end;
};
extern "C" WHost* w_host; WHost* w_host = nullptr;
)";

// Threads run until they meet, all of them at once whichever barrier it is, and copies are there at once.
constexpr const char* kPlain = R"(
#define W_EVENT(what, p, a, b) ((void)0)
#define W_UNSEEN
static inline void w_warp() { w_host->meet(); }
#define __syncthreads() w_host->meet()
static inline void w_begin() {}
static inline void w_after() {}
template <int kOf, int kGroups> static inline void w_meet(int) { w_host->meet(); }
// Arrivals are counted by the cluster's threads, each of which waits before it arrives again.
static unsigned w_expected[8192];
static inline void w_cluster_begin() {
  w_expected[w_host->fiber] = (w_host->arrived++ / w_host->threads + 1) * w_host->threads;
}
static inline void w_cluster_wait() {
  while (w_host->arrived < w_expected[w_host->fiber]) w_host->meet();
}
static inline void w_copy8(void* to, const void* from, bool in = true) {
  if (in) __builtin_memcpy(to, from, 8); else __builtin_memset(to, 0, 8);
}
static inline void w_copy16(void* to, const void* from, bool in) {
  if (in) __builtin_memcpy(to, from, 16); else __builtin_memset(to, 0, 16);
}
static inline void w_commit() {}
template <int N> static inline void w_wait() {}
)";

// Each barrier and each access is reported to the search for races (races.h); accesses by the calls that the compiler
// puts in for its own.
constexpr const char* kRaces = R"(
#define W_RACES 1
#define W_EVENT(what, p, a, b) w_host->event(kW##what, p, a, b)
#define W_UNSEEN __attribute__((noinline, no_sanitize("thread")))
#define W_HOOK extern "C" __attribute__((visibility("hidden"), no_sanitize("thread"))) void
#define W_TOUCH(what, p, n)                                                                               \
  if (((const char*)(p) < w_host->stack || (const char*)(p) >= w_host->stack_end) &&                      \
      ((const char*)(p) < (const char*)w_host->slots || (const char*)(p) >= w_host->slots_end))           \
    w_host->event(what, p, (long)(n), (long)__builtin_return_address(0))
#define W_HOOKS_OF(name, n)                                        \
  W_HOOK __tsan_read##name(void* p) { W_TOUCH(kWRead, p, n); }     \
  W_HOOK __tsan_write##name(void* p) { W_TOUCH(kWWrite, p, n); }   \
  W_HOOK __tsan_unaligned_read##name(void* p) { W_TOUCH(kWRead, p, n); } \
  W_HOOK __tsan_unaligned_write##name(void* p) { W_TOUCH(kWWrite, p, n); }
W_HOOKS_OF(1, 1) W_HOOKS_OF(2, 2) W_HOOKS_OF(4, 4) W_HOOKS_OF(8, 8) W_HOOKS_OF(16, 16)
W_HOOK __tsan_read_range(void* p, unsigned long n) { W_TOUCH(kWRead, p, n); }
W_HOOK __tsan_write_range(void* p, unsigned long n) { W_TOUCH(kWWrite, p, n); }
W_HOOK __tsan_init() {}
W_HOOK __tsan_func_entry(void*) {}
W_HOOK __tsan_func_exit() {}
static inline void w_warp() { W_EVENT(Warp, 0, 0, 0); }
#define __syncthreads() W_EVENT(Block, 0, 0, 0)
static inline void w_begin() { W_EVENT(Begin, 0, 0, 0); }
static inline void w_after() { W_EVENT(Begin, 0, 0, 0); }
template <int kOf, int kGroups> static inline void w_meet(int group) {
  if (kGroups == 1) W_EVENT(Block, 0, 0, 0);
  else if (kOf == 32) W_EVENT(Warp, 0, 1, 0);
  else W_EVENT(Group, 0, group, kOf);
}
static inline void w_cluster_begin() { W_EVENT(ClusterArrive, 0, 0, 0); }
static inline void w_cluster_wait() { W_EVENT(ClusterWait, 0, 0, 0); }
W_UNSEEN static void w_copy8(void* to, const void* from, bool in = true) {
  W_EVENT(Copy, to, 8, in ? (long)from : 0);
  if (in) __builtin_memcpy(to, from, 8); else __builtin_memset(to, 0, 8);
}
W_UNSEEN static void w_copy16(void* to, const void* from, bool in) {
  W_EVENT(Copy, to, 16, in ? (long)from : 0);
  if (in) __builtin_memcpy(to, from, 16); else __builtin_memset(to, 0, 16);
}
static inline void w_commit() { W_EVENT(Commit, 0, 0, 0); }
template <int N> static inline void w_wait() { W_EVENT(CopiesLeft, 0, N, 0); }
)";

constexpr const char* kCommon = R"(
#define W_ONE(name) double name(double); float name##f(float);
#define W_TWO(name) double name(double, double); float name##f(float, float);
extern "C" {
W_ONE(fabs) W_ONE(sqrt) W_ONE(cbrt) W_ONE(exp) W_ONE(exp2) W_ONE(expm1) W_ONE(log) W_ONE(log2) W_ONE(log10) W_ONE(log1p)
W_ONE(sin) W_ONE(cos) W_ONE(tan) W_ONE(asin) W_ONE(acos) W_ONE(atan) W_ONE(sinh) W_ONE(cosh) W_ONE(tanh)
W_ONE(asinh) W_ONE(acosh) W_ONE(atanh) W_ONE(erf) W_ONE(erfc) W_ONE(lgamma) W_ONE(tgamma)
W_ONE(floor) W_ONE(ceil) W_ONE(rint) W_ONE(nearbyint) W_ONE(round) W_ONE(trunc)
W_TWO(fmod) W_TWO(pow) W_TWO(fmin) W_TWO(fmax) W_TWO(atan2) W_TWO(hypot) W_TWO(copysign) W_TWO(remainder)
double fma(double, double, double); float fmaf(float, float, float);
}
static inline float fabs(float x) { return fabsf(x); }
#define WOOTZ_ON_HOST 1
#define W_FN static inline
#define W_M inline
#define __global__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __cluster_dims__(...)
#define __shared__ static
#define __restrict__
#define threadIdx (w_host->thread)
#define blockIdx (w_host->block)
static inline float w_h2f(unsigned short h) { return w_host->h2f(h); }
static inline unsigned short w_f2h(float f) { return w_host->f2h(f); }
static inline float w_bits2f(unsigned b) { float f; __builtin_memcpy(&f, &b, 4); return f; }
static inline unsigned w_max_halves(unsigned a, unsigned b) {  // that are not negative
  const unsigned lo = (a & 65535) > (b & 65535) ? a & 65535 : b & 65535, hi = a >> 16 > b >> 16 ? a >> 16 : b >> 16;
  return hi << 16 | lo;
}
static inline unsigned w_f2bits(float f) { unsigned b; __builtin_memcpy(&b, &f, 4); return b; }
static inline unsigned long long w_d2bits(double d) { unsigned long long b; __builtin_memcpy(&b, &d, 8); return b; }
static inline float w_times(float a, float b) { return a * b; }
static inline float w_least(float a, float b) { return a != a || a < b ? a : b; }
static inline int w_here(int v) { return v; }
static inline float w_fraction(float a, float b, float c) {
  const float d = fmaf(a, b, c);
  return d > 0 ? d < 1 ? d : 1.0f : 0.0f;
}
// A warp's own: 24 bytes a lane.
static inline void* w_slots() { return (char*)w_host->slots + w_host->fiber / 32 * (32 * 24); }
template <class T> static inline T __shfl_xor_sync(unsigned, T v, int m) {
  T* s = (T*)w_slots(); const unsigned t = w_host->fiber % 32;
  s[t] = v; w_warp(); const T r = s[t ^ (unsigned)m]; w_warp(); return r;
}
static inline unsigned __reduce_max_sync(unsigned mask, unsigned v) {
  for (int m = 1; m < 32; m *= 2) { const unsigned o = __shfl_xor_sync(mask, v, m); v = o > v ? o : v; }
  return v;
}
template <class X> static inline void w_add(int& d, unsigned a, unsigned b) {
  for (int k = 0; k < 32; k += 8) d = (int)((unsigned)d + (unsigned)((X)(a >> k) * (signed char)(b >> k)));
}
template <class X> static inline void w_add(float& d, unsigned a, unsigned b) {
  for (int k = 0; k < 32; k += 16) {
    X x, w; x.x = (unsigned short)(a >> k); w.x = (unsigned short)(b >> k);
    d += w_get(x) * w_get(w);
  }
}
static inline unsigned w_tf32(unsigned bits) {
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}
template <> inline void w_add<float>(float& d, unsigned a, unsigned b) {
  a &= ~0x1fffu, b &= ~0x1fffu;
  float x, w;
  __builtin_memcpy(&x, &a, 4);
  __builtin_memcpy(&w, &b, 4);
  d += x * w;
}
// add(sum, word of a, word of b) for all words of the warp's product.
template <class D, class F> static inline void w_mma_words(D (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1, const F& add) {
  const unsigned t = w_host->fiber % 32, own[6] = {a0, a1, a2, a3, b0, b1};
  unsigned* s = (unsigned*)w_slots();
  for (int i = 0; i < 6; ++i) s[t * 6 + i] = own[i];
  w_warp();
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned* a = s + t / 4 * 24 + e / 2;
    const unsigned* b = s + (t % 4 * 2 + e % 2) * 24 + 4;
    for (int j = 0; j < 4; ++j, a += 6, b += 6)
      for (int half = 0; half < 2; ++half) add(d[e], a[half * 2], b[half]);
  }
  w_warp();
}
template <class X, class D> static inline void w_mma(D (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  w_mma_words(d, a0, a1, a2, a3, b0, b1, [](D& sum, unsigned a, unsigned b) { w_add<X>(sum, a, b); });
}
template <class T> W_UNSEEN static inline float w_float8_of(unsigned bits) {
  static float values[256];
  static bool known[256];
  bits &= 255;
  if (!known[bits]) { T t; t.x = (unsigned char)bits; values[bits] = w_get(t); known[bits] = true; }
  return values[bits];
}
template <class X, class W, class D> static inline void w_mma_float8(D (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  w_mma_words(d, a0, a1, a2, a3, b0, b1, [](D& sum, unsigned a, unsigned b) {
    for (int k = 0; k < 32; k += 8) sum += w_float8_of<X>(a >> k) * w_float8_of<W>(b >> k);
  });
}
template <class P, class RowOf> static inline void w_matrices(P* to, const unsigned char* from, int after, const RowOf& row) {
  const int lane = (int)(threadIdx.x % 32);
  for (int j = 0; j < 4; ++j)
    __builtin_memcpy(&to->v[j], from + after + row(j * 8 + lane / 4) + lane % 4 * 4, 4);
}
template <class T> struct Put;
template <class P, class RowOf> static inline void w_turned_matrices(P* to, const unsigned char* from, const RowOf& row) {
  const int lane = (int)(threadIdx.x % 32);
  for (int j = 0; j < 4; ++j)
    for (int k = 0; k < 2; ++k)
      __builtin_memcpy((char*)&to->v[j] + k * 2, from + row(j * 8 + lane % 4 * 2 + k) + lane / 4 * 2, 2);
}
template <class X> static inline unsigned w_largest(unsigned a, unsigned b) {
  unsigned d = 0;
  for (int k = 0; k < 32; k += 16) {
    X x, y; x.x = (unsigned short)(a >> k); y.x = (unsigned short)(b >> k);
    const float v = w_get(x), w = w_get(y);
    d |= (unsigned)(v != v || v > w ? x : y).x << k;
  }
  return d;
}
template <class X> static inline unsigned w_halves(float first, float second) {
  return (unsigned)Put<X>::to(first).x | (unsigned)Put<X>::to(second).x << 16;
}
static inline void w_let_next() {}
static inline bool w_leaves(bool) { return false; }  // warps meet all at once
static inline void w_prefetch(const void*) {}
#define W_SHARED(name, bytes) alignas(32) static unsigned char of_blocks[kCluster][bytes]; unsigned char* const name = of_blocks[w_host->rank]
#define W_TABLE(type, name, count) static const type name[count]
#define W_INF __builtin_inff()
#define W_NAN __builtin_nanf("")
template <size_t... I> struct WNumbers {};
template <size_t N, size_t... I> struct WUpTo : WUpTo<N - 1, N - 1, I...> {};
template <size_t... I> struct WUpTo<0, I...> { typedef WNumbers<I...> type; };
template <class... A, size_t... I> static void w_spread(void (*f)(A...), void** a, WNumbers<I...>) { f(*(A*)a[I]...); }
template <class... A> static void w_invoke(void (*f)(A...), void** a) { w_spread(f, a, typename WUpTo<sizeof...(A)>::type()); }
)";

}  // namespace

std::string kernel_head(bool races) {
  std::string events = "enum {";
#define X(name) events += " kW" #name ",";
  WOOTZ_RACE_EVENTS(X)
#undef X
  return races ? kBasics + events + " };" + kRaces + kCommon : std::string(kBasics) + kPlain + kCommon;
}

}  // namespace wootz::cuda
