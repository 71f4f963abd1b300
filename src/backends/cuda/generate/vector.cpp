// Products of a few rows with a matrix: classifiers at batch 1, the two products of squeeze-excite, convolutions of a
// single pixel. The matrix is read once, 16 bytes a thread; a group of threads shares each column of the result.
#include <algorithm>

#include "backend/quantized.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMostRows = 8;
constexpr int kVectorBlock = 128;

// y[r, m] = sum over k of x[r, k] * w[m, k].
struct VectorProduct {
  int64_t rows = 1, columns = 1, depth = 1;
  double alpha = 1;
  std::vector<int64_t> bias;                   // strides along row and column
  std::vector<std::vector<int64_t>> operands;  // of the epilogue, likewise
};

bool ready(const Problem& p) {
  return p.inputs.size() >= 2 && p.outputs.size() == 1 && p.num_main >= 2 && p.num_main == (has_bias(p) ? 3 : 2);
}

Result<VectorProduct> as_convolution(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  if (!is_plain(p.inputs[0].layout) || !is_plain(p.outputs[0].layout)) return unsupported("packed images");
  if (x.rank() < 3 || f.rank() != x.rank() || y.rank() != x.rank() || x[0] != y[0])
    return unsupported("{} by {}", x.to_string(), f.to_string());
  for (size_t a = 2; a < x.size(); ++a)
    if (x[a] != 1 || f[a] != 1 || y[a] != 1) return unsupported("more than a pixel");
  for (const int64_t pad : p.as<ConvParams>().pads)
    if (pad != 0) return unsupported("padding");
  if (p.as<ConvParams>().transposed || p.as<ConvParams>().groups != 1 || !p.as<ConvParams>().x_scale.empty())
    return unsupported("this convolution");
  if (f[1] != x[1] || f[0] != y[1]) return invalid_argument("weights {} for {}", f.to_string(), x.to_string());
  VectorProduct v{x[0], y[1], x[1], 1, {}, {}};
  if (p.num_main == 3) {
    if (args.inputs[2].volume() != y[1]) return invalid_argument("a bias of {}", args.inputs[2].to_string());
    v.bias = {0, 1};
  }
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], y));
    v.operands.push_back({s[0], s[1]});
  }
  return v;
}

Result<VectorProduct> as_product(const Problem& p, const BindArgs& args) {
  const Dims &a = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  if (a.rank() < 2 || b.rank() != 2 || y.rank() != a.rank() || p.as<GemmParams>().trans_a ||
      !p.as<GemmParams>().x_scale.empty())
    return unsupported("{} by {}", a.to_string(), b.to_string());
  for (const TensorDesc& t : p.inputs)
    if (!t.constant && t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.outputs[0].layout));
  const bool transposed = p.as<GemmParams>().trans_b;
  if (!transposed && !p.inputs[1].constant) return unsupported("a matrix that is neither transposed nor constant");
  const int64_t k = a.back(), n = transposed ? b[0] : b[1];
  if (b[transposed ? 1 : 0] != k || y.back() != n) return invalid_argument("{} by {}", a.to_string(), b.to_string());
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < a.size(); ++i) {
    if (a[i] != y[i]) return invalid_argument("{} gives {}", a.to_string(), y.to_string());
    rows *= a[i];
  }
  VectorProduct v{rows, n, k, p.as<GemmParams>().alpha, {}, {}};
  for (size_t i = 2; i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], y));
    // Rows of several axes walk as one when all of them do.
    std::vector<Axis> axes;
    for (size_t d = 0; d + 1 < y.size(); ++d) axes.push_back({y[d], {s[d]}});
    axes = merge_axes(std::move(axes));
    if (axes.size() > 1) return unsupported("an operand of shape {}", args.inputs[i].to_string());
    const std::vector<int64_t> over{axes.empty() ? 0 : axes[0].strides[0], s.back()};
    if (i < static_cast<size_t>(p.num_main))
      v.bias = over;
    else
      v.operands.push_back(over);
  }
  return v;
}

// What gemm/vector.cuh asks for.
Status add_product(const Problem& p, bool arguments, const VectorProduct& v, std::vector<Launch>* launches) {
  const DType type = p.inputs[0].dtype;
  const bool bias = p.num_main == 3;
  int64_t wide = type == DType::kF32 ? 4 : 8;
  while (v.depth % wide != 0) wide /= 2;
  const int64_t packs = v.depth / wide;
  // A warp a column, or as many threads as there are packs; more when there are few columns.
  int64_t group = 1;
  while (group < packs && group < (v.columns < 512 ? kVectorBlock : 32)) group *= 2;
  KernelSource source("gemm/vector.cuh", arguments);
  source.type("X", storage_type(type));
  source.fixed("kThreads", kVectorBlock);
  source.fixed("kRows", v.rows);
  source.fixed("kVector", wide);
  source.fixed("kGroup", group);
  source.fixed_real("kAlpha", v.alpha);
  source.operand(fmt::format("{}* __restrict__", storage_type(p.outputs[0].dtype)), "y", {true, 0});
  source.operand("const X*", "x", {false, 0});
  source.operand("const X*", "f", {false, 1});
  if (bias) source.operand(fmt::format("const {}*", storage_type(p.inputs[2].dtype)), "b", {false, 2});
  source.epilogue_operands(p);
  source.number("columns", v.columns);
  source.number("depth", v.depth);
  source.number("packs", packs);
  const auto offset = [&](const std::string& name, const std::vector<int64_t>& strides) {
    source.number(name + "_row", strides[0]);
    source.number(name + "_column", strides[1]);
    return fmt::format("r * c.{0}_row + m * c.{0}_column", name);
  };
  source.code(fmt::format(
      "W_FN float plus_bias(const Operands& p, const Constants& c, float s, int r, int m) {{ return s{}; }}\n",
      bias ? fmt::format(" + (float)w_get(p.b[{}])", offset("b", v.bias)) : ""));
  std::vector<std::string> offsets;
  for (const std::vector<int64_t>& strides : v.operands)
    offsets.push_back(offset(fmt::format("e{}", offsets.size() + 1), strides));
  WOOTZ_RETURN_IF_ERROR(source.epilogue(p, type, "int r, int m", offsets));
  return source.finish(kVectorBlock, blocks_for(v.columns, kVectorBlock / group), launches);
}

}  // namespace

Status generate_vector_product(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (!ready(p)) return invalid_argument("product of {} operands", p.num_main);
  const DType type = p.inputs[0].dtype;
  if (!is_model_float(type) || p.inputs[1].dtype != type)
    return unsupported("{} by {}", dtype_name(type), dtype_name(p.inputs[1].dtype));
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, type));
  if (p.num_main == 3) WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[2].dtype));
  WOOTZ_ASSIGN_OR_RETURN(const VectorProduct v, p.is(Family::kConv) ? as_convolution(p, args) : as_product(p, args));
  if (v.rows > kMostRows) return unsupported("{} rows", v.rows);
  if (v.columns * v.depth >= (int64_t{1} << 31)) return unsupported("a matrix of {} elements", v.columns * v.depth);
  if (args.outputs[0].volume() == 0) return Status();
  if (v.depth == 0) return unsupported("a sum of nothing");
  return add_product(p, transient(p, args), v, launches);
}

// A product's matrix lies by columns.
Result<std::optional<PackedForm>> pack_columns(const Problem& p, int input, const HostTensor& source) {
  if (input != 1 || p.family() != Family::kGemm || p.as<GemmParams>().trans_b) return std::optional<PackedForm>{};
  return std::optional(transposed_form(source, source.dims()[0], source.dims()[1]));
}

}  // namespace wootz::cuda
