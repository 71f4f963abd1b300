// The cached_attention family: an attention and the concatenations that make its keys and values, as one step. Where
// other steps read the concatenations too, they are its second and third result.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/program.h"
#include "base/status.h"

namespace wootz {

struct CachedAttention {
  Problem concats, attention;  // which reads the two results of the first as operands 1 and 2
};

// A step of family concats and the attention that reads its results, as one, without a name; nullopt: they are
// something else. `kept`: it has those results, too.
std::optional<Step> make_cached_attention(std::span<const Step> steps, bool kept);

// The two again. Everything is checked: the problem may come from a plan file.
Result<CachedAttention> cached_attention_parts(const Problem& problem);

// Extents of the attention's operands, of those of the step's.
Result<std::vector<Dims>> cached_attention_inputs(const Problem& problem, std::span<const Dims> inputs);

}  // namespace wootz
