// Casts that are no expression: bits that are taken for another type, and to the powers of two with their roundings.
#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

Status generate_bit_cast(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  if (dtype_bits(p.inputs[0].dtype) != dtype_bits(p.outputs[0].dtype))
    return invalid_argument("bits of {} as {}", dtype_name(p.inputs[0].dtype), dtype_name(p.outputs[0].dtype));
  Problem copy = p;
  copy.inputs[0].dtype = copy.outputs[0].dtype;
  return generate_reformat(copy, args, launches);
}

Status generate_cast_e8m0(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  const auto& op = *op_params<CastE8M0OpParams>(p);
  const PowerRounding mode = op.round_mode;
  if (p.outputs[0].dtype != DType::kF8E8M0 || !(x == args.outputs[0]))
    return invalid_argument("{} to powers of two by '{}'", x.to_string(), name_of(mode));
  if (x.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/cast_e8m0.cuh", p, args, x.volume()));
  source.fixed("kSaturate", op.saturate);
  source.fixed("kUp", mode == PowerRounding::kUp);
  source.fixed("kDown", mode == PowerRounding::kDown);
  return finish_each(x.volume(), &source, launches);
}

// The range by a block for each part, then the values by as many as there are.
Status generate_dynamic_quantize(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  constexpr int kEach = 4;
  constexpr int64_t kOfPart = 8192, kMostParts = 264;
  if (p.inputs.size() != 1 || p.outputs.size() != 3 || p.inputs[0].dtype != DType::kF32 ||
      p.outputs[0].dtype != DType::kU8 || p.outputs[1].dtype != DType::kF32 || p.outputs[2].dtype != DType::kU8)
    return invalid_argument("dynamic quantization of {} operands", p.inputs.size());
  if (!(args.inputs[0] == args.outputs[0]) || args.outputs[1].volume() != 1 || args.outputs[2].volume() != 1)
    return invalid_argument("{} gives {}", args.inputs[0].to_string(), args.outputs[0].to_string());
  const int64_t count = args.inputs[0].volume(), parts = std::clamp<int64_t>(count / kOfPart, 1, kMostParts);
  const size_t workspace = static_cast<size_t>(parts) * 2 * sizeof(float);
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  for (const bool rounds : {false, true}) {
    KernelSource source(rounds ? "special/range_rounding.cuh" : "special/range_parts.cuh", transient(p, args));
    source.fixed("kThreads", kSpecialBlock);
    if (rounds) source.fixed("kEach", kEach);
    WOOTZ_RETURN_IF_ERROR(add_operands(p, &source));
    source.operand(rounds ? "const float*" : "float* __restrict__", "ranges", kWorkspacePointer);
    source.number("count", count);
    source.number("parts", parts);
    const int64_t blocks = rounds ? std::max<int64_t>(1, blocks_for(count, kSpecialBlock * kEach)) : parts;
    WOOTZ_RETURN_IF_ERROR(source.finish(kSpecialBlock, blocks, launches, workspace));
  }
  return Status();
}

}  // namespace wootz::cuda
