#include "base/mapped.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace wootz {
namespace {

// Bytes of the range that are in the process's memory.
size_t resident(std::span<const std::byte> bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const int pagemap = ::open("/proc/self/pagemap", O_RDONLY);
  size_t count = 0;
  for (size_t at = 0; at < bytes.size(); at += page) {
    const auto number = reinterpret_cast<uintptr_t>(bytes.data() + at) / page;
    uint64_t entry = 0;
    EXPECT_EQ(::pread(pagemap, &entry, sizeof entry, static_cast<off_t>(number * sizeof entry)), 8);
    count += (entry >> 63) != 0;
  }
  ::close(pagemap);
  return count * page;
}

TEST(Mapped, AFileLeavesMemoryAndComesBack) {
  constexpr size_t kBytes = size_t{1} << 20;
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::vector<unsigned char> values(kBytes);
  for (size_t i = 0; i < kBytes; ++i) values[i] = static_cast<unsigned char>(i * 131 >> 7);
  ASSERT_EQ(std::fwrite(values.data(), 1, kBytes, file), kBytes);
  ASSERT_EQ(std::fflush(file), 0);
  const Result<MappedFile> mapped = map_file(::fileno(file), kBytes);
  std::fclose(file);
  ASSERT_TRUE(mapped.ok()) << mapped.status().to_string();
  ASSERT_EQ(std::memcmp(mapped->bytes.data(), values.data(), kBytes), 0);
  EXPECT_EQ(resident(mapped->bytes), kBytes);
  release_mapped(mapped->bytes);
  EXPECT_EQ(resident(mapped->bytes), 0u);
  fetch_mapped(mapped->bytes);
  ASSERT_EQ(std::memcmp(mapped->bytes.data(), values.data(), kBytes), 0);
  release_mapped(mapped->bytes.subspan(100, kBytes - 200));  // the first and last page stay
  EXPECT_LE(resident(mapped->bytes), 2 * static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(std::memcmp(mapped->bytes.data(), values.data(), kBytes), 0);
}

TEST(Mapped, MemoryOfOthersIsLeftAlone) {
  const std::vector<std::byte> values(size_t{1} << 20, std::byte{7});
  release_mapped(values);
  fetch_mapped(values);
  release_mapped({});
  EXPECT_EQ(std::count(values.begin(), values.end(), std::byte{7}), int64_t{1} << 20);
  EXPECT_TRUE(map_file(-1, 0).ok());
  EXPECT_EQ(map_file(-1, 10).status().code(), Code::kIo);
}

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
