#include <cmath>

#include "backends/cpu/attention/tile.h"
#include "backends/cpu/testing/kernel_runner.h"
#include "base/tolerance.h"

namespace wootz::cpu {
namespace {

struct Case {
  int64_t batch, heads, kv_heads, queries, keys, size, v_size;
  bool causal = false, transposed = false;
  double cap = 0;
  Dims mask;
  DType mask_type = DType::kF32;
  bool viewed = false;          // operands as heads side by side
  bool sequence_first = false;  // of those operands
  int64_t merged = 0, nan_rows = 0;
};

HostTensor oracle(const Case& c, const std::vector<HostTensor>& in, double scale) {
  HostTensor y = HostTensor::allocate(DType::kF64, {c.batch, c.heads, c.queries, c.v_size}).value();
  const Dims scores{c.batch, c.heads, c.queries, c.keys};
  const Dims ms = in.size() > 3 ? broadcast_strides(in[3].dims(), scores) : Dims::filled(4, 0);
  std::vector<double> s(static_cast<size_t>(c.keys));
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t i = 0; i < c.queries; ++i) {
        const int64_t kv = b * c.kv_heads + h / (c.heads / c.kv_heads),
                      q = ((b * c.heads + h) * c.queries + i) * c.size;
        double top = -INFINITY, sum = 0;
        for (int64_t t = 0; t < c.keys; ++t) {
          double v = 0;
          for (int64_t d = 0; d < c.size; ++d)
            v += in[0].get_f64(q + d) *
                 in[1].get_f64(c.transposed ? (kv * c.size + d) * c.keys + t : (kv * c.keys + t) * c.size + d);
          v *= scale;
          if (c.cap > 0) v = c.cap * std::tanh(v / c.cap);
          if (in.size() > 3) {
            const int64_t at = b * ms[0] + h * ms[1] + i * ms[2] + t * ms[3];
            if (in[3].dtype() == DType::kBool)
              v = in[3].get_i64(at) != 0 ? v : -INFINITY;
            else
              v = std::isinf(in[3].get_f64(at)) ? -INFINITY : v + in[3].get_f64(at);
          }
          if (c.causal && t > i) v = -INFINITY;
          s[static_cast<size_t>(t)] = v;
          top = std::isnan(v) || v > top ? v : top;
        }
        for (double& v : s) sum += v = top == -INFINITY ? 0 : std::exp(v - top);
        for (int64_t d = 0; d < c.v_size; ++d) {
          double v = 0;
          for (int64_t t = 0; t < c.keys; ++t)
            v += s[static_cast<size_t>(t)] * in[2].get_f64((kv * c.keys + t) * c.v_size + d);
          double result = sum == 0 ? (c.nan_rows == 1 ? NAN : 0) : v / sum;
          if (c.nan_rows == 2 && std::isnan(sum)) result = 0;
          y.set_f64(((b * c.heads + h) * c.queries + i) * c.v_size + d, result);
        }
      }
  return y;
}

// [B,H,S,D] as [B,S,columns] or [S,B,columns], heads of `stride` columns from `offset`, noise around them.
HostTensor side_by_side(const HostTensor& x, int64_t offset, int64_t stride, int64_t columns, bool sequence_first,
                        std::mt19937_64& rng) {
  const Dims& d = x.dims();
  HostTensor y =
      rig::random_tensor(rng, x.dtype(), sequence_first ? Dims{d[2], d[0], columns} : Dims{d[0], d[2], columns}, -9, 9);
  for (int64_t i = 0; i < x.volume(); ++i) {
    const int64_t e = i % d[3], s = i / d[3] % d[2], h = i / d[3] / d[2] % d[1], b = i / d[3] / d[2] / d[1];
    y.set_f64((sequence_first ? s * d[0] + b : b * d[2] + s) * columns + offset + h * stride + e, x.get_f64(i));
  }
  return y;
}

// What follows it.
enum class End { kNothing, kExpression, kBytes };

// To the grid of a hundredth; they may fall to the other side of a half.
HostTensor rounded(const HostTensor& result, DType type, Problem* p, double* tolerance) {
  PointwiseExpr& e = p->epilogue;
  const uint16_t by = e.constant(0.01, DType::kF32), zero = e.constant(5, DType::kF32);
  e.outputs = {e.push(PwOp::kQuantize, DType::kI8, e.input(0, type), by, zero)};
  const HostTensor want = rig::apply_epilogue(e, result, {});
  double largest = 1;
  for (int64_t i = 0; i < want.volume(); ++i) largest = std::max(largest, std::fabs(want.get_f64(i)));
  *tolerance = (type == DType::kF32 ? 1.01 : 2.01) / largest;
  return want;
}

void check_attention(const Case& c, DType type, End end, std::mt19937_64& rng, bool poison = false) {
  std::vector<HostTensor> in = {
      rig::random_tensor(rng, type, {c.batch, c.heads, c.queries, c.size}, -1, 1),
      rig::random_tensor(
          rng, type,
          c.transposed ? Dims{c.batch, c.kv_heads, c.size, c.keys} : Dims{c.batch, c.kv_heads, c.keys, c.size}, -1, 1),
      rig::random_tensor(rng, type, {c.batch, c.kv_heads, c.keys, c.v_size}, -1, 1)};
  if (poison) in[0].as_mutable<float>()[static_cast<size_t>(c.size)] = NAN;
  if (!c.mask.empty()) {
    in.push_back(rig::random_tensor(rng, c.mask_type, c.mask, -3, 3));
    if (is_float(c.mask_type))
      for (int64_t i = 0; i < in[3].volume(); i += 3) in[3].set_f64(i, -INFINITY);
    if (c.mask[2] > 1)  // one row that sees nothing
      for (int64_t t = 0; t < c.mask[3]; ++t) in[3].set_f64(t, is_float(c.mask_type) ? -INFINITY : 0);
  }
  const double scale = 2 / std::sqrt(static_cast<double>(c.size));
  HostTensor want = oracle(c, in, scale);
  Problem p;
  p.set_family(Family::kAttention);
  p.num_main = static_cast<int>(in.size());
  p.params = AttentionParams{.scale = scale,
                             .causal = c.causal,
                             .softcap = c.cap,
                             .has_mask = in.size() > 3,
                             .k_transposed = c.transposed,
                             .merged = c.merged,
                             .nan_rows = c.nan_rows};
  if (c.merged != 0) want = side_by_side(want, 0, c.v_size, c.heads * c.v_size, c.merged == 2, rng);
  if (c.viewed) {
    auto& params = p.as<AttentionParams>();
    Ints* const views[] = {&params.q_view, &params.k_view, &params.v_view};
    for (size_t i = 0; i < 3; ++i) {
      const int64_t heads = i == 0 ? c.heads : c.kv_heads, size = i == 2 ? c.v_size : c.size;
      const auto offset = static_cast<int64_t>(rng() % 9), stride = size + static_cast<int64_t>(rng() % 3) * 5;
      *views[i] = {offset, heads, size, stride, c.sequence_first};
      in[i] = side_by_side(in[i], offset, stride, offset + heads * stride + 2, c.sequence_first, rng);
    }
  }
  DType out = type;
  p.acc_dtype = type;
  double tolerance = 2 * tolerance_for(end == End::kExpression ? DType::kF32 : type, c.keys);
  if (end == End::kBytes) {
    out = DType::kI8;
    want = rounded(want, type, &p, &tolerance);
  } else if (end == End::kExpression) {
    out = DType::kF32;
    p.epilogue = rig::test_epilogue(type, out);
    in.push_back(rig::random_tensor(rng, DType::kF32, want.dims(), -1, 1));
    want = rig::apply_epilogue(p.epilogue, want, {in.back()});
  } else {
    want = rig::converted(want, out);
  }
  for (const HostTensor& t : in) p.inputs.push_back(rig::desc_of(t));
  p.outputs = {rig::desc(out, want.dims())};
  SCOPED_TRACE(p.key());
  rig::check(p, in, {want}, {.tolerance = tolerance, .misaligned = c.causal});
}

TEST(Attention, ShapesMasksAndTypes) {
  std::mt19937_64 rng(rig::seed());
  const Case cases[] = {{1, 2, 2, 5, 7, 16, 16},
                        {2, 4, 2, 50, 50, 32, 24, true},
                        {1, 3, 1, 1, 300, 64, 64},
                        {1, 2, 2, 100, 260, 20, 33},
                        {2, 2, 1, 49, 130, 64, 64, false, true},
                        {1, 2, 2, 3, 40, 17, 5, true},
                        {1, 2, 2, 60, 60, 8, 8, true, true, 1.5},
                        {2, 2, 2, 9, 140, 16, 16, false, false, 0, {2, 1, 1, 140}},
                        {2, 3, 3, 50, 70, 16, 16, false, false, 0, {1, 1, 50, 70}, DType::kBool},
                        {2, 3, 3, 10, 20, 16, 16, false, false, 2, {2, 3, 10, 20}, DType::kF16},
                        {2, 2, 2, 10, 20, 16, 16, true, false, 0, {1, 1, 10, 1}, DType::kBool},
                        {1, 1, 1, 2, 1, 1, 1},
                        {2, 4, 2, 70, 140, 32, 24, false, false, 0, {}, DType::kF32, true, false, 1},
                        {2, 3, 3, 66, 66, 16, 40, true, false, 0, {2, 1, 1, 66}, DType::kBool, true, true, 2},
                        {3, 2, 2, 2, 200, 16, 16, false, false, 0, {1, 1, 2, 200}, DType::kF32, true, false, 1, 1},
                        {2, 2, 1, 20, 150, 8, 8, false, false, 0, {2, 2, 20, 150}, DType::kBool, false, false, 1, 1},
                        {2, 2, 1, 20, 150, 8, 8, true, true, 1, {2, 1, 20, 1}, DType::kBF16, false, false, 2, 2},
                        {1, 4, 2, 70, 140, 32, 48, true},
                        {2, 2, 2, 77, 300, 64, 64, false, false, 0, {2, 1, 1, 300}},
                        {1, 2, 1, 33, 129, 96, 16, true, false, 2, {}, DType::kF32, true, false, 1}};
  for (const Case& c : cases)
    for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (const End end : {End::kNothing, End::kExpression, End::kBytes}) check_attention(c, type, end, rng);
    }
}

TEST(Attention, EmptyAndNaN) {
  std::mt19937_64 rng(rig::seed());
  check_attention({0, 2, 2, 5, 7, 8, 8}, DType::kF32, End::kNothing, rng);
  check_attention({1, 2, 2, 0, 7, 8, 8}, DType::kF32, End::kNothing, rng);
  check_attention({1, 2, 2, 5, 0, 8, 8}, DType::kF32, End::kNothing, rng);
  check_attention({1, 2, 2, 5, 7, 8, 0}, DType::kF32, End::kNothing, rng);
  check_attention({1, 2, 2, 6, 300, 8, 8}, DType::kF32, End::kNothing, rng, true);
  check_attention({1, 2, 2, 2, 300, 8, 8, true}, DType::kF32, End::kNothing, rng, true);
  check_attention({1, 2, 2, 6, 300, 8, 8, false, false, 0, {}, DType::kF32, true, false, 1, 2}, DType::kF32,
                  End::kNothing, rng, true);
  check_attention({1, 2, 2, 2, 30, 8, 8, false, false, 0, {}, DType::kF32, true, false, 1, 2}, DType::kF32,
                  End::kNothing, rng, true);
}

// Parameters of a plan file that do not fit the operands: refused, never read past.
TEST(Attention, ViewsThatDoNotFit) {
  Problem p;
  p.set_family(Family::kAttention);
  p.num_main = 3;
  p.outputs = {rig::desc(DType::kF32, {2, 5, 24})};
  for (int i = 0; i < 3; ++i) p.inputs.push_back(rig::desc(DType::kF32, {2, 5, 24}));
  const auto offers = [&](std::vector<int64_t> view, int64_t merged) {
    p.params = AttentionParams{.merged = merged, .q_view = view, .k_view = view, .v_view = view};
    return !rig::offers_for(p, "avx2").empty();
  };
  EXPECT_TRUE(offers({0, 3, 8, 8, 0}, 1));
  for (const std::vector<int64_t>& view : std::vector<std::vector<int64_t>>{{1, 3, 8, 8, 0},
                                                                            {-1, 3, 8, 8, 0},
                                                                            {0, 3, 8, 9, 0},
                                                                            {0, 0, 8, 8, 0},
                                                                            {0, 3, 0, 8, 0},
                                                                            {0, 3, 8, -8, 0},
                                                                            {0, 3, 8},
                                                                            {0, INT64_MAX, 8, INT64_MAX, 0},
                                                                            {INT64_MAX, 1, 8, 8, 0}})
    EXPECT_FALSE(offers(view, 1)) << view.size() << " " << view[0] << " " << view[1];
  EXPECT_FALSE(offers({0, 3, 8, 8, 0}, 0));
  EXPECT_FALSE(offers({0, 3, 8, 8, 0}, 2));
  EXPECT_FALSE(offers({0, 3, 8, 8, 0}, 7));
}

TEST(Tile, ProductsOfAllSizes) {
  std::mt19937_64 rng(rig::seed());
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa > cpu_info().best()) continue;
    for (int round = 0; round < 60; ++round) {
      const auto m = static_cast<int64_t>(rng() % 30 + 1), n = static_cast<int64_t>(rng() % 70 + 1),
                 k = static_cast<int64_t>(rng() % 40);
      const HostTensor a = rig::random_tensor(rng, DType::kF32, {m, k + 3}),
                       b = rig::random_tensor(rng, DType::kF32, {k + 1, n + 5});
      HostTensor c = rig::random_tensor(rng, DType::kF32, {m, n + 2});
      const HostTensor before = rig::converted(c, DType::kF32);
      const bool accumulate = rng() % 2;
      const bool turned = rng() % 2;
      HostTensor at = rig::random_tensor(rng, DType::kF32, {k + 1, m + 3});
      for (int64_t i = 0; i < m; ++i)
        for (int64_t p = 0; p < k; ++p) at.set_f64(p * (m + 3) + i, a.get_f64(i * (k + 3) + p));
      (turned ? tile_ops(isa).multiply_ta : tile_ops(isa).multiply)(
          turned ? at.as<float>().data() : a.as<float>().data(), turned ? m + 3 : k + 3, b.as<float>().data(), n + 5,
          c.as_mutable<float>().data(), n + 2, m, n, k, accumulate);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n + 2; ++j) {
          double want = j >= n || accumulate ? before.get_f64(i * (n + 2) + j) : 0;
          for (int64_t p = 0; p < k && j < n; ++p) want += a.get_f64(i * (k + 3) + p) * b.get_f64(p * (n + 5) + j);
          ASSERT_NEAR(c.get_f64(i * (n + 2) + j), want, 1e-3) << m << "x" << n << "x" << k << " seed " << rig::seed();
        }
    }
  }
}

}  // namespace
}  // namespace wootz::cpu
