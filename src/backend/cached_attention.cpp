#include "backend/cached_attention.h"

#include <algorithm>

#include "backend/concats.h"

namespace wootz {
namespace {

template <class Params>
const Params* in_box(const FamilyParamsBox& box) {
  return box.get() == nullptr ? nullptr : std::get_if<Params>(&box.get()->params);
}

// Operands of the concatenations; 0: they are not two.
size_t count_parts(const ConcatsParams& concats) {
  if (concats.counts.size() != 2) return 0;
  for (const int64_t count : concats.counts)
    if (count < 1 || count > limits::kMaxInputsPerNode) return 0;
  return static_cast<size_t>(concats.counts[0] + concats.counts[1]);
}

// Of the step's operands, or their extents, those of the attention: keys and values are what the concatenations make.
template <class T>
std::vector<T> of_attention(const std::vector<T>& made, bool swapped, std::span<const T> own) {
  std::vector<T> inputs{own[0], made[swapped], made[!swapped]};
  inputs.insert(inputs.end(), own.begin() + 1, own.end());
  return inputs;
}

Status check_kept(const Problem& p, const std::vector<TensorDesc>& made) {
  for (size_t o = 1; o < p.outputs.size(); ++o) {
    const TensorDesc &kept = p.outputs[o], &own = made[o - 1];
    if (kept.dtype != own.dtype || !(kept.dims == own.dims) || !(kept.max_dims == own.max_dims))
      return invalid_argument("cached attention: {} as a result of {}", kept.dims.to_string(), own.dims.to_string());
  }
  return Status();
}

}  // namespace

std::optional<Step> make_cached_attention(std::span<const Step> steps, bool kept) {
  if (steps.size() != 2 || steps[0].outputs.size() != 2) return std::nullopt;
  const Step &concats = steps[0], &attention = steps[1];
  if (!concats.problem.is(Family::kConcats) || !attention.problem.is(Family::kAttention) ||
      attention.inputs.size() < 3 || attention.outputs.size() != 1)
    return std::nullopt;
  const bool swapped = attention.inputs[1] == concats.outputs[1];
  const auto is_made = [&](TensorIndex t) { return t == concats.outputs[0] || t == concats.outputs[1]; };
  if (attention.inputs[1] != concats.outputs[swapped] || attention.inputs[2] != concats.outputs[!swapped] ||
      is_made(attention.inputs[0]) || std::any_of(attention.inputs.begin() + 3, attention.inputs.end(), is_made))
    return std::nullopt;
  Step made;
  made.problem.params = CachedAttentionParams{.concats = box_params(concats.problem.params),
                                              .attention = box_params(attention.problem.params),
                                              .keys = swapped ? 1 : 0};
  made.problem.passing = concats.problem.passing || attention.problem.passing;
  made.problem.num_main = concats.problem.num_main + attention.problem.num_main - 2;
  made.problem.acc_dtype = attention.problem.acc_dtype;
  made.problem.epilogue = attention.problem.epilogue;
  made.inputs = concats.inputs;
  made.problem.inputs = concats.problem.inputs;
  for (size_t i = 0; i < attention.inputs.size(); ++i) {
    if (i == 1 || i == 2) continue;
    made.inputs.push_back(attention.inputs[i]);
    made.problem.inputs.push_back(attention.problem.inputs[i]);
  }
  made.outputs = attention.outputs;
  made.problem.outputs = attention.problem.outputs;
  if (kept) {
    made.outputs.insert(made.outputs.end(), concats.outputs.begin(), concats.outputs.end());
    made.problem.outputs.insert(made.problem.outputs.end(), concats.problem.outputs.begin(),
                                concats.problem.outputs.end());
  }
  return made;
}

Result<CachedAttention> cached_attention_parts(const Problem& p) {
  const auto* params = p.as_if<CachedAttentionParams>();
  const auto* concats = params == nullptr ? nullptr : in_box<ConcatsParams>(params->concats);
  const auto* attention = params == nullptr ? nullptr : in_box<AttentionParams>(params->attention);
  if (concats == nullptr || attention == nullptr) return invalid_argument("cached attention: its families are missing");
  const size_t count = count_parts(*concats);
  if (count == 0 || p.num_main < static_cast<int>(count) + 1 || p.inputs.size() < static_cast<size_t>(p.num_main) ||
      (p.outputs.size() != 1 && p.outputs.size() != 3))
    return invalid_argument("cached attention of {} operands with {} results", p.inputs.size(), p.outputs.size());
  CachedAttention parts;
  parts.concats.params = *concats;
  parts.concats.passing = parts.attention.passing = p.passing;
  parts.concats.num_main = static_cast<int>(count);
  parts.concats.acc_dtype = p.inputs[count].dtype;
  parts.concats.inputs.assign(p.inputs.begin(), p.inputs.begin() + static_cast<ptrdiff_t>(count));
  std::vector<Dims> dims, max_dims;
  for (const TensorDesc& t : parts.concats.inputs) {
    dims.push_back(t.dims);
    max_dims.push_back(t.max_dims);
  }
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<Dims> made, concat_extents(*concats, dims));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<Dims> most, concat_extents(*concats, max_dims));
  for (size_t o = 0; o < 2; ++o) {
    const Floats& scales = o == static_cast<size_t>(params->keys) ? attention->k_scale : attention->v_scale;
    const size_t first = o == 0 ? 0 : static_cast<size_t>(concats->counts[0]);
    TensorDesc t;
    t.dtype = p.inputs[scales.empty() ? count : first].dtype;  // of 8 bits as its parts are, or the queries'
    t.dims = made[o];
    t.max_dims = most[o];
    parts.concats.outputs.push_back(std::move(t));
  }
  WOOTZ_RETURN_IF_ERROR(check_kept(p, parts.concats.outputs));
  parts.attention.params = *attention;
  parts.attention.num_main = p.num_main - static_cast<int>(count) + 2;
  parts.attention.acc_dtype = p.acc_dtype;
  parts.attention.epilogue = p.epilogue;
  parts.attention.inputs =
      of_attention(parts.concats.outputs, params->keys != 0, std::span<const TensorDesc>(p.inputs).subspan(count));
  parts.attention.outputs = {p.outputs[0]};
  return parts;
}

Result<std::vector<Dims>> cached_attention_inputs(const Problem& p, std::span<const Dims> inputs) {
  const auto* params = p.as_if<CachedAttentionParams>();
  const auto* concats = params == nullptr ? nullptr : in_box<ConcatsParams>(params->concats);
  const size_t count = concats == nullptr ? 0 : count_parts(*concats);
  if (count == 0 || inputs.size() <= count) return invalid_argument("cached attention of {} operands", inputs.size());
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<Dims> made, concat_extents(*concats, inputs.first(count)));
  return of_attention(made, params->keys != 0, inputs.subspan(count));
}

}  // namespace wootz
