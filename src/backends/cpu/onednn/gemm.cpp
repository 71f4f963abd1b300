// The gemm family as oneDNN's matmul. Batches that oneDNN need not know are merged into the rows.
#include "backends/cpu/onednn/dense.h"

namespace wootz::cpu::dnn {
namespace {

struct GemmShape {
  bool trans_a = false, trans_b = false;
  int rank_a = 0, rank_b = 0, rank = 0;
};

Result<GemmShape> read_shape(const Problem& p) {
  GemmShape g;
  g.trans_a = p.as<GemmParams>().trans_a;
  g.trans_b = p.as<GemmParams>().trans_b;
  g.rank_a = p.inputs[0].dims.rank();
  g.rank_b = p.inputs[1].dims.rank();
  g.rank = p.outputs[0].dims.rank();
  if (g.rank_a < 2 || g.rank_b < 2 || g.rank != std::max(g.rank_a, g.rank_b))
    return unsupported("oneDNN: gemm of a {} and b {} to {}", p.inputs[0].dims.to_string(),
                       p.inputs[1].dims.to_string(), p.outputs[0].dims.to_string());
  return g;
}

bool ones_before(const Dims& dims, int count) {
  for (int i = 0; i < count; ++i)
    if (dims[static_cast<size_t>(i)] != 1) return false;
  return true;
}

// b is one matrix for every batch, whatever the extents.
bool single_b(const Problem& p, const GemmShape& g) {
  return ones_before(p.inputs[1].dims, g.rank_b - 2) && ones_before(p.inputs[1].max_dims, g.rank_b - 2);
}

// oneDNN's own bias: one value a column (or one in all where there is one column).
bool column_bias(const Problem& p) {
  const TensorDesc& c = p.inputs[2];
  const TensorDesc& y = p.outputs[0];
  const int rank = c.dims.rank();
  if (rank < 1 || rank > y.dims.rank() || y.dims.rank() < 1) return false;
  return ones_before(c.dims, rank - 1) && ones_before(c.max_dims, rank - 1) && c.dims.back() == y.dims.back() &&
         c.max_dims.back() == y.max_dims.back() && y.dims.back() == y.max_dims.back();
}

bool linear_layouts(const Problem& p) {
  return (p.inputs[0].dims.rank() < 3 || p.inputs[0].layout == Layout::kLinear) &&
         (p.inputs[1].layout == Layout::kLinear || p.inputs[1].layout == Layout::kOpaque) &&
         p.outputs[0].layout == Layout::kLinear;
}

int bias_of(const Problem& p, const DenseTraits& traits, double alpha) {
  if (!p.as<GemmParams>().has_bias || alpha != 1 || !column_bias(p)) return -1;
  const DType type = p.inputs[2].dtype;
  // oneDNN 3.2 has only its reference for a product whose bias and result are both FP16; added afterwards is fast.
  if (type == DType::kF16 && p.outputs[0].dtype == DType::kF16) return -1;
  return type == DType::kF32 || (!traits.quantized && type == p.inputs[0].dtype) ? 2 : -1;
}

Result<DenseTraits> gemm_traits(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense(p, 2));
  WOOTZ_ASSIGN_OR_RETURN(const GemmShape g, read_shape(p));
  if (!linear_layouts(p)) return unsupported("oneDNN: gemm works on row-major operands only");
  if (p.inputs[1].constant && !(p.inputs[1].dims == p.inputs[1].max_dims))
    return invalid_argument("gemm: constant b of dynamic extents");
  DenseTraits traits;
  WOOTZ_RETURN_IF_ERROR(read_quantization(p, p.outputs[0].dims.back(), &traits));
  const bool merged = single_b(p, g) && !g.trans_a;
  traits.weights_scale_mask = traits.weights_scale.size() <= 1 ? 0 : 1 << ((merged ? 2 : g.rank) - 1);
  const double alpha = p.as<GemmParams>().alpha;
  const bool has_bias = p.as<GemmParams>().has_bias;
  if (has_bias && p.inputs[2].dims.rank() > g.rank)
    return invalid_argument("gemm: c {} for a result {}", p.inputs[2].dims.to_string(), p.outputs[0].dims.to_string());
  const int own = bias_of(p, traits, alpha);
  WOOTZ_RETURN_IF_ERROR(compose_epilogue(p, alpha, has_bias && own < 0 ? 2 : -1, &traits));
  return traits;
}

// The batches of both operands and of the result, aligned at the right.
struct GemmBatches {
  memory::dims a, b, y;
};
// Null: they fit; otherwise what is wrong.
const char* read_batches(const GemmShape& g, const Extents& e, GemmBatches* of) {
  const int batches = g.rank - 2;
  of->a = of->b = of->y = memory::dims(static_cast<size_t>(batches), 1);
  for (int i = 0; i < batches; ++i) {
    const auto slot = static_cast<size_t>(i);
    const int ia = i - (batches - (g.rank_a - 2)), ib = i - (batches - (g.rank_b - 2));
    int64_t &a = of->a[slot], &b = of->b[slot], &y = of->y[slot];
    if (ia >= 0) a = e.inputs[0][static_cast<size_t>(ia)];
    if (ib >= 0) b = e.inputs[1][static_cast<size_t>(ib)];
    if (a != b && a != 1 && b != 1) return "batches do not broadcast";
    y = a == 1 ? b : a;
    if (y != e.output[slot]) return "batches";
  }
  return nullptr;
}

int64_t volume_of(const memory::dims& dims) {
  int64_t v = 1;
  for (const int64_t d : dims) v *= d;
  return v;
}

// Fewer axes of batches where the operands lie so that one axis, or the rows, can take them in.
Status merge_batches(const Problem& p, const GemmShape& g, GemmBatches* of, int64_t* rows, DenseSpec* s) {
  const int batches = g.rank - 2;
  if (single_b(p, g) && !g.trans_a) {  // a's batches are the result's here, as b's are all one
    *rows *= volume_of(of->a);
    if (*rows > INT32_MAX) return unsupported("oneDNN: gemm of {} rows", *rows);
    *of = {};
    s->merged = {g.rank - 1, 1};
  } else if (batches > 1 && !p.inputs[1].constant && of->a == of->b && volume_of(of->y) <= INT32_MAX) {
    of->a = of->b = of->y = {volume_of(of->y)};
    s->merged = {batches, 1, 1};
  } else {
    s->merged.assign(static_cast<size_t>(g.rank), 1);
  }
  return Status();
}

Result<DenseSpec> gemm_specify(const Problem& p, const Extents& e) {
  WOOTZ_ASSIGN_OR_RETURN(const GemmShape g, read_shape(p));
  const Dims &a = e.inputs[0], &b = e.inputs[1], &y = e.output;
  const auto mismatch = [&](const char* what) {
    return invalid_argument("gemm: a {}{}, b {}{}, y {}: {}", a.to_string(), g.trans_a ? " transposed" : "",
                            b.to_string(), g.trans_b ? " transposed" : "", y.to_string(), what);
  };
  if (a.rank() != g.rank_a || b.rank() != g.rank_b || y.rank() != g.rank) return mismatch("ranks changed");
  if (p.inputs[1].constant && !(b == p.inputs[1].dims)) return mismatch("b is constant");
  const auto at = [](const Dims& d, int from_end) { return d[static_cast<size_t>(d.rank() - from_end)]; };
  const int64_t m = at(a, g.trans_a ? 1 : 2), k = at(a, g.trans_a ? 2 : 1), n = at(b, g.trans_b ? 2 : 1);
  if (at(b, g.trans_b ? 1 : 2) != k || at(y, 2) != m || at(y, 1) != n) return mismatch("inner extents");
  GemmBatches batches;
  if (const char* wrong = read_batches(g, e, &batches)) return mismatch(wrong);
  DenseSpec s;
  s.kind = DenseSpec::Kind::kMatmul;
  s.empty = y.volume() == 0;
  if (!s.empty && k == 0) return unsupported("oneDNN: gemm over an empty inner extent");
  s.flops = 2.0 * static_cast<double>(y.volume()) * static_cast<double>(k);
  int64_t rows = m;
  WOOTZ_RETURN_IF_ERROR(merge_batches(p, g, &batches, &rows, &s));
  const auto with = [](memory::dims dims, int64_t r, int64_t c) {
    dims.push_back(r);
    dims.push_back(c);
    return dims;
  };
  s.src = matrix_desc(with(batches.a, rows, k), *data_type(p.inputs[0].dtype), g.trans_a);
  s.weights = matrix_desc(with(batches.b, k, n), *data_type(p.inputs[1].dtype), g.trans_b);
  s.dst_dims = with(batches.y, rows, n);
  DenseTraits none;
  none.quantized = p.inputs[0].dtype == DType::kU8 || p.inputs[0].dtype == DType::kI8;
  if (bias_of(p, none, p.as<GemmParams>().alpha) >= 0) {
    if (e.inputs[2].rank() < 1 || e.inputs[2].volume() != n) return mismatch("bias");
    memory::dims bias(s.dst_dims.size(), 1);
    bias.back() = n;
    s.bias = matrix_desc(bias, *data_type(p.inputs[2].dtype), false);
    s.bias_input = 2;
  }
  return s;
}

std::vector<std::pair<Layout, Layout>> gemm_layouts(const Problem&) { return {{Layout::kLinear, Layout::kLinear}}; }

}  // namespace

const DenseFamily kGemmFamily{Family::kGemm, gemm_traits, gemm_specify, gemm_layouts};

}  // namespace wootz::cpu::dnn
