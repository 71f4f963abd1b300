// Family attention, the general form: a block for one query row of one head, scores of the row in shared memory. For
// heads that tiles do not take.
#include "backends/cuda/generate/attention.h"

#include <algorithm>

#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 128;
constexpr int64_t kMostKeys = 8192;  // of the f32 scores that fit the shared memory every device has

}  // namespace

Result<AttentionShape> attention_shape(const Problem& p, const BindArgs& args) {
  const bool mask = p.as<AttentionParams>().has_mask;
  if (p.num_main != (mask ? 4 : 3) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1)
    return invalid_argument("attention of {} operands", p.num_main);
  const DType type = p.inputs[0].dtype;
  for (size_t i = 0; i < 3; ++i)
    if (p.inputs[i].dtype != type) return unsupported("attention of unlike operands");
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16)
    return unsupported("attention of {}", dtype_name(type));
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear) return unsupported("attention in layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("attention in layout");
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, type));
  AttentionShape a;
  WOOTZ_ASSIGN_OR_RETURN(a.q, operand_heads(p, 0, args.inputs[0]));
  WOOTZ_ASSIGN_OR_RETURN(a.k, operand_heads(p, 1, args.inputs[1]));
  WOOTZ_ASSIGN_OR_RETURN(a.v, operand_heads(p, 2, args.inputs[2]));
  a.batch = a.q.dims[0];
  a.heads = a.q.dims[1];
  a.rows = a.q.dims[2];
  a.size = a.q.dims[3];
  a.kv_heads = a.k.dims[1];
  a.keys = a.v.dims[2];
  a.v_size = a.v.dims[3];
  if (a.k.dims[0] != a.batch || a.v.dims[0] != a.batch || a.v.dims[1] != a.kv_heads || a.kv_heads < 1 ||
      a.heads % a.kv_heads != 0 || a.k.dims[2] != a.keys || a.k.dims[3] != a.size)
    return invalid_argument("attention of {}, {}, {}", a.q.dims.to_string(), a.k.dims.to_string(),
                            a.v.dims.to_string());
  a.whole = Dims{a.batch, a.heads, a.rows, a.v_size};
  WOOTZ_ASSIGN_OR_RETURN(a.y, result_heads(p, a.whole, args.outputs[0]));
  if (mask) {
    const DType m = p.inputs[3].dtype;
    WOOTZ_RETURN_IF_ERROR(check_type(m));
    if (m != DType::kBool && !is_float(m)) return unsupported("a mask of {}", dtype_name(m));
  }
  return a;
}

std::string attention_parameters(const Problem& p) {
  const char* st = storage_type(p.inputs[0].dtype);
  const bool mask = p.as<AttentionParams>().has_mask;
  std::string parameters = fmt::format(
      "{}* __restrict__ y, const {}* __restrict__ q, const {}* __restrict__ k, const {}* __restrict__ v, {}{}",
      storage_type(p.outputs[0].dtype), st, st, st, epilogue_parameters(p),
      mask ? fmt::format("const {}* __restrict__ mask, ", storage_type(p.inputs[3].dtype)) : "");
  parameters.resize(parameters.size() - 2);
  return parameters;
}

std::vector<Pointer> attention_pointers(const Problem& p) {
  std::vector<Pointer> pointers{{true, 0}, {false, 0}, {false, 1}, {false, 2}};
  add_epilogue_pointers(p, &pointers);
  if (p.as<AttentionParams>().has_mask) pointers.push_back({false, 3});
  return pointers;
}

Result<std::vector<std::string>> attention_operands(const Problem& p, const BindArgs& args, const AttentionShape& a) {
  std::vector<std::string> names;
  const int64_t merged = p.as<AttentionParams>().merged;
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> s,
                           strides_over(p.inputs[i].layout, args.inputs[i], args.outputs[0]));
    names.push_back(
        merged == 0 ? fmt::format("((s64)b * {} + (s64)h * {} + (s64)row * {} + (s64)d * {})", s[0], s[1], s[2], s[3])
                    : fmt::format("((s64)b * {} + (s64)row * {} + (s64)(h * {} + d) * {})", s[merged == 1 ? 0 : 1],
                                  s[merged == 1 ? 1 : 0], a.v_size, s[2]));
  }
  return names;
}

Status finish_attention(const Problem& p, const BindArgs& args, const AttentionShape& a, int block, int64_t blocks,
                        Writer* w, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<std::string> names, attention_operands(p, args, a));
  WOOTZ_RETURN_IF_ERROR(write_epilogue(p, p.inputs[0].dtype, "f", names, "at", w));
  w->line("  }}\n}}");
  Launch launch;
  launch.source = w->text();
  launch.size.block = static_cast<unsigned>(block);
  launch.size.grid_x = static_cast<unsigned>(blocks);
  launch.pointers = attention_pointers(p);
  launches->push_back(std::move(launch));
  return Status();
}

Status write_mask(const Problem& p, const BindArgs& args, const AttentionShape& a, const char* score, Writer* w) {
  if (!p.as<AttentionParams>().has_mask) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> ms,
                         strides_over(Layout::kLinear, args.inputs[3], Dims{a.batch, a.heads, a.rows, a.keys}));
  const std::string at =
      fmt::format("mask[(s64)b * {} + (s64)h * {} + (s64)row * {} + (s64)j * {}]", ms[0], ms[1], ms[2], ms[3]);
  if (p.inputs[3].dtype == DType::kBool)
    w->line("    {0} = w_get({1}) ? {0} : -W_INF;", score, at);
  else
    w->line("    const float m = (float)w_get({1}); {0} = m == -W_INF ? -W_INF : {0} + m;", score, at);
  return Status();
}

void write_row_scale(const Problem& p, Writer* w) {
  const int64_t nan_rows = p.as<AttentionParams>().nan_rows;
  w->line("  const bool none = {}; const float scale = 1.0f / sum;", nan_rows == 0   ? "sum == 0"
                                                                     : nan_rows == 2 ? "sum == 0 || sum != sum"
                                                                                     : "false");
}

Status generate_attention(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const AttentionShape a, attention_shape(p, args));
  if (a.keys > kMostKeys) return unsupported("attention over {} keys; the limit is {}", a.keys, kMostKeys);
  if (a.whole.volume() == 0) return Status();
  if (a.size > 2048) return unsupported("heads of {}", a.size);
  const int64_t blocks = a.batch * a.heads * a.rows;
  if (blocks >= (int64_t{1} << 31)) return unsupported("{} rows", blocks);
  Writer w;
  w.raw(prelude());
  const char* st = storage_type(p.inputs[0].dtype);
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, attention_parameters(p));
  w.line("  __shared__ float score[{}]; __shared__ float query[{}]; __shared__ float shared[{}];",
         std::max<int64_t>(1, a.keys), std::max<int64_t>(1, a.size), kBlock);
  w.line("  const int t = threadIdx.x; const int row = blockIdx.x % {0}, head = blockIdx.x / {0};", a.rows);
  w.line("  const int b = head / {0}, h = head % {0}, g = h / {1};", a.heads, a.heads / a.kv_heads);
  w.line("  q += {} + (s64)b * {} + (s64)h * {} + (s64)row * {};", a.q.offset, a.q.batch, a.q.head, a.q.row);
  w.line("  k += {} + (s64)b * {} + (s64)g * {};", a.k.offset, a.k.batch, a.k.head);
  w.line("  v += {} + (s64)b * {} + (s64)g * {};", a.v.offset, a.v.batch, a.v.head);
  w.line("  for (int d = t; d < {}; d += {}) query[d] = w_get(q[(s64)d * {}]) * (float){:.9g};", a.size, kBlock,
         a.q.column, p.as<AttentionParams>().scale);
  w.line("  __syncthreads();\n  float top = -W_INF;");
  w.line("  for (int j = t; j < {}; j += {}) {{", a.keys, kBlock);
  w.line("    float s = 0; const {}* kp = k + (s64)j * {};", st, a.k.row);
  w.line("#pragma unroll 8\n    for (int d = 0; d < {}; ++d) s += query[d] * w_get(kp[(s64)d * {}]);", a.size,
         a.k.column);
  if (const double cap = p.as<AttentionParams>().softcap; cap > 0)
    w.line("    s = (float){0:.9g} * tanhf(s / (float){0:.9g});", cap);
  WOOTZ_RETURN_IF_ERROR(write_mask(p, args, a, "s", &w));
  if (p.as<AttentionParams>().causal) w.line("    if (j > row) s = -W_INF;");
  w.line("    score[j] = s; top = w_max<float>(top, s);\n  }}");
  w.line("  top = w_group<1, {}, true>(top, shared, Max());", kBlock);
  w.line(
      "  float sum = 0;\n  for (int j = t; j < {}; j += {}) {{ const float e = top == -W_INF ? 0.0f : expf(score[j] - "
      "top); "
      "score[j] = e; sum += e; }}",
      a.keys, kBlock);
  w.line("  sum = w_group<1, {}, true>(sum, shared, Sum());", kBlock);
  write_row_scale(p, &w);
  w.line("  __syncthreads();\n  for (int d = t; d < {}; d += {}) {{", a.v_size, kBlock);
  w.line("    float a = 0; const {}* vp = v + (s64)d * {};", st, a.v.column);
  w.line("#pragma unroll 8\n    for (int j = 0; j < {}; ++j) a += score[j] * w_get(vp[(s64)j * {}]);", a.keys, a.v.row);
  w.line("    const float f = none ? 0.0f : a * scale; const s64 at = (s64)b * {} + (s64)h * {} + (s64)row * {} + d;",
         a.y.batch, a.y.head, a.y.row);
  return finish_attention(p, args, a, kBlock, blocks, &w, launches);
}

}  // namespace wootz::cuda
