#include <cmath>
#include <limits>

#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/provider.h"
#include "backends/cpu/onednn/testing.h"

namespace wootz::cpu::dnn::testing {
namespace {

struct PoolCase {
  Problem problem;
  std::vector<HostTensor> inputs;
};

// One window by plain loops over its taps, axis by axis.
double pool_at(const Problem& p, const HostTensor& x, const Dims& out) {
  const auto& params = p.as<PoolParams>();
  const bool max = params.kind == PoolKind::kMax, include = params.count_include_pad;
  const bool global = params.global;
  const size_t spatial = x.dims().size() - 2;
  Ints kernel = params.kernel, strides = params.strides, dilations = params.dilations, pads = params.pads;
  if (global) {
    kernel.assign(x.dims().begin() + 2, x.dims().end());
    strides.assign(spatial, 1), dilations.assign(spatial, 1), pads.assign(2 * spatial, 0);
  }
  double value = max ? -std::numeric_limits<double>::infinity() : 0;
  int64_t count = 0, taps = 1;
  for (const int64_t k : kernel) taps *= k;
  for (int64_t t = 0; t < taps; ++t) {
    int64_t rest = t, offset = out[0] * x.dims()[1] + out[1];
    bool inside = true;
    std::vector<int64_t> place(spatial);
    for (size_t i = spatial; i-- > 0;) {
      place[i] = out[i + 2] * strides[i] - pads[i] + rest % kernel[i] * dilations[i];
      rest /= kernel[i];
      inside = inside && place[i] >= 0 && place[i] < x.dims()[i + 2];
    }
    for (size_t i = 0; i < spatial; ++i) offset = offset * x.dims()[i + 2] + place[i];
    if (!inside) continue;
    ++count;
    value = max ? std::max(value, x.get_f64(offset)) : value + x.get_f64(offset);
  }
  return max ? value : value / static_cast<double>(include ? taps : count);
}

HostTensor pool_oracle(const Problem& p, const std::vector<HostTensor>& in, const Dims& y) {
  HostTensor out = HostTensor::allocate(p.outputs[0].dtype, y).value();
  const Dims strides = y.strides();
  for (int64_t i = 0; i < out.volume(); ++i) {
    Dims index;
    for (size_t d = 0; d < y.size(); ++d) index.push_back(i / strides[d] % y[d]);
    double v = pool_at(p, in[0], index);
    if (!p.epilogue.empty()) {
      const PwScalar operands[] = {{v, 0}, {in.size() > 1 ? in[1].get_f64(index[1]) : 0, 0}};
      PwScalar result;
      evaluate(p.epilogue, operands, {&result, 1});
      v = is_float(p.outputs[0].dtype) ? result.f : static_cast<double>(result.i);
    }
    out.set_f64(i, v);
  }
  return out;
}

PoolCase random_pool(std::mt19937_64& rng, DType type, int rank) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  PoolCase c;
  Problem& p = c.problem;
  p.set_family(Family::kPool);
  const bool max = type == DType::kU8 || pick(0, 1) == 0, global = pick(0, 5) == 0, ceil = pick(0, 3) == 0;
  const auto spatial = static_cast<size_t>(rank - 2);
  Dims x{pick(1, 2), pick(1, 40)}, y{x[0], x[1]};
  std::vector<int64_t> kernel, strides, dilations, pads(2 * spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t k = pick(1, 4), s = pick(1, 3), d = max && pick(0, 3) == 0 ? 2 : 1, span = (k - 1) * d + 1;
    pads[i] = pick(0, k - 1), pads[spatial + i] = pick(0, k - 1);
    const int64_t extent = pick(span, 12), room = extent + pads[i] + pads[spatial + i] - span;
    int64_t out = (ceil ? room + s - 1 : room) / s + 1;
    if (ceil && (out - 1) * s >= extent + pads[i]) --out;
    x.push_back(extent), y.push_back(global ? 1 : out);
    kernel.push_back(k), strides.push_back(s), dilations.push_back(d);
  }
  p.params = PoolParams{.kind = max ? PoolKind::kMax : PoolKind::kAvg,
                        .kernel = kernel,
                        .strides = strides,
                        .dilations = dilations,
                        .pads = pads,
                        .global = global,
                        .ceil = ceil,
                        .count_include_pad = pick(0, 1) != 0};
  c.inputs = {random_tensor(rng, type, x)};
  p.inputs = {desc_of(c.inputs[0])};
  p.num_main = 1;
  p.acc_dtype = type;
  p.outputs = {{type, Layout::kLinear, y, y, false}};
  return c;
}

int check(const PoolCase& c, const std::string& what) {
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  onednn_provider().tactics(c.problem, {}, &offers, &refusals);
  const Dims& y = c.problem.outputs[0].dims;
  const HostTensor expected = pool_oracle(c.problem, c.inputs, y);
  for (const Candidate& offer : offers) {
    const std::string name = what + c.problem.key() + " by " + offer.tactic.to_string();
    const RunOutcome run = run_candidate(onednn_provider(), c.problem, offer, c.inputs, y);
    EXPECT_TRUE(run.status.ok()) << name << run.status.message();
    if (run.status.ok()) expect_close(run.output, expected, 64, name);
  }
  return static_cast<int>(offers.size());
}

void check_many(DType type, int rank, int count, int at_least) {
  const uint64_t seed = test_seed() + static_cast<uint64_t>(rank) + static_cast<uint64_t>(type) * 100;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  int offers = 0;
  for (int i = 0; i < count; ++i) offers += check(random_pool(rng, type, rank), "case " + std::to_string(i) + " ");
  EXPECT_GE(offers, at_least);
}

TEST(OnednnPool, TwoDimensions) { check_many(DType::kF32, 4, 120, 150); }
TEST(OnednnPool, OneDimension) { check_many(DType::kF32, 3, 40, 40); }
TEST(OnednnPool, ThreeDimensions) { check_many(DType::kF32, 5, 25, 25); }
TEST(OnednnPool, UnsignedBytes) { check_many(DType::kU8, 4, 40, 15); }
TEST(OnednnPool, Bfloat16) {
  WOOTZ_NEEDS_ISA(cpu_info().avx512_bf16 && effective_isa() == Isa::kAvx512, "avx512_bf16");
  check_many(DType::kBF16, 4, 30, 15);
}

TEST(OnednnPool, EpilogueByTheEngine) {
  std::mt19937_64 rng(test_seed());
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  for (int i = 0; i < 10; ++i) {
    PoolCase c = random_pool(rng, DType::kF32, 4);
    PointwiseExpr e;
    uint16_t v = e.push(PwOp::kMul, DType::kF32, e.input(0, DType::kF32), e.input(1, DType::kF32));
    if (i % 2 == 0)
      v = e.push(PwOp::kQuantize, DType::kU8, v, e.constant(0.05, DType::kF32), e.constant(9, DType::kF32));
    e.outputs = {v};
    c.problem.epilogue = e;
    c.problem.outputs[0].dtype = e.output_type();
    c.inputs.push_back(random_tensor(rng, DType::kF32, {c.problem.inputs[0].dims[1], 1, 1}));
    c.problem.inputs.push_back(desc_of(c.inputs[1]));
    check(c, "epilogue ");
  }
}

TEST(OnednnPool, RefusesWithReasons) {
  std::mt19937_64 rng(1);
  PoolCase c = random_pool(rng, DType::kF32, 4);
  {
    c.problem.as<PoolParams>().kind = PoolKind::kLp;
    std::vector<Candidate> offers;
    std::vector<Refusal> refusals;
    onednn_provider().tactics(c.problem, {}, &offers, &refusals);
    EXPECT_TRUE(offers.empty());
    ASSERT_FALSE(refusals.empty());
    EXPECT_FALSE(refusals[0].reason.empty());
  }
}

}  // namespace
}  // namespace wootz::cpu::dnn::testing
