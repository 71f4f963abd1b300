// NonZero and Compress: blocks count what they have, one block adds up, blocks write where their part begins.
#include "backends/cuda/generate/special/select.h"

#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 256, kEach = 16;  // threads, and neighbours that each looks at

// A kernel whose thread sees elements [first, last) of `count`; `flag`: source that says whether element i counts.
void begin_parts(const std::string& parameters, int64_t count, Writer* w) {
  w->raw(prelude());
  w->line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  w->line("  __shared__ u32 shared[{}];\n  const int t = threadIdx.x;", kBlock);
  w->line("  const s64 first = (s64)blockIdx.x * {} + t * {}, last = first + {} > {} ? {} : first + {};",
          kBlock * kEach, kEach, kEach, count, count, kEach);
}

}  // namespace

int64_t part_blocks(int64_t count) { return blocks_for(count, kBlock * kEach); }

void add_part_launch(Writer* w, std::vector<Pointer> pointers, int64_t blocks, size_t workspace,
                     std::vector<Launch>* launches) {
  w->line("}}");
  Launch launch;
  launch.source = w->text();
  launch.size.block = kBlock;
  launch.size.grid_x = static_cast<unsigned>(blocks);
  launch.pointers = std::move(pointers);
  launch.workspace = workspace;
  launches->push_back(std::move(launch));
}

void add_count(const char* storage, Pointer x, const std::string& flag, int64_t count, size_t workspace,
               std::vector<Launch>* launches) {
  Writer w;
  begin_parts(fmt::format("char* __restrict__ ws, const {}* __restrict__ x", storage), count, &w);
  w.line("  u32 n = 0;\n  for (s64 i = first; i < last; ++i) n += {} ? 1 : 0;", flag);
  w.line("  n = w_group<1, {}, false>(n, shared, Sum());", kBlock);
  w.line("  if (t == 0) ((s64*)(ws + {}))[blockIdx.x] = n;", kCountsAt);
  add_part_launch(&w, {kWorkspacePointer, x}, part_blocks(count), workspace, launches);
}

void begin_write(const std::string& parameters, const std::string& flag, int64_t count, Writer* w) {
  begin_parts(parameters, count, w);
  w->line("  u32 n = 0;\n  for (s64 i = first; i < last; ++i) n += {} ? 1 : 0;", flag);
  w->line("  shared[t] = n;\n  __syncthreads();\n  s64 at = ((const s64*)(ws + {}))[blockIdx.x];", kCountsAt);
  w->line("  for (int k = 0; k < t; ++k) at += shared[k];");
}

Select find_select(const Problem& p) {
  if (op_params<NonZeroOpParams>(p) != nullptr) return select_non_zero;
  if (op_params<CompressOpParams>(p) != nullptr) return select_compress;
  if (op_params<UniqueOpParams>(p) != nullptr) return select_unique;
  if (op_params<NonMaxSuppressionOpParams>(p) != nullptr) return select_boxes;
  return nullptr;
}

void add_scan(int64_t count, size_t workspace, std::vector<Launch>* launches) {
  Writer w;
  w.raw(prelude());
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel(char* __restrict__ ws) {{", kBlock);
  w.line("  __shared__ s64 shared[{}];\n  const int t = threadIdx.x;\n  s64* sums = (s64*)(ws + {});", kBlock,
         kCountsAt);
  const int64_t each = (count + kBlock - 1) / kBlock;
  w.line("  const s64 first = (s64)t * {0}, last = first + {0} > {1} ? {1} : first + {0};\n  s64 a = 0;", each, count);
  w.line("  for (s64 e = first; e < last; ++e) a += sums[e];\n  shared[t] = a;\n  __syncthreads();\n  a = 0;");
  w.line("  for (int k = 0; k < t; ++k) a += shared[k];");
  w.line("  for (s64 e = first; e < last; ++e) {{ const s64 n = sums[e]; sums[e] = a; a += n; }}");
  w.line("  if (t == {}) *(s64*)ws = a;", kBlock - 1);
  add_part_launch(&w, {kWorkspacePointer}, 1, workspace, launches);
}

Status select_non_zero(const Problem& p, const BindArgs& args, Selection* to) {
  if (p.inputs.size() != 1 || p.outputs.size() != 1 || p.outputs[0].dtype != DType::kI64)
    return invalid_argument("NonZero of {} operands", p.inputs.size());
  WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[0].dtype));
  const Dims& x = args.inputs[0];
  const int64_t count = x.volume();
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  to->results = {{x.rank(), -1}};
  to->most = count;
  if (count == 0) return Status();
  const int64_t blocks = part_blocks(count);
  const size_t workspace = kCountsAt + static_cast<size_t>(blocks) * sizeof(int64_t);
  const char* storage = storage_type(p.inputs[0].dtype);
  const std::string flag = p.inputs[0].dtype == DType::kBool ? "w_get(x[i])" : "w_get(x[i]) != 0";
  add_count(storage, {false, 0}, flag, count, workspace, &to->find);
  add_scan(blocks, workspace, &to->find);
  if (x.rank() == 0) return Status();
  Writer w;
  begin_write(fmt::format("s64* __restrict__ y, const char* __restrict__ ws, const {}* __restrict__ x", storage), flag,
              count, &w);
  w.line("  const s64 total = *(const s64*)ws;\n  for (s64 i = first; i < last; ++i) {{\n    if (!({})) continue;",
         flag);
  w.line("    s64 rest = i;");
  for (size_t a = x.size(); a-- > 0;) w.line("    y[{} * total + at] = rest % {}; rest /= {};", a, x[a], x[a]);
  w.line("    ++at;\n  }}");
  add_part_launch(&w, {{true, 0}, kWorkspacePointer, {false, 0}}, blocks, workspace, &to->write);
  return Status();
}

Status select_compress(const Problem& p, const BindArgs& args, Selection* to) {
  if (p.inputs.size() != 2 || p.outputs.size() != 1 || p.inputs[1].dtype != DType::kBool ||
      p.inputs[0].dtype != p.outputs[0].dtype)
    return invalid_argument("Compress of {} operands", p.inputs.size());
  const char* storage = bits_type(dtype_bits(p.inputs[0].dtype));
  if (storage == nullptr) return unsupported("Compress of {}", dtype_name(p.inputs[0].dtype));
  const MaybeInt& given = op_params<CompressOpParams>(p)->axis;
  const bool whole = !given;
  const Dims x = whole ? Dims{args.inputs[0].volume()} : args.inputs[0];
  int64_t axis = given.value_or(0);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) return invalid_argument("Compress of {} along axis {}", x.to_string(), axis);
  const auto a = static_cast<size_t>(axis);
  const int64_t extent = x[a], inner = volume_of(x, a + 1, x.size()), count = std::min(extent, args.inputs[1].volume());
  WOOTZ_RETURN_IF_ERROR(check_count(x.volume()));
  to->results = {{x.begin(), x.end()}};
  to->results[0][a] = -1;
  to->most = count;
  if (count == 0) return Status();
  const int64_t blocks = part_blocks(count);
  const size_t places = kCountsAt + static_cast<size_t>(blocks) * sizeof(int64_t),
               workspace = places + static_cast<size_t>(count) * sizeof(int64_t);
  const std::string flag = "w_get(x[i])";
  add_count("b8", {false, 1}, flag, count, workspace, &to->find);
  add_scan(blocks, workspace, &to->find);
  if (x.volume() == 0) return Status();
  {
    Writer w;
    begin_write("char* __restrict__ ws, const b8* __restrict__ x", flag, count, &w);
    w.line("  for (s64 i = first; i < last; ++i) ((s64*)(ws + {}))[i] = {} ? at++ : -1;", places, flag);
    add_part_launch(&w, {kWorkspacePointer, {false, 1}}, blocks, workspace, &to->write);
  }
  Writer w;
  w.raw(prelude());
  w.line(
      "extern \"C\" __global__ void __launch_bounds__({0}) wootz_kernel({1}* __restrict__ y, const char* __restrict__ "
      "ws, "
      "const {1}* __restrict__ x) {{",
      kBlock, storage);
  w.line("  const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;", kBlock, x.volume());
  w.line("  const s64 c = i % {0}, e = i / {0} % {1}, o = i / {2};\n  if (e >= {3}) return;", inner, extent,
         inner * extent, count);
  w.line("  const s64 total = *(const s64*)ws, at = ((const s64*)(ws + {}))[e];", places);
  w.line("  if (at >= 0) y[(o * total + at) * {} + c] = x[i];", inner);
  add_part_launch(&w, {{true, 0}, kWorkspacePointer, {false, 0}}, blocks_for(x.volume(), kBlock), workspace,
                  &to->write);
  return Status();
}

}  // namespace wootz::cuda
