// NllLoss and Det: few results of much that is summed or eliminated.
#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

namespace {

struct Loss {
  int64_t count = 0, parts = 1;  // targets, and blocks that share them
  bool each = false;             // a result for each target
};

Result<Loss> read_loss(const Problem& p, const BindArgs& args) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &target = args.inputs[1], &y = args.outputs[0];
  const bool each = op_params<NllLossOpParams>(p)->reduction == LossReduction::kNone;
  if (x.rank() < 2 || target.rank() + 1 != x.rank() || !is_integer(p.inputs[1].dtype) || !is_float(p.inputs[0].dtype) ||
      p.outputs[0].dtype != p.inputs[0].dtype || (has_operand(p, 2) && args.inputs[2].volume() != x[1]) ||
      (each ? !(y == target) : y.volume() != 1) || x[0] * volume_of(x, 2, x.size()) != target.volume())
    return invalid_argument("loss of {} with targets {}", x.to_string(), target.to_string());
  const int64_t count = target.volume();
  return Loss{count, each ? 1 : std::clamp<int64_t>(count / 2048, 1, 1024), each};
}

// What special/nll.cuh asks for.
void add_targets(const Problem& p, const BindArgs& args, KernelSource* source) {
  const Dims& x = args.inputs[0];
  const auto& op = *op_params<NllLossOpParams>(p);
  source->fixed("kWeighted", has_operand(p, 2));
  source->fixed("kIgnores", op.ignore_index.has_value());
  source->code(fmt::format("constexpr s64 kIgnored = {}ll;\n", op.ignore_index.value_or(0)));
  source->number("classes", x[1]);
  source->number("inner", volume_of(x, 2, x.size()));
}

// One result from the sums of the parts.
Status join_losses(const Problem& p, const BindArgs& args, const Loss& loss, size_t workspace,
                   std::vector<Launch>* launches) {
  KernelSource source("special/nll_join.cuh", transient(p, args));
  source.type("Y0", storage_type(p.outputs[0].dtype));
  source.fixed("kThreads", kSpecialBlock);
  source.fixed("kMean", op_params<NllLossOpParams>(p)->reduction != LossReduction::kSum);
  source.operand("Y0* __restrict__", "y0", {true, 0});
  source.operand("const double*", "sums", kWorkspacePointer);
  source.number("parts", loss.parts);
  return source.finish(kSpecialBlock, 1, launches, workspace);
}

}  // namespace

// Sums go in f64 and in an order that the extents alone fix: a block for each part, and one block over the parts. A
// target that is no class has no loss: NaN, where the reference refuses.
Status generate_nll(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Loss loss, read_loss(p, args));
  if (loss.each && loss.count == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(
      KernelSource source,
      source_of_each(loss.each ? "special/nll_each.cuh" : "special/nll_parts.cuh", p, args, loss.count));
  add_targets(p, args, &source);
  if (loss.each) return finish_each(loss.count, &source, launches);
  const size_t workspace = static_cast<size_t>(loss.parts) * 2 * sizeof(double);
  source.operand("double* __restrict__", "sums", kWorkspacePointer);
  source.number("parts", loss.parts);
  WOOTZ_RETURN_IF_ERROR(source.finish(kSpecialBlock, loss.parts, launches, workspace));
  return join_losses(p, args, loss, workspace, launches);
}

// A block a matrix: elimination with row pivots, in f64 as in the reference, in scratch memory.
Status generate_det(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  if (x.rank() < 2 || x.back() != x[x.size() - 2] || !is_float(type) || p.outputs[0].dtype != type ||
      y.volume() != volume_of(x, 0, x.size() - 2))
    return invalid_argument("determinants of {}", x.to_string());
  const int64_t n = x.back(), matrices = y.volume();
  if (matrices == 0) return Status();
  if (matrices >= (int64_t{1} << 31) || n > 4096) return unsupported("{} determinants of {} rows", matrices, n);
  KernelSource source("special/det.cuh", transient(p, args));
  source.fixed("kThreads", kSpecialBlock);
  WOOTZ_RETURN_IF_ERROR(add_operands(p, &source));
  source.operand("double* __restrict__", "matrix", kWorkspacePointer);
  source.number("n", n);
  return source.finish(kSpecialBlock, matrices, launches,
                       std::max<size_t>(8, static_cast<size_t>(x.volume()) * sizeof(double)));
}

}  // namespace wootz::cuda
