// Chains against plain loops: every offer, whole and by bands of rows, with windows that begin and end in padding.
#include <cmath>

#include "backends/cpu/chain/kernel.h"
#include "backends/cpu/chain/provider.h"
#include "backends/cpu/chain/rows.h"
#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {
namespace {

using namespace rig;

struct Window {
  int64_t kernel = 1, stride = 1, pad = 0, end = 0;
  int64_t out(int64_t in) const { return (in + pad + end - kernel) / stride + 1; }
};

// What one part computes at (n, c, i, j) from the taps inside its input.
template <typename Tap>
void each_tap(const Window& w, const Dims& in, int64_t i, int64_t j, Tap tap) {
  for (int64_t a = 0; a < w.kernel; ++a)
    for (int64_t b = 0; b < w.kernel; ++b) {
      const int64_t r = i * w.stride - w.pad + a, s = j * w.stride - w.pad + b;
      if (r >= 0 && r < in[2] && s >= 0 && s < in[3]) tap(a, b, r, s);
    }
}

int64_t at(const Dims& d, int64_t n, int64_t c, int64_t i, int64_t j) { return ((n * d[1] + c) * d[2] + i) * d[3] + j; }

HostTensor convolved(const HostTensor& x, const HostTensor& w, const HostTensor& bias, const Window& win) {
  const int64_t out = w.dims()[0], each = w.dims()[1], groups = x.dims()[1] / each;
  const Dims y{x.dims()[0], out, win.out(x.dims()[2]), win.out(x.dims()[3])};
  HostTensor result = HostTensor::allocate(DType::kF32, y).value();
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t m = 0; m < out; ++m)
      for (int64_t i = 0; i < y[2]; ++i)
        for (int64_t j = 0; j < y[3]; ++j) {
          double sum = bias.get_f64(m);
          const int64_t first = m / (out / groups) * each;
          each_tap(win, x.dims(), i, j, [&](int64_t a, int64_t b, int64_t r, int64_t s) {
            for (int64_t c = 0; c < each; ++c)
              sum += x.get_f64(at(x.dims(), n, first + c, r, s)) * w.get_f64(at(w.dims(), m, c, a, b));
          });
          result.set_f64(at(y, n, m, i, j), sum);
        }
  return result;
}

HostTensor pooled(const HostTensor& x, const Window& win, bool largest) {
  const Dims y{x.dims()[0], x.dims()[1], win.out(x.dims()[2]), win.out(x.dims()[3])};
  HostTensor result = HostTensor::allocate(DType::kF32, y).value();
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t c = 0; c < y[1]; ++c)
      for (int64_t i = 0; i < y[2]; ++i)
        for (int64_t j = 0; j < y[3]; ++j) {
          double value = largest ? -INFINITY : 0;
          int64_t count = 0;
          each_tap(win, x.dims(), i, j, [&](int64_t, int64_t, int64_t r, int64_t s) {
            const double v = x.get_f64(at(x.dims(), n, c, r, s));
            value = largest ? std::max(value, v) : value + v;
            ++count;
          });
          result.set_f64(at(y, n, c, i, j), largest ? value : value / static_cast<double>(count));
        }
  return result;
}

Problem conv_problem(const HostTensor& x, const HostTensor& w, const HostTensor& bias, const Window& win) {
  Problem p;
  p.set_family(Family::kConv);
  const int64_t groups = x.dims()[1] / w.dims()[1];
  p.params = ConvParams{.strides = Ints(2, win.stride),
                        .dilations = Ints(2, 1),
                        .pads = {win.pad, win.pad, win.end, win.end},
                        .groups = groups,
                        .transposed = false,
                        .has_bias = true};
  p.inputs = {desc_of(x), desc_of(w, true), desc_of(bias, true)};
  p.num_main = 3;
  p.outputs = {desc(DType::kF32, {x.dims()[0], w.dims()[0], win.out(x.dims()[2]), win.out(x.dims()[3])})};
  return p;
}

Problem pool_problem(const Dims& x, const Window& win, bool largest) {
  Problem p;
  p.set_family(Family::kPool);
  p.params = PoolParams{.kind = largest ? PoolKind::kMax : PoolKind::kAvg,
                        .kernel = Ints(2, win.kernel),
                        .strides = Ints(2, win.stride),
                        .dilations = Ints(2, 1),
                        .pads = {win.pad, win.pad, win.end, win.end},
                        .global = false,
                        .ceil = false,
                        .count_include_pad = false};
  p.inputs = {desc(DType::kF32, x)};
  p.num_main = 1;
  p.outputs = {desc(DType::kF32, {x[0], x[1], win.out(x[2]), win.out(x[3])})};
  return p;
}

// relu(result + operand of the result's shape), and relu alone.
PointwiseExpr relu_of(bool sum) {
  PointwiseExpr e;
  uint16_t v = e.input(0, DType::kF32);
  if (sum) v = e.push(PwOp::kAdd, DType::kF32, v, e.input(1, DType::kF32));
  e.outputs = {e.push(PwOp::kRelu, DType::kF32, v)};
  return e;
}

struct Case {
  std::mt19937_64 rng{seed()};
  int64_t batch = 1;
  HostTensor tensor(const Dims& dims) { return random_tensor(rng, DType::kF32, dims); }
  // Both parts with a bias; the first with relu, the second with relu of a sum.
  void two_convolutions(const Dims& x_dims, int64_t middle, int64_t out, const Window& a, const Window& b,
                        bool first_deep, bool second_deep) {
    const HostTensor x = tensor(x_dims), w1 = tensor({middle, first_deep ? 1 : x_dims[1], a.kernel, a.kernel}),
                     b1 = tensor({middle}), w2 = tensor({out, second_deep ? 1 : middle, b.kernel, b.kernel}),
                     b2 = tensor({out});
    Problem first = conv_problem(x, w1, b1, a);
    first.epilogue = relu_of(false);
    const HostTensor m = apply_epilogue(first.epilogue, convolved(x, w1, b1, a), {});
    Problem second = conv_problem(m, w2, b2, b);
    second.epilogue = relu_of(true);
    const HostTensor r = tensor(second.outputs[0].dims);
    second.inputs.push_back(desc_of(r));
    check(make_chain(first, second), {x, w1, b1, w2, b2, r},
          {apply_epilogue(second.epilogue, convolved(m, w2, b2, b), {r})}, {.tolerance = 2e-5});
  }
  void pooling(const Dims& x_dims, int64_t out, const Window& a, const Window& b, bool largest) {
    const HostTensor x = tensor(x_dims), w = tensor({out, x_dims[1], a.kernel, a.kernel}), bias = tensor({out});
    const HostTensor m = convolved(x, w, bias, a);
    check(make_chain(conv_problem(x, w, bias, a), pool_problem(m.dims(), b, largest)), {x, w, bias},
          {pooled(m, b, largest)}, {.tolerance = 2e-5});
  }
};

TEST(Chain, ConvolutionAndPooling) {
  Case c;
  c.pooling({1, 3, 64, 48}, 16, {7, 2, 3, 3}, {3, 2, 1, 1}, true);
  c.pooling({2, 8, 41, 37}, 24, {3, 1, 1, 1}, {3, 2, 1, 0}, false);
  c.pooling({1, 16, 40, 24}, 8, {1, 1, 0, 0}, {2, 2, 0, 0}, true);
  c.pooling({3, 4, 5, 6}, 8, {3, 1, 1, 1}, {5, 1, 2, 2}, true);  // windows larger than a band
}

TEST(Chain, DepthwiseAndPointwise) {
  Case c;
  c.two_convolutions({1, 32, 56, 40}, 32, 48, {3, 1, 1, 1}, {1, 1, 0, 0}, true, false);
  c.two_convolutions({2, 16, 57, 31}, 16, 8, {5, 2, 2, 2}, {1, 1, 0, 0}, true, false);
  c.two_convolutions({1, 16, 40, 31}, 16, 8, {3, 2, 0, 1}, {1, 1, 0, 0}, true, false);
}

TEST(Chain, PointwiseAndDepthwise) {
  Case c;
  c.two_convolutions({1, 16, 56, 40}, 48, 48, {1, 1, 0, 0}, {3, 1, 1, 1}, false, true);
  c.two_convolutions({2, 16, 33, 20}, 48, 48, {1, 1, 0, 0}, {5, 2, 2, 2}, false, true);
}

TEST(Chain, AGateInFrontOfAPointwiseConvolution) {
  Case c;
  for (const int64_t batch : {1, 3}) {
    const HostTensor x = c.tensor({batch, 32, 48, 40}), gate = c.tensor({batch, 32, 1, 1}),
                     w = c.tensor({16, 32, 1, 1}), bias = c.tensor({16});
    Problem first;
    first.set_family(Family::kPointwise);
    first.inputs = {desc_of(gate), desc_of(x)};
    first.outputs = {desc_of(x)};
    PointwiseExpr e;
    const uint16_t g = e.push(PwOp::kSigmoid, DType::kF32, e.input(0, DType::kF32));
    e.outputs = {e.push(PwOp::kMul, DType::kF32, g, e.input(1, DType::kF32))};
    first.epilogue = e;
    HostTensor m = HostTensor::allocate(DType::kF32, x.dims()).value();
    for (int64_t i = 0; i < m.volume(); ++i) m.set_f64(i, x.get_f64(i) / (1 + std::exp(-gate.get_f64(i / (48 * 40)))));
    check(make_chain(first, conv_problem(m, w, bias, {})), {gate, x, w, bias}, {convolved(m, w, bias, {})},
          {.tolerance = 2e-5});
  }
}

TEST(Chain, OffersBands) {
  Case c;
  const HostTensor x = c.tensor({1, 32, 256, 64}), w = c.tensor({32, 1, 3, 3}), b = c.tensor({32}),
                   w2 = c.tensor({16, 32, 1, 1}), b2 = c.tensor({16});
  const Problem first = conv_problem(x, w, b, {3, 1, 1, 1});
  const HostTensor m = HostTensor::allocate(DType::kF32, first.outputs[0].dims).value();
  const Problem chain = make_chain(first, conv_problem(m, w2, b2, {}));
  int rows = 0, whole = 0;
  for (const Candidate& offer : offers_for(chain, "")) {
    rows += offer.tactic.kernel.find("_rows_") != std::string::npos;
    whole += offer.tactic.kernel.find("_whole_") != std::string::npos;
    EXPECT_TRUE(ChainPlan::parse(offer.tactic.config).ok()) << offer.tactic.config;
  }
  EXPECT_GT(rows, 0);
  EXPECT_GT(whole, 0);
}

TEST(Chain, WhatComesFromOutsideIsChecked) {
  Case c;
  const HostTensor x = c.tensor({1, 8, 32, 32}), w = c.tensor({8, 8, 1, 1}), b = c.tensor({8});
  const Problem good = make_chain(conv_problem(x, w, b, {}), pool_problem({1, 8, 32, 32}, {2, 2, 0, 0}, true));
  EXPECT_TRUE(chain_parts(good).ok());
  using Change = std::function<void(ChainParams&)>;
  const auto refused = [&](const Change& change) {
    Problem bad = good;
    change(bad.as<ChainParams>());
    return !chain_parts(bad).ok() || offers_for(bad, "").empty();
  };
  const auto with = [](const FamilyParamsBox& box, const auto& change) {
    FamilyParams params = box.get()->params;
    change(params);
    return box_params(std::move(params));
  };
  EXPECT_TRUE(refused([](ChainParams& p) { p.first = box_params(GemmParams()); }));
  EXPECT_TRUE(refused([](ChainParams& p) { p.second = {}; }));
  EXPECT_TRUE(refused([](ChainParams& p) { p.first_inputs = 9; }));
  EXPECT_TRUE(refused([](ChainParams& p) { p.first_inputs = -1; }));
  EXPECT_TRUE(refused([](ChainParams& p) { p.first_main = 4; }));
  EXPECT_TRUE(refused([](ChainParams& p) { p.first_acc = DType::kInvalid; }));
  EXPECT_TRUE(refused([](ChainParams& p) { p.middle = DType::kInvalid; }));
  EXPECT_TRUE(refused([](ChainParams& p) {
    const uint16_t v = p.first_epilogue.input(9, DType::kF32);
    p.first_epilogue.outputs = {v};
  }));
  EXPECT_TRUE(refused([&](ChainParams& p) {
    p.first = with(p.first, [](FamilyParams& f) { std::get<ConvParams>(f).strides = {0, 1}; });
  }));
  EXPECT_TRUE(refused([&](ChainParams& p) {
    p.first = with(p.first, [](FamilyParams& f) { std::get<ConvParams>(f).pads = {-1, 0, 0, 0}; });
  }));
  EXPECT_TRUE(refused([&](ChainParams& p) {
    p.second = with(p.second, [](FamilyParams& f) { std::get<PoolParams>(f).kernel = {int64_t{1} << 40, 1}; });
  }));
  for (const char* config :
       {"", "whole", "rows=0|linear|native:a|native:b", "rows=-3|linear|native:a|native:b",
        "whole|nowhere|native:a|native:b", "whole|linear|native|native:b", "whole|linear|native:a|native:b|"})
    EXPECT_FALSE(ChainPlan::parse(config).ok()) << config;
  Problem filled = good;
  const Candidate offer = offers_for(good, "").at(0);
  fill_layouts(offer, &filled);
  for (const char* config : {"whole|linear|other:a|native:b", "rows=4|blocked8|onednn:a|native:b"}) {
    Tactic t = offer.tactic;
    t.config = config;
    EXPECT_FALSE(chain_provider().create(t, filled, {}).ok()) << config;
  }
}

TEST(Rows, CoverWhatTheWindowsRead) {
  Case c;
  const HostTensor x = c.tensor({1, 4, 23, 9}), w = c.tensor({4, 4, 3, 3}), b = c.tensor({4});
  const Window first{3, 2, 1, 1}, second{3, 1, 1, 1};
  const Problem conv = conv_problem(x, w, b, first);
  const Result<ChainParts> parts = chain_parts(make_chain(conv, pool_problem(conv.outputs[0].dims, second, true)));
  ASSERT_TRUE(parts.ok());
  const int64_t middle = first.out(23), rows = second.out(middle);
  for (int64_t each = 1; each <= rows; ++each) {
    const Result<std::vector<Band>> bands = cut_rows(*parts, 23, middle, rows, each);
    ASSERT_TRUE(bands.ok());
    int64_t next = 0;
    for (const Band& band : *bands) {
      EXPECT_EQ(band.first, next);
      next += band.count;
      // As many rows come out of each part as go into the next.
      const auto made = [](const Window& win, const RowSpan& r) {
        return (r.count + r.above + r.below - win.kernel) / win.stride + 1;
      };
      EXPECT_EQ(made(first, band.x), band.middle.count);
      EXPECT_EQ(made(second, band.middle), band.count);
    }
    EXPECT_EQ(next, rows);
  }
}

}  // namespace
}  // namespace wootz::cpu
