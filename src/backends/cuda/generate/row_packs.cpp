// Family norm for rows whose elements are neighbours in all operands, a pack of them at once by a thread, which keeps
// its own in registers.
#include "backends/cuda/generate/row_packs.h"

#include <algorithm>

#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

constexpr int kMostKept = 32;       // elements that a thread keeps
constexpr int kMostThreads = 1024;  // of a row
constexpr int64_t kFewRows = 64;    // so few that threads should rather have less to do
constexpr int64_t kMultiprocessors = 132;

Status check_operands(const Problem& p) {
  const auto& params = p.as<NormParams>();
  const auto main = static_cast<size_t>(std::max(p.num_main, 0));
  if (main < 1 || main > 3 || p.inputs.size() < main || p.outputs.empty() || p.outputs.size() > 2 ||
      params.has_scale != (main > 1) || params.has_bias != (main > 2))
    return invalid_argument("norm of {} operands with {} results", p.num_main, p.outputs.size());
  if (p.outputs.size() > 1 && p.epilogue.empty()) return invalid_argument("norm: two results of one value");
  const DType type = p.inputs[0].dtype;
  if (!is_model_float(type)) return unsupported("norm of {} in packs", dtype_name(type));
  for (size_t i = 0; i < main; ++i) WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[i].dtype));
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  for (const TensorDesc& t : p.outputs)
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  return check_epilogue(p, type);
}

Status check_extents(const Problem& p, const BindArgs& args, RowPlan* plan) {
  const auto& params = p.as<NormParams>();
  const Dims& x = args.inputs[0];
  for (const Dims& y : args.outputs)
    if (!(x == y)) return invalid_argument("norm of {} gives {}", x.to_string(), y.to_string());
  if (params.kind != NormKind::kLayer && params.kind != NormKind::kRms && params.kind != NormKind::kL2)
    return unsupported("norm: channels are no neighbours");
  if (params.axis < 0 || params.axis >= x.rank())
    return invalid_argument("norm: axis {} of {}", params.axis, x.to_string());
  plan->rows = volume_of(x, 0, static_cast<size_t>(params.axis));
  plan->length = volume_of(x, static_cast<size_t>(params.axis), x.size());
  for (size_t i = 1; i < static_cast<size_t>(p.num_main); ++i)
    if (args.inputs[i].volume() != plan->length)
      return unsupported("norm: a parameter of shape {} for rows of {}", args.inputs[i].to_string(), plan->length);
  return Status();
}

// The most elements for which every operand is read and written in whole packs.
int longest_pack(int largest, const RowPlan& plan) {
  for (int n = std::max(1, 16 / largest); n > 1; n /= 2)
    if (plan.length % n == 0 && walks_vectors(plan.axes, n)) return n;
  return 1;
}

Status share(const char* what, RowPlan* plan) {
  const int64_t most = plan->rows < kFewRows ? 1 : kMostKept / plan->vector;
  while (plan->threads * (plan->threads < 32 ? 1 : most) < plan->packs && plan->threads < kMostThreads)
    plan->threads *= 2;
  const int64_t kept = (plan->packs + plan->threads - 1) / plan->threads;
  if (kept * plan->vector > kMostKept) return unsupported("{}: rows of {}", what, plan->length);
  plan->kept = static_cast<int>(kept);
  plan->rows_of_block = std::max(1, 128 / plan->threads);
  while (plan->rows_of_block > 1 && plan->threads * plan->rows_of_block > 32 &&
         plan->rows < plan->rows_of_block * kMultiprocessors)
    plan->rows_of_block /= 2;
  return Status();
}

Result<RowPlan> plan_rows(const Problem& p, const BindArgs& args) {
  RowPlan plan;
  WOOTZ_RETURN_IF_ERROR(check_operands(p));
  WOOTZ_RETURN_IF_ERROR(check_extents(p, args, &plan));
  const auto main = static_cast<size_t>(p.num_main);
  int largest = std::max(dtype_bits(p.inputs[0].dtype), dtype_bits(p.outputs[0].dtype)) / 8;
  for (size_t i = main; i < p.inputs.size(); ++i) largest = std::max(largest, dtype_bits(p.inputs[i].dtype) / 8);
  WOOTZ_RETURN_IF_ERROR(plan_packs("norm in packs", p, args, main, 1, largest, &plan));
  return plan;
}

// store(): the expression's results, each in one piece.
Status add_store(const Problem& p, const RowPlan& plan, KernelSource* source) {
  const VectorReads reads = vector_reads(p, static_cast<size_t>(p.num_main), plan.axes, plan.names, 0, "at_i");
  std::vector<std::string> inputs{"x.v[k]"};
  inputs.insert(inputs.end(), reads.inputs.begin(), reads.inputs.end());
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(p.epilogue, inputs));
  std::string packs, values, stores;
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    const char* stored = storage_type(p.outputs[o].dtype);
    packs += fmt::format("  Pack<{}, kVector> z{};\n", stored, o);
    values += fmt::format("  z{}.v[k] = Put<{}>::to({});\n", o, stored, text.results[o]);
    stores += fmt::format("  *(Pack<{}, kVector>*)(p.y{} + i * kVector) = z{};\n", stored, o, o);
  }
  source->code(fmt::format(
      "W_FN void store(const Operands& p, const Constants& c, s64 i, const Values& x) {{\n  const At at_i = at(c, i);\n"
      "{}{}#pragma unroll\n  for (int k = 0; k < kVector; ++k) {{\n{}{}  }}\n{}}}\n",
      reads.lines, packs, text.lines, values, stores));
  return Status();
}

// The operands; y may be x.
void add_operands(const Problem& p, KernelSource* source) {
  for (size_t o = 0; o < p.outputs.size(); ++o)
    source->operand(fmt::format("{}*", storage_type(p.outputs[o].dtype)), fmt::format("y{}", o),
                    {true, static_cast<int>(o)});
  source->operand("const X*", "x", {false, 0});
  source->epilogue_operands(p);
}

}  // namespace

Status plan_packs(const char* what, const Problem& p, const BindArgs& args, size_t input, size_t number, int largest,
                  RowPlan* plan) {
  const Dims& y = args.outputs[0];
  for (const int64_t extent : y) plan->axes.push_back({extent, {}});
  for (size_t i = input; i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, strides_over(Layout::kLinear, args.inputs[i], y));
    for (size_t d = 0; d < plan->axes.size(); ++d) plan->axes[d].strides.push_back(strides[d]);
    plan->names.push_back(fmt::format("e{}", i - input + number));
  }
  if (plan->empty()) return Status();
  plan->axes = merge_axes(std::move(plan->axes));
  plan->vector = longest_pack(largest, *plan);
  count_in_vectors(plan->vector, &plan->axes);
  plan->packs = plan->length / plan->vector;
  return share(what, plan);
}

void add_row_packs(const RowPlan& plan, KernelSource* source) {
  source->type("A", "float");
  source->fixed("kRows", plan.rows_of_block);
  source->fixed("kRowThreads", plan.threads);
  source->fixed("kPacks", plan.kept);
  source->fixed("kVector", plan.vector);
  source->number("count", plan.rows);
  source->number("length", plan.length);
  source->number("packs", plan.packs);
  source->code("struct Values {\n  A v[kVector];\n};\n");
  source->walk("At", "at", plan.axes, plan.names);
}

void add_row_parameters(const Problem& p, int scale, int bias, KernelSource* source) {
  std::string members, reads, value = "f";
  const auto add = [&](int input, const char* name, const char* operation) {
    if (input < 0) return;
    const std::string type = storage_type(p.inputs[static_cast<size_t>(input)].dtype);
    source->operand(fmt::format("const {}*", type), fmt::format("row_{}", name), {false, input});
    members += fmt::format("  Pack<{}, kVector> {};\n", type, name);
    reads += fmt::format("  of.{0} = *(const Pack<{1}, kVector>*)(p.row_{0} + (s64)pack * kVector);\n", name, type);
    value = fmt::format("{} {} (A)w_get(of.{}.v[k])", value, operation, name);
  };
  add(scale, "scale", "*");
  add(bias, "bias", "+");
  source->code(fmt::format("struct Parameters {{\n{}}};\n", members));
  source->code(fmt::format(
      "W_FN Parameters parameters(const Operands& p, int pack) {{\n  Parameters of{{}};\n{}  return of;\n}}\n", reads));
  source->code(fmt::format("W_FN A scaled(const Parameters& of, int k, A f) {{\n  return {};\n}}\n", value));
}

Status generate_norm_packs(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const RowPlan plan, plan_rows(p, args));
  if (plan.empty()) return Status();
  WOOTZ_RETURN_IF_ERROR(check_count(plan.rows));
  const auto& params = p.as<NormParams>();
  KernelSource source("norm/packs.cuh", transient(p, args));
  source.type("X", storage_type(p.inputs[0].dtype));
  add_row_packs(plan, &source);
  source.fixed("kCentered", params.kind == NormKind::kLayer);
  source.fixed("kToLength", params.kind == NormKind::kL2);
  source.fixed_real("kEpsilon", params.epsilon);
  add_operands(p, &source);
  add_row_parameters(p, p.num_main > 1 ? 1 : -1, p.num_main > 2 ? 2 : -1, &source);
  WOOTZ_RETURN_IF_ERROR(add_store(p, plan, &source));
  return source.finish(plan.rows_of_block * plan.threads, blocks_for(plan.rows, plan.rows_of_block), launches);
}

}  // namespace wootz::cuda
