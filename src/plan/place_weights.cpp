// Where the bytes of a plan lie in its weights section.
#include <map>
#include <set>

#include "backend/refit.h"
#include "plan/digest.h"
#include "plan/encode.h"
#include "plan/format.h"
#include "plan/plan_limits.h"

namespace wootz {
namespace {

Status place_after(const Program& program, size_t* total, WeightsMap* map) {
  const auto place = [&](size_t bytes, const std::string& name) -> Result<size_t> {
    const size_t at = *total;
    if (__builtin_add_overflow(*total, bytes, total) || *total > plan_limits::kMaxBlobBytes)
      return make_error(Code::kResourceExhausted, "plan: more than {} bytes of weights, at '{}'",
                        plan_limits::kMaxBlobBytes, name);
    *total = plan_format::align_up(*total, plan_format::kBlobAlignment);
    return at;
  };
  for (const PlanConstant& c : program.constants) {
    WOOTZ_ASSIGN_OR_RETURN(const size_t at, place(program.stripped ? 0 : c.bytes, c.name));
    map->offsets.push_back(at);
  }
  for (const NativeCode& code : program.native) {
    WOOTZ_ASSIGN_OR_RETURN(const size_t at, place(code.bytes.size(), code.key));
    map->native.push_back(at);
  }
  for (const Program& body : program.bodies)
    WOOTZ_RETURN_IF_ERROR(place_after(body, total, &map->bodies.emplace_back()));
  return {};
}

// The plan's own constants by size and digest. Those still to be made are made for it.
using ByContent = std::map<std::pair<size_t, Digest>, size_t>;
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
  WOOTZ_RETURN_IF_ERROR(place_after(program, &map.total, &map));
  if (program.refit != nullptr) WOOTZ_RETURN_IF_ERROR(place_refit(program, &map));
  return map;
}

}  // namespace wootz
