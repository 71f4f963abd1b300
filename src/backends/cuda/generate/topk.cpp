// Family topk: a block for one line. The k results come one after the other, each the best of what follows the last one
// in the order (key, index): the same bits whatever the schedule. argmax and argmin are its first step.
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

// The lines' softmax goes to scratch memory, in the input's type as the model rounds it, and is searched there.
Status topk_of_softmax(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 1 || p.outputs.size() != 2) return invalid_argument("topk of {} inputs", p.inputs.size());
  Problem soft = p, rest = p;
  soft.params = SoftmaxParams{.axis = p.as<TopKParams>().axis};
  soft.outputs = {p.inputs[0]};
  soft.outputs[0].constant = false;
  rest.as<TopKParams>().softmax = false;
  const std::vector<Dims> whole{args.inputs[0]};
  std::vector<Launch> made;
  WOOTZ_RETURN_IF_ERROR(generate_softmax(soft, {whole, whole, {}}, &made));
  const size_t produced = made.size();
  WOOTZ_RETURN_IF_ERROR(generate_topk(rest, args, &made));
  for (size_t i = 0; i < made.size(); ++i) {
    made[i].workspace = dtype_bytes(p.inputs[0].dtype, whole[0].volume());
    for (Pointer& pointer : made[i].pointers)
      if (pointer.output == (i < produced)) pointer = kWorkspacePointer;
    launches->push_back(std::move(made[i]));
  }
  return Status();
}

// Lines along an axis: outer * inner of them.
struct Lines {
  int64_t outer = 1, length = 0, inner = 1, best = 1;
};

Result<Lines> check_lines(const Problem& p, const BindArgs& args) {
  const TopKParams& params = p.as<TopKParams>();
  const bool arg = params.kind == TopKKind::kArgMax || params.kind == TopKKind::kArgMin;
  if (p.inputs.size() != 1 || p.num_main != 1 || !p.epilogue.empty() || p.outputs.size() != (arg ? 1u : 2u))
    return unsupported("topk of {} inputs and {} outputs", p.inputs.size(), p.outputs.size());
  const DType type = p.inputs[0].dtype;
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  for (const TensorDesc& t : p.outputs)
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  if (p.inputs[0].layout != Layout::kLinear || p.outputs.back().dtype != DType::kI64 ||
      (!arg && p.outputs[0].dtype != type))
    return unsupported("topk of {}", dtype_name(type));
  const Dims& x = args.inputs[0];
  if (params.axis < 0 || params.axis >= x.rank())
    return invalid_argument("topk: axis {} of {}", params.axis, x.to_string());
  const auto axis = static_cast<size_t>(params.axis);
  const Lines l{volume_of(x, 0, axis), x[axis], volume_of(x, axis + 1, x.size()), arg ? 1 : params.k};
  if (l.best < 0 || l.best > l.length) return invalid_argument("the best {} of {}", l.best, l.length);
  for (const Dims& y : args.outputs)
    if (y.volume() != l.outer * l.inner * l.best)
      return invalid_argument("topk of {} gives {}", x.to_string(), y.to_string());
  return l;
}

}  // namespace

Status generate_topk(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const TopKParams& params = p.as<TopKParams>();
  if (params.softmax) return topk_of_softmax(p, args, launches);
  WOOTZ_ASSIGN_OR_RETURN(const Lines l, check_lines(p, args));
  const int64_t lines = l.outer * l.inner;
  if (lines * l.best == 0) return Status();
  if (l.best > 1024) return unsupported("the best {}: at most 1024 are looked for one by one", l.best);
  if (lines >= (int64_t{1} << 31)) return unsupported("{} lines", lines);
  const bool arg = params.kind == TopKKind::kArgMax || params.kind == TopKKind::kArgMin;
  KernelSource source("topk/lines.cuh", transient(p, args));
  source.type("X", storage_type(p.inputs[0].dtype));
  source.fixed("kThreads", kBlock);
  source.fixed("kBest", l.best);
  // The largest have the smallest keys: complemented.
  source.fixed("kLargest", arg ? params.kind == TopKKind::kArgMax : params.largest);
  source.fixed("kLast", arg && params.select_last);
  source.fixed("kValues", !arg);
  if (!arg) source.operand("X* __restrict__", "y", {true, 0});
  source.operand("s64* __restrict__", "index", {true, arg ? 0 : 1});
  source.operand("const X*", "x", {false, 0});
  source.number("length", l.length);
  source.number("inner", l.inner);
  return source.finish(kBlock, lines, launches);
}

}  // namespace wootz::cuda
