#include "base/mapped.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace wootz {
namespace {

TEST(Mapped, MemoryIsAndNothingIsNot) {
  const std::vector<char> heap(10'000, 1);
  const char stack = 0;
  EXPECT_TRUE(is_mapped(heap.data()));
  EXPECT_TRUE(is_mapped(heap.data() + heap.size() - 1));
  EXPECT_TRUE(is_mapped(&stack));
  EXPECT_TRUE(is_mapped(reinterpret_cast<const void*>(&is_mapped)));
  for (const uintptr_t number : {uintptr_t{0}, uintptr_t{1}, uintptr_t{16}, uintptr_t{4095}})
    EXPECT_FALSE(is_mapped(reinterpret_cast<const void*>(number))) << number;
}

TEST(Mapped, WhatWasUnmappedIsNot) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const char* begin = static_cast<const char*>(memory);
  EXPECT_TRUE(is_mapped(begin + page + 17)) << "never touched, and yet memory";
  ASSERT_EQ(::munmap(static_cast<char*>(memory) + page, page), 0);
  EXPECT_TRUE(is_mapped(begin));
  EXPECT_FALSE(is_mapped(begin + page + 17));
  EXPECT_TRUE(is_mapped(begin + 2 * page));
  ::munmap(memory, 3 * page);
}

}  // namespace
}  // namespace wootz
