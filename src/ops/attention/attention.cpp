// Attention on [batch, heads, sequence, size]; key and value may have fewer heads, each serving a group of query heads.
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/attention/attention_grids.h"
#include "ops/attention/attention_view.h"
#include "ops/module_table.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

// What is wrong with types and scales; `type`: of the result.
std::string read_grids(const InferContext& ctx, const Shape (&shapes)[3], bool transposed, DType* type) {
  const DType types[3] = {ctx.dtype(0), ctx.dtype(1), ctx.dtype(2)};
  const auto known = [](const Dim& d) { return d.is_const() ? d.value() : -1; };
  const int64_t sizes[3] = {1, known(shapes[1][transposed ? 2 : 3]), known(shapes[2][3])};
  AttentionGrids grids;
  *type = attention_type(ctx.node(), types);
  if (!is_float(*type))
    return fmt::format("operands of types {}, {} and {}", dtype_name(types[0]), dtype_name(types[1]),
                       dtype_name(types[2]));
  return AttentionGrids::read(ctx.node(), types, known(shapes[1][1]), sizes, &grids);
}

// Inputs q [B,H,S,D], k [B,Hkv,T,D] ([B,Hkv,D,T] with k_transposed), v [B,Hkv,T,Dv], [mask] that broadcasts to
// [B,H,S,T]: bool (true: attend) or float (added). Any of q, k, v may be a view of three axes (HeadsView). Attributes:
// scale (default 1/sqrt(D)), causal (query i sees keys j <= i), softcap (0: none), nan_rows (see masked_softmax),
// merged (how the heads of y lie, see merged_shape). Outputs: y [B,H,S,Dv], and, if asked for, the scores [B,H,S,T]
// after the stage `qk_output`: 0 product, 1 softcap, 2 mask, 3 softmax. Operands of 8 bits are grids (AttentionGrids),
// and the weights may be rounded to one.
Status infer_attention(InferContext& ctx) {
  const Node& node = ctx.node();
  Shape shapes[3];
  HeadsView views[3];
  for (int i = 0; i < 3; ++i) {
    const std::string wrong = HeadsView::read(node, view_attr(i), ctx.shape(i), &views[i]);
    if (!wrong.empty()) return ctx.fail("input {}: {}", i, wrong);
    shapes[i] = views[i].logical(ctx.shape(i));
  }
  const bool transposed = node.attr_int("k_transposed") != 0;
  if (transposed && views[1].given) return ctx.fail("k_transposed and k_view exclude each other");
  DType type = DType::kInvalid;
  if (const std::string wrong = read_grids(ctx, shapes, transposed, &type); !wrong.empty())
    return ctx.fail("{}", wrong);
  const Shape &q = shapes[0], &k = shapes[1], &v = shapes[2];
  const Dim &keys = k[transposed ? 3 : 2], &size = k[transposed ? 2 : 3];
  const auto differ = [](const Dim& a, const Dim& b) { return a.is_const() && b.is_const() && a.value() != b.value(); };
  const auto refuse = [&] {
    return ctx.fail("query {}, key {} and value {} do not fit", shape_to_string(q), shape_to_string(k),
                    shape_to_string(v));
  };
  if (differ(q[0], k[0]) || differ(q[0], v[0]) || differ(k[1], v[1]) || differ(keys, v[2]) || differ(q[3], size))
    return refuse();
  if (q[1].is_const() && k[1].is_const() && (k[1].value() < 1 || q[1].value() % k[1].value() != 0)) return refuse();
  const Shape scores{q[0], q[1], q[2], keys};
  if (ctx.has(3)) {
    if (ctx.dtype(3) != DType::kBool && !is_float(ctx.dtype(3)))
      return ctx.fail("mask of type {}", dtype_name(ctx.dtype(3)));
    const Result<Shape> all = broadcast_shapes(scores, ctx.shape(3));
    bool fits = all.ok() && all->size() == 4;
    for (size_t i = 0; fits && i < 4; ++i) fits = !differ(scores[i], (*all)[i]);
    if (!fits) return ctx.fail("mask {} for scores {}", shape_to_string(ctx.shape(3)), shape_to_string(scores));
  }
  const int64_t stage = node.attr_int("qk_output"), merged = node.attr_int("merged"), rows = node.attr_int("nan_rows");
  if (stage < 0 || stage > 3) return ctx.fail("qk_output is {}", stage);
  if (merged < 0 || merged > 2) return ctx.fail("merged is {}", merged);
  if (rows < 0 || rows > 2) return ctx.fail("nan_rows is {}", rows);
  if (!(node.attr_float("softcap") >= 0)) return ctx.fail("softcap is {}", node.attr_float("softcap"));
  ctx.set_output(0, type, merged_shape({q[0], q[1], q[2], v[3]}, merged));
  ctx.set_output(1, type, scores);
  return {};
}

// Softmax of one row, where -inf means masked. A row that is masked altogether gives zeros, or NaN with nan_rows 1 (as
// a softmax that knows of no masks). With nan_rows 2 a row that is not a number gives zeros too.
void masked_softmax(std::span<double> row, int64_t nan_rows) {
  double top = -INFINITY, sum = 0;
  for (double x : row) top = std::isnan(x) || x > top ? x : top;
  if (top == -INFINITY) return std::fill(row.begin(), row.end(), nan_rows == 1 ? NAN : 0.0);
  for (double& x : row) sum += x = std::exp(x - top);
  if (nan_rows == 2 && std::isnan(sum)) return std::fill(row.begin(), row.end(), 0.0);
  for (double& x : row) x /= sum;
}

// Rows of `size` elements of the operand, in the order batch, head, sequence.
struct Operand {
  Dims dims;  // [batch, heads, sequence, size]
  std::vector<double> data;

  Operand(const Node& node, int index, const HostTensor& tensor) {
    HeadsView view;
    (void)HeadsView::read(node, view_attr(index), to_shape(tensor.dims()), &view);
    dims = *to_dims(view.logical(to_shape(tensor.dims())));
    if (!view.given) {
      data = load_f64(tensor);
      return;
    }
    data.resize(static_cast<size_t>(dims.volume()));
    const int64_t columns = tensor.dims()[2], n = dims[3];
    for (int64_t row = 0; n > 0 && row < dims.volume() / n; ++row) {
      const int64_t b = row / (dims[1] * dims[2]), h = row / dims[2] % dims[1], s = row % dims[2];
      const int64_t line = view.sequence_first ? s * dims[0] + b : b * dims[2] + s;
      load_f64(tensor, line * columns + view.offset + h * view.stride,
               std::span(data.data() + row * n, static_cast<size_t>(n)));
    }
  }

  void scale(const AttentionGrids& grids, int index, bool transposed) {
    if (grids.operands[index].scale.empty()) return;
    const int64_t heads = dims[1], size = dims[transposed ? 2 : 3], inner = dims[3], rows = dims[2];
    for (int64_t i = 0; i < dims.volume(); ++i) {
      const int64_t h = i / (rows * inner) % heads, d = transposed ? i / inner % rows : i % inner;
      double& x = data[static_cast<size_t>(i)];
      x = grids.value(index, x, h, d, heads, size);
    }
  }
};

AttentionGrids grids_of(EvalContext& ctx) {
  AttentionGrids grids;
  const DType types[3] = {ctx.in(0).dtype(), ctx.in(1).dtype(), ctx.in(2).dtype()};
  (void)AttentionGrids::read(ctx.node, types, -1, {-1, -1, -1}, &grids);
  return grids;
}

Status reference_attention(EvalContext& ctx) {
  const Node& node = ctx.node;
  Operand q(node, 0, ctx.in(0)), k(node, 1, ctx.in(1)), v(node, 2, ctx.in(2));
  const bool transposed = node.attr_int("k_transposed") != 0, causal = node.attr_int("causal") != 0;
  const AttentionGrids grids = grids_of(ctx);
  q.scale(grids, 0, false), k.scale(grids, 1, transposed), v.scale(grids, 2, false);
  const int64_t batch = q.dims[0], heads = q.dims[1], rows = q.dims[2], size = q.dims[3];
  const int64_t kv_heads = k.dims[1], keys = v.dims[2], v_size = v.dims[3],
                group = kv_heads == 0 ? 1 : heads / kv_heads;
  const double scale = node.attr_float("scale", 1 / std::sqrt(static_cast<double>(size))),
               cap = node.attr_float("softcap");
  const int64_t stage = node.attr_int("qk_output"), merged = node.attr_int("merged"), nans = node.attr_int("nan_rows");
  const Dims score_dims{batch, heads, rows, keys};
  const bool has_mask = ctx.has(3), flags = has_mask && ctx.in(3).dtype() == DType::kBool;
  const std::vector<double> mask = has_mask ? load_f64(ctx.in(3)) : std::vector<double>();
  StridedWalk walk(score_dims, {has_mask ? broadcast_strides(ctx.in(3).dims(), score_dims) : Dims::filled(4, 0)});
  const auto count = [](int64_t n) { return static_cast<size_t>(n); };
  std::vector<double> ks(count(size * keys));
  for (int64_t h = 0; h < batch * heads; ++h) {
    const int64_t kv = h / heads * kv_heads + h % heads / group;
    const double* from = k.data.data() + kv * keys * size;
    for (int64_t t = 0; t < keys; ++t)
      for (int64_t d = 0; d < size; ++d) ks[count(d * keys + t)] = from[transposed ? d * keys + t : t * size + d];
    std::vector<double> scores(count(rows * keys), 0.0), y(count(rows * v_size), 0.0);
    matmul_accumulate(rows, keys, size, q.data.data() + h * rows * size, ks.data(), scores.data());
    const auto emit = [&](int64_t at) {
      if (ctx.outputs.size() > 1 && stage == at) store_f64(&ctx.outputs[1], h * rows * keys, scores);
    };
    for (double& s : scores) s = grids.scores.of(s * scale);
    emit(0);
    for (double& s : scores) s = cap > 0 ? cap * std::tanh(s / cap) : s;
    emit(1);
    for (int64_t e = 0; e < rows * keys; ++e, walk.next()) {
      double& s = scores[count(e)];
      const double m = has_mask ? mask[count(walk.offset(0))] : 0;
      const bool hidden = (flags && m == 0) || (causal && e % keys > e / keys) || (!flags && m == -INFINITY);
      s = hidden ? -INFINITY : s + (flags ? 0 : m);
    }
    emit(2);
    for (int64_t r = 0; r < rows; ++r) masked_softmax({scores.data() + r * keys, count(keys)}, nans);
    emit(3);
    for (double& s : scores) s = grids.weights.of(s);
    matmul_accumulate(rows, v_size, keys, scores.data(), v.data.data() + kv * keys * v_size, y.data());
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t b = h / heads, line = merged == 2 ? r * batch + b : b * rows + r;
      const int64_t at = merged == 0 ? h * rows + r : line * heads + h % heads;
      store_f64(&ctx.outputs[0], at * v_size, std::span<const double>(y.data() + r * v_size, count(v_size)));
    }
  }
  return {};
}

const OpDef kAttention{
    .name = "Attention",
    .min_inputs = 3,
    .max_inputs = 4,
    .max_outputs = 2,
    .attributes = {{"scale", AttrKind::kFloat},      {"causal", AttrKind::kInt},     {"softcap", AttrKind::kFloat},
                   {"k_transposed", AttrKind::kInt}, {"q_view", AttrKind::kInts},    {"k_view", AttrKind::kInts},
                   {"v_view", AttrKind::kInts},      {"merged", AttrKind::kInt},     {"nan_rows", AttrKind::kInt},
                   {"qk_output", AttrKind::kInt},    {"q_scale", AttrKind::kFloats}, {"k_scale", AttrKind::kFloats},
                   {"v_scale", AttrKind::kFloats},   {"q_zero", AttrKind::kFloat},   {"k_zero", AttrKind::kFloat},
                   {"v_zero", AttrKind::kFloat},     {"s_scale", AttrKind::kFloat},  {"s_zero", AttrKind::kFloat},
                   {"s_type", AttrKind::kDType},     {"p_scale", AttrKind::kFloat},  {"p_type", AttrKind::kDType},
                   {"to", AttrKind::kDType}},
    .infer = infer_attention,
    .reference = reference_attention,
    .lowering = Lowering::kAttention,
};

}  // namespace

std::span<const OpDef* const> attention_ops() {
  static const OpDef* const kAttentionDefs[] = {&kAttention, &linear_attention_op()};
  return kAttentionDefs;
}

}  // namespace wootz::ops
