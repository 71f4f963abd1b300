#include "shims/omp/omp_shim.h"

#include <atomic>
#include <climits>

#include "base/spin_barrier.h"
#include "shims/omp/block_cache.h"

// No C++ runtime is needed here beyond atomics and thread-local plain data.
namespace {

std::atomic<const wootz_omp_pool*> g_pool{nullptr};

constexpr int kMaxDepth = 8;

struct Team {
  int n = 1;
  int index = 0;
  bool in_parallel = false;  // an enclosing region, or this one, has more than one thread
  long next = 0, end = 0, step = 0, chunk = 0, stride = 0;  // the loop of this thread, in iterations of it
  long first = 0;
};

// Regions that this thread is in; [0] is the serial outside.
thread_local Team t_teams[kMaxDepth];
thread_local int t_depth = 0;
thread_local int t_overflow = 0;  // regions beyond kMaxDepth: serial, counted only

Team& team() { return t_teams[t_depth]; }

void push(int index, int n) {
  const bool outer = team().in_parallel;
  if (t_depth + 1 == kMaxDepth) {
    ++t_overflow;
    return;
  }
  ++t_depth;
  team() = Team{};
  team().n = n;
  team().index = index;
  team().in_parallel = outer || n > 1;
}

void pop() {
  if (t_overflow > 0)
    --t_overflow;
  else if (t_depth > 0)
    --t_depth;
}

// The pool runs one gang at a time, so one barrier serves. oneDNN's regions are short: what they wait for comes soon or
// late.
constinit wootz::SpinBarrier g_barrier(4000);

struct Region {
  void (*fn)(void*);
  void* data;
  bool block_cache;
};

void run_member(void* context, int index, int n) {
  const Region region = *static_cast<const Region*>(context);
  if (region.block_cache) wootz_block_cache_begin();
  push(index, n);
  region.fn(region.data);
  pop();
  if (region.block_cache) wootz_block_cache_end();
}

bool next_chunk(long* begin, long* end) {
  Team& t = team();
  if (t.next >= t.end) return false;
  const long last = t.next + t.chunk < t.end ? t.next + t.chunk : t.end;
  *begin = t.first + t.next * t.step;
  *end = t.first + last * t.step;
  t.next += t.stride;
  return true;
}

}  // namespace

#define WOOTZ_SHIM extern "C" __attribute__((visibility("default")))

WOOTZ_SHIM void wootz_omp_set_pool(const wootz_omp_pool* pool) { g_pool.store(pool, std::memory_order_release); }

WOOTZ_SHIM int wootz_omp_get_max_threads() {
  const wootz_omp_pool* pool = g_pool.load(std::memory_order_acquire);
  return pool == nullptr || team().in_parallel ? 1 : pool->max_threads();
}
WOOTZ_SHIM int wootz_omp_get_num_threads() { return t_overflow > 0 ? 1 : team().n; }
WOOTZ_SHIM int wootz_omp_get_thread_num() { return t_overflow > 0 ? 0 : team().index; }
WOOTZ_SHIM int wootz_omp_in_parallel() { return team().in_parallel; }

// The caller returns from here, runs the region's body itself as thread 0, and calls GOMP_parallel_end.
WOOTZ_SHIM void wootz_GOMP_parallel_start(void (*fn)(void*), void* data, unsigned threads) {
  const wootz_omp_pool* pool = g_pool.load(std::memory_order_acquire);
  int n = threads == 0 ? wootz_omp_get_max_threads() : threads > INT_MAX ? INT_MAX : static_cast<int>(threads);
  static thread_local Region region;  // outlives the call: workers copy it when they start
  if (pool == nullptr || team().in_parallel) n = 1;
  if (n > 1) {
    region = {fn, data, wootz_block_cache_active()};
    n = pool->start(n, run_member, &region);
  }
  push(0, n);
}
WOOTZ_SHIM void wootz_GOMP_parallel_end() {
  const int n = wootz_omp_get_num_threads();
  pop();
  if (n > 1) g_pool.load(std::memory_order_acquire)->finish(n);
}
WOOTZ_SHIM void wootz_GOMP_barrier() { g_barrier.wait(wootz_omp_get_num_threads()); }

// Static schedules: chunk 0 gives each thread one contiguous part, as equal as can be; otherwise chunks in turn.
WOOTZ_SHIM bool wootz_GOMP_loop_static_next(long* begin, long* end) { return next_chunk(begin, end); }
WOOTZ_SHIM bool wootz_GOMP_loop_static_start(long start, long end, long step, long chunk, long* begin, long* stop) {
  Team& t = team();
  const int n = wootz_omp_get_num_threads(), index = wootz_omp_get_thread_num();
  long trips = 0;
  if (step > 0 && end > start) trips = (end - start + step - 1) / step;
  if (step < 0 && end < start) trips = (start - end - step - 1) / -step;
  t.first = start;
  t.step = step;
  if (chunk > 0) {
    t.next = index * chunk;
    t.end = trips;
    t.chunk = chunk;
    t.stride = chunk * n;
  } else {
    const long base = trips / n, extra = trips % n;
    t.next = base * index + (index < extra ? index : extra);
    t.end = t.next + base + (index < extra ? 1 : 0);
    t.chunk = t.stride = t.end - t.next > 0 ? t.end - t.next : 1;
  }
  return next_chunk(begin, stop);
}
WOOTZ_SHIM void wootz_GOMP_loop_end_nowait() {}
