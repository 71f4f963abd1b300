// The kernel of 8-bit products: mma.sync on tiles in shared memory, filled by asynchronous copies some stages ahead.
// A stage holds 64 bytes of the sum's length for each row of x and each column of w, and for each share of the sum.
// Which of those 64 a thread multiplies at once does not matter to a sum of integers, as long as x and w agree: so a
// thread takes 16 bytes that lie together, and eight neighbours read 128 bytes without a conflict of banks.
#include <algorithm>

#include "backends/cuda/generate/bytes.h"

namespace wootz::cuda {
namespace {

constexpr const char* kInstructions = R"(
#ifndef WOOTZ_ON_HOST
template <class X> W_FN void w_mma(int (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  if constexpr ((X)-1 < 0)
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
W_FN void w_copy16(void* to, const void* from, bool in) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
    :: "r"((u32)__cvta_generic_to_shared(to)), "l"(from), "r"(in ? 16 : 0) : "memory");
}
#define W_SHARED(name, bytes) extern __shared__ __align__(16) u8 name[]
#define W_TABLE(type, name, count) __device__ alignas(16) const type name[count]
W_FN void w_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> W_FN void w_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
#endif
)";

// "rows" of x that a thread copies: where they begin, and in images which pixel their window starts at.
void write_rows(const BytesProduct& b, Writer* w) {
  w->raw(R"(  const XT* base[R]; int h0[R], v0[R];
#pragma unroll
  for (int j = 0; j < R; ++j) {
    int row = m0 + (t / 4 + j * (T / 4)) % TM;
    if (row >= ROWS) row = ROWS - 1;
)");
  if (b.window)
    w->line(
        "    const int ox = row % {0}, rest = row / {0}, oy = rest % {1};\n    h0[j] = oy * {2} - {3}; v0[j] = ox * "
        "{4} - {5};\n"
        "    base[j] = x + (s64)(rest / {1}) * {6};\n  }}",
        b.out_w, b.out_h, b.stride_h, b.top, b.stride_w, b.left, b.in_h * b.in_w * b.channels);
  else
    w->line("    h0[j] = v0[j] = 0; base[j] = x + (s64)row * {};\n  }}", b.channels);
}

// Position k of the sum as a tap and a channel.
void write_tap(const BytesProduct& b, Writer* w) {
  w->line("      const int tap = k / {0}; int c = k - tap * {0}, r = tap / {1}, s = tap - r * {1};", b.channels,
          b.taps_w);
}

// 16 bytes of row j's part of the sum at k, to `to`.
void write_x(const BytesProduct& b, Writer* w) {
  const bool fill = b.padded && b.zero != 0;
  if (b.by_sixteen() && !b.window) {
    w->line("      w_copy16(to, base[j % R] + (k < K ? k : 0), k < K);");
  } else if (b.by_sixteen()) {
    write_tap(b, w);
    w->line("      const int h = h0[j % R] + r * {}, v = v0[j % R] + s * {};", b.dilation_h, b.dilation_w);
    w->line("      const bool in = k < K && (u32)h < {}u && (u32)v < {}u;", b.in_h, b.in_w);
    w->line("      const XT* from = in ? base[j % R] + ((s64)h * {} + v) * {} + c : {};\n      w_copy16(to, from, {});",
            b.in_w, b.channels, fill ? "(const XT*)w_outside" : "x", fill ? "true" : "in");
  } else {
    write_tap(b, w);
    w->raw(
        "      Pack<u32, 4> g;\n#pragma unroll\n      for (int i = 0; i < 16; ++i) {\n        if (i % 4 == 0) g.v[i / "
        "4] = 0;\n");
    if (b.window) {
      w->line("        const int h = h0[j % R] + r * {}, v = v0[j % R] + s * {};", b.dilation_h, b.dilation_w);
      w->line("        const bool in = k + i < K && (u32)h < {}u && (u32)v < {}u;", b.in_h, b.in_w);
      w->line("        const u32 byte = in ? (u8)base[j % R][((s64)h * {} + v) * {} + c] : {}u;", b.in_w, b.channels,
              static_cast<unsigned>(b.zero & 255));
      w->line("        if (++c == {}) {{ c = 0; if (++s == {}) {{ s = 0; ++r; }} }}", b.channels, b.taps_w);
    } else {
      w->raw("        const u32 byte = k + i < K ? (u8)base[j % R][k + i] : 0u;\n");
    }
    w->raw("        g.v[i / 4] |= byte << (i % 4 * 8);\n      }\n      *(Pack<u32, 4>*)to = g;\n");
  }
}

void write_load(const BytesProduct& b, const BytesTile& tile, Writer* w) {
  w->line("  const auto load = [&](int it, int slot) {{\n    u8* const stage = tile + slot * (KW * (TM + TN) * 64);");
  w->raw("#pragma unroll\n    for (int j = 0; j < KW * TM * 4 / T; ++j) {\n");
  // The share is known at compile time where a pass over the rows covers no more than one.
  const bool known = tile.threads() / 4 <= tile.rows;
  w->line("      const int kw = {}, k = (it * KW + kw) * 64 + q * 16;", known ? "j / R" : "(t / 4 + j * (T / 4)) / TM");
  w->line("      u8* const to = stage + (kw * (TM + TN) + (t / 4 + {} * (T / 4)) % TM) * 64 + q * 16;",
          known ? "j % R" : "0");
  write_x(b, w);
  w->raw(R"(    }
#pragma unroll
    for (int j = 0; j < KW * TN * 4 / T; ++j) {
      const int i = t / 4 + j * (T / 4), kw = i / TN, n = n0 + i % TN, k = (it * KW + kw) * 64 + q * 16;
      const bool in = n < N && k < KP;
      w_copy16(stage + (kw * (TM + TN) + TM + i % TN) * 64 + q * 16, in ? f + (s64)n * KP + k : f, in);
    }
    w_commit();
  };
)");
}

constexpr const char* kSums = R"(  int acc[MF][NF][4];
#pragma unroll
  for (int i = 0; i < MF; ++i)
#pragma unroll
    for (int n = 0; n < NF; ++n) acc[i][n][0] = acc[i][n][1] = acc[i][n][2] = acc[i][n][3] = 0;
#pragma unroll
  for (int s = 0; s < ST - 1; ++s) { if (s < IT) load(s, s); else w_commit(); }
#pragma unroll 1
  for (int it = 0; it < IT; ++it) {
    w_wait<ST - 2>();
    __syncthreads();
    if (it + ST - 1 < IT) load(it + ST - 1, (it + ST - 1) % ST); else w_commit();
    const u8* const stage = tile + (it % ST * KW + wk) * ((TM + TN) * 64) + (t % 32 / 4) * 64 + q * 16;
    const u8* const rows = stage + wm * (MF * 16 * 64);
    const u8* const columns = stage + (TM + wn * (NF * 8)) * 64;
    Pack<u32, 4> b[NF];
#pragma unroll
    for (int n = 0; n < NF; ++n) b[n] = *(const Pack<u32, 4>*)(columns + n * (8 * 64));
#pragma unroll
    for (int i = 0; i < MF; ++i) {
      const Pack<u32, 4> lo = *(const Pack<u32, 4>*)(rows + i * (16 * 64)), hi = *(const Pack<u32, 4>*)(rows + (i * 16 + 8) * 64);
#pragma unroll
      for (int n = 0; n < NF; ++n) {
        w_mma<XT>(acc[i][n], lo.v[0], hi.v[0], lo.v[1], hi.v[1], b[n].v[0], b[n].v[1]);
        w_mma<XT>(acc[i][n], lo.v[2], hi.v[2], lo.v[3], hi.v[3], b[n].v[2], b[n].v[3]);
      }
    }
  }
  w_wait<0>();
)";

// 16 rows of each warp at a time through shared memory: there the shares of the sum meet, and neighbouring threads take
// neighbouring columns.
constexpr const char* kGather = R"(  int* const sums = (int*)tile;
#pragma unroll 1
  for (int i = 0; i < MF; ++i) {
    __syncthreads();
#pragma unroll
    for (int ii = 0; ii < MF; ++ii) {
      if (ii != i) continue;
#pragma unroll
      for (int n = 0; n < NF; ++n) {
        int* const at = sums + ((wk * WM + wm) * 16 + t % 32 / 4) * SP + wn * (NF * 8) + n * 8 + q * 2;
        at[0] = acc[ii][n][0]; at[1] = acc[ii][n][1];
        at[8 * SP] = acc[ii][n][2]; at[8 * SP + 1] = acc[ii][n][3];
      }
    }
    __syncthreads();
#pragma unroll 1
    for (int j = t; j < WM * 16 * TN / V; j += T) {
      const int r = j / (TN / V), c = j % (TN / V) * V, row = m0 + r / 16 * (MF * 16) + i * 16 + r % 16, n = n0 + c;
      if (row >= ROWS || n >= N) continue;
      Pack<int, V> sum = *(const Pack<int, V>*)(sums + r * SP + c);
#pragma unroll
      for (int k = 1; k < KW; ++k) {
        const Pack<int, V> more = *(const Pack<int, V>*)(sums + (k * (WM * 16) + r) * SP + c);
#pragma unroll
        for (int v = 0; v < V; ++v) sum.v[v] += more.v[v];
      }
)";

// An operand at the results of a thread: its strides over rows and along the columns.
struct Operand {
  std::string pointer, name;
  DType type = DType::kF32;
  int64_t along = 0;
};

}  // namespace

Status write_bytes(const Problem& p, const BindArgs& args, const BytesProduct& b, const BytesTile& tile,
                   Launch* launch) {
  const bool conv = p.family() == Family::kConv, bias = p.num_main == 3;
  const Dims& y = args.outputs[0];
  const size_t column_axis = conv ? 1 : y.size() - 1;
  // Rows of the result in memory's order; per axis the strides of bias and operands.
  std::vector<Operand> operands;
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 2; i < p.inputs.size(); ++i) {
    Dims d = args.inputs[i];
    if (i == 2 && bias && conv) {  // one value a channel, whatever its shape
      d = Dims::filled(y.rank(), 1);
      d[1] = y[1];
    }
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s,
                           strides_over(p.inputs[i].constant ? Layout::kLinear : p.inputs[i].layout, d, y));
    const size_t k = i - static_cast<size_t>(p.num_main) + 1;
    operands.push_back({k == 0 ? "b" : fmt::format("e{}", k), k == 0 ? "ob" : fmt::format("o{}", k), p.inputs[i].dtype,
                        s[column_axis]});
    strides.push_back(std::move(s));
  }
  std::vector<Axis> axes;
  for (const int a : memory_order(conv ? Layout::kChannelsLast : Layout::kLinear, y.rank())) {
    if (static_cast<size_t>(a) == column_axis) continue;
    Axis axis{y[static_cast<size_t>(a)], {}};
    for (const auto& s : strides) axis.strides.push_back(s[static_cast<size_t>(a)]);
    axes.push_back(std::move(axis));
  }
  axes = merge_axes(std::move(axes));
  bool vectors = b.columns % 4 == 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    vectors = vectors && (operands[k].along == 0 || operands[k].along == 1);
    for (const Axis& a : axes) vectors = vectors && (operands[k].along == 0 || a.strides[k] % 4 == 0);
  }

  std::vector<float> constants;
  const PointwiseExpr epilogue = b.packed ? with_constants_as_operands(p.epilogue, &constants) : p.epilogue;
  const char *xt = storage_type(p.inputs[0].dtype), *yt = storage_type(p.outputs[0].dtype);
  const int64_t iterations = (b.pitch() + 64 * tile.shares - 1) / (64 * tile.shares);
  Writer w;
  w.raw(prelude());
  w.raw(kInstructions);
  w.line("typedef {} XT; typedef {} YT;", xt, yt);
  w.line(
      "enum {{ TM = {}, TN = {}, WM = {}, WN = {}, KW = {}, ST = {}, T = {}, R = {}, MF = {}, NF = {}, V = {}, SP = TN "
      "+ 8,",
      tile.rows, tile.columns, tile.warps_m, tile.warps_n, tile.shares, tile.stages, tile.threads(),
      std::max(1, tile.rows * 4 / tile.threads()), tile.rows / tile.warps_m / 16, tile.columns / tile.warps_n / 8,
      vectors ? 4 : 1);
  w.line("  ROWS = {}, N = {}, K = {}, KP = {}, IT = {} }};", b.rows, b.columns, b.depth(), b.pitch(), iterations);
  if (b.padded && b.zero != 0) {
    const std::string four = fmt::format("0x{:08x}u", static_cast<uint32_t>(b.zero & 255) * 0x01010101u);
    w.line("W_TABLE(u32, w_outside, 4) = {{{0}, {0}, {0}, {0}}};", four);
  }
  std::string parameters = fmt::format("YT* __restrict__ y, const XT* __restrict__ x, const s8* __restrict__ f, {}{}",
                                       epilogue_parameters(p), bias ? "const float* __restrict__ b, " : "");
  parameters.resize(parameters.size() - 2);
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", tile.threads(), parameters);
  w.raw(R"(  W_SHARED(tile, ST * KW * (TM + TN) * 64);
  const int t = threadIdx.x, q = t % 4, warp = t / 32, wk = warp / (WM * WN), wm = warp % (WM * WN) / WN, wn = warp % WN;
  const int m0 = blockIdx.x * TM, n0 = blockIdx.y * TN;
)");
  if (!b.matrices.empty()) {
    w.offsets(b.matrices, "blockIdx.z", {"zx", "zf"});
    w.line("  x += zx; f += zf;");
  }
  write_rows(b, &w);
  write_load(b, tile, &w);
  w.raw(kSums);
  if (b.packed) {
    w.line(
        "  const float* const scales = (const float*)(f + {});\n  const int* const corrections = (const int*)(scales + "
        "N);",
        b.columns * b.pitch());
    for (size_t i = 0; i < constants.size(); ++i) w.line("  const float k{0} = scales[2 * N + {0}];", i);
  }
  w.raw(kGather);
  w.line("      const s64 whole = {}row;", b.batch == 1 ? "" : "(s64)blockIdx.z * ROWS + ");
  std::vector<std::string> names, inputs{"own"};
  for (const Operand& o : operands) names.push_back(o.name);
  w.offsets(axes, "whole", names);
  if (b.packed) {
    w.line("      const Pack<float, V> scale = *(const Pack<float, V>*)(scales + n);");
    if (b.zero != 0) w.line("      const Pack<int, V> less = *(const Pack<int, V>*)(corrections + n);");
  }
  std::string added;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Operand& o = operands[k];
    const char* st = storage_type(o.type);
    std::string read;
    if (o.along == 1) {
      w.line("      const Pack<{0}, V> p{1} = *(const Pack<{0}, V>*)({2} + {3} + n);", st, k, o.pointer, o.name);
      read = fmt::format("w_get(p{}.v[v])", k);
    } else {
      w.line("      const {0}* const p{1} = {2} + {3} + (s64)n * {4};", st, k, o.pointer, o.name, o.along);
      read = fmt::format("w_get(p{}[(s64)v * {}])", k, o.along);
    }
    if (o.pointer == "b")
      added = " + " + read;
    else
      inputs.push_back(read);
  }
  w.line("      Pack<YT, V> z;\n#pragma unroll\n      for (int v = 0; v < V; ++v) {{");
  w.line("        const float own = (float){} * {}{};",
         b.packed && b.zero != 0 ? "(int)((u32)sum.v[v] - (u32)less.v[v])" : "sum.v[v]",
         b.packed ? "scale.v[v]" : fmt::format("(float){:.17g}", b.scale), added);
  std::string value = "own";
  if (!epilogue.empty()) {
    std::vector<std::string> results;
    inputs.resize(p.epilogue.num_inputs, "0");
    for (size_t i = 0; i < constants.size(); ++i) inputs.push_back(fmt::format("k{}", i));
    WOOTZ_RETURN_IF_ERROR(write_expression(epilogue, inputs, "t", &w, &results));
    value = results[0];
  }
  w.line("        z.v[v] = Put<YT>::to({});\n      }}\n      *(Pack<YT, V>*)(y + whole * N + n) = z;\n    }}\n  }}\n}}",
         value);
  launch->source = w.text();
  launch->size.block = static_cast<unsigned>(tile.threads());
  launch->size.shared = static_cast<unsigned>(tile.bytes());
  launch->size.grid_x = blocks_for(b.rows, tile.rows);
  launch->size.grid_y = blocks_for(b.columns, tile.columns);
  launch->size.grid_z = static_cast<unsigned>(b.batch);
  launch->pointers = {{true, 0}, {false, 0}, {false, 1}};
  add_epilogue_pointers(p, &launch->pointers);
  if (bias) launch->pointers.push_back({false, 2});
  return Status();
}

}  // namespace wootz::cuda
