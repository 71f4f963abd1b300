// Family pointwise: neighbours in the output's memory by neighbouring threads, several elements a thread where every
// operand allows wide loads.
#include <algorithm>

#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/nibbles.h"

namespace wootz::cuda {
namespace {

// Axes of the results as they lie in memory, with strides of results and operands.
struct Walk {
  std::vector<Axis> axes;
  int largest = 1;  // bytes of an element
};

Result<Walk> plan_walk(const Problem& p, const BindArgs& args) {
  const Dims& out = args.outputs[0];
  const Layout layout = p.outputs[0].layout;
  Walk walk;
  std::vector<std::vector<int64_t>> strides;
  const auto add = [&](const TensorDesc& t, const Dims& dims) -> Status {
    if (!few_bits(t.dtype)) WOOTZ_RETURN_IF_ERROR(check_type(t.dtype));
    if (!is_plain(t.layout)) return unsupported("pointwise in layout {}", layout_name(t.layout));
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(t.layout, dims, out));
    strides.push_back(std::move(s));
    walk.largest = std::max(walk.largest, dtype_bits(t.dtype) / 8);
    return Status();
  };
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    if (!(args.outputs[o] == out) || p.outputs[o].layout != layout) return unsupported("pointwise: unequal outputs");
    WOOTZ_RETURN_IF_ERROR(add(p.outputs[o], out));
  }
  for (size_t i = 0; i < p.inputs.size(); ++i) WOOTZ_RETURN_IF_ERROR(add(p.inputs[i], args.inputs[i]));
  for (const int a : memory_order(out.rank() < 3 ? Layout::kLinear : layout, out.rank())) {
    Axis axis{out[static_cast<size_t>(a)], {}};
    for (const auto& s : strides) axis.strides.push_back(s[static_cast<size_t>(a)]);
    walk.axes.push_back(std::move(axis));
  }
  walk.axes = merge_axes(std::move(walk.axes));
  return walk;
}

// Inputs, read(), compute(), Outputs and write() of pointwise/vectors.cuh. `shared[i]`: a vector has one element of
// operand i.
Status write_expression_parts(const Problem& p, const std::vector<bool>& shared, KernelSource* source) {
  std::string members, reads;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const char *stored = storage_type(p.inputs[i].dtype), *type = register_type(p.inputs[i].dtype);
    members += shared[i] ? fmt::format("  {} x{};\n", type, i) : fmt::format("  Pack<{}, kVector> x{};\n", stored, i);
    reads += shared[i] ? fmt::format("  in.x{0} = w_get(p.x{0}[at.x{0}]);\n", i)
                       : fmt::format("  in.x{0} = *(const Pack<{1}, kVector>*)(p.x{0} + at.x{0});\n", i, stored);
    inputs.push_back(shared[i] ? fmt::format("in.x{}", i) : fmt::format("w_get(in.x{}.v[k])", i));
  }
  source->code("struct Inputs {\n" + members + "};\n");
  source->code("W_FN Inputs read(const Operands& p, const At& at) {\n  Inputs in;\n" + reads + "  return in;\n}\n");
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(p.epilogue, inputs));
  std::string packs, values, writes;
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    const char* stored = storage_type(p.outputs[o].dtype);
    packs += fmt::format("  Pack<{}, kVector> y{};\n", stored, o);
    values += fmt::format("  out->y{}.v[k] = Put<{}>::to({});\n", o, stored, text.results[o]);
    writes += fmt::format("  *(Pack<{1}, kVector>*)(p.y{0} + at.y{0}) = out.y{0};\n", o, stored);
  }
  source->code("struct Outputs {\n" + packs + "};\n");
  source->code("W_FN void compute(const Inputs& in, int k, Outputs* out) {\n" + text.lines + values + "}\n");
  source->code("W_FN void write(const Operands& p, const At& at, const Outputs& out) {\n" + writes + "}\n");
  return Status();
}

// n elements a thread.
Status write_vectors(const Problem& p, bool arguments, std::vector<Axis> axes, int n, int64_t count,
                     std::vector<Launch>* launches) {
  std::vector<bool> shared(p.inputs.size(), true);
  if (n > 1) {
    count_in_vectors(n, &axes);
    for (size_t i = 0; i < p.inputs.size(); ++i) shared[i] = axes.back().strides[p.outputs.size() + i] == 0;
  }
  KernelSource source("pointwise/vectors.cuh", arguments);
  source.fixed("kThreads", kBlock);
  source.fixed("kVector", n);
  source.number("count", count / n);
  std::vector<std::string> names;
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    names.push_back(fmt::format("y{}", o));
    source.operand(fmt::format("{}* __restrict__", storage_type(p.outputs[o].dtype)), names.back(),
                   {true, static_cast<int>(o)});
  }
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    names.push_back(fmt::format("x{}", i));
    source.operand(fmt::format("const {}*", storage_type(p.inputs[i].dtype)), names.back(),
                   {false, static_cast<int>(i)});
  }
  source.walk("At", "at", axes, names);
  WOOTZ_RETURN_IF_ERROR(write_expression_parts(p, shared, &source));
  return source.finish(kBlock, blocks_for(count / n, kBlock), launches);
}

}  // namespace

Status generate_pointwise(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.num_main != 0 || p.outputs.empty() || p.epilogue.outputs.size() != p.outputs.size())
    return invalid_argument("pointwise: {} results of {}", p.epilogue.outputs.size(), p.outputs.size());
  if (p.epilogue.num_inputs > p.inputs.size())
    return invalid_argument("pointwise: {} operands of {}", p.inputs.size(), p.epilogue.num_inputs);
  WOOTZ_ASSIGN_OR_RETURN(Walk walk, plan_walk(p, args));
  const int64_t count = args.outputs[0].volume();
  if (count == 0) return Status();
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  const bool arguments = transient(p, args);
  if (any_few_bits(p)) return add_pointwise_of_few_bits(p, arguments, std::move(walk.axes), count, launches);
  const int n = vector_length(walk.axes, walk.largest);
  return write_vectors(p, arguments, std::move(walk.axes), n, count, launches);
}

}  // namespace wootz::cuda
