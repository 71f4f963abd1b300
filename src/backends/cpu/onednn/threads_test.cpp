// A plan is run with other numbers of threads than it was built for. oneDNN's implementations take other layouts of the
// weights then; the kernel must run all the same.
#include <cstring>

#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/provider.h"
#include "backends/cpu/onednn/testing.h"
#include "base/thread_pool.h"

namespace wootz::cpu::dnn::testing {
namespace {

constexpr int kThreads[] = {1, 2, 3, 8};

struct Case {
  Problem problem;
  std::vector<HostTensor> inputs;
  HostTensor expected;
  int64_t reduction = 0;
};

Case conv_case(std::mt19937_64& rng, bool quantized) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  Case c;
  Problem& p = c.problem;
  p.set_family(Family::kConv);
  const int64_t k = quantized ? 2 * pick(0, 1) + 1 : 1, extent = quantized ? pick(1, 7) : 1, pad = k / 2,
                most = quantized ? 30 : 60;
  const Dims x{1, 8 * pick(2, most), extent, extent}, w{8 * pick(2, most), x[1], k, k}, y{1, w[0], extent, extent};
  p.params = ConvParams{.strides = {1, 1},
                        .dilations = {1, 1},
                        .pads = Ints(4, pad),
                        .groups = 1,
                        .transposed = false,
                        .has_bias = false};
  if (quantized) {
    p.as<ConvParams>().x_scale = {0.02};
    p.as<ConvParams>().x_zero = {pick(0, 1) ? 121.0 : 0.0};
    p.as<ConvParams>().w_scale = {0.001};
  }
  c.inputs = {random_tensor(rng, quantized ? DType::kU8 : DType::kF32, x, 0, 255),
              random_tensor(rng, quantized ? DType::kI8 : DType::kF32, w, -128, 127)};
  p.inputs = {desc_of(c.inputs[0]), desc_of(c.inputs[1], true)};
  p.num_main = 2;
  p.outputs = {{DType::kF32, Layout::kLinear, y, y, false}};
  c.reduction = x[1] * k * k;
  c.expected = dense_oracle(p, c.inputs, y);
  return c;
}

Case gemm_case(std::mt19937_64& rng) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  Case c;
  Problem& p = c.problem;
  p.set_family(Family::kGemm);
  const Dims a{pick(1, 64), 8 * pick(1, 96)}, b{a[1], 8 * pick(1, 96)}, y{a[0], b[1]};
  p.params = GemmParams{.trans_a = false, .trans_b = false, .alpha = 1.0, .has_bias = false};
  c.inputs = {random_tensor(rng, DType::kF32, a), random_tensor(rng, DType::kF32, b)};
  p.inputs = {desc_of(c.inputs[0]), desc_of(c.inputs[1], true)};
  p.num_main = 2;
  p.outputs = {{DType::kF32, Layout::kLinear, y, y, false}};
  c.reduction = a[1];
  c.expected = dense_oracle(p, c.inputs, y);
  return c;
}

// Built for `from` threads, run with `to`.
void check_moved(const Case& c, int from, int to, int* unnamed) {
  Limits built, loaded;
  built.threads = from, loaded.threads = to;
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  onednn_provider().tactics(c.problem, built, &offers, &refusals);
  ASSERT_FALSE(offers.empty());
  const HostTensor& w = c.inputs[1];
  for (const Candidate& offer : offers) {
    SCOPED_TRACE(offer.tactic.to_string() + " of " + c.problem.inputs[0].dims.to_string() + " with " +
                 w.dims().to_string());
    *unnamed += offer.tactic.config.find("any@") != std::string::npos;
    const Problem p = with_layouts(c.problem, offer);
    auto builder = onednn_provider().create(offer.tactic, p, built);
    ASSERT_TRUE(builder.ok()) << builder.status().message();
    auto packed = (*builder)->pack(1, w);
    ASSERT_TRUE(packed.ok()) << packed.status().message();
    const bool as_is = !packed->has_value();
    GuardedBuffer weights(as_is ? w.bytes() : (**packed).bytes);
    if (as_is)
      std::memcpy(weights.data(), w.data(), weights.bytes());
    else
      ASSERT_TRUE((**packed).make({static_cast<std::byte*>(weights.data()), weights.bytes()}).ok());
    const ParallelScope scope(to);
    auto kernel = onednn_provider().create(offer.tactic, p, loaded);
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    const std::vector<Dims> in{p.inputs[0].dims, w.dims()}, out{p.outputs[0].dims};
    const std::vector<const void*> constants{nullptr, weights.data()};
    const std::vector<size_t> sizes{0, weights.bytes()};
    const auto bind = [&] { return (*kernel)->bind({in, out, constants, sizes}); };
    auto call = bind(), again = bind();  // two of one kernel share what they copy
    ASSERT_TRUE(call.ok()) << call.status().message();
    ASSERT_TRUE(again.ok()) << again.status().message();
    call->reset();
    const GuardedBuffer x = to_layout(c.inputs[0], p.inputs[0].layout);
    GuardedBuffer y(layout_bytes(p.outputs[0].layout, DType::kF32, out[0])), work((*again)->workspace());
    const std::vector<const void*> addresses{x.data(), weights.data()};
    void* result = y.data();
    ASSERT_TRUE((*again)->run({addresses.data(), &result, work.data(), nullptr, nullptr}).ok());
    expect_close(from_layout(y.data(), DType::kF32, out[0], p.outputs[0].layout), c.expected, c.reduction, "result");
  }
}

enum class Kind : uint8_t { kConv, kQuantizedConv, kGemm };

void check_many(Kind kind, int count, int* unnamed) {
  const uint64_t seed = test_seed() + static_cast<uint64_t>(kind);
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  for (int i = 0; i < count; ++i) {
    const Case c = kind == Kind::kGemm ? gemm_case(rng) : conv_case(rng, kind == Kind::kQuantizedConv);
    for (const int from : kThreads)
      for (const int to : kThreads)
        if (from != to) check_moved(c, from, to, unnamed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(OnednnThreads, FloatWeightsServeOtherNumbersOfThreads) {
  int unnamed = 0;
  check_many(Kind::kConv, 12, &unnamed);
  check_many(Kind::kGemm, 12, &unnamed);
}

TEST(OnednnThreads, QuantizedWeightsServeOtherNumbersOfThreads) {
  WOOTZ_NEEDS_ISA(exact_int8(), "avx512_vnni");
  int unnamed = 0;
  check_many(Kind::kQuantizedConv, 8, &unnamed);
  EXPECT_GT(unnamed, 0);  // layouts with compensation were among them
}

}  // namespace
}  // namespace wootz::cpu::dnn::testing
