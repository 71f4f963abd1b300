#include "backend/concats.h"

#include <algorithm>
#include <numeric>

namespace wootz {
namespace {

bool is_permutation(const Ints& perm) {
  std::vector<bool> seen(perm.size(), false);
  for (const int64_t a : perm) {
    if (a < 0 || a >= static_cast<int64_t>(perm.size()) || seen[static_cast<size_t>(a)]) return false;
    seen[static_cast<size_t>(a)] = true;
  }
  return true;
}

// Puts the part after those before it; nothing else of the result's extents may differ.
Status place(const ConcatsParams& params, const Dims& x, const Dims& y, int64_t* end, ConcatPart* part) {
  const auto axis = static_cast<size_t>(params.axis);
  if (part->perm.empty()) {
    part->perm.resize(y.size());
    std::iota(part->perm.begin(), part->perm.end(), 0);
  }
  if (x.size() != y.size() || part->perm.size() != y.size() || !is_permutation(part->perm))
    return invalid_argument("concats: {} in {} along axis {}", x.to_string(), y.to_string(), params.axis);
  for (size_t a = 0; a < y.size(); ++a) {
    const int64_t extent = x[static_cast<size_t>(part->perm[a])];
    if (extent < 0 || (a == axis ? extent > y[a] - *end : extent != y[a]))
      return invalid_argument("concats: {} in {} from {} on", x.to_string(), y.to_string(), *end);
  }
  part->at = *end;
  *end += x[static_cast<size_t>(part->perm[axis])];
  return {};
}

}  // namespace

Result<std::vector<ConcatPart>> concat_parts(const Problem& concats, std::span<const Dims> inputs,
                                             std::span<const Dims> outputs) {
  const auto& params = concats.as<ConcatsParams>();
  if (inputs.size() != concats.inputs.size() || outputs.size() != concats.outputs.size() || params.axis < 0 ||
      params.counts.size() != outputs.size() || static_cast<size_t>(concats.num_main) != inputs.size() ||
      (!params.perms.empty() && params.perms.size() != inputs.size()))
    return invalid_argument("concats: {} parts of {} results", inputs.size(), outputs.size());
  std::vector<ConcatPart> parts;
  for (size_t o = 0; o < outputs.size(); ++o) {
    int64_t end = 0;
    if (params.axis >= outputs[o].rank())
      return invalid_argument("concats: axis {} of {}", params.axis, outputs[o].to_string());
    for (int64_t i = 0; i < params.counts[o]; ++i) {
      if (parts.size() == inputs.size()) return invalid_argument("concats: {} parts", inputs.size());
      ConcatPart part{.input = parts.size(), .output = o};
      if (!params.perms.empty()) part.perm = params.perms[parts.size()];
      WOOTZ_RETURN_IF_ERROR(place(params, inputs[parts.size()], outputs[o], &end, &part));
      parts.push_back(std::move(part));
    }
    if (end != outputs[o][static_cast<size_t>(params.axis)])
      return invalid_argument("concats: {} in {}", end, outputs[o].to_string());
  }
  if (parts.size() != inputs.size()) return invalid_argument("concats: {} of {} parts", parts.size(), inputs.size());
  return parts;
}

Result<std::vector<Dims>> concat_extents(const ConcatsParams& params, std::span<const Dims> inputs) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto axis = static_cast<size_t>(std::max<int64_t>(0, params.axis));
  std::vector<Dims> made;
  size_t next = 0;
  for (const int64_t count : params.counts) {
    Dims y;
    for (int64_t i = 0; i < count; ++i, ++next) {
      if (next >= inputs.size() || (!params.perms.empty() && next >= params.perms.size()))
        return invalid_argument("concats: {} parts", inputs.size());
      const Dims& x = inputs[next];
      Ints perm = params.perms.empty() ? Ints{} : params.perms[next];
      if (perm.empty()) {
        perm.resize(x.size());
        std::iota(perm.begin(), perm.end(), 0);
      }
      if (axis >= x.size() || perm.size() != x.size() || !is_permutation(perm))
        return invalid_argument("concats: {} along axis {}", x.to_string(), params.axis);
      const int64_t extent = x[static_cast<size_t>(perm[axis])];
      if (extent < 0 || extent >= kMost) return invalid_argument("concats: a part of {}", extent);
      if (i == 0) {
        y = x;
        for (size_t a = 0; a < perm.size(); ++a) y[a] = x[static_cast<size_t>(perm[a])];
      } else {
        y[axis] += extent;
      }
    }
    made.push_back(std::move(y));
  }
  return made;
}

}  // namespace wootz
