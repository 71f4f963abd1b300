// Digest of a section: XXH3-128 over the XXH3-128 of each 1 MiB chunk and the length, so that chunks are hashed by many
// threads and the result does not depend on how many. Finds damage; it is no signature.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace wootz {

using Digest = std::array<std::byte, 16>;

// Bytes at an offset of a section; what lies between pieces is zero.
struct Piece {
  size_t offset = 0;
  std::span<const std::byte> bytes;
};

Digest tree_digest(std::span<const std::byte> bytes);
// `pieces` ascend and do not overlap or pass `total`.
Digest tree_digest(std::span<const Piece> pieces, size_t total);
// Without the tree: for short things.
Digest plain_digest(std::span<const std::byte> bytes);

}  // namespace wootz
