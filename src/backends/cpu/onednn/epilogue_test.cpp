// Epilogues: which become post-ops, and that every one computes what the expression says.
#include <functional>

#include "backends/cpu/onednn/dense.h"
#include "backends/cpu/onednn/provider.h"
#include "backends/cpu/onednn/testing.h"

namespace wootz::cpu::dnn::testing {
namespace {

using Build = std::function<uint16_t(PointwiseExpr&, uint16_t)>;

PointwiseExpr expression(const Build& build) {
  PointwiseExpr e;
  const uint16_t v = build(e, e.input(0, DType::kF32));
  e.outputs = {v};
  EXPECT_TRUE(e.verify().ok()) << e.verify().message();
  return e;
}

Build unary(PwOp op, double imm0 = 0, double imm1 = 0) {
  return [=](PointwiseExpr& e, uint16_t v) { return e.push(op, DType::kF32, v, 0, 0, imm0, imm1); };
}
Build with_constant(PwOp op, double c, bool swapped = false) {
  return [=](PointwiseExpr& e, uint16_t v) {
    const uint16_t k = e.constant(c, DType::kF32);
    return swapped ? e.push(op, DType::kF32, k, v) : e.push(op, DType::kF32, v, k);
  };
}
Build with_operand(PwOp op, bool swapped = false, uint16_t operand = 1) {
  return [=](PointwiseExpr& e, uint16_t v) {
    const uint16_t k = e.input(operand, DType::kF32);
    return swapped ? e.push(op, DType::kF32, k, v) : e.push(op, DType::kF32, v, k);
  };
}
Build chain(std::vector<Build> parts) {
  return [=](PointwiseExpr& e, uint16_t v) {
    for (const Build& part : parts) v = part(e, v);
    return v;
  };
}

struct Named {
  const char* name;
  Build build;
  size_t post_ops;  // the translation's length
  bool complete;    // oneDNN does all of it
};
const std::vector<Named>& epilogues() {
  static const std::vector<Named> all = {
      {"relu", unary(PwOp::kRelu), 1, true},
      {"leaky_relu", unary(PwOp::kLeakyRelu, 0.1), 1, true},
      {"clip", unary(PwOp::kClip, -0.5, 1.5), 1, true},
      {"sigmoid", unary(PwOp::kSigmoid), 1, true},
      {"tanh", unary(PwOp::kTanh), 1, true},
      {"gelu_erf", unary(PwOp::kGeluErf), 1, true},
      {"gelu_tanh", unary(PwOp::kGeluTanh), 1, true},
      {"silu", unary(PwOp::kSilu, 1.702), 1, true},
      {"hard_sigmoid", unary(PwOp::kHardSigmoid, 0.2, 0.5), 1, true},
      {"hard_swish", unary(PwOp::kHardSwish), 1, true},
      {"mish", unary(PwOp::kMish), 1, true},
      {"softplus", unary(PwOp::kSoftplus), 1, true},
      {"elu", unary(PwOp::kElu, 0.7), 1, true},
      {"selu", unary(PwOp::kSelu, 1.67, 1.05), 2, true},
      {"abs", unary(PwOp::kAbs), 1, true},
      {"neg", unary(PwOp::kNeg), 1, true},
      {"round", unary(PwOp::kRound), 1, true},
      {"exp", unary(PwOp::kExp), 1, true},
      {"sqrt of abs", chain({unary(PwOp::kAbs), unary(PwOp::kSqrt)}), 2, true},
      {"add", with_constant(PwOp::kAdd, 0.3), 1, true},
      {"sub", with_constant(PwOp::kSub, 0.3), 1, true},
      {"from", with_constant(PwOp::kSub, 0.3, true), 1, true},
      {"mul", with_constant(PwOp::kMul, -1.5), 1, true},
      {"div", with_constant(PwOp::kDiv, 3), 1, true},
      {"max", with_constant(PwOp::kMax, 0.25), 1, true},
      {"min", with_constant(PwOp::kMin, 0.25, true), 1, true},
      {"max 0", with_constant(PwOp::kMax, 0), 1, true},
      {"square", [](PointwiseExpr& e, uint16_t v) { return e.push(PwOp::kMul, DType::kF32, v, v); }, 1, true},
      {"pow 2", with_constant(PwOp::kPow, 2), 1, true},
      {"add operand", with_operand(PwOp::kAdd), 1, true},
      {"mul operand", with_operand(PwOp::kMul, true), 1, true},
      {"sub operand", with_operand(PwOp::kSub), 1, true},
      {"from operand", with_operand(PwOp::kSub, true), 2, true},
      {"max operand", with_operand(PwOp::kMax), 1, true},
      {"min operand", with_operand(PwOp::kMin), 1, true},
      {"prelu", with_operand(PwOp::kPRelu), 1, true},
      {"residual and relu", chain({with_operand(PwOp::kAdd), unary(PwOp::kRelu)}), 2, true},
      {"mul add clip", chain({with_constant(PwOp::kMul, 2), with_constant(PwOp::kAdd, 1), unary(PwOp::kClip, 0, 6)}), 2,
       true},
      {"two operands", chain({with_operand(PwOp::kMul), with_operand(PwOp::kAdd, false, 2), unary(PwOp::kRelu)}), 3,
       true},
      {"rounded to 8 bits in between",  // factor, round, clip (with the relu), factor and shift
       [](PointwiseExpr& e, uint16_t v) {
         const auto constant = [&](double c) { return e.constant(c, DType::kF32); };
         v = e.push(PwOp::kQuantize, DType::kU8, v, constant(0.02), constant(117));
         v = e.push(PwOp::kSub, DType::kF32, e.push(PwOp::kCast, DType::kF32, v), constant(117));
         v = e.push(PwOp::kRelu, DType::kF32, e.push(PwOp::kMul, DType::kF32, v, constant(0.02)));
         return e.push(PwOp::kAdd, DType::kF32, v, constant(0.5));
       },
       4, true},
      {"scaled operand",
       [](PointwiseExpr& e, uint16_t v) {  // (operand - 3) * 0.05, as a dequantized residual
         const uint16_t q = e.push(PwOp::kSub, DType::kF32, e.input(1, DType::kF32), e.constant(3, DType::kF32));
         return e.push(PwOp::kAdd, DType::kF32, v, e.push(PwOp::kMul, DType::kF32, q, e.constant(0.05, DType::kF32)));
       },
       1, true},
      {"from scaled operand",
       [](PointwiseExpr& e, uint16_t v) {
         const uint16_t q = e.push(PwOp::kAdd, DType::kF32, e.input(1, DType::kF32), e.constant(3, DType::kF32));
         return e.push(PwOp::kSub, DType::kF32, e.push(PwOp::kDiv, DType::kF32, q, e.constant(-7, DType::kF32)), v);
       },
       2, true},
      {"times scaled operand",
       [](PointwiseExpr& e, uint16_t v) {
         return e.push(PwOp::kMul, DType::kF32,
                       e.push(PwOp::kMul, DType::kF32, e.constant(0.5, DType::kF32), e.input(1, DType::kF32)), v);
       },
       2, true},
      // What oneDNN does not have, alone and after what it has.
      {"sin", unary(PwOp::kSin), 0, false},
      {"relu sin", chain({unary(PwOp::kRelu), unary(PwOp::kSin)}), 1, false},
      {"sin relu", chain({unary(PwOp::kSin), unary(PwOp::kRelu)}), 0, false},
      {"gate",
       [](PointwiseExpr& e, uint16_t v) {
         return e.push(PwOp::kMul, DType::kF32, v, e.push(PwOp::kTanh, DType::kF32, v));
       },
       0, false},
      {"relu gate operand",
       chain({unary(PwOp::kRelu), with_operand(PwOp::kAdd),
              [](PointwiseExpr& e, uint16_t v) {
                return e.push(PwOp::kMul, DType::kF32, v, e.push(PwOp::kTanh, DType::kF32, v));
              }}),
       2, false},
      {"constant", [](PointwiseExpr& e, uint16_t) { return e.constant(3, DType::kF32); }, 0, false},
  };
  return all;
}

TEST(OnednnEpilogue, TranslatesTheLongestPrefix) {
  for (const Named& n : epilogues()) {
    const PointwiseExpr e = expression(n.build);
    const Chain c = linear_chain(e);
    EXPECT_EQ(c.ops.size(), n.post_ops) << n.name << ": " << e.to_string();
    EXPECT_EQ(c.complete, n.complete) << n.name << ": " << e.to_string();
    if (c.ops.empty()) continue;
    const PointwiseExpr rest = remainder_after(e, c.ops.back().value);
    EXPECT_TRUE(rest.verify().ok()) << n.name << ": " << rest.to_string();
    EXPECT_EQ(rest.num_inputs, e.num_inputs);
    if (c.complete) {
      EXPECT_EQ(rest.code.size(), 1u) << n.name << ": " << rest.to_string();
    }
  }
}

Problem conv_problem(const Dims& x, int64_t out, int64_t k) {
  Problem p;
  p.set_family(Family::kConv);
  const auto spatial = static_cast<size_t>(x.rank() - 2);
  p.params = ConvParams{.strides = Ints(spatial, 1),
                        .dilations = Ints(spatial, 1),
                        .pads = Ints(2 * spatial, k / 2),
                        .groups = 1,
                        .transposed = false,
                        .has_bias = true};
  Dims w{out, x[1]}, y{x[0], out};
  for (size_t i = 0; i < spatial; ++i) w.push_back(k), y.push_back(x[i + 2]);
  p.inputs = {{DType::kF32, Layout::kLinear, x, x, false},
              {DType::kF32, Layout::kLinear, w, w, true},
              {DType::kF32, Layout::kLinear, {out}, {out}, true}};
  p.num_main = 3;
  p.outputs = {{DType::kF32, Layout::kLinear, y, y, false}};
  return p;
}
Problem gemm_problem(const Dims& a, int64_t n) {
  Problem p;
  p.set_family(Family::kGemm);
  p.params = GemmParams{.trans_a = false, .trans_b = false, .alpha = 1.0, .has_bias = true};
  Dims y = a;
  y[y.size() - 1] = n;
  const Dims b{a.back(), n};
  p.inputs = {{DType::kF32, Layout::kLinear, a, a, false},
              {DType::kF32, Layout::kLinear, b, b, true},
              {DType::kF32, Layout::kLinear, {n}, {n}, true}};
  p.num_main = 3;
  p.outputs = {{DType::kF32, Layout::kLinear, y, y, false}};
  return p;
}

int check(Problem p, const PointwiseExpr& e, const std::vector<Dims>& operands, const std::string& what,
          std::mt19937_64& rng, DType operand_type = DType::kF32) {
  p.epilogue = e;
  p.outputs[0].dtype = e.output_type();
  std::vector<HostTensor> inputs;
  for (const TensorDesc& t : p.inputs) inputs.push_back(random_tensor(rng, t.dtype, t.dims));
  for (const Dims& dims : operands) {
    inputs.push_back(random_tensor(rng, operand_type, dims));
    p.inputs.push_back(desc_of(inputs.back()));
  }
  return check_offers(onednn_provider(), p, inputs, what);
}

TEST(OnednnEpilogue, EveryKindOnConvolutionAndGemm) {
  std::mt19937_64 rng(test_seed());
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  for (const Named& n : epilogues()) {
    const PointwiseExpr e = expression(n.build);
    std::vector<Dims> conv, gemm;
    for (int k = 1; k < e.num_inputs; ++k) conv.push_back({24, 1, 1}), gemm.push_back({19});
    // Channels last and linear must always be there; blocked may lack an odd operand.
    EXPECT_GE(check(conv_problem({1, 32, 5, 6}, 24, 3), e, conv, n.name, rng), 2) << n.name;
    EXPECT_EQ(check(gemm_problem({2, 7, 33}, 19), e, gemm, n.name, rng), 1) << n.name;
  }
}

TEST(OnednnEpilogue, OperandsOfEveryBroadcast) {
  std::mt19937_64 rng(test_seed() + 1);
  SCOPED_TRACE("seed " + std::to_string(test_seed() + 1));
  const Dims convs[] = {{2, 48, 5, 6}, {1, 48, 5, 6}, {48, 5, 6}, {48, 1, 1}, {1, 48, 1, 1}, {2, 48, 1, 1},
                        {2, 1, 5, 6},  {1, 1, 5, 6},  {5, 6},     {6},        {1},           {},
                        {5, 1}};
  const Dims gemms[] = {{2, 7, 19}, {7, 19},    {1, 7, 19}, {19}, {1, 19}, {7, 1},
                        {2, 1, 1},  {2, 1, 19}, {2, 7, 1},  {1},  {}};
  for (const PwOp op : {PwOp::kAdd, PwOp::kMul, PwOp::kPRelu}) {
    const PointwiseExpr e = expression(chain({with_operand(op), unary(PwOp::kRelu)}));
    for (const Dims& d : convs)
      EXPECT_GE(check(conv_problem({2, 16, 5, 6}, 48, 1), e, {d}, "conv " + d.to_string(), rng), 2) << d.to_string();
    for (const Dims& d : gemms)
      EXPECT_EQ(check(gemm_problem({2, 7, 33}, 19), e, {d}, "gemm " + d.to_string(), rng), 1) << d.to_string();
  }
}

// Channels that do not fill their block: the padding must not be read as operands or left dirty.
TEST(OnednnEpilogue, OddChannels) {
  std::mt19937_64 rng(test_seed() + 2);
  SCOPED_TRACE("seed " + std::to_string(test_seed() + 2));
  for (const int64_t channels : {1, 3, 17, 20, 31}) {
    for (const PwOp op : {PwOp::kAdd, PwOp::kMul}) {
      const PointwiseExpr e = expression(chain({with_operand(op), unary(PwOp::kSigmoid)}));
      EXPECT_GE(check(conv_problem({2, 19, 4, 3}, channels, 3), e, {{2, channels, 4, 3}}, "same", rng), 2);
      EXPECT_GE(check(conv_problem({2, 19, 4, 3}, channels, 3), e, {{channels, 1, 1}}, "channel", rng), 2);
    }
    const PointwiseExpr e = expression(chain({unary(PwOp::kSigmoid), unary(PwOp::kCos)}));
    EXPECT_GE(check(conv_problem({2, 19, 4, 3}, channels, 3), e, {}, "rest", rng), 2);
  }
}

// A residual of the result's shape is added where the result is written; the kernel says so.
TEST(OnednnEpilogue, ResidualsAreAddedInPlace) {
  std::mt19937_64 rng(test_seed() + 5);
  for (Problem p :
       {conv_problem({2, 32, 5, 6}, 24, 1), conv_problem({1, 32, 5, 6}, 24, 3), gemm_problem({9, 64}, 32)}) {
    p.epilogue = expression(chain({with_operand(PwOp::kAdd), unary(PwOp::kRelu)}));
    for (const bool constant : {false, true}) {
      Problem q = p;
      q.inputs.push_back({DType::kF32, Layout::kLinear, p.outputs[0].dims, p.outputs[0].dims, constant});
      std::vector<Candidate> offers;
      std::vector<Refusal> refusals;
      onednn_provider().tactics(q, {}, &offers, &refusals);
      ASSERT_FALSE(offers.empty());
      const Candidate& best = offers[0];
      const auto kernel = onednn_provider().create(best.tactic, with_layouts(q, best), {});
      ASSERT_TRUE(kernel.ok()) << kernel.status().message();
      EXPECT_EQ((*kernel)->in_place(0), constant ? -1 : 3) << best.tactic.to_string();
      EXPECT_EQ(best.tactic.config.ends_with(";sum"), !constant) << best.tactic.config;
    }
  }
}

PointwiseExpr quantizing(const Build& build, double scale, double zero, DType type) {
  return expression([&](PointwiseExpr& e, uint16_t v) {
    v = build(e, v);
    return e.push(PwOp::kQuantize, type, v, e.constant(scale, DType::kF32), e.constant(zero, type));
  });
}

TEST(OnednnEpilogue, FloatResultsQuantizedByTheEngine) {
  std::mt19937_64 rng(test_seed() + 3);
  SCOPED_TRACE("seed " + std::to_string(test_seed() + 3));
  for (const DType type : {DType::kU8, DType::kI8}) {
    const PointwiseExpr e = quantizing(unary(PwOp::kRelu), 0.03, type == DType::kU8 ? 11 : -7, type);
    EXPECT_GE(check(conv_problem({1, 20, 5, 5}, 17, 3), e, {}, "conv", rng), 2);
    EXPECT_EQ(check(gemm_problem({9, 33}, 19), e, {}, "gemm", rng), 1);
  }
}

TEST(OnednnEpilogue, NarrowResultAndOperands) {
  WOOTZ_NEEDS_ISA(cpu_info().avx512_bf16 && usable_isa() == Isa::kAvx512, "avx512_bf16");
  std::mt19937_64 rng(test_seed() + 4);
  SCOPED_TRACE("seed " + std::to_string(test_seed() + 4));
  const PointwiseExpr e = expression([](PointwiseExpr& x, uint16_t v) {
    v = x.push(PwOp::kAdd, DType::kF32, v, x.push(PwOp::kCast, DType::kF32, x.input(1, DType::kBF16)));
    return x.push(PwOp::kCast, DType::kBF16, x.push(PwOp::kGeluErf, DType::kF32, v));
  });
  for (Problem p : {conv_problem({1, 32, 5, 5}, 32, 3), gemm_problem({9, 64}, 32)}) {
    for (TensorDesc& t : p.inputs) t.dtype = DType::kBF16;
    const Dims operand = p.outputs[0].dims;
    EXPECT_GE(check(p, e, {operand}, "bf16", rng, DType::kBF16), 1);
  }
}

}  // namespace
}  // namespace wootz::cpu::dnn::testing
