#include "plan/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

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

}  // namespace

struct TreeDigest::Chunk {
  XXH3_state_t state;
  size_t filled = 0;
};

TreeDigest::TreeDigest() : open_(std::make_unique<Chunk>()) { XXH3_128bits_reset(&open_->state); }
TreeDigest::~TreeDigest() = default;

void TreeDigest::add(std::span<const std::byte> bytes) {
  const auto take = [&](size_t count) {
    XXH3_128bits_update(&open_->state, bytes.data(), count);
    open_->filled += count;
    bytes = bytes.subspan(count);
  };
  if (open_->filled > 0) take(std::min(bytes.size(), kChunk - open_->filled));
  if (open_->filled == kChunk) {
    nodes_.push_back(canonical(XXH3_128bits_digest(&open_->state)));
    XXH3_128bits_reset(&open_->state);
    open_->filled = 0;
  }
  if (bytes.empty()) return;
  const size_t whole = bytes.size() / kChunk, first = nodes_.size();
  nodes_.resize(first + whole);
  parallel_for(static_cast<int64_t>(whole), kChunksPerThread, [&](int64_t begin, int64_t end) {
    for (auto c = static_cast<size_t>(begin); c < static_cast<size_t>(end); ++c)
      nodes_[first + c] = canonical(XXH3_128bits(bytes.data() + c * kChunk, kChunk));
  });
  bytes = bytes.subspan(whole * kChunk);
  if (!bytes.empty()) take(bytes.size());
}

Digest TreeDigest::finish() {
  const uint64_t total = nodes_.size() * kChunk + open_->filled;
  if (open_->filled > 0) nodes_.push_back(canonical(XXH3_128bits_digest(&open_->state)));
  Digest& length = nodes_.emplace_back();  // little-endian, whatever the machine
  for (size_t i = 0; i < length.size(); ++i)
    length[i] = i < sizeof(uint64_t) ? static_cast<std::byte>(total >> (8 * i)) : std::byte{0};
  return plain_digest(std::as_bytes(std::span(nodes_)));
}

Digest tree_digest(std::span<const std::byte> bytes) {
  TreeDigest digest;
  digest.add(bytes);
  return digest.finish();
}

Digest plain_digest(std::span<const std::byte> bytes) { return canonical(XXH3_128bits(bytes.data(), bytes.size())); }

}  // namespace wootz
