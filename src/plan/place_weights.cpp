// Where the bytes of a plan lie in its weights section.
#include <algorithm>
#include <map>
#include <set>

#include "backend/refit.h"
#include "plan/digest.h"
#include "plan/encode.h"
#include "plan/format.h"
#include "plan/plan_limits.h"

namespace wootz {
namespace {

// Constants by size and digest.
using ByContent = std::map<std::pair<size_t, Digest>, size_t>;

class Placement {
 public:
  // The network as it was tuned for several profiles has most of its weights in several of its programs.
  explicit Placement(const Program& program)
      : share_(!program.stripped && std::any_of(program.profiles.begin(), program.profiles.end(),
                                                [](const auto& profile) { return profile.body >= 0; })) {}

  Status place(const Program& program, WeightsMap* map) {
    for (const PlanConstant& c : program.constants)
      WOOTZ_RETURN_IF_ERROR(place(c, program.stripped ? 0 : c.bytes, map));
    for (const NativeCode& code : program.native) {
      WOOTZ_ASSIGN_OR_RETURN(const size_t at, room_for(code.bytes.size(), code.key));
      map->native.push_back(at);
    }
    for (const Program& body : program.bodies) WOOTZ_RETURN_IF_ERROR(place(body, &map->bodies.emplace_back()));
    return {};
  }
  size_t total() const { return total_; }

 private:
  Result<size_t> room_for(size_t bytes, const std::string& name) {
    const size_t at = total_;
    if (__builtin_add_overflow(total_, bytes, &total_) || total_ > plan_limits::kMaxBlobBytes)
      return make_error(Code::kResourceExhausted, "plan: more than {} bytes of weights, at '{}'",
                        plan_limits::kMaxBlobBytes, name);
    total_ = plan_format::align_up(total_, plan_format::kBlobAlignment);
    return at;
  }
  Status place(const PlanConstant& c, size_t bytes, WeightsMap* map) {
    if (share_) {
      WOOTZ_ASSIGN_OR_RETURN(const std::span<const std::byte> content, bytes_of(c, &scratch_));
      const auto [known, fresh] = placed_.try_emplace({bytes, tree_digest(content)}, total_);
      map->shared.push_back(!fresh);
      if (!fresh) {
        map->offsets.push_back(known->second);
        return {};
      }
    }
    WOOTZ_ASSIGN_OR_RETURN(const size_t at, room_for(bytes, c.name));
    map->offsets.push_back(at);
    return {};
  }

  bool share_;
  size_t total_ = 0;
  ByContent placed_;
  RawBytes scratch_;
};

// The plan's own constants. Those still to be made are made for it.
Result<ByContent> find_contents(const Program& program, const WeightsMap& map) {
  std::set<size_t> sizes;
  for (const RefitConstant& c : program.refit->constants) sizes.insert(c.bytes);
  ByContent found;
  if (program.stripped) return found;
  RawBytes scratch;
  for (const ConstantIndex i : program.constants.indices()) {
    const PlanConstant& c = program.constants[i];
    if (c.bytes == 0 || sizes.count(c.bytes) == 0) continue;
    WOOTZ_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, bytes_of(c, &scratch));
    found.try_emplace({c.bytes, tree_digest(bytes)}, map.offsets[i.position()]);
  }
  return found;
}

Status place_refit(const Program& program, WeightsMap* map) {
  WOOTZ_ASSIGN_OR_RETURN(ByContent found, find_contents(program, *map));
  for (const RefitConstant& c : program.refit->constants) {
    if (c.stripped) {
      map->refit.push_back(0);
      map->refit_shared.push_back(1);
      continue;
    }
    const Digest digest = tree_digest({static_cast<const std::byte*>(c.data), c.bytes});
    const auto [at, fresh] = found.try_emplace({c.bytes, digest}, map->total);
    map->refit.push_back(at->second);
    map->refit_shared.push_back(!fresh);
    if (!fresh) continue;
    if (__builtin_add_overflow(map->total, c.bytes, &map->total) || map->total > plan_limits::kMaxBlobBytes)
      return make_error(Code::kResourceExhausted, "plan: more than {} bytes of weights", plan_limits::kMaxBlobBytes);
    map->total = plan_format::align_up(map->total, plan_format::kBlobAlignment);
  }
  return {};
}

}  // namespace

Result<WeightsMap> place_weights(const Program& program) {
  WeightsMap map;
  Placement placement(program);
  WOOTZ_RETURN_IF_ERROR(placement.place(program, &map));
  map.total = placement.total();
  if (program.refit != nullptr) WOOTZ_RETURN_IF_ERROR(place_refit(program, &map));
  return map;
}

}  // namespace wootz
