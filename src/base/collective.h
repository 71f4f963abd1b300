// Operations that several devices compute together, each with its part of the data: what they are, and what their
// settings must be. Passes, kernels and the public interfaces ask here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"

namespace wootz {

// What becomes of the first extent, by the number of ranks that take part.
enum class FirstExtent : uint8_t { kSame, kTimes, kPart, kBlocks };  // kBlocks: the same, and one block for each rank

struct CollectiveKind {
  const char* name;
  bool reduces = false;  // and needs a reduction
  bool rooted = false;   // and needs a root
  FirstExtent first = FirstExtent::kSame;
};
// In the order of the public enumeration.
std::span<const CollectiveKind> collective_kinds();
const CollectiveKind* find_collective(std::string_view name);  // null: there is none

// "none", then in the order of the public enumeration of reductions.
std::span<const std::string_view> rank_reductions();

inline constexpr int64_t kMostRanks = 1 << 20;

// One such operation. `kind` is never null.
struct Collective {
  const CollectiveKind* kind = nullptr;
  std::string_view reduction = "none";
  int64_t ranks = 1;            // of the communicator
  int64_t root = -1;            // a rank of the communicator; read where the kind has a root
  std::vector<int64_t> groups;  // the ranks of the communicator that take part, in their order; empty: all
  // How many take part. One alone keeps what it has, whatever the operation.
  int64_t participants() const { return groups.empty() ? ranks : static_cast<int64_t>(groups.size()); }
};

// What can be said before the number of ranks is set.
Status check_kind(const Collective& collective);
// And all of it.
Status check_collective(const Collective& collective);
// Elements of the type can be reduced, or at least be sent.
Status check_collective_type(const Collective& collective, DType type);

}  // namespace wootz
