#include "plan/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/thread_pool.h"

namespace wootz {
namespace {

constexpr size_t kChunk = size_t{1} << 20;
constexpr int64_t kChunksPerThread = 2;  // below this a thread is not worth waking

Digest canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Digest digest;
  static_assert(sizeof(digest) == sizeof(bytes));
  std::memcpy(digest.data(), &bytes, sizeof(bytes));
  return digest;
}

void update_zeros(XXH3_state_t* state, size_t count) {
  static constexpr std::byte kZeros[4096] = {};
  for (; count > 0; count -= std::min(count, sizeof(kZeros)))
    XXH3_128bits_update(state, kZeros, std::min(count, sizeof(kZeros)));
}

Digest chunk_digest(std::span<const Piece> pieces, size_t begin, size_t end) {
  // The first piece that reaches into [begin, end).
  auto piece = std::partition_point(pieces.begin(), pieces.end(),
                                    [&](const Piece& p) { return p.offset + p.bytes.size() <= begin; });
  if (piece != pieces.end() && piece->offset <= begin && piece->offset + piece->bytes.size() >= end)
    return canonical(XXH3_128bits(piece->bytes.data() + (begin - piece->offset), end - begin));
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  size_t at = begin;
  for (; piece != pieces.end() && piece->offset < end; ++piece) {
    if (piece->offset > at) update_zeros(&state, piece->offset - at);
    at = std::max(at, piece->offset);
    const size_t stop = std::min(end, piece->offset + piece->bytes.size());
    XXH3_128bits_update(&state, piece->bytes.data() + (at - piece->offset), stop - at);
    at = stop;
  }
  update_zeros(&state, end - at);
  return canonical(XXH3_128bits_digest(&state));
}

}  // namespace

Digest tree_digest(std::span<const Piece> pieces, size_t total) {
  const size_t chunks = total / kChunk + (total % kChunk != 0);
  std::vector<Digest> nodes(chunks + 1);
  parallel_for(static_cast<int64_t>(chunks), kChunksPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const size_t from = static_cast<size_t>(c) * kChunk;
      nodes[static_cast<size_t>(c)] = chunk_digest(pieces, from, std::min(total, from + kChunk));
    }
  });
  Digest& length = nodes.back();  // little-endian, whatever the machine
  for (size_t i = 0; i < length.size(); ++i)
    length[i] = i < sizeof(uint64_t) ? static_cast<std::byte>(static_cast<uint64_t>(total) >> (8 * i)) : std::byte{0};
  return plain_digest(std::as_bytes(std::span(nodes)));
}

Digest tree_digest(std::span<const std::byte> bytes) {
  const Piece whole{0, bytes};
  return tree_digest(std::span(&whole, bytes.empty() ? 0 : 1), bytes.size());
}

Digest plain_digest(std::span<const std::byte> bytes) { return canonical(XXH3_128bits(bytes.data(), bytes.size())); }

}  // namespace wootz
