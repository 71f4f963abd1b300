// A depthwise convolution and the gate of its image (family chain: a convolution, then squeeze_excite), which keeps the
// image: two launches. The first writes sums of what it stores beside that, and the second reads these few in place of
// the image: conv/patch_sums.cuh, gemm/squeeze_excite.cuh.
#include "backends/cuda/generate/gated.h"

#include <algorithm>

#include "backend/chain.h"
#include "backend/work.h"
#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

constexpr double kSmallWeights = 64 << 10;

// Both problems, with the layout of what is in between.
Result<ChainParts> parts_of(const Problem& p) {
  if (p.outputs.size() != 2) return unsupported("{} results", p.outputs.size());
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(p));
  if (!parts.first.is(Family::kConv) || !parts.second.is(Family::kSqueezeExcite))
    return unsupported("no convolution with the gate of its image");
  parts.first.outputs[0].layout = parts.second.inputs[0].layout = p.outputs[1].layout;
  return parts;
}

// What is read of memory.
double bytes_of(const Problem& p, bool constants) {
  double bytes = 0;
  for (const TensorDesc& t : p.inputs)
    if (t.constant == constants) bytes += static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
  return bytes;
}

}  // namespace

Status generate_gated(const Problem& p, const BindArgs& args, int results, int cluster, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const ChainParts parts, parts_of(p));
  const size_t before = launches->size(), cut = parts.first.inputs.size();
  if (args.inputs.size() != p.inputs.size() || args.outputs.size() != 2)
    return invalid_argument("{} operands and {} results", args.inputs.size(), args.outputs.size());
  // The constants of either, where they are known.
  const auto given = [&](const auto& list, size_t begin, size_t end) {
    return list.size() < end ? std::decay_t<decltype(list)>{} : list.subspan(begin, end - begin);
  };
  WOOTZ_ASSIGN_OR_RETURN(const int64_t blocks,
                         generate_depthwise_sums(parts.first,
                                                 {args.inputs.first(cut), args.outputs.subspan(1),
                                                  given(args.constants, 0, cut), given(args.constant_bytes, 0, cut)},
                                                 results, launches));
  const size_t scratch = launches->size() == before ? 0 : launches->back().workspace;
  PartPlaces first, second;
  for (size_t i = 0; i < cut; ++i) first.inputs.push_back({false, static_cast<int>(i)});
  first.outputs = {{true, 1}};
  place_part(first, before, launches);
  std::vector<Dims> inputs{args.outputs[1]};
  inputs.insert(inputs.end(), args.inputs.begin() + static_cast<ptrdiff_t>(cut), args.inputs.end());
  second.inputs = {kWorkspacePointer};
  for (size_t i = cut; i < args.inputs.size(); ++i) second.inputs.push_back({false, static_cast<int>(i)});
  second.outputs = {{true, 0}};
  second.scratch = scratch;
  const size_t middle = launches->size();
  // What is made has the place of the convolution's last operand.
  const BindArgs of_gate{inputs, args.outputs.first(1), given(args.constants, cut - 1, args.inputs.size()),
                         given(args.constant_bytes, cut - 1, args.inputs.size())};
  WOOTZ_RETURN_IF_ERROR(generate_gate(parts.second, of_gate, {DType::kF32, blocks}, cluster, launches));
  place_part(second, middle, launches);
  return Status();
}

Result<std::optional<PackedForm>> pack_gated(const Problem& p, int input, const HostTensor& source) {
  WOOTZ_ASSIGN_OR_RETURN(const ChainParts parts, parts_of(p));
  const auto own = static_cast<int>(parts.first.inputs.size());
  return input < own ? pack_depthwise(parts.first, input, source)
                     : pack_squeeze_excite(parts.second, input - own + 1, source);
}

// The convolution as by patches alone, and the gate's own time: on an H200 an empty cluster takes 0.6 us, its exchange
// 0.8 and the second product 0.5. Of large matrices each block waits for its part. Four blocks are for small ones.
double estimate_gated(const Problem& p, int results, int cluster) {
  const Result<ChainParts> parts = parts_of(p);
  if (!parts.ok()) return 0;
  const wootz::Work work = work_of(parts->first);
  const double conv = (results == 4 ? 1.05 : 1.1) * (2.0 + (work.bytes_read + work.bytes_written) / 3e6);
  const double weights = bytes_of(parts->second, true);
  if (cluster < 8 && weights > kSmallWeights) return 0;
  return conv + 2.4 + 0.01 * cluster + weights / (cluster * 150e3);
}

}  // namespace wootz::cuda
