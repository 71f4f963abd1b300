// Family attention in tiles: a block takes 16 query rows of one head over tiles of 64 keys, and keeps for each row the
// largest score so far, the sum of exponentials relative to it and the weighted values. Scores of a whole row never
// exist at once. 16 threads share a row.
#include <algorithm>

#include "backends/cuda/generate/attention.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/heads.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 256, kRows = 16, kLanes = 16, kKeys = 64;

}  // namespace

Status generate_attention_tiles(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const AttentionShape a, attention_shape(p, args));
  if (a.size > 128 || a.v_size > 128) return unsupported("heads of {} and {}; tiles take up to 128", a.size, a.v_size);
  if (a.whole.volume() == 0) return Status();
  const int64_t row_blocks = (a.rows + kRows - 1) / kRows, blocks = a.batch * a.heads * row_blocks;
  if (blocks >= (int64_t{1} << 31)) return unsupported("{} blocks", blocks);
  const int64_t columns = (a.v_size + kLanes - 1) / kLanes;
  Writer w;
  w.raw(prelude());
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, attention_parameters(p));
  w.line("  __shared__ float qs[{}]; __shared__ float ks[{}]; __shared__ float ps[{}];", kRows * a.size,
         std::max(kKeys * (a.size + 1), kKeys * a.v_size), kRows * (kKeys + 1));
  w.line("  const int t = threadIdx.x, r = t / {0}, c = t % {0};", kLanes);
  w.line("  const int first = (int)(blockIdx.x % {0}) * {1}, head = blockIdx.x / {0}, row = first + r;", row_blocks,
         kRows);
  w.line("  const int b = head / {0}, h = head % {0}, g = h / {1};", a.heads, a.heads / a.kv_heads);
  w.line("  q += {} + (s64)b * {} + (s64)h * {};", a.q.offset, a.q.batch, a.q.head);
  w.line("  k += {} + (s64)b * {} + (s64)g * {};", a.k.offset, a.k.batch, a.k.head);
  w.line("  v += {} + (s64)b * {} + (s64)g * {};", a.v.offset, a.v.batch, a.v.head);
  w.line(
      "  for (int i = t; i < {}; i += {}) {{ const int n = first + i / {}; qs[i] = n < {} ? w_get(q[(s64)n * {} + "
      "(s64)(i % "
      "{}) * {}]) * (float){:.9g} : 0.0f; }}",
      kRows * a.size, kBlock, a.size, a.rows, a.q.row, a.size, a.q.column, p.as<AttentionParams>().scale);
  w.line("  float top = -W_INF, sum = 0, acc[{}];", columns);
  w.line("#pragma unroll\n  for (int i = 0; i < {}; ++i) acc[i] = 0;", columns);
  const bool causal = p.as<AttentionParams>().causal;
  w.line("  for (int base = 0; base < {}; base += {}) {{", a.keys, kKeys);
  w.line("    __syncthreads();");
  w.line(
      "    for (int i = t; i < {0}; i += {1}) {{ const int j = i / {2}, d = i % {2}; ks[j * {3} + d] = base + j < {4} "
      "? "
      "w_get(k[(s64)(base + j) * {5} + (s64)d * {6}]) : 0.0f; }}",
      kKeys * a.size, kBlock, a.size, a.size + 1, a.keys, a.k.row, a.k.column);
  w.line("    __syncthreads();\n    float s[4] = {{0, 0, 0, 0}};");
  w.line(
      "#pragma unroll 8\n    for (int d = 0; d < {0}; ++d) {{ const float x = qs[r * {0} + d];\n#pragma unroll\n      "
      "for (int i = "
      "0; i < 4; ++i) s[i] += x * ks[(c + {1} * i) * {2} + d]; }}",
      a.size, kLanes, a.size + 1);
  w.line(
      "    float most = -W_INF;\n#pragma unroll\n    for (int i = 0; i < 4; ++i) {{ const int j = base + c + {} * i;",
      kLanes);
  w.line("      if (j >= {} || row >= {}{}) {{ s[i] = -W_INF; continue; }}", a.keys, a.rows,
         causal ? " || j > row" : "");
  if (const double cap = p.as<AttentionParams>().softcap; cap > 0)
    w.line("      s[i] = (float){0:.9g} * tanhf(s[i] / (float){0:.9g});", cap);
  WOOTZ_RETURN_IF_ERROR(write_mask(p, args, a, "s[i]", &w));
  w.line("      most = w_max<float>(most, s[i]); }}");
  w.line("    for (int m = {}; m > 0; m /= 2) most = w_max<float>(most, __shfl_xor_sync(0xffffffffu, most, m));",
         kLanes / 2);
  w.line("    const float now = w_max<float>(top, most), keep = top == -W_INF ? 0.0f : expf(top - now);");
  w.line(
      "    float part = 0;\n#pragma unroll\n    for (int i = 0; i < 4; ++i) {{ const float e = now == -W_INF ? 0.0f : "
      "expf(s[i] - "
      "now); ps[r * {} + c + {} * i] = e; part += e; }}",
      kKeys + 1, kLanes);
  w.line("    for (int m = {}; m > 0; m /= 2) part += __shfl_xor_sync(0xffffffffu, part, m);", kLanes / 2);
  w.line("    sum = sum * keep + part; top = now;");
  w.line("#pragma unroll\n    for (int i = 0; i < {}; ++i) acc[i] *= keep;", columns);
  w.line("    __syncthreads();");
  w.line(
      "    for (int i = t; i < {0}; i += {1}) {{ const int j = i / {2}, d = i % {2}; ks[i] = base + j < {3} ? "
      "w_get(v[(s64)(base "
      "+ j) * {4} + (s64)d * {5}]) : 0.0f; }}",
      kKeys * a.v_size, kBlock, a.v_size, a.keys, a.v.row, a.v.column);
  w.line("    __syncthreads();");
  w.line(
      "#pragma unroll 8\n    for (int j = 0; j < {0}; ++j) {{ const float e = ps[r * {1} + j];\n#pragma unroll\n      "
      "for (int i = 0; "
      "i < {2}; ++i) {3} acc[i] += e * ks[j * {4} + c + {5} * i]; }}",
      kKeys, kKeys + 1, columns, a.v_size % kLanes == 0 ? "" : fmt::format("if (c + {} * i < {})", kLanes, a.v_size),
      a.v_size, kLanes);
  w.line("  }}\n  if (row >= {}) return;", a.rows);
  write_row_scale(p, &w);
  w.line("#pragma unroll\n  for (int i = 0; i < {}; ++i) {{ const int d = c + {} * i; if (d >= {}) continue;", columns,
         kLanes, a.v_size);
  w.line(
      "    const float f = none ? 0.0f : acc[i] * scale; const s64 at = (s64)b * {} + (s64)h * {} + (s64)row * {} + d;",
      a.y.batch, a.y.head, a.y.row);
  return finish_attention(p, args, a, kBlock, blocks, &w, launches);
}

}  // namespace wootz::cuda
