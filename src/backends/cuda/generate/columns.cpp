// Reductions across rows of memory (the mean of a channels-last image, say): a thread takes 16 bytes of neighbouring
// columns and some of the rows. Where there are few columns, blocks share the rows, and a second launch adds up theirs.
#include <algorithm>

#include "backends/cuda/generate/columns.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int64_t kBlocks = 264;  // two for each of an H200's multiprocessors

struct Kind {
  ReduceKind kind;
  const char *start, *step, *join, *end;
};
constexpr Kind kKinds[] = {
    {ReduceKind::kSum, "0.0f", "a[k] + u", "Sum", "s"},
    {ReduceKind::kMean, "0.0f", "a[k] + u", "Sum", "s / LENGTH"},
    {ReduceKind::kMax, "-W_INF", "w_max<float>(a[k], u)", "Max", "s"},
    {ReduceKind::kMin, "W_INF", "w_min<float>(a[k], u)", "Min", "s"},
    {ReduceKind::kSumSq, "0.0f", "a[k] + u * u", "Sum", "s"},
    {ReduceKind::kL2, "0.0f", "a[k] + u * u", "Sum", "sqrtf(s)"},
    {ReduceKind::kL1, "0.0f", "a[k] + fabsf(u)", "Sum", "s"},
};

}  // namespace

Result<bool> generate_columns(const Problem& p, const std::vector<Axis>& kept, const std::vector<Axis>& reduced,
                              std::vector<Launch>* launches) {
  const DType type = p.inputs[0].dtype;
  const int64_t vector = type == DType::kF32 ? 4 : type == DType::kF16 || type == DType::kBF16 ? 8 : 0;
  if (vector == 0 || kept.empty() || reduced.size() != 1) return false;
  const Axis &inner = kept.back(), &rows = reduced[0];
  const int64_t columns = inner.extent, length = rows.extent, step = rows.strides[0];
  if (inner.strides[0] != 1 || columns % vector != 0 || step % vector != 0 || step <= 1) return false;
  for (size_t i = 0; i + 1 < kept.size(); ++i)
    if (kept[i].strides[0] % vector != 0) return false;
  const Kind* kind = nullptr;
  for (const Kind& k : kKinds)
    if (p.as<ReduceParams>().kind == k.kind) kind = &k;
  if (kind == nullptr) return false;
  const int64_t packs = columns / vector, count = volume(kept), outer = count / columns;
  int64_t across = 1;  // packs of a block: 64 bytes and more make good reads
  while (across < 4 && packs % (across * 2) == 0) across *= 2;
  const int64_t down = kBlock / across, blocks = packs / across * outer;
  int64_t shares = 1;
  if (length > 16 * down && blocks < kBlocks) shares = std::clamp<int64_t>(kBlocks / blocks, 1, length / (4 * down));
  if (blocks * shares >= (int64_t{1} << 31)) return false;
  const char* st = storage_type(type);
  std::vector<std::string> names{"bx", "by"}, extra;
  for (size_t k = 1; k + 1 < inner.strides.size(); ++k) {
    names.push_back(fmt::format("b{}", k));
    extra.push_back(names.back());
  }
  std::string end = kind->end;
  if (const size_t at = end.find("LENGTH"); at != std::string::npos)
    end.replace(at, 6, fmt::format("(float){}", length));
  const std::string result = fmt::format("{}* __restrict__ y, ", storage_type(p.outputs[0].dtype));
  const auto finish = [&](Writer* w) -> Status {
    w->line("  const float f = {};", end);
    return write_epilogue(p, type, "f", extra, "by", w);
  };
  Writer w;
  w.raw(prelude());
  std::string parameters = shares == 1 ? result + fmt::format("const {}* __restrict__ x, ", st) + epilogue_parameters(p)
                                       : fmt::format("float* __restrict__ part, const {}* __restrict__ x, ", st);
  parameters.resize(parameters.size() - 2);
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  constexpr int kWarps = kBlock / 32;
  w.line("  __shared__ float shared[{}];", kWarps * across * vector);
  w.line("  const int t = threadIdx.x, tx = t % {0}, ty = t / {0};", across);
  w.line("  u32 rest = blockIdx.x; const s64 share = rest % {0}u; rest /= {0}u;", shares);
  w.line("  const s64 first = (s64)rest * {};  // of the block's columns, counted over all that is kept",
         across * vector);
  {
    std::vector<Axis> only;
    for (const Axis& a : kept) only.push_back({a.extent, {a.strides[0]}});
    w.offsets(only, "first", {"base"});
  }
  w.line("  const {0}* xp = x + (s64)base + tx * {1};\n  float a[{1}];", st, vector);
  w.line("#pragma unroll\n  for (int k = 0; k < {}; ++k) a[k] = {};", vector, kind->start);
  const int64_t most = (length + shares - 1) / shares;
  w.line("  const int end = (int)w_min<s64>((share + 1) * {}, {});", most, length);
  w.line("#pragma unroll 4\n  for (int r = (int)share * {} + ty; r < end; r += {}) {{", most, down);
  w.line("    const Pack<{0}, {1}> v = *(const Pack<{0}, {1}>*)(xp + (s64)r * {2});", st, vector, step);
  w.line("#pragma unroll\n    for (int k = 0; k < {}; ++k) {{ const float u = w_get(v.v[k]); a[k] = {}; }}\n  }}",
         vector, kind->step);
  // Lanes of a warp with the same columns, then the warps.
  w.line("#pragma unroll\n  for (int k = 0; k < {}; ++k) {{", vector);
  for (int64_t m = 16; m >= across; m /= 2)
    w.line("    a[k] = {}()(a[k], __shfl_xor_sync(0xffffffffu, a[k], {}));", kind->join, m);
  w.line("    if (t % 32 < {}) shared[t / 32 * {} + tx * {} + k] = a[k];\n  }}\n  __syncthreads();", across,
         across * vector, vector);
  w.line("  if (t >= {}) return;\n  float s = shared[t];", across * vector);
  w.line("#pragma unroll\n  for (int i = 1; i < {}; ++i) s = {}()(s, shared[i * {} + t]);", kWarps, kind->join,
         across * vector);
  Launch launch;
  launch.size.block = kBlock;
  launch.size.grid_x = static_cast<unsigned>(blocks * shares);
  if (shares == 1) {
    w.line("  const s64 row = first + t;");
    w.offsets(kept, "row", names);
    WOOTZ_RETURN_IF_ERROR(finish(&w));
    w.line("}}");
    launch.source = w.text();
    launch.pointers = {{true, 0}, {false, 0}};
    add_epilogue_pointers(p, &launch.pointers);
    launches->push_back(std::move(launch));
    return true;
  }
  w.line("  part[share * {} + first + t] = s;\n}}", count);
  launch.source = w.text();
  launch.workspace = static_cast<size_t>(shares * count) * sizeof(float);
  launch.pointers = {kWorkspacePointer, {false, 0}};
  launches->push_back(std::move(launch));

  Writer sum;
  sum.raw(prelude());
  parameters = result + "const float* __restrict__ part, " + epilogue_parameters(p);
  parameters.resize(parameters.size() - 2);
  sum.line("extern \"C\" __global__ void __launch_bounds__(64) wootz_kernel({}) {{", parameters);
  sum.line("  const s64 row = (s64)blockIdx.x * 64 + threadIdx.x;\n  if (row >= {}) return;\n  float s = part[row];",
           count);
  sum.line("#pragma unroll 8\n  for (int i = 1; i < {}; ++i) s = {}()(s, part[(s64)i * {} + row]);", shares, kind->join,
           count);
  sum.offsets(kept, "row", names);
  WOOTZ_RETURN_IF_ERROR(finish(&sum));
  sum.line("}}");
  Launch second;
  second.source = sum.text();
  second.size.block = 64;
  second.size.grid_x = blocks_for(count, 64);
  second.pointers = {{true, 0}, kWorkspacePointer};
  add_epilogue_pointers(p, &second.pointers);
  launches->push_back(std::move(second));
  return true;
}

}  // namespace wootz::cuda
