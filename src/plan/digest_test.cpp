#include "plan/digest.h"

#include <gtest/gtest.h>

#include <random>

#include "base/testing.h"

namespace wootz {
namespace {

TEST(TreeDigest, DoesNotDependOnThePieces) {
  std::mt19937_64 random(test_seed());
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  constexpr size_t kChunk = size_t{1} << 20;
  std::vector<std::byte> bytes(3 * kChunk + 12345);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  for (const size_t size : {size_t{0}, size_t{1}, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk, bytes.size()}) {
    const std::span<const std::byte> all = std::span(bytes).first(size);
    const Digest want = tree_digest(all);
    for (const size_t most : {size_t{100'000}, kChunk, 3 * kChunk}) {
      TreeDigest digest;
      for (size_t at = 0; at < size;) {
        const size_t piece = std::min<size_t>(size - at, random() % most);
        digest.add(all.subspan(at, piece));
        at += piece;
      }
      EXPECT_EQ(digest.finish(), want) << size << " bytes in pieces below " << most;
    }
  }
  Digest last{};
  for (const size_t size : {size_t{0}, size_t{1}, kChunk, kChunk + 1}) {
    const Digest digest = tree_digest(std::span(bytes).first(size));
    EXPECT_NE(digest, last);
    last = digest;
  }
}

}  // namespace
}  // namespace wootz
