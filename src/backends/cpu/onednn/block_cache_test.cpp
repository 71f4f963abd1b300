// The allocation functions that the build gives to oneDNN: blocks that a thread keeps inside a scope, the heap
// elsewhere.
#include "shims/omp/block_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/testing.h"

extern "C" {
void* wootz_Znwm(size_t bytes);
void wootz_ZdlPv(void* p);
int wootz_posix_memalign(void** to, size_t alignment, size_t bytes);
void wootz_free(void* p);
}

namespace wootz {
namespace {

struct Scope {
  Scope() { wootz_block_cache_begin(); }
  ~Scope() { wootz_block_cache_end(); }
};

void* aligned(size_t alignment, size_t bytes) {
  void* p = nullptr;
  EXPECT_EQ(wootz_posix_memalign(&p, alignment, bytes), 0);
  return p;
}

TEST(OnednnBlockCache, ComeBackInsideAScopeOnly) {
  const Scope scope;
  for (const size_t bytes : {size_t{1}, size_t{100}, size_t{5000}, size_t{3} << 20}) {
    void* first = aligned(64, bytes);
    std::memset(first, 1, bytes);
    wootz_free(first);
    EXPECT_EQ(aligned(64, bytes), first) << bytes;
    wootz_free(first);
  }
  void* huge = aligned(64, (size_t{32} << 20) + 1);  // the heap's
  ASSERT_NE(huge, nullptr);
  wootz_free(huge);
  wootz_free(nullptr);
  wootz_ZdlPv(nullptr);
}

TEST(OnednnBlockCache, ManyAtOnceDoNotOverlap) {
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 rng(seed);
  struct Block {
    unsigned char* p;
    size_t bytes;
    unsigned char fill;
    bool plain;
  };
  std::vector<Block> live;
  const auto check_and_free = [](const Block& b) {
    for (size_t i = 0; i < b.bytes; ++i) ASSERT_EQ(b.p[i], b.fill);
    b.plain ? wootz_ZdlPv(b.p) : wootz_free(b.p);
  };
  for (int i = 0; i < 3000; ++i) {
    const bool inside = rng() % 4 != 0;
    if (inside) wootz_block_cache_begin();
    const size_t bytes = 1 + rng() % (size_t{1} << rng() % 16), alignment = size_t{8} << rng() % 10;
    Block b{nullptr, bytes, static_cast<unsigned char>(rng()), rng() % 2 == 0};
    b.p = static_cast<unsigned char*>(b.plain ? wootz_Znwm(bytes) : aligned(alignment, bytes));
    ASSERT_NE(b.p, nullptr);
    if (!b.plain) EXPECT_EQ(reinterpret_cast<uintptr_t>(b.p) % alignment, 0u);
    std::memset(b.p, b.fill, bytes);
    live.push_back(b);
    if (live.size() > 100) {
      std::swap(live[rng() % live.size()], live.back());
      check_and_free(live.back());
      live.pop_back();
    }
    if (inside) wootz_block_cache_end();
  }
  for (const Block& b : live) check_and_free(b);
}

TEST(OnednnBlockCache, OtherThreadsGiveThemBackAndOn) {
  std::vector<void*> blocks;
  std::thread([&] {
    const Scope scope;
    for (int i = 0; i < 200; ++i) blocks.push_back(wootz_Znwm(200));
  }).join();  // the blocks outlive their thread
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t; i < blocks.size(); i += 4) wootz_ZdlPv(blocks[i]);  // outside any scope
    });
  for (std::thread& thread : threads) thread.join();  // whose lists go to the next thread that needs blocks
  const Scope scope;
  std::vector<void*> again;
  for (int i = 0; i < 200; ++i) again.push_back(wootz_Znwm(200));
  std::sort(blocks.begin(), blocks.end());
  int known = 0;
  for (void* p : again) known += std::binary_search(blocks.begin(), blocks.end(), p);
  EXPECT_GE(known, 100) << "lists of earlier tests may come first, but not by much";
  for (void* p : again) wootz_ZdlPv(p);
}

}  // namespace
}  // namespace wootz
