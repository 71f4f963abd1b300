// Family topk: a block for one line. The k results come one after the other, each the best of what follows the last one
// in the order (key, index): the same bits whatever the schedule. argmax and argmin are its first step.
#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

// The lines' softmax goes to scratch memory, in the input's type as the model rounds it, and is searched there.
Status topk_of_softmax(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 1 || p.outputs.size() != 2) return invalid_argument("topk of {} inputs", p.inputs.size());
  Problem soft = p, rest = p;
  soft.params = SoftmaxParams{.axis = p.as<TopKParams>().axis};
  soft.outputs = {p.inputs[0]};
  soft.outputs[0].constant = false;
  rest.as<TopKParams>().softmax = false;
  const std::vector<Dims> whole{args.inputs[0]};
  std::vector<Launch> made;
  WOOTZ_RETURN_IF_ERROR(generate_softmax(soft, {whole, whole, {}}, &made));
  const size_t produced = made.size();
  WOOTZ_RETURN_IF_ERROR(generate_topk(rest, args, &made));
  for (size_t i = 0; i < made.size(); ++i) {
    made[i].workspace = dtype_bytes(p.inputs[0].dtype, whole[0].volume());
    for (Pointer& pointer : made[i].pointers)
      if (pointer.output == (i < produced)) pointer = kWorkspacePointer;
    launches->push_back(std::move(made[i]));
  }
  return Status();
}

}  // namespace

Status generate_topk(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  constexpr int kBlock = 256;
  const TopKKind kind = p.as<TopKParams>().kind;
  const bool arg = kind == TopKKind::kArgMax || kind == TopKKind::kArgMin;
  if (p.as<TopKParams>().softmax) return topk_of_softmax(p, args, launches);
  if (p.inputs.size() != 1 || p.num_main != 1 || !p.epilogue.empty() || p.outputs.size() != (arg ? 1u : 2u))
    return unsupported("topk of {} inputs and {} outputs", p.inputs.size(), p.outputs.size());
  const DType type = p.inputs[0].dtype;
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  for (const TensorDesc& t : p.outputs)
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
  if (p.inputs[0].layout != Layout::kLinear || p.outputs.back().dtype != DType::kI64 ||
      (!arg && p.outputs[0].dtype != type))
    return unsupported("topk of {}", dtype_name(type));
  const Dims& x = args.inputs[0];
  const int64_t axis = p.as<TopKParams>().axis;
  if (axis < 0 || axis >= x.rank()) return invalid_argument("topk: axis {} of {}", axis, x.to_string());
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis) (d < axis ? outer : inner) *= x[static_cast<size_t>(d)];
  const int64_t length = x[static_cast<size_t>(axis)], k = arg ? 1 : p.as<TopKParams>().k;
  if (k < 0 || k > length) return invalid_argument("the best {} of {}", k, length);
  for (const Dims& y : args.outputs)
    if (y.volume() != outer * inner * k) return invalid_argument("topk of {} gives {}", x.to_string(), y.to_string());
  if (outer * inner * k == 0) return Status();
  if (k > 1024) return unsupported("the best {}: at most 1024 are looked for one by one", k);
  if (outer * inner >= (int64_t{1} << 31)) return unsupported("{} lines", outer * inner);
  const bool largest = arg ? kind == TopKKind::kArgMax : p.as<TopKParams>().largest;
  const bool last = arg && p.as<TopKParams>().select_last;
  Writer w;
  w.raw(prelude());
  // Keys in the order of the values: -0 = 0, NaN above all; complemented where the largest come first.
  w.raw(R"(
W_FN u64 w_key(double v) { if (v != v) return ~0ULL; v += 0.0; const u64 b = w_d2bits(v); return b >> 63 ? ~b : b | 1ULL << 63; }
W_FN u64 w_key(float v) { return w_key((double)v); }
template <class T> W_FN u64 w_key(T v) { return (T)-1 < 0 ? (u64)(s64)v ^ 1ULL << 63 : (u64)v; }
W_FN u64 w_key(bool v) { return v; }
)");
  const char* st = storage_type(type);
  w.line(
      "extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}s64* __restrict__ index, const {}* "
      "__restrict__ x) {{",
      kBlock, arg ? "" : fmt::format("{}* __restrict__ y, ", st), st);
  w.line("  __shared__ u64 key[{0}]; __shared__ int at[{0}];", kBlock);
  w.line("  const int t = threadIdx.x; const s64 o = blockIdx.x / {0}, c = blockIdx.x % {0};", inner);
  w.line("  x += o * {} + c; u64 done_key = 0; int done = -1; bool any = false;", length * inner);
  w.line("  for (int n = 0; n < {}; ++n) {{", k);
  w.line("    u64 best = ~0ULL; int where = 0x7fffffff;");
  w.line("    for (int i = t; i < {}; i += {}) {{", length, kBlock);
  w.line("      const u64 e = {}w_key(w_get(x[(s64)i * {}])); const int j = {};", largest ? "~" : "", inner,
         last ? fmt::format("{} - i", length - 1) : "i");
  w.line("      if (any && (e < done_key || (e == done_key && j <= done))) continue;");
  w.line("      if (e < best || (e == best && j < where)) {{ best = e; where = j; }}\n    }}");
  w.line("    __syncthreads(); key[t] = best; at[t] = where;");
  w.line("    for (int s = {}; s > 0; s /= 2) {{\n      __syncthreads();", kBlock / 2);
  w.line(
      "      if (t < s && (key[t + s] < key[t] || (key[t + s] == key[t] && at[t + s] < at[t]))) {{ key[t] = key[t + "
      "s]; at[t] "
      "= at[t + s]; }}\n    }}");
  w.line("    __syncthreads(); done_key = key[0]; done = at[0]; any = true;");
  w.line("    const s64 found = {};", last ? fmt::format("{} - done", length - 1) : "done");
  w.line("    if (t == 0) {{ const s64 to = (o * {} + n) * {} + c; index[to] = found;{} }}\n  }}\n}}", k, inner,
         arg ? "" : fmt::format(" y[to] = x[found * {}];", inner));
  Launch launch;
  launch.source = w.text();
  launch.size.block = kBlock;
  launch.size.grid_x = static_cast<unsigned>(outer * inner);
  if (arg)
    launch.pointers = {{true, 0}, {false, 0}};
  else
    launch.pointers = {{true, 0}, {true, 1}, {false, 0}};
  launches->push_back(std::move(launch));
  return Status();
}

}  // namespace wootz::cuda
