#include "backend/chain.h"

namespace wootz {
namespace {

constexpr int64_t kMost = int64_t{1} << 31;

// What is in between, as the second result, if there is one.
Status check_kept(const Problem& chain, const TensorDesc& middle) {
  if (chain.outputs.size() < 2) return Status();
  const TensorDesc& kept = chain.outputs[1];
  if (kept.dtype == middle.dtype && kept.dims == middle.dims && kept.max_dims == middle.max_dims) return Status();
  return invalid_argument("chain: {} as a result, {} in between", kept.dims.to_string(), middle.dims.to_string());
}

}  // namespace

Problem make_chain(const Problem& first, const Problem& second) {
  Problem chain;
  ChainParams params;
  params.first = box_params(first.params);
  params.second = box_params(second.params);
  params.first_inputs = static_cast<int64_t>(first.inputs.size());
  params.first_main = first.num_main;
  params.first_acc = first.acc_dtype;
  params.middle = first.outputs[0].dtype;
  params.first_epilogue = first.epilogue;
  chain.params = std::move(params);
  chain.passing = first.passing || second.passing;
  chain.inputs = first.inputs;
  chain.inputs.insert(chain.inputs.end(), second.inputs.begin() + 1, second.inputs.end());
  chain.num_main = static_cast<int>(first.inputs.size()) + second.num_main - 1;
  chain.outputs = second.outputs;
  chain.epilogue = second.epilogue;
  chain.acc_dtype = second.acc_dtype;
  return chain;
}

Result<ChainParts> chain_parts(const Problem& chain) {
  ChainParts parts;
  Problem &first = parts.first, &second = parts.second;
  const auto* params = chain.as_if<ChainParams>();
  if (params == nullptr || params->first.get() == nullptr || params->second.get() == nullptr)
    return invalid_argument("chain: its families are missing");
  if (params->adds) return unsupported("chain: results that are added up");
  first.params = params->first.get()->params;
  second.params = params->second.get()->params;
  const int64_t inputs = params->first_inputs, main = params->first_main;
  const bool body = first.family() == Family::kPointwise;
  const int64_t least_main = first.family() == Family::kNorm ? 1 : 2;
  if (inputs < 1 || static_cast<size_t>(inputs) > chain.inputs.size() || main < 0 || main > inputs ||
      (body ? main != 0 : main < least_main) || chain.num_main < inputs ||
      static_cast<size_t>(chain.num_main) > chain.inputs.size() || chain.outputs.empty() || chain.outputs.size() > 2)
    return invalid_argument("chain: {} operands of the first problem, {} of them its own, of {}", inputs, main,
                            chain.inputs.size());
  first.acc_dtype = params->first_acc;
  first.num_main = static_cast<int>(main);
  first.epilogue = params->first_epilogue;
  if (first.acc_dtype == DType::kInvalid || params->middle == DType::kInvalid)
    return invalid_argument("chain: types are missing");
  if (!first.epilogue.empty()) {
    WOOTZ_RETURN_IF_ERROR(first.epilogue.verify());
    if (first.epilogue.num_inputs > inputs - main + !body || first.epilogue.outputs.size() != 1)
      return invalid_argument("chain: the first expression reads {} operands", first.epilogue.num_inputs);
  }
  const auto cut = chain.inputs.begin() + inputs;
  first.inputs.assign(chain.inputs.begin(), cut);
  for (int64_t k = 0; k < inputs - main; ++k) {
    const DType read =
        first.epilogue.empty() ? DType::kInvalid : first.epilogue.input_type(static_cast<uint16_t>(!body + k));
    if (read != DType::kInvalid && read != first.inputs[static_cast<size_t>(main + k)].dtype)
      return invalid_argument("chain: the first expression reads operand {} as {}", k, dtype_name(read));
  }
  if (body && first.epilogue.empty()) return invalid_argument("chain: a first problem without its expression");
  TensorDesc middle;
  middle.dtype = params->middle;
  if (!first.epilogue.empty() && first.epilogue.output_type() != middle.dtype)
    return invalid_argument("chain: the first expression makes {}, not {}", dtype_name(first.epilogue.output_type()),
                            dtype_name(middle.dtype));
  std::vector<Dims> dims, max_dims;
  for (const TensorDesc& t : first.inputs) {
    dims.push_back(t.dims);
    max_dims.push_back(t.max_dims);
  }
  WOOTZ_ASSIGN_OR_RETURN(middle.dims, chain_middle(first, dims));
  WOOTZ_ASSIGN_OR_RETURN(middle.max_dims, chain_middle(first, max_dims));
  WOOTZ_RETURN_IF_ERROR(check_kept(chain, middle));
  first.outputs = {middle};
  second.inputs = {middle};
  second.inputs.insert(second.inputs.end(), cut, chain.inputs.end());
  second.num_main = chain.num_main - static_cast<int>(inputs) + 1;
  second.outputs = {chain.outputs[0]};
  second.epilogue = chain.epilogue;
  second.acc_dtype = chain.acc_dtype;
  return parts;
}

Result<WindowAxis> window_axis(const Problem& p, int axis) {
  if (p.is(Family::kPointwise)) return WindowAxis{};
  const auto* conv = p.as_if<ConvParams>();
  const auto* pool = p.as_if<PoolParams>();
  const int rank = p.inputs.empty() ? 0 : p.inputs[0].dims.rank();
  if ((conv == nullptr && pool == nullptr) || axis < 2 || axis >= rank || (conv != nullptr && conv->transposed) ||
      (pool != nullptr && pool->global))
    return unsupported("family {} of rank {} has no windows along axis {}", family_name(p.family()), rank, axis);
  const auto at = static_cast<size_t>(axis - 2), spatial = static_cast<size_t>(rank - 2);
  WindowAxis w;
  const auto read = [&](const Ints& list, size_t index, size_t count, int64_t low, int64_t* value) {
    if (list.empty()) return true;
    if (list.size() != count || list[index] < low || list[index] >= kMost) return false;
    *value = list[index];
    return true;
  };
  const Ints& pads = conv != nullptr ? conv->pads : pool->pads;
  bool good = read(conv != nullptr ? conv->strides : pool->strides, at, spatial, 1, &w.stride) &&
              read(conv != nullptr ? conv->dilations : pool->dilations, at, spatial, 1, &w.dilation) &&
              read(pads, at, 2 * spatial, 0, &w.begin) && read(pads, at + spatial, 2 * spatial, 0, &w.end);
  if (conv != nullptr) {
    good = good && p.inputs.size() > 1 && p.inputs[1].dims.rank() == rank;
    if (good) w.kernel = p.inputs[1].dims[static_cast<size_t>(axis)];
  } else {
    good = good && !pool->kernel.empty() && read(pool->kernel, at, spatial, 1, &w.kernel);
  }
  if (!good || w.kernel < 1 || w.kernel >= kMost || w.kernel * w.dilation >= kMost)
    return invalid_argument("{}: parameters of its windows that do not fit rank {}", family_name(p.family()), rank);
  return w;
}

bool concatenates_channels(const Problem& p) {
  const auto* move = p.as_if<MoveParams>();
  return move != nullptr && move->kind == MoveKind::kConcat && move->axis == 1 && p.epilogue.empty();
}

Result<Dims> chain_middle(const Problem& first, std::span<const Dims> inputs) {
  Dims y;
  if (concatenates_channels(first) && !inputs.empty() && inputs[0].rank() > 2) {
    y = inputs[0];
    y[1] = 0;
    for (const Dims& d : inputs) {
      for (size_t a = 0; a < y.size(); ++a)
        if (d.size() != y.size() || d[a] < 0 || d[a] >= kMost || (a != 1 && d[a] != y[a]))
          return invalid_argument("chain: {} beside {}", d.to_string(), inputs[0].to_string());
      y[1] += d[1];
    }
    WOOTZ_RETURN_IF_ERROR(checked_volume(y.span()).status());
    return y;
  }
  if (first.family() == Family::kChain) {
    Problem known = first;
    known.outputs.resize(1);  // the extents are what is asked for
    WOOTZ_ASSIGN_OR_RETURN(const ChainParts parts, chain_parts(known));
    const size_t own = parts.first.inputs.size();
    if (inputs.size() < own) return invalid_argument("chain: {} operands of a first problem", inputs.size());
    WOOTZ_ASSIGN_OR_RETURN(const Dims middle, chain_middle(parts.first, inputs.first(own)));
    std::vector<Dims> second{middle};
    second.insert(second.end(), inputs.begin() + static_cast<ptrdiff_t>(own), inputs.end());
    return chain_middle(parts.second, second);
  }
  if (first.family() == Family::kNorm && !inputs.empty()) {
    y = inputs[0];
  } else if (first.family() == Family::kPointwise && !inputs.empty()) {
    y = inputs[0];
    for (const Dims& d : inputs.subspan(1)) {
      WOOTZ_ASSIGN_OR_RETURN(y, broadcast_dims(y, d));
    }
  } else {
    if (first.family() != Family::kConv || inputs.size() < 2 || inputs[0].rank() < 3 ||
        inputs[1].rank() != inputs[0].rank())
      return unsupported("chain: a first problem of family {} over {} operands", family_name(first.family()),
                         inputs.size());
    const Dims& x = inputs[0];
    y = {x[0], inputs[1][0]};
    for (int axis = 2; axis < x.rank(); ++axis) {
      WOOTZ_ASSIGN_OR_RETURN(const WindowAxis w, window_axis(first, axis));
      const int64_t in = x[static_cast<size_t>(axis)];
      if (in < 0 || in >= kMost) return invalid_argument("chain: a first problem over {}", x.to_string());
      const int64_t free = in + w.begin + w.end - w.span();
      y.push_back(free < 0 ? 0 : free / w.stride + 1);
    }
  }
  WOOTZ_RETURN_IF_ERROR(checked_volume(y.span()).status());
  return y;
}

}  // namespace wootz
