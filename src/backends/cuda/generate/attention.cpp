// Family attention, the general form: a block for one query row of one head, scores of the row in shared memory. The
// library's fused attention is preferred where it applies.
#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/heads.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 128;
constexpr int64_t kMostKeys = 8192;  // of the f32 scores that fit the shared memory every device has

}  // namespace

Status generate_attention(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const bool mask = p.get_int("has_mask") != 0;
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
  WOOTZ_ASSIGN_OR_RETURN(const Heads q, operand_heads(p, 0, args.inputs[0]));
  WOOTZ_ASSIGN_OR_RETURN(const Heads k, operand_heads(p, 1, args.inputs[1]));
  WOOTZ_ASSIGN_OR_RETURN(const Heads v, operand_heads(p, 2, args.inputs[2]));
  const int64_t batch = q.dims[0], heads = q.dims[1], rows = q.dims[2], size = q.dims[3], kv_heads = k.dims[1],
                keys = v.dims[2], v_size = v.dims[3];
  if (k.dims[0] != batch || v.dims[0] != batch || v.dims[1] != kv_heads || kv_heads < 1 || heads % kv_heads != 0 ||
      k.dims[2] != keys || k.dims[3] != size)
    return invalid_argument("attention of {}, {}, {}", q.dims.to_string(), k.dims.to_string(), v.dims.to_string());
  const Dims whole{batch, heads, rows, v_size};
  WOOTZ_ASSIGN_OR_RETURN(const Heads y, result_heads(p, whole, args.outputs[0]));
  if (keys > kMostKeys) return unsupported("attention over {} keys; the limit is {}", keys, kMostKeys);
  if (whole.volume() == 0) return Status();
  if (size > 2048) return unsupported("heads of {}", size);
  const int64_t blocks = batch * heads * rows;
  if (blocks >= (int64_t{1} << 31)) return unsupported("{} rows", blocks);
  Writer w;
  w.raw(prelude());
  const char* st = storage_type(type);
  std::string parameters =
      fmt::format("{}* __restrict__ y, const {}* __restrict__ q, const {}* __restrict__ k, const {}* __restrict__ v, {}{}",
                  storage_type(p.outputs[0].dtype), st, st, st, epilogue_parameters(p),
                  mask ? fmt::format("const {}* __restrict__ mask, ", storage_type(p.inputs[3].dtype)) : "");
  parameters.resize(parameters.size() - 2);
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  w.line("  __shared__ float score[{}]; __shared__ float query[{}]; __shared__ float shared[{}];", std::max<int64_t>(1, keys),
         std::max<int64_t>(1, size), kBlock);
  w.line("  const int t = threadIdx.x; const int row = blockIdx.x % {0}, head = blockIdx.x / {0};", rows);
  w.line("  const int b = head / {0}, h = head % {0}, g = h / {1};", heads, heads / kv_heads);
  w.line("  q += {} + (s64)b * {} + (s64)h * {} + (s64)row * {};", q.offset, q.batch, q.head, q.row);
  w.line("  k += {} + (s64)b * {} + (s64)g * {};", k.offset, k.batch, k.head);
  w.line("  v += {} + (s64)b * {} + (s64)g * {};", v.offset, v.batch, v.head);
  w.line("  for (int d = t; d < {}; d += {}) query[d] = w_get(q[(s64)d * {}]) * (float){:.9g};", size, kBlock, q.column,
         p.get_float("scale", 1));
  w.line("  __syncthreads();\n  float top = -W_INF;");
  w.line("  for (int j = t; j < {}; j += {}) {{", keys, kBlock);
  w.line("    float s = 0; const {}* kp = k + (s64)j * {};", st, k.row);
  w.line("#pragma unroll 8\n    for (int d = 0; d < {}; ++d) s += query[d] * w_get(kp[(s64)d * {}]);", size, k.column);
  if (const double cap = p.get_float("softcap"); cap > 0)
    w.line("    s = (float){0:.9g} * tanhf(s / (float){0:.9g});", cap);
  if (mask) {
    WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[3].dtype));
    const bool flags = p.inputs[3].dtype == DType::kBool;
    if (!flags && !is_float(p.inputs[3].dtype)) return unsupported("a mask of {}", dtype_name(p.inputs[3].dtype));
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> ms,
                           strides_over(Layout::kLinear, args.inputs[3], Dims{batch, heads, rows, keys}));
    const std::string at = fmt::format("mask[(s64)b * {} + (s64)h * {} + (s64)row * {} + (s64)j * {}]", ms[0], ms[1], ms[2],
                                       ms[3]);
    if (flags)
      w.line("    s = w_get({}) ? s : -W_INF;", at);
    else
      w.line("    const float m = (float)w_get({}); s = m == -W_INF ? -W_INF : s + m;", at);
  }
  if (p.get_int("causal") != 0) w.line("    if (j > row) s = -W_INF;");
  w.line("    score[j] = s; top = w_max<float>(top, s);\n  }}");
  w.line("  top = w_group<1, {}, true>(top, shared, Max());", kBlock);
  w.line("  float sum = 0;\n  for (int j = t; j < {}; j += {}) {{ const float e = top == -W_INF ? 0.0f : expf(score[j] - top); "
         "score[j] = e; sum += e; }}",
         keys, kBlock);
  w.line("  sum = w_group<1, {}, true>(sum, shared, Sum());", kBlock);
  const int64_t nan_rows = p.get_int("nan_rows");
  w.line("  const bool none = {}; const float scale = 1.0f / sum;",
         nan_rows == 0   ? "sum == 0"
         : nan_rows == 2 ? "sum == 0 || sum != sum"
                         : "false");
  w.line("  __syncthreads();\n  for (int d = t; d < {}; d += {}) {{", v_size, kBlock);
  w.line("    float a = 0; const {}* vp = v + (s64)d * {};", st, v.column);
  w.line("#pragma unroll 8\n    for (int j = 0; j < {}; ++j) a += score[j] * w_get(vp[(s64)j * {}]);", keys, v.row);
  w.line("    a = none ? 0.0f : a * scale; const s64 at = (s64)b * {} + (s64)h * {} + (s64)row * {} + d;", y.batch, y.head,
         y.row);
  std::vector<std::string> names;
  const int64_t merged = p.get_int("merged");
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], args.outputs[0]));
    names.push_back(merged == 0
                        ? fmt::format("((s64)b * {} + (s64)h * {} + (s64)row * {} + (s64)d * {})", s[0], s[1], s[2], s[3])
                        : fmt::format("((s64)b * {} + (s64)row * {} + (s64)(h * {} + d) * {})", s[merged == 1 ? 0 : 1],
                                      s[merged == 1 ? 1 : 0], v_size, s[2]));
  }
  WOOTZ_RETURN_IF_ERROR(write_epilogue(p, type, "a", names, "at", &w));
  w.line("  }}\n}}");
  Launch launch;
  launch.source = w.text();
  launch.size.block = kBlock;
  launch.size.grid_x = static_cast<unsigned>(blocks);
  launch.pointers = {{true, 0}, {false, 0}, {false, 1}, {false, 2}};
  add_epilogue_pointers(p, &launch.pointers);
  if (mask) launch.pointers.push_back({false, 3});
  launches->push_back(std::move(launch));
  return Status();
}

}  // namespace wootz::cuda
