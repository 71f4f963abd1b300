// Family concats: copies by one launch, a part's blocks after the other's.
#include "backend/concats.h"

#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

constexpr size_t kMostParts = 64;

// Copied as they are.
bool takes(const TensorDesc& t) { return t.layout == Layout::kLinear && (is_model_float(t.dtype) || is_byte(t.dtype)); }

// Axes with strides {operand, result}, counted in as many neighbours as 16 bytes of the wider side.
struct Copied {
  std::vector<Axis> axes;
  int64_t to = 0;
  int vector = 1;
};

Copied plan_part(const Problem& p, const BindArgs& args, const ConcatPart& part) {
  const Dims &x = args.inputs[part.input], &y = args.outputs[part.output];
  const Dims xs = layout_strides(Layout::kLinear, x), ys = layout_strides(Layout::kLinear, y);
  const auto axis = static_cast<size_t>(p.as<ConcatsParams>().axis);
  Copied made{.to = part.at * ys[axis]};
  for (size_t a = 0; a < y.size(); ++a) {
    const auto own = static_cast<size_t>(part.perm[a]);
    made.axes.push_back({x[own], {xs[own], ys[a]}});
  }
  made.axes = merge_axes(std::move(made.axes));
  const int bytes = std::max(dtype_bits(p.inputs[part.input].dtype), dtype_bits(p.outputs[part.output].dtype)) / 8;
  made.vector = 16 / bytes;
  while (made.vector > 1 && (made.to % made.vector != 0 || !walks_vectors(made.axes, made.vector))) made.vector /= 2;
  count_in_vectors(made.vector, &made.axes);
  return made;
}

// Its operands and numbers; the line that calls part.take() of it.
std::string add_part(const Problem& p, const ConcatPart& part, const Copied& copied, KernelSource* source) {
  const size_t i = part.input;
  source->operand(fmt::format("{}* __restrict__", storage_type(p.outputs[part.output].dtype)), fmt::format("y{}", i),
                  {true, static_cast<int>(part.output)});
  source->operand(fmt::format("const {}*", storage_type(p.inputs[i].dtype)), fmt::format("x{}", i),
                  {false, static_cast<int>(i)});
  source->number(fmt::format("count{}", i), volume(copied.axes));
  source->number(fmt::format("to{}", i), copied.to);
  source->number(fmt::format("blocks{}", i), blocks_for(volume(copied.axes), kBlock));
  source->walk(fmt::format("At{}", i), fmt::format("at{}", i), copied.axes, {"from", "to"});
  return fmt::format(
      "  if (block < (u32)c.blocks{0})\n    return part.template take<{1}>(p.y{0} + c.to{0}, p.x{0}, c.count{0}, "
      "block, "
      "[&](s64 i) {{ return at{0}(c, i); }});\n  block -= (u32)c.blocks{0};\n",
      i, copied.vector);
}

}  // namespace

Status generate_concats(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.empty() || p.inputs.size() > kMostParts || !p.epilogue.empty())
    return unsupported("concats of {} parts", p.inputs.size());
  for (const std::vector<TensorDesc>* operands : {&p.inputs, &p.outputs})
    if (!std::all_of(operands->begin(), operands->end(), takes)) return unsupported("concats of other types");
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<ConcatPart> parts, concat_parts(p, args.inputs, args.outputs));
  KernelSource source("move/concats.cuh", transient(p, args));
  for (const ConcatPart& part : parts)
    if (const DType from = p.inputs[part.input].dtype, to = p.outputs[part.output].dtype;
        from != to && (is_byte(from) || is_byte(to)))
      return unsupported("parts of {} in a result of {}", dtype_name(from), dtype_name(to));
  source.fixed("kThreads", kBlock);
  std::string pick;
  int64_t blocks = 0;
  for (const ConcatPart& part : parts) {
    const Copied copied = plan_part(p, args, part);
    if (volume(copied.axes) == 0) continue;
    WOOTZ_RETURN_IF_ERROR(check_count(volume(copied.axes)));
    pick += add_part(p, part, copied, &source);
    blocks += blocks_for(volume(copied.axes), kBlock);
  }
  if (blocks == 0) return {};
  source.code("template <class Part>\nW_FN void pick(const Operands& p, const Constants& c, u32 block, Part part) {\n" +
              pick + "}\n");
  return source.finish(kBlock, blocks, launches);
}

}  // namespace wootz::cuda
