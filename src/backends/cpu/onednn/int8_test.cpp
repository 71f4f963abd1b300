// Quantized convolutions and matrix products against plain loops: zero points, scales by channel, requantization.
#include <cmath>

#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/provider.h"
#include "backends/cpu/onednn/testing.h"

namespace wootz::cpu::dnn::testing {
namespace {

struct Case {
  Problem problem;
  std::vector<HostTensor> inputs;
};

std::vector<double> scales(std::mt19937_64& rng, int64_t count, double around) {
  std::vector<double> all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(static_cast<float>(std::uniform_real_distribution<double>(0.5, 2)(rng) * around));
  return all;
}

// What follows the accumulator in a quantized network. 0: nothing (f32), 1: relu and requantization, 2: a quantized
// residual in between, 3: requantization to i8, 4: to u8, back, relu, and to u8 again; 5: back only.
void add_epilogue(std::mt19937_64& rng, int kind, Case* c) {
  Problem& p = c->problem;
  if (kind == 0) return;
  PointwiseExpr e;
  uint16_t v = e.input(0, DType::kF32);
  const auto constant = [&](double x) { return e.constant(static_cast<float>(x), DType::kF32); };
  if (kind == 2) {
    c->inputs.push_back(random_tensor(rng, DType::kU8, p.outputs[0].dims, 0, 255));
    p.inputs.push_back(desc_of(c->inputs.back()));
    const uint16_t q =
        e.push(PwOp::kSub, DType::kF32, e.push(PwOp::kCast, DType::kF32, e.input(1, DType::kU8)), constant(121));
    v = e.push(PwOp::kAdd, DType::kF32, v, e.push(PwOp::kMul, DType::kF32, q, constant(0.031)));
  }
  if (kind >= 4) {
    v = e.push(PwOp::kQuantize, DType::kU8, v, constant(0.0291), constant(100));
    v = e.push(PwOp::kSub, DType::kF32, e.push(PwOp::kCast, DType::kF32, v), constant(100));
    v = e.push(PwOp::kMul, DType::kF32, v, constant(0.0291));
  }
  if (kind == 5) {
    e.outputs = {v};
    p.epilogue = e;
    return;
  }
  if (kind != 3) v = e.push(PwOp::kRelu, DType::kF32, v);
  const DType to = kind == 3 ? DType::kI8 : DType::kU8;
  const double zero = kind == 1 ? 0 : kind == 3 ? -9 : 17;
  e.outputs = {
      e.push(PwOp::kQuantize, to, v, constant(0.0437), e.push(PwOp::kCast, DType::kF32, e.constant(zero, to)))};
  p.epilogue = e;
  p.outputs[0].dtype = to;
}

// conv_kind: 0 to 2 one group, 3 several, 4 depthwise; -1: any.
Case random_case(std::mt19937_64& rng, bool conv, int64_t conv_kind = -1) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  Case c;
  Problem& p = c.problem;
  const DType type = pick(0, 2) == 0 ? DType::kI8 : DType::kU8;
  const double zero = pick(0, 2) == 0      ? 0
                      : type == DType::kU8 ? static_cast<double>(pick(1, 255))
                                           : static_cast<double>(pick(-128, 127));
  Dims x, w, y;
  int64_t outs = 0, reduction = 0;
  if (conv) {
    p.set_family(Family::kConv);
    const int64_t kind = conv_kind >= 0 ? conv_kind : pick(0, 4);
    const int64_t groups = kind < 3 ? 1 : kind == 3 ? pick(2, 4) : pick(8, 40);
    const int64_t in_group = kind == 4 ? 1 : pick(1, 40), out_group = kind == 4 ? 1 : pick(1, 70);
    const int64_t k = pick(1, 3), s = pick(1, 2);
    outs = groups * out_group;
    std::vector<int64_t> pads;
    x = {pick(1, 2), groups * in_group}, w = {outs, in_group}, y = {x[0], outs};
    for (int i = 0; i < 2; ++i) x.push_back(pick(k, 9)), w.push_back(k);
    for (int i = 0; i < 4; ++i) pads.push_back(pick(0, k - 1));
    for (size_t i = 0; i < 2; ++i) y.push_back((x[i + 2] + pads[i] + pads[i + 2] - k) / s + 1);
    p.params = ConvParams{.strides = {s, s}, .dilations = {1, 1}, .pads = pads, .groups = groups, .transposed = false};
    reduction = in_group * k * k;
  } else {
    p.set_family(Family::kGemm);
    const int64_t m = pick(1, 40), n = pick(1, 70);
    reduction = pick(1, 130), outs = n;
    const bool tb = pick(0, 1) != 0;
    x = pick(0, 1) ? Dims{m, reduction} : Dims{2, m, reduction};
    w = tb ? Dims{n, reduction} : Dims{reduction, n};
    y = x;
    y[y.size() - 1] = n;
    p.params = GemmParams{.trans_a = false, .trans_b = tb, .alpha = 1.0};
  }
  const auto quantize = [&](auto* params) {
    params->x_scale = scales(rng, 1, 0.02);
    params->x_zero = {zero};
    params->w_scale = scales(rng, pick(0, 3) ? outs : 1, 0.01 / std::sqrt(static_cast<double>(reduction)));
    if (pick(0, 1)) params->w_zero = {conv || pick(0, 1) ? 0 : static_cast<double>(pick(-128, 127))};
  };
  if (conv)
    quantize(&p.as<ConvParams>());
  else
    quantize(&p.as<GemmParams>());
  c.inputs = {random_tensor(rng, type, x, -128, type == DType::kU8 ? 255 : 127),
              random_tensor(rng, DType::kI8, w, -128, 127)};
  p.inputs = {desc_of(c.inputs[0]), desc_of(c.inputs[1], true)};
  const bool bias = pick(0, 1) != 0;
  (conv ? p.as<ConvParams>().has_bias : p.as<GemmParams>().has_bias) = bias;
  if (bias) {
    c.inputs.push_back(random_tensor(rng, DType::kF32, {outs}));
    p.inputs.push_back(desc_of(c.inputs[2], true));
  }
  p.num_main = static_cast<int>(c.inputs.size());
  p.outputs = {{DType::kF32, Layout::kLinear, y, y, false}};
  add_epilogue(rng, static_cast<int>(pick(0, 5)), &c);
  return c;
}

void check_many(bool conv, int count, int at_least, int64_t conv_kind = -1) {
  WOOTZ_NEEDS_ISA(exact_int8(), "avx512_vnni");
  const uint64_t seed = test_seed() + conv;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  int offers = 0;
  for (int i = 0; i < count; ++i) {
    const Case c = random_case(rng, conv, conv_kind);
    offers += check_offers(onednn_provider(), c.problem, c.inputs, "case " + std::to_string(i));
  }
  EXPECT_GE(offers, at_least);
}

TEST(OnednnInt8, Convolution) { check_many(true, 80, 50); }
TEST(OnednnInt8, ConvolutionInGroups) { check_many(true, 80, 10, 3); }
TEST(OnednnInt8, Gemm) { check_many(false, 60, 55); }

// Signed inputs: some implementations want compensation after weights whose layout is plain otherwise.
TEST(OnednnInt8, SignedInputsNeedNoHiddenCompensation) {
  WOOTZ_NEEDS_ISA(exact_int8(), "avx512_vnni");
  std::mt19937_64 rng(1);
  for (int64_t g : {1, 2})
    for (int64_t out : {17, 32, 48})
      for (int64_t h : {1, 7}) {
        Problem p;
        p.set_family(Family::kConv);
        p.params = ConvParams{.strides = {1, 1},
                              .dilations = {1, 1},
                              .pads = {0, 0, 0, 0},
                              .groups = g,
                              .has_bias = false,
                              .x_scale = {1},
                              .x_zero = {0},
                              .w_scale = {1}};
        const std::vector<HostTensor> in{random_tensor(rng, DType::kI8, {1, g * 16, h, 9}, -128, 127),
                                         random_tensor(rng, DType::kI8, {g * out, 16, 1, 1}, -128, 127)};
        p.inputs = {desc_of(in[0]), desc_of(in[1], true)};
        p.num_main = 2;
        const Dims y{1, g * out, h, 9};
        p.outputs = {{DType::kF32, Layout::kLinear, y, y, false}};
        check_offers(onednn_provider(), p, in, "signed");
      }
}

// The largest products: sums that a 16-bit step would saturate.
TEST(OnednnInt8, ExtremesDoNotSaturate) {
  WOOTZ_NEEDS_ISA(exact_int8(), "avx512_vnni");
  for (const DType type : {DType::kU8, DType::kI8}) {
    Problem p;
    p.set_family(Family::kGemm);
    p.params = GemmParams{.trans_a = false,
                          .trans_b = false,
                          .alpha = 1.0,
                          .has_bias = false,
                          .x_scale = {1},
                          .x_zero = {0},
                          .w_scale = {1}};
    std::mt19937_64 rng(1);
    const int64_t largest = type == DType::kU8 ? 255 : -128;
    const std::vector<HostTensor> in{random_tensor(rng, type, {5, 256}, largest, largest),
                                     random_tensor(rng, DType::kI8, {256, 20}, -128, -128)};
    p.inputs = {desc_of(in[0]), desc_of(in[1], true)};
    p.num_main = 2;
    p.outputs = {{DType::kF32, Layout::kLinear, {5, 20}, {5, 20}, false}};
    EXPECT_EQ(check_offers(onednn_provider(), p, in, "extremes"), 1);
  }
}

TEST(OnednnInt8, RefusesWhatItCannotDo) {
  std::mt19937_64 rng(3);
  Case c = random_case(rng, false);
  c.problem.as<GemmParams>().w_zero = {3.5};
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  onednn_provider().tactics(c.problem, {}, &offers, &refusals);
  EXPECT_TRUE(offers.empty());
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_FALSE(refusals[0].reason.empty());
}

}  // namespace
}  // namespace wootz::cpu::dnn::testing
