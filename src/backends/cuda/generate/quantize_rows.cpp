// Family quantize_rows: the threads of a row keep it in registers, a pack of neighbours at once.
#include "backend/quantize_rows.h"

#include <algorithm>

#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/row_packs.h"

namespace wootz::cuda {
namespace {

constexpr int kMostKept = 32;       // elements that a thread keeps
constexpr int kMostThreads = 1024;  // of a row
constexpr int64_t kFewRows = 64;    // so few that threads should rather have less to do
constexpr int64_t kMultiprocessors = 132;

struct Plan {
  RowOperands operands;
  std::vector<Axis> axes;          // of the result, with strides of what the expression reads
  std::vector<std::string> names;  // of these
  int64_t rows = 1, length = 1, packs = 1;
  int vector = 1, threads = 1, kept = 1, rows_of_block = 1;  // threads of a row; packs that each has
  bool normalizes = false;
};

// The first input that the expression's walk has.
int first_walked(const Plan& plan) { return plan.operands.first + (plan.normalizes ? 1 : 0); }

// The most elements for which every operand is read and written in whole packs.
int longest_pack(const Problem& p, const Plan& plan) {
  int largest = 4;
  for (const TensorDesc& t : p.inputs) largest = std::max(largest, dtype_bits(t.dtype) / 8);
  if (std::all_of(p.inputs.begin(), p.inputs.end(), [](const TensorDesc& t) { return dtype_bits(t.dtype) <= 16; }))
    largest = 2;
  for (int n = std::max(1, 16 / largest); n > 1; n /= 2)
    if (plan.length % n == 0 && walks_vectors(plan.axes, n)) return n;
  return 1;
}

Status share(Plan* plan) {
  const int64_t most = plan->rows < kFewRows ? 1 : kMostKept / plan->vector;
  while (plan->threads * (plan->threads < 32 ? 1 : most) < plan->packs && plan->threads < kMostThreads)
    plan->threads *= 2;
  const int64_t kept = (plan->packs + plan->threads - 1) / plan->threads;
  if (kept * plan->vector > kMostKept) return unsupported("quantize_rows: rows of {}", plan->length);
  plan->kept = static_cast<int>(kept);
  plan->rows_of_block = std::max(1, 128 / plan->threads);
  while (plan->rows_of_block > 1 && plan->threads * plan->rows_of_block > 32 &&
         plan->rows < plan->rows_of_block * kMultiprocessors)
    plan->rows_of_block /= 2;
  return Status();
}

Result<Plan> plan_rows(const Problem& p, const BindArgs& args) {
  Plan plan;
  WOOTZ_RETURN_IF_ERROR(check_row_extents(p, args.inputs, args.outputs));
  WOOTZ_ASSIGN_OR_RETURN(plan.operands, row_operands(p));
  plan.normalizes = p.as<QuantizeRowsParams>().normalizes;
  for (const TensorDesc& t : p.inputs) WOOTZ_RETURN_IF_ERROR(check_type(t.dtype));
  WOOTZ_RETURN_IF_ERROR(check_type(p.outputs[0].dtype));
  const Dims& y = args.outputs[0];
  for (const int64_t extent : y) plan.axes.push_back({extent, {}});
  for (auto i = static_cast<size_t>(first_walked(plan)); i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, strides_over(Layout::kLinear, args.inputs[i], y));
    for (size_t d = 0; d < plan.axes.size(); ++d) plan.axes[d].strides.push_back(strides[d]);
    plan.names.push_back(fmt::format("e{}", plan.names.size()));
  }
  plan.length = y.back();
  plan.rows = args.outputs[1].volume();
  if (plan.rows * plan.length == 0) return plan;
  plan.axes = merge_axes(std::move(plan.axes));
  plan.vector = longest_pack(p, plan);
  count_in_vectors(plan.vector, &plan.axes);
  plan.packs = plan.length / plan.vector;
  WOOTZ_RETURN_IF_ERROR(share(&plan));
  return plan;
}

// Values `name`(p, c, i, ...): the expression's result, rounded as a step of its own would store it.
Status add_rows(const Problem& p, const Plan& plan, KernelSource* source) {
  const VectorReads reads = vector_reads(p, static_cast<size_t>(first_walked(plan)), plan.axes, plan.names, 0, "at_i");
  std::vector<std::string> inputs;
  if (plan.normalizes) inputs.emplace_back("x.v[k]");
  inputs.insert(inputs.end(), reads.inputs.begin(), reads.inputs.end());
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(p.as<QuantizeRowsParams>().value, inputs));
  source->code(fmt::format(
      "W_FN Values {}(const Operands& p, const Constants& c, s64 i{}) {{\n  const At at_i = at(c, i);\n{}  Values z;\n"
      "#pragma unroll\n  for (int k = 0; k < kVector; ++k) {{\n{}  z.v[k] = (A)w_get(Put<{}>::to({}));\n  }}\n"
      "  return z;\n}}\n",
      plan.normalizes ? "rows" : "given", plan.normalizes ? ", const Values& x" : "", reads.lines, text.lines,
      storage_type(plan.operands.type), text.results[0]));
  return Status();
}

void add_given(KernelSource* source) {
  source->code(
      "W_FN Values given(const Operands& p, const Constants&, s64 i) {\n"
      "  const Pack<X, kVector> x = *(const Pack<X, kVector>*)(p.x + i * kVector);\n  Values v;\n"
      "#pragma unroll\n  for (int k = 0; k < kVector; ++k) v.v[k] = (A)w_get(x.v[k]);\n  return v;\n}\n");
}

// scale_of(), store_scale() and store().
Status add_results(const Problem& p, const Plan& plan, KernelSource* source) {
  const auto& params = p.as<QuantizeRowsParams>();
  const DType to = p.outputs[0].dtype;
  PointwiseExpr e;
  const uint16_t x = e.input(0, DType::kF32), by = e.input(1, DType::kF32);
  e.outputs = {is_integer(to) ? e.push(PwOp::kQuantize, to, x, by, e.constant(0, DType::kF32))
                              : e.push(PwOp::kCastSaturate, to, e.push(PwOp::kDiv, DType::kF32, x, by))};
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(e, {"(x.v[k] * up)", "by"}));
  source->fixed_real("kDivisor", params.divisor);
  source->fixed_real("kFactor", params.factor);
  source->fixed_real("kLeast", params.least);
  source->fixed_real("kEmpty", params.empty);
  source->code(
      "W_FN float scale_of(float most) {\n"
      "  const float s = kFactor > 0 ? most * (float)kFactor : most / (float)kDivisor;\n"
      "  return s < (float)kLeast ? (float)kLeast : s;\n}\n"
      "W_FN void store_scale(const Operands& p, s64 row, float s) {\n"
      "  p.scales[row] = s == 0.0f ? (float)kEmpty : s;\n}\n");
  std::string pack, value, store;
  if (p.outputs.size() > 2) {
    const char* stored = storage_type(plan.operands.type);
    pack = fmt::format("  Pack<{}, kVector> z;\n", stored);
    value = fmt::format("  z.v[k] = Put<{}>::to(x.v[k]);\n", stored);
    store = fmt::format("  *(Pack<{}, kVector>*)(p.z + i * kVector) = z;\n", stored);
  }
  source->code(
      fmt::format("W_FN void store(const Operands& p, const Constants&, s64 i, const Values& x, float s) {{\n"
                  "  const float up = s < 0x1p-100f ? 0x1p64f : 1.0f, by = s == 0.0f ? 1.0f : s * up;\n  Pack<Y, "
                  "kVector> y;\n{}#pragma unroll\n"
                  "  for (int k = 0; k < kVector; ++k) {{\n{}  y.v[k] = Put<Y>::to({});\n{}  }}\n"
                  "  *(Pack<Y, kVector>*)(p.y + i * kVector) = y;\n{}}}\n",
                  pack, text.lines, text.results[0], value, store));
  return Status();
}

void add_operands(const Problem& p, const Plan& plan, KernelSource* source) {
  source->operand("Y*", "y", {true, 0});
  source->operand("float*", "scales", {true, 1});
  if (p.outputs.size() > 2) source->operand(fmt::format("{}*", storage_type(plan.operands.type)), "z", {true, 2});
  if (plan.normalizes) source->operand("const X*", "x", {false, 0});
  for (size_t k = 0; k < plan.names.size(); ++k) {
    const int input = first_walked(plan) + static_cast<int>(k);
    source->operand(fmt::format("const {}*", storage_type(p.inputs[static_cast<size_t>(input)].dtype)), plan.names[k],
                    {false, input});
  }
}

}  // namespace

Status generate_quantize_rows(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Plan plan, plan_rows(p, args));
  if (plan.rows * plan.length == 0) return Status();
  WOOTZ_RETURN_IF_ERROR(check_count(plan.rows));
  const auto& params = p.as<QuantizeRowsParams>();
  KernelSource source("norm/quantize_rows.cuh", transient(p, args));
  source.type("X", storage_type(p.inputs[0].dtype));
  source.type("Y", storage_type(p.outputs[0].dtype));
  source.type("A", "float");
  source.fixed("kRows", plan.rows_of_block);
  source.fixed("kRowThreads", plan.threads);
  source.fixed("kPacks", plan.kept);
  source.fixed("kVector", plan.vector);
  source.fixed("kNormalizes", plan.normalizes);
  source.fixed("kCentered", params.centered);
  source.fixed("kToLength", 0);
  source.fixed_real("kEpsilon", params.epsilon);
  source.number("count", plan.rows);
  source.number("length", plan.length);
  source.number("packs", plan.packs);
  add_operands(p, plan, &source);
  source.code("struct Values {\n  A v[kVector];\n};\n");
  source.walk("At", "at", plan.axes, plan.names);
  add_row_parameters(p, plan.operands.scale, plan.operands.bias, &source);
  if (plan.normalizes)
    add_given(&source);
  else
    source.code("W_FN Values rows(const Operands&, const Constants&, s64, const Values& x) {\n  return x;\n}\n");
  WOOTZ_RETURN_IF_ERROR(add_rows(p, plan, &source));
  WOOTZ_RETURN_IF_ERROR(add_results(p, plan, &source));
  return source.finish(plan.rows_of_block * plan.threads, blocks_for(plan.rows, plan.rows_of_block), launches);
}

}  // namespace wootz::cuda
