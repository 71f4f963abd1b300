// Family quantize_rows: the threads of a row keep it in registers, a pack of neighbours at once.
#include "backend/quantize_rows.h"

#include <algorithm>

#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/row_packs.h"

namespace wootz::cuda {
namespace {

struct Plan {
  RowOperands operands;
  RowPlan packs;
  bool normalizes = false;
};

// The first input that the expression's walk has.
int first_walked(const Plan& plan) { return plan.operands.first + (plan.normalizes ? 1 : 0); }

// Bytes of the widest operand: the results are no wider, but for the scales, which are not in packs.
int largest_bytes(const Problem& p) {
  int bits = 0;
  for (const TensorDesc& t : p.inputs) bits = std::max(bits, dtype_bits(t.dtype));
  return bits <= 16 ? 2 : std::max(4, bits / 8);
}

Result<Plan> plan_rows(const Problem& p, const BindArgs& args) {
  Plan plan;
  WOOTZ_RETURN_IF_ERROR(check_row_extents(p, args.inputs, args.outputs));
  WOOTZ_ASSIGN_OR_RETURN(plan.operands, row_operands(p));
  plan.normalizes = p.as<QuantizeRowsParams>().normalizes;
  for (const TensorDesc& t : p.inputs) WOOTZ_RETURN_IF_ERROR(check_type(t.dtype));
  WOOTZ_RETURN_IF_ERROR(check_type(p.outputs[0].dtype));
  plan.packs.length = args.outputs[0].back();
  plan.packs.rows = args.outputs[1].volume();
  WOOTZ_RETURN_IF_ERROR(
      plan_packs("quantize_rows", p, args, static_cast<size_t>(first_walked(plan)), 0, largest_bytes(p), &plan.packs));
  return plan;
}

// Values `name`(p, c, i, ...): the expression's result, rounded as a step of its own would store it.
Status add_rows(const Problem& p, const Plan& plan, KernelSource* source) {
  const VectorReads reads =
      vector_reads(p, static_cast<size_t>(first_walked(plan)), plan.packs.axes, plan.packs.names, 0, "at_i");
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
  for (size_t k = 0; k < plan.packs.names.size(); ++k) {
    const int input = first_walked(plan) + static_cast<int>(k);
    source->operand(fmt::format("const {}*", storage_type(p.inputs[static_cast<size_t>(input)].dtype)),
                    plan.packs.names[k], {false, input});
  }
}

}  // namespace

Status generate_quantize_rows(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Plan plan, plan_rows(p, args));
  const RowPlan& packs = plan.packs;
  if (packs.empty()) return Status();
  WOOTZ_RETURN_IF_ERROR(check_count(packs.rows));
  const auto& params = p.as<QuantizeRowsParams>();
  KernelSource source("norm/quantize_rows.cuh", transient(p, args));
  source.type("X", storage_type(p.inputs[0].dtype));
  source.type("Y", storage_type(p.outputs[0].dtype));
  add_row_packs(packs, &source);
  source.fixed("kNormalizes", plan.normalizes);
  source.fixed("kCentered", params.centered);
  source.fixed("kToLength", 0);
  source.fixed_real("kEpsilon", params.epsilon);
  add_operands(p, plan, &source);
  add_row_parameters(p, plan.operands.scale, plan.operands.bias, &source);
  if (plan.normalizes)
    add_given(&source);
  else
    source.code("W_FN Values rows(const Operands&, const Constants&, s64, const Values& x) {\n  return x;\n}\n");
  WOOTZ_RETURN_IF_ERROR(add_rows(p, plan, &source));
  WOOTZ_RETURN_IF_ERROR(add_results(p, plan, &source));
  return source.finish(packs.rows_of_block * packs.threads, blocks_for(packs.rows, packs.rows_of_block), launches);
}

}  // namespace wootz::cuda
