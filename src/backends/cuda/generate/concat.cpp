// Concatenations with an expression on their result.
#include <algorithm>

#include "backends/cuda/generate/copies.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

constexpr size_t kMostParts = 128;

// Of a part: its axes as the result lies, with strides of the part, of the result and of what the expression reads,
// and where it begins in each of these.
struct Part {
  std::vector<Axis> axes;
  std::vector<int64_t> begins;
  int input = 0;
  int64_t count() const { return volume(axes); }
};

struct Plan {
  std::vector<Part> parts;
  std::vector<Axis> whole;         // the same axes of the result
  std::vector<std::string> names;  // x, y, e1, ...
  int vector = 1;
};

int largest_bytes(const Problem& p) {
  int largest = dtype_bits(p.outputs[0].dtype) / 8;
  for (const TensorDesc& t : p.inputs) largest = std::max(largest, dtype_bits(t.dtype) / 8);
  return largest;
}

bool takes_vectors(const Part& part, int n) {
  if (!walks_vectors(part.axes, n)) return false;
  for (size_t k = 0; k < part.begins.size(); ++k)
    if (part.axes.back().strides[k] != 0 && part.begins[k] % n != 0) return false;
  return true;
}

Result<Plan> plan_parts(const Problem& p, const BindArgs& args) {
  const Dims& y = args.outputs[0];
  const int64_t axis = p.as<MoveParams>().axis;
  const auto parts = static_cast<size_t>(p.num_main);
  if (axis < 0 || axis >= y.rank()) return invalid_argument("a concatenation along axis {} of {}", axis, y.to_string());
  const auto along = static_cast<size_t>(axis);
  Plan plan{.names = {"x", "y"}};
  std::vector<std::vector<int64_t>> over;  // of the result and what the expression reads, by axis of the result
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> ys, strides_over(p.outputs[0].layout, y, y));
  over.push_back(std::move(ys));
  for (size_t i = parts; i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], y));
    over.push_back(std::move(s));
    plan.names.push_back(fmt::format("e{}", i - parts + 1));
  }
  const std::vector<int> order = memory_order(y.rank() < 3 ? Layout::kLinear : p.outputs[0].layout, y.rank());
  const auto axes_of = [&](const Dims& extents, const Dims& own) {
    std::vector<Axis> axes;
    for (const int a : order) {
      const auto u = static_cast<size_t>(a);
      axes.push_back({extents[u], {own[u]}});
      for (const auto& s : over) axes.back().strides.push_back(s[u]);
    }
    return merge_axes(std::move(axes));
  };
  int64_t at = 0;
  for (size_t i = 0; i < parts; ++i) {
    const Dims& x = args.inputs[i];
    Dims rest = y;
    if (x.rank() == y.rank()) rest[along] = x[along];
    if (!(x == rest)) return invalid_argument("concat of {} into {}", x.to_string(), y.to_string());
    Part part{.axes = axes_of(x, layout_strides(p.inputs[i].layout, x)), .begins = {0}, .input = static_cast<int>(i)};
    for (const auto& s : over) part.begins.push_back(at * s[along]);
    at += x[along];
    if (part.count() != 0) plan.parts.push_back(std::move(part));
  }
  if (at != y[along]) return invalid_argument("concat of {} along axis {} gives {}", at, axis, y.to_string());
  plan.whole = axes_of(y, layout_strides(p.outputs[0].layout, y));
  for (int n = std::max(1, 16 / largest_bytes(p)); n > 1 && plan.vector == 1; n /= 2)
    if (y.volume() / n >= 4096 &&
        std::all_of(plan.parts.begin(), plan.parts.end(), [&](const Part& part) { return takes_vectors(part, n); }))
      plan.vector = n;
  for (Part& part : plan.parts) count_in_vectors(plan.vector, &part.axes);
  if (plan.vector > 1) count_in_vectors(plan.vector, &plan.whole);
  return plan;
}

// Place and pick() of move/concat.cuh. The thread blocks of all parts.
int64_t add_pick(const Plan& plan, KernelSource* source) {
  std::string members, pick;
  for (const std::string& name : plan.names) members += fmt::format("{}{}", members.empty() ? "  s64 " : ", ", name);
  source->code(fmt::format("struct Place {{\n{};\n}};\n", members));
  int64_t blocks = 0;
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    source->operand("const X*", fmt::format("x{}", i), {false, part.input});
    source->number(fmt::format("count{}", i), part.count());
    source->walk(fmt::format("At{}", i), fmt::format("at{}", i), part.axes, plan.names);
    std::string values;
    for (size_t k = 0; k < plan.names.size(); ++k) {
      const std::string begin = fmt::format("begin{}_{}", i, plan.names[k]);
      source->number(begin, part.begins[k]);
      values += fmt::format("{}c.{} + a.{}", k == 0 ? "" : ", ", begin, plan.names[k]);
    }
    const unsigned own = blocks_for(part.count(), kBlock);
    blocks += own;
    source->number(fmt::format("blocks{}", i), own);
    pick += fmt::format(
        "  if (block < (u32)c.blocks{0}) {{\n    const s64 i = (s64)block * kThreads + threadIdx.x;\n"
        "    if (i >= c.count{0}) return false;\n    const At{0} a = at{0}(c, i);\n    *x = p.x{0};\n"
        "    *at = {{{1}}};\n    return true;\n  }}\n  block -= (u32)c.blocks{0};\n",
        i, values);
  }
  source->code("W_FN bool pick(const Operands& p, const Constants& c, u32 block, const X** x, Place* at) {\n" + pick +
               "  return false;\n}\n");
  return blocks;
}

}  // namespace

Status add_concat(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const DType type = p.inputs[0].dtype;
  if (p.outputs.size() != 1 || p.num_main < 1 || static_cast<size_t>(p.num_main) > kMostParts)
    return unsupported("a concatenation of {} with an expression", p.num_main);
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  if (!is_plain(p.outputs[0].layout)) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  for (size_t i = 0; i < static_cast<size_t>(p.num_main); ++i)
    if (p.inputs[i].dtype != type || !is_plain(p.inputs[i].layout)) return unsupported("unlike parts");
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, type));
  WOOTZ_ASSIGN_OR_RETURN(const Plan plan, plan_parts(p, args));
  if (plan.parts.empty()) return Status();
  WOOTZ_RETURN_IF_ERROR(check_count(args.outputs[0].volume()));
  KernelSource source("move/concat.cuh", transient(p, args));
  source.type("X", storage_type(type));
  source.type("Y", storage_type(p.outputs[0].dtype));
  source.fixed("kThreads", kBlock);
  source.fixed("kVector", plan.vector);
  source.operand("Y* __restrict__", "y", {true, 0});
  source.epilogue_operands(p);
  const int64_t blocks = add_pick(plan, &source);
  const VectorReads reads = vector_reads(p, static_cast<size_t>(p.num_main), plan.whole, plan.names, 2, "at");
  std::vector<std::string> inputs{"w_get(v.v[k])"};
  inputs.insert(inputs.end(), reads.inputs.begin(), reads.inputs.end());
  WOOTZ_RETURN_IF_ERROR(source.results(p.epilogue, "const Place& at, const Pack<X, kVector>& v", reads.lines, inputs));
  return source.finish(kBlock, blocks, launches);
}

}  // namespace wootz::cuda
