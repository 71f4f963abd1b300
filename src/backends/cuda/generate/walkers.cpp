#include "backends/cuda/generate/walkers.h"

#include <atomic>

namespace wootz::cuda {
namespace {

std::atomic<int64_t> g_multiprocessors{132};

}  // namespace

int64_t walked_multiprocessors() { return g_multiprocessors.load(std::memory_order_relaxed); }
void set_walked_multiprocessors(int64_t count) { g_multiprocessors.store(count, std::memory_order_relaxed); }

}  // namespace wootz::cuda
