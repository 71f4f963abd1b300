// Digest of a section: XXH3-128 over the XXH3-128 of each 1 MiB chunk and the length, so that chunks are hashed by many
// threads and the result does not depend on how many. Finds damage; it is no signature.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace wootz {

using Digest = std::array<std::byte, 16>;

// The digest of bytes that come piece by piece.
class TreeDigest {
 public:
  TreeDigest();
  ~TreeDigest();
  TreeDigest(const TreeDigest&) = delete;
  TreeDigest& operator=(const TreeDigest&) = delete;

  void add(std::span<const std::byte> bytes);
  Digest finish();  // of all that was added; nothing is added afterwards

 private:
  struct Chunk;  // the one that is not full yet
  std::unique_ptr<Chunk> open_;
  std::vector<Digest> nodes_;  // of the chunks before it
};

Digest tree_digest(std::span<const std::byte> bytes);
// Without the tree: for short things.
Digest plain_digest(std::span<const std::byte> bytes);

}  // namespace wootz
