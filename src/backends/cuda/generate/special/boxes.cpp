// NonMaxSuppression. A block for each class of each image: its threads keep who is still in the race as bits of their
// own, find the best together, and strike out what the best hides, until none is left.
#include <algorithm>

#include "backends/cuda/generate/special/select.h"
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 512;
constexpr int64_t kMostWords = 32;  // of bits, a thread

Status check_boxes(const Problem& p, const BindArgs& args) {
  const Dims &boxes = args.inputs[0], &scores = args.inputs[1];
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] ||
      !is_float(p.inputs[0].dtype) || !is_float(p.inputs[1].dtype))
    return invalid_argument("boxes {} with scores {}", boxes.to_string(), scores.to_string());
  for (size_t i = 2; i < p.inputs.size(); ++i)
    if (has_operand(p, i) && args.inputs[i].volume() != 1)
      return invalid_argument("input {} of shape {}", i, args.inputs[i].to_string());
  if (has_operand(p, 2) && !is_integer(p.inputs[2].dtype))
    return invalid_argument("a count of {}", dtype_name(p.inputs[2].dtype));
  return Status();
}

constexpr const char* kOverlap = R"(
#ifdef WOOTZ_ON_HOST
#define w_lowest(m) __builtin_ctz(m)
#else
#define w_lowest(m) (__ffs(m) - 1)
#endif
template <class A> struct Box { A y1, x1, y2, x2; };
template <class A, class T> W_FN Box<A> w_box(const T* v, bool center) {
  const A a = w_get(v[0]), b = w_get(v[1]), c = w_get(v[2]), d = w_get(v[3]);
  Box<A> r;
  if (center) { r.y1 = b - d / 2; r.x1 = a - c / 2; r.y2 = b + d / 2; r.x2 = a + c / 2; }
  else { r.y1 = a < c ? a : c; r.x1 = b < d ? b : d; r.y2 = a < c ? c : a; r.x2 = b < d ? d : b; }
  return r;
}
template <class A> W_FN A w_overlap(const Box<A>& p, const Box<A>& q) {
  const A h = (p.y2 < q.y2 ? p.y2 : q.y2) - (p.y1 < q.y1 ? q.y1 : p.y1);
  const A w = (p.x2 < q.x2 ? p.x2 : q.x2) - (p.x1 < q.x1 ? q.x1 : p.x1);
  if (h <= 0 || w <= 0) return 0;
  const A common = h * w, both = (p.y2 - p.y1) * (p.x2 - p.x1) + (q.y2 - q.y1) * (q.x2 - q.x1) - common;
  return both <= 0 ? (A)0 : common / both;
}
)";

// Lists the boxes of each class at `list` in scratch memory, and their counts at kCountsAt.
Status add_race(const Problem& p, int64_t classes, int64_t boxes, int64_t most, size_t list, int64_t parts,
                size_t workspace, std::vector<Launch>* launches) {
  const int64_t words = (boxes + kBlock * 32 - 1) / (kBlock * 32);
  if (words > kMostWords) return unsupported("{} boxes; at most {} compete", boxes, kMostWords * 32 * kBlock);
  Writer w;
  w.raw(prelude());
  w.raw(kOverlap);
  const char *tb = storage_type(p.inputs[0].dtype), *ts = storage_type(p.inputs[1].dtype);
  const bool wide = p.inputs[0].dtype == DType::kF64 || p.inputs[1].dtype == DType::kF64;
  std::string parameters =
      fmt::format("char* __restrict__ ws, const {}* __restrict__ x0, const {}* __restrict__ x1", tb, ts);
  std::vector<Pointer> pointers{kWorkspacePointer, {false, 0}, {false, 1}};
  for (size_t i = 2; i < p.inputs.size(); ++i) {
    if (!has_operand(p, i)) continue;
    WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[i].dtype));
    parameters += fmt::format(", const {}* __restrict__ x{}", storage_type(p.inputs[i].dtype), i);
    pointers.push_back({false, static_cast<int>(i)});
  }
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  w.line("  typedef {} A;\n  __shared__ A shared_score[{}]; __shared__ int shared_box[{}];", wide ? "double" : "float",
         kBlock, kBlock);
  w.line("  const int t = threadIdx.x;\n  const {}* box = x0 + (s64)(blockIdx.x / {}) * {};", tb, classes, boxes * 4);
  w.line("  const {}* score = x1 + (s64)blockIdx.x * {};", ts, boxes);
  w.line("  int* picked = (int*)(ws + {}) + (s64)blockIdx.x * {};", list, most);
  w.line("  s64 most = (s64)w_get(x2[0]); if (most > {0}) most = {0};", most);
  w.line("  const A hiding = {}, least = {};", has_operand(p, 3) ? "(A)w_get(x3[0])" : "0",
         has_operand(p, 4) ? "(A)w_get(x4[0])" : "0");
  const char* eligible = has_operand(p, 4) ? "s > least" : "s == s";
  const char* center = op_params<NonMaxSuppressionOpParams>(p)->center_point_box ? "true" : "false";
  // In registers, where they are few.
  const char* unroll = words <= 8 ? "#pragma unroll\n" : "";
  w.line("  u32 alive[{0}];\n{1}  for (int g = 0; g < {0}; ++g) {{ alive[g] = 0;", words, unroll);
  w.line("    for (int j = 0; j < 32; ++j) {{ const int b = (g * 32 + j) * {} + t; if (b >= {}) break;", kBlock, boxes);
  w.line("      const A s = (A)w_get(score[b]); if ({}) alive[g] |= 1u << j; }} }}", eligible);
  w.line("  Box<A> last = {{0, 0, 0, 0}};\n  int k = 0;\n  for (; k < most; ++k) {{ A top = 0; int where = -1;");
  w.line("{1}    for (int g = 0; g < {0}; ++g) for (u32 m = alive[g]; m != 0; m &= m - 1) {{", words, unroll);
  w.line("      const int j = w_lowest(m), b = (g * 32 + j) * {} + t;", kBlock);
  w.line(
      "      if (k > 0 && w_overlap(last, w_box<A>(box + (s64)b * 4, {})) > hiding) {{ alive[g] &= ~(1u << j); "
      "continue; }}",
      center);
  w.line("      const A s = (A)w_get(score[b]); if (where < 0 || s > top) {{ top = s; where = b; }} }}");
  // Of equals the first: a thread's own boxes come in order.
  w.line(
      "    shared_score[t] = top; shared_box[t] = where;\n    for (int h = {}; h > 0; h /= 2) {{\n      "
      "__syncthreads();",
      kBlock / 2);
  w.line("      if (t < h && shared_box[t + h] >= 0 && (shared_box[t] < 0 || shared_score[t + h] > shared_score[t] ||");
  w.line("          (shared_score[t + h] == shared_score[t] && shared_box[t + h] < shared_box[t]))) {{");
  w.line("        shared_score[t] = shared_score[t + h]; shared_box[t] = shared_box[t + h]; }}\n    }}");
  w.line("    __syncthreads();\n    where = shared_box[0];\n    __syncthreads();\n    if (where < 0) break;");
  w.line("    if (t == 0) picked[k] = where;\n    last = w_box<A>(box + (s64)where * 4, {});", center);
  w.line("    const int own = where / {0};\n    if (where % {0} == t) alive[own / 32] &= ~(1u << own % 32);\n  }}",
         kBlock);
  w.line("  if (t == 0) ((s64*)(ws + {}))[blockIdx.x] = k;\n}}", kCountsAt);
  Launch launch;
  launch.source = w.text();
  launch.size.block = kBlock;
  launch.size.grid_x = static_cast<unsigned>(parts);
  launch.pointers = std::move(pointers);
  launch.workspace = workspace;
  launches->push_back(std::move(launch));
  return Status();
}

}  // namespace

Status select_boxes(const Problem& p, const BindArgs& args, Selection* to) {
  if (p.inputs.size() < 2 || p.outputs.size() != 1 || p.outputs[0].dtype != DType::kI64)
    return invalid_argument("NonMaxSuppression of {} operands", p.inputs.size());
  WOOTZ_RETURN_IF_ERROR(check_boxes(p, args));
  const Dims& scores = args.inputs[1];
  const int64_t classes = scores[1], boxes = scores[2], parts = scores[0] * classes;
  to->results = {{-1, 3}};
  int64_t most = has_operand(p, 2) ? boxes : 0;  // without the input none is selected
  if (const Ints* known = known_operand(p, 2); known != nullptr && known->size() == 1)
    most = std::clamp<int64_t>((*known)[0], 0, most);
  if (parts * boxes * most == 0) return Status();
  to->most = parts * most;
  if (parts >= (int64_t{1} << 31)) return unsupported("{} classes of images", parts);
  WOOTZ_RETURN_IF_ERROR(check_count(to->most));
  const size_t list = kCountsAt + static_cast<size_t>(parts) * sizeof(int64_t),
               workspace = list + static_cast<size_t>(to->most) * sizeof(int32_t);
  WOOTZ_RETURN_IF_ERROR(add_race(p, classes, boxes, most, list, parts, workspace, &to->find));
  add_scan(parts, workspace, &to->find);
  Writer w;
  w.raw(prelude());
  w.line(
      "extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel(s64* __restrict__ y, const char* __restrict__ "
      "ws) {{",
      kSpecialBlock);
  w.line("  const s64 i = (s64)blockIdx.x * {} + threadIdx.x, part = i / {}, k = i % {};\n  if (i >= {}) return;",
         kSpecialBlock, most, most, to->most);
  w.line("  const s64* sums = (const s64*)(ws + {}); const s64 from = sums[part];", kCountsAt);
  w.line("  const s64 end = part + 1 < {} ? sums[part + 1] : *(const s64*)ws;\n  if (from + k >= end) return;", parts);
  w.line(
      "  s64* to = y + (from + k) * 3;\n  to[0] = part / {0}; to[1] = part % {0}; to[2] = ((const int*)(ws + "
      "{1}))[i];\n}}",
      classes, list);
  Launch launch;
  launch.source = w.text();
  launch.size.block = kSpecialBlock;
  launch.size.grid_x = blocks_for(to->most, kSpecialBlock);
  launch.pointers = {{true, 0}, kWorkspacePointer};
  launch.workspace = workspace;
  to->write.push_back(std::move(launch));
  return Status();
}

}  // namespace wootz::cuda
