// Family embedding: the threads of a row gather it from all tables, add up and normalize it in registers.
#include "backend/embedding.h"

#include <algorithm>

#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/row_packs.h"

namespace wootz::cuda {
namespace {

constexpr int kMostKept = 64;  // elements that a thread keeps

struct Plan {
  EmbeddingOperands operands;
  std::vector<Axis> axes;          // of the result, with strides of what is added, then of what the expression reads
  std::vector<std::string> names;  // of these
  int64_t rows = 1, length = 1, packs = 1;
  int vector = 1, threads = 1, kept = 1;  // of a row; packs that each has
  int rows_of_block() const { return std::max(1, 128 / threads); }
};

Status check_operands(const Problem& p, const EmbeddingOperands& o) {
  const DType type = p.inputs[0].dtype;
  if (!is_float(type)) return unsupported("embedding of {}", dtype_name(type));
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const TensorDesc& t = p.inputs[i];
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
    const bool index = i < static_cast<size_t>(o.first_added()) && i % 2 == 1;
    if (index && t.dtype != DType::kI32 && t.dtype != DType::kI64)
      return unsupported("indices of {}", dtype_name(t.dtype));
    if (!index) WOOTZ_RETURN_IF_ERROR(check_type(t.dtype));
    if (!index && i < static_cast<size_t>(o.first_added()) && t.dtype != type) return unsupported("unlike tables");
  }
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  return Status();
}

// Tables, indices, scale and bias: that each row of the result has its index, and all rows are of one length.
Status check_extents(const EmbeddingOperands& o, const BindArgs& args) {
  const Dims& y = args.outputs[0];
  if (y.rank() < 1) return invalid_argument("embedding gives a scalar");
  const auto fits = [&](size_t table) {
    const Dims &x = args.inputs[2 * table], &index = args.inputs[2 * table + 1];
    return x.rank() == 2 && x[1] == y.back() && index.rank() + 1 == y.rank() &&
           std::equal(index.begin(), index.end(), y.begin());
  };
  for (size_t t = 0; t < static_cast<size_t>(o.tables); ++t)
    if (!fits(t))
      return invalid_argument("embedding: {} by {} with {}", args.inputs[2 * t].to_string(),
                              args.inputs[2 * t + 1].to_string(), y.to_string());
  for (const int i : {o.scale, o.bias})
    if (i >= 0 && args.inputs[static_cast<size_t>(i)].volume() != y.back())
      return unsupported("embedding: a parameter of shape {}", args.inputs[static_cast<size_t>(i)].to_string());
  return Status();
}

int largest_bytes(const Problem& p, const EmbeddingOperands& o) {
  int largest = dtype_bits(p.outputs[0].dtype) / 8;
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (i >= static_cast<size_t>(o.first_added()) || i % 2 == 0)
      largest = std::max(largest, dtype_bits(p.inputs[i].dtype) / 8);
  return largest;
}

Result<Plan> plan_rows(const Problem& p, const BindArgs& args) {
  Plan plan;
  WOOTZ_ASSIGN_OR_RETURN(plan.operands, embedding_operands(p));
  const EmbeddingOperands& o = plan.operands;
  WOOTZ_RETURN_IF_ERROR(check_operands(p, o));
  WOOTZ_RETURN_IF_ERROR(check_extents(o, args));
  const Dims& y = args.outputs[0];
  for (const int64_t extent : y) plan.axes.push_back({extent, {}});
  const auto add = [&](int input, std::string name) -> Status {
    const auto i = static_cast<size_t>(input);
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, strides_over(Layout::kLinear, args.inputs[i], y));
    for (size_t d = 0; d < plan.axes.size(); ++d) plan.axes[d].strides.push_back(strides[d]);
    plan.names.push_back(std::move(name));
    return Status();
  };
  for (int k = 0; k < o.added; ++k) WOOTZ_RETURN_IF_ERROR(add(o.first_added() + k, fmt::format("a{}", k)));
  for (int i = p.num_main; i < static_cast<int>(p.inputs.size()); ++i)
    WOOTZ_RETURN_IF_ERROR(add(i, fmt::format("e{}", i - p.num_main + 1)));
  plan.axes = merge_axes(std::move(plan.axes));
  plan.length = y.back();
  plan.rows = plan.length == 0 ? 0 : y.volume() / plan.length;
  plan.vector = vector_length(plan.axes, largest_bytes(p, o));
  while (plan.length % plan.vector != 0) plan.vector /= 2;
  count_in_vectors(plan.vector, &plan.axes);
  plan.packs = plan.length / plan.vector;
  while (plan.threads < plan.packs && plan.threads < 256) plan.threads *= 2;
  const int64_t kept = (plan.packs + plan.threads - 1) / plan.threads;
  if (kept * plan.vector > kMostKept) return unsupported("embedding: rows of {}", plan.length);
  plan.kept = static_cast<int>(kept);
  return plan;
}

void add_tables(const Problem& p, const BindArgs& args, const Plan& plan, KernelSource* source) {
  std::vector<std::string> indices;
  std::vector<int64_t> extents;
  for (int t = 0; t < plan.operands.tables; ++t) {
    const auto u = static_cast<size_t>(2 * t);
    source->operand("const X*", fmt::format("t{}", t), {false, 2 * t});
    source->operand(fmt::format("const {}*", register_type(p.inputs[u + 1].dtype)), fmt::format("i{}", t),
                    {false, 2 * t + 1});
    indices.push_back(fmt::format("(s64)p.i{}[row]", t));
    extents.push_back(args.inputs[u][0]);
  }
  source->pick("s64 index(const Operands& p, int k, s64 row)", indices);
  source->list("extent", extents);
}

// Values and sum(), rounded as a step of its own would.
Status add_sum(const Problem& p, const Plan& plan, KernelSource* source) {
  const EmbeddingOperands& o = plan.operands;
  const PointwiseExpr& sum = p.as<EmbeddingParams>().sum;
  std::string lines;
  std::vector<std::string> inputs;
  for (int t = 0; t < o.tables; ++t) {
    lines += fmt::format("  Pack<X, kVector> x{}{{}};\n", t);
    lines += fmt::format(
        "  if (begin[{0}] >= 0) x{0} = *(const Pack<X, kVector>*)(p.t{0} + (begin[{0}] + pack) * kVector);\n", t);
    inputs.push_back(fmt::format("w_get(x{}.v[k])", t));
  }
  const std::vector<std::string> added(plan.names.begin(), plan.names.begin() + o.added);
  const VectorReads reads = vector_reads(p, static_cast<size_t>(o.first_added()), plan.axes, added, 0, "at_i");
  inputs.insert(inputs.end(), reads.inputs.begin(), reads.inputs.end());
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionText text, expression_text(sum, inputs));
  const char* stored = storage_type(sum.empty() ? p.inputs[0].dtype : sum.output_type());
  source->code("struct Values {\n  A v[kVector];\n};\n");
  source->code(fmt::format(
      "W_FN Values sum(const Operands& p, const Constants& c, const s64* begin, s64 i, int pack) {{\n{}"
      "  const At at_i = at(c, i);\n{}  Values z;\n#pragma unroll\n  for (int k = 0; k < kVector; ++k) {{\n{}"
      "  z.v[k] = (A)w_get(Put<{}>::to({}));\n  }}\n  return z;\n}}\n",
      lines, reads.lines, text.lines, stored, text.results[0]));
  return Status();
}

Status add_results(const Problem& p, const Plan& plan, KernelSource* source) {
  source->epilogue_operands(p);
  const auto first = static_cast<size_t>(plan.operands.added);
  const VectorReads reads = vector_reads(p, static_cast<size_t>(p.num_main), plan.axes, plan.names, first, "at_i");
  std::vector<std::string> inputs{"x.v[k]"};
  inputs.insert(inputs.end(), reads.inputs.begin(), reads.inputs.end());
  return source->results(p.epilogue, "s64 i, const Values& x", "  const At at_i = at(c, i);\n" + reads.lines, inputs);
}

}  // namespace

Status generate_embedding(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Plan plan, plan_rows(p, args));
  const PointwiseExpr& sum = p.as<EmbeddingParams>().sum;
  const DType type = sum.empty() ? p.inputs[0].dtype : sum.output_type();
  if (!is_float(type)) return unsupported("an embedding whose sum is {}", dtype_name(type));
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, type));
  if (plan.rows == 0) return Status();
  WOOTZ_RETURN_IF_ERROR(check_count(plan.rows));
  KernelSource source("gather/embedding.cuh", transient(p, args));
  source.type("X", storage_type(p.inputs[0].dtype));
  source.type("Y", storage_type(p.outputs[0].dtype));
  source.type("A", type == DType::kF64 ? "double" : "float");
  source.fixed("kRows", plan.rows_of_block());
  source.fixed("kRowThreads", plan.threads);
  source.fixed("kPacks", plan.kept);
  source.fixed("kVector", plan.vector);
  source.fixed("kTables", plan.operands.tables);
  source.fixed("kCentered", p.as<EmbeddingParams>().centered);
  source.fixed("kToLength", 0);
  source.fixed_real("kEpsilon", p.as<EmbeddingParams>().epsilon);
  source.number("count", plan.rows);
  source.number("length", plan.length);
  source.number("packs", plan.packs);
  source.operand("Y* __restrict__", "y", {true, 0});
  add_tables(p, args, plan, &source);
  for (int k = 0; k < plan.operands.added; ++k) {
    const int input = plan.operands.first_added() + k;
    source.operand(fmt::format("const {}*", storage_type(p.inputs[static_cast<size_t>(input)].dtype)),
                   plan.names[static_cast<size_t>(k)], {false, input});
  }
  source.walk("At", "at", plan.axes, plan.names);
  WOOTZ_RETURN_IF_ERROR(add_sum(p, plan, &source));
  add_row_parameters(p, plan.operands.scale, plan.operands.bias, &source);
  WOOTZ_RETURN_IF_ERROR(add_results(p, plan, &source));
  return source.finish(plan.rows_of_block() * plan.threads, blocks_for(plan.rows, plan.rows_of_block()), launches);
}

}  // namespace wootz::cuda
