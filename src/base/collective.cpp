#include "base/collective.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr CollectiveKind kKinds[] = {
    {.name = "all_reduce", .reduces = true},
    {.name = "all_gather", .first = FirstExtent::kTimes},
    {.name = "broadcast", .rooted = true},
    {.name = "reduce", .reduces = true, .rooted = true},
    {.name = "reduce_scatter", .reduces = true, .first = FirstExtent::kPart},
    {.name = "all_to_all", .first = FirstExtent::kBlocks},
    {.name = "gather", .rooted = true, .first = FirstExtent::kTimes},
    {.name = "scatter", .rooted = true, .first = FirstExtent::kPart},
};
constexpr std::string_view kReductions[] = {"none", "sum", "prod", "max", "min", "avg"};

// What the library that does it has reductions of.
constexpr DType kReduced[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,
                              DType::kU8,  DType::kI32, DType::kU32,  DType::kI64, DType::kU64};

bool contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Status check_groups(const std::vector<int64_t>& groups) {
  if (static_cast<int64_t>(groups.size()) > kMostRanks)
    return invalid_argument("{} ranks in the groups; {} are possible", groups.size(), kMostRanks);
  std::vector<int64_t> sorted = groups;
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty() && sorted.front() < 0) return invalid_argument("rank {} in the groups", sorted.front());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    return invalid_argument("rank {} is in the groups twice", *twice);
  return Status();
}

}  // namespace

std::span<const CollectiveKind> collective_kinds() { return kKinds; }
const CollectiveKind* find_collective(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const CollectiveKind& k) { return name == k.name; });
  return found == std::end(kKinds) ? nullptr : found;
}
std::span<const std::string_view> rank_reductions() { return kReductions; }

Status check_kind(const Collective& c) {
  const bool known = std::find(std::begin(kReductions), std::end(kReductions), c.reduction) != std::end(kReductions);
  if (!known) return invalid_argument("the reduction '{}' is not known", c.reduction);
  if (c.kind->reduces && c.reduction == "none") return invalid_argument("{} needs a reduction, not none", c.kind->name);
  if (!c.kind->reduces && c.reduction != "none")
    return invalid_argument("{} reduces nothing: its reduction must be none, it is {}", c.kind->name, c.reduction);
  if (c.kind->rooted && c.root < 0) return invalid_argument("{} needs a root; rank {} is none", c.kind->name, c.root);
  WOOTZ_RETURN_IF_ERROR(check_groups(c.groups));
  if (c.kind->rooted && !c.groups.empty() && !contains(c.groups, c.root))
    return invalid_argument("the root of {}, rank {}, is not in the groups", c.kind->name, c.root);
  return Status();
}

Status check_collective(const Collective& c) {
  WOOTZ_RETURN_IF_ERROR(check_kind(c));
  if (c.ranks < 1 || c.ranks > kMostRanks)
    return invalid_argument("{} ranks; from 1 to {} are possible", c.ranks, kMostRanks);
  if (c.kind->rooted && c.root >= c.ranks)
    return invalid_argument("the root of {} is rank {}, and there are {} ranks (ILayer::setNbRanks)", c.kind->name,
                            c.root, c.ranks);
  for (const int64_t rank : c.groups)
    if (rank >= c.ranks)
      return invalid_argument("rank {} is in the groups of {}, and there are {} ranks (ILayer::setNbRanks)", rank,
                              c.kind->name, c.ranks);
  return Status();
}

Status check_collective_type(const Collective& c, DType type) {
  if (dtype_bits(type) < 8)
    return unsupported("{} of {}, which have less than a byte each", c.kind->name, dtype_name(type));
  if (c.kind->reduces && std::find(std::begin(kReduced), std::end(kReduced), type) == std::end(kReduced))
    return unsupported("{} of {}: NCCL does not reduce them", c.kind->name, dtype_name(type));
  return Status();
}

}  // namespace wootz
