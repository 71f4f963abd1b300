#include "backends/cuda/cudnn/describe.h"

#include "backends/cuda/support/heads.h"

namespace wootz::cuda {
namespace {

std::vector<int64_t> list(const Dims& d) { return {d.begin(), d.end()}; }

// Rank 3 as rank 4 with a row of height 1.
void widen(CudnnTensor* t) {
  if (t->dims.size() != 3) return;
  t->dims.insert(t->dims.begin() + 2, 1);
  t->strides.insert(t->strides.begin() + 2, t->strides[2] * t->dims[3]);
}
void widen(std::vector<int64_t>* values, int64_t with) { values->insert(values->begin(), with); }

CudnnTensor tensor(const TensorDesc& t, bool output, int index, const Dims& dims) {
  return {output, index, t.dtype, list(dims), list(layout_strides(t.layout, dims)), 0};
}

Status add_stages(const Problem& p, std::span<const Dims> in, const Dims& y, CudnnGraph* g) {
  const std::optional<std::vector<Stage>> stages = epilogue_stages(p);
  if (!stages) return unsupported("this epilogue is no sequence of stages");
  for (const Stage& s : *stages) {
    CudnnStage made{s.op, -1, s.imm0, s.imm1, -1};
    if (s.input >= 0) {
      WOOTZ_ASSIGN_OR_RETURN(CudnnTensor t, cudnn_operand(p, s.input, in[static_cast<size_t>(s.input)], y));
      made.operand = static_cast<int>(g->operands.size());
      g->operands.push_back(std::move(t));
    }
    g->stages.push_back(made);
  }
  return Status();
}

void append(const CudnnTensor& t, std::string* text) {
  *text += fmt::format("{}{}{}[", t.output ? "o" : "i", t.index, dtype_name(t.dtype));
  for (const int64_t d : t.dims) *text += fmt::format("{},", d);
  for (const int64_t s : t.strides) *text += fmt::format(":{}", s);
  *text += fmt::format("+{}{}]", t.offset, t.made ? "m" : "");
}

}  // namespace

Result<CudnnTensor> cudnn_operand(const Problem& p, int input, const Dims& dims, const Dims& y) {
  const TensorDesc& t = p.inputs[static_cast<size_t>(input)];
  Dims d;
  for (int i = dims.rank(); i < y.rank(); ++i) d.push_back(1);
  for (const int64_t v : dims) d.push_back(v);
  for (size_t a = 0; a < d.size(); ++a)
    if (d[a] != 1 && d[a] != y[a]) return unsupported("an operand of shape {} for {}", dims.to_string(), y.to_string());
  // Broadcast shapes only: per channel, a single value, or the whole.
  const bool whole = d == y;
  for (size_t a = 0; !whole && a < d.size(); ++a)
    if (a != 1 && d[a] != 1) return unsupported("an operand of shape {} for {}", dims.to_string(), y.to_string());
  const Layout layout = !whole && p.outputs[0].layout == Layout::kChannelsLast ? Layout::kChannelsLast : t.layout;
  if (whole && dims.rank() != y.rank()) return unsupported("an operand of lower rank");
  return CudnnTensor{false, input, t.dtype, list(d), list(layout_strides(layout, d)), 0, !t.constant};
}

void widen_to_images(CudnnGraph* g) {
  if (g->x.dims.size() != 3) return;
  for (CudnnTensor* t : {&g->x, &g->w, &g->y}) widen(t);
  for (CudnnTensor& t : g->operands) widen(&t);
  widen(&g->pre_pads, 0);
  widen(&g->post_pads, 0);
  widen(&g->strides, 1);
  widen(&g->dilations, 1);
}

std::string CudnnGraph::key() const {
  std::string text = attention ? "attention " : "conv ";
  for (const CudnnTensor* t : {&x, &w, &v, &y}) append(*t, &text);
  for (const CudnnTensor& t : operands) append(t, &text);
  for (const CudnnStage& s : stages)
    text += fmt::format("{}({},{:a},{:a},{})", pw_op_name(s.op), s.operand, s.imm0, s.imm1, s.factor);
  for (const auto* values : {&pre_pads, &post_pads, &strides, &dilations})
    for (const int64_t v : *values) text += fmt::format(" {}", v);
  return text + fmt::format(" {:a} {} {} {} ", scale, causal, mask, tf32);
}

Result<CudnnGraph> describe_conv(const Problem& p, std::span<const Dims> in, const Dims& y, bool tf32) {
  const bool bias = p.as<ConvParams>().has_bias;
  if (p.num_main != (bias ? 3 : 2) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1 ||
      in.size() != p.inputs.size())
    return invalid_argument("convolution of {} operands", p.num_main);
  if (p.as<ConvParams>().transposed) return unsupported("a transposed convolution");
  if (!p.as<ConvParams>().x_scale.empty()) return unsupported("a quantized convolution");
  const Dims &x = in[0], &f = in[1];
  const DType type = p.inputs[0].dtype;
  if (x.rank() < 3 || x.rank() > 5 || f.rank() != x.rank() || y.rank() != x.rank())
    return unsupported("convolution of {}", x.to_string());
  if (!is_model_float(type) || p.inputs[1].dtype != type || !is_model_float(p.outputs[0].dtype))
    return unsupported("convolution of {} by {}", dtype_name(type), dtype_name(p.inputs[1].dtype));
  const Layout layout = p.inputs[0].layout;
  if (layout != p.outputs[0].layout || (layout != Layout::kLinear && layout != Layout::kChannelsLast))
    return unsupported("layout {}", layout_name(layout));
  if (layout == Layout::kLinear && type != DType::kF32) return unsupported("16-bit types in rows of pixels");
  if (x.volume() == 0 || y.volume() == 0) return unsupported("an empty convolution");
  CudnnGraph g;
  g.tf32 = tf32;
  g.x = tensor(p.inputs[0], false, 0, x);
  g.y = tensor(p.outputs[0], true, 0, y);
  g.w = {false, 1, type, list(f), list(layout_strides(layout, f)), 0};  // packed in the activations' order
  const auto n = x.size() - 2;
  const Ints& pads = p.as<ConvParams>().pads;
  g.strides = p.as<ConvParams>().strides;
  g.dilations = p.as<ConvParams>().dilations;
  if (pads.size() != 2 * n || g.strides.size() != n || g.dilations.size() != n)
    return invalid_argument("a window of {} axes for {}", g.strides.size(), x.to_string());
  g.pre_pads.assign(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(n));
  g.post_pads.assign(pads.begin() + static_cast<ptrdiff_t>(n), pads.end());
  if (bias) {
    if (in[2].volume() != y[1] || !is_model_float(p.inputs[2].dtype))
      return unsupported("a bias of {}", in[2].to_string());
    Dims d = Dims::filled(y.rank(), 1);
    d[1] = y[1];
    g.operands.push_back(
        {false, 2, p.inputs[2].dtype, list(d), list(layout_strides(layout, d)), 0, !p.inputs[2].constant});
    g.stages.push_back({PwOp::kAdd, 0, 0, 0, -1});
  }
  WOOTZ_RETURN_IF_ERROR(add_stages(p, in, y, &g));
  widen_to_images(&g);
  return g;
}

Result<CudnnGraph> describe_attention(const Problem& p, std::span<const Dims> in, const Dims& y) {
  const bool mask = p.as<AttentionParams>().has_mask;
  if (p.num_main != (mask ? 4 : 3) || p.inputs.size() != static_cast<size_t>(p.num_main) || p.outputs.size() != 1 ||
      in.size() != p.inputs.size() || !p.epilogue.empty())
    return unsupported("attention of {} operands", p.inputs.size());
  const DType type = p.inputs[0].dtype;
  if (type != DType::kF16 && type != DType::kBF16) return unsupported("attention of {}", dtype_name(type));
  if (p.as<AttentionParams>().softcap > 0) return unsupported("a cap on scores");
  if (p.as<AttentionParams>().p_scale != 0 || p.as<AttentionParams>().s_scale != 0)
    return unsupported("scores or weights that are rounded");
  for (size_t i = 0; i < 3; ++i)
    if (p.inputs[i].dtype != type || p.inputs[i].layout != Layout::kLinear)
      return unsupported("attention of unlike operands");
  if (p.outputs[0].dtype != type || p.outputs[0].layout != Layout::kLinear || y.volume() == 0)
    return unsupported("this result of attention");
  CudnnGraph g;
  g.attention = true;
  const auto place = [&](const Heads& h, bool output, int index) {
    const auto bytes = static_cast<int64_t>(dtype_bytes(type, h.offset));
    return CudnnTensor{output, index, type, list(h.dims), {h.batch, h.head, h.row, h.column}, bytes};
  };
  WOOTZ_ASSIGN_OR_RETURN(const Heads q, operand_heads(p, 0, in[0]));
  WOOTZ_ASSIGN_OR_RETURN(const Heads k, operand_heads(p, 1, in[1]));
  WOOTZ_ASSIGN_OR_RETURN(const Heads v, operand_heads(p, 2, in[2]));
  WOOTZ_ASSIGN_OR_RETURN(const Heads out, result_heads(p, Dims{q.dims[0], q.dims[1], q.dims[2], v.dims[3]}, y));
  if (k.dims[2] != v.dims[2]) return invalid_argument("attention of {} keys, {} values", k.dims[2], v.dims[2]);
  // What a row gives that sees no key at all is left to the library in 16 bits (docs/gpu.md).
  g.x = place(q, false, 0);
  g.w = place(k, false, 1);
  g.v = place(v, false, 2);
  g.y = place(out, true, 0);
  g.scale = p.as<AttentionParams>().scale;
  g.causal = p.as<AttentionParams>().causal;
  if (mask) {
    if (p.inputs[3].dtype != type || in[3].rank() > 4)
      return unsupported("a mask of {}", dtype_name(p.inputs[3].dtype));
    Dims d;
    for (int i = in[3].rank(); i < 4; ++i) d.push_back(1);
    for (const int64_t v : in[3]) d.push_back(v);
    g.operands.push_back({false, 3, type, list(d), list(d.strides()), 0});
    g.mask = 0;
  }
  return g;
}

}  // namespace wootz::cuda
