// Rows with scales that are found while running, spelled out as exporters write them: with the passes and without them,
// on each backend against the reference.
#include <cmath>

#include "conformance/on_cuda.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

// A feed-forward block of a transformer: normalization, product, GELU, product, residual.
constexpr const char* kBlock = R"(graph "block" {
  %x: $T[2,9,64] = input;
  %w: i8[64,96] = const splat(3);
  %v: i8[96,64] = const splat(2);
  %ws: f32[] = const [0.01];
  %s: $T[64] = const splat(1.5);
  %b: f32[96] = const splat(0.25);
  %levels: f32[] = const [127];
  %least: f32[] = const [0.0001];
  %n: $T[2,9,64] = LayerNorm(%x, %s) {axis = -1};
  %nf: f32[2,9,64] = Cast(%n) {to = "f32"};
  %a: f32[2,9,64] = Abs(%nf);
  %m: f32[2,9,1] = Reduce(%a) {axes = [-1], keepdims = 1, kind = "max"};
  %d: f32[2,9,1] = Div(%m, %levels);
  %t: f32[2,9,1] = Max(%d, %least);
  %q: i8[2,9,64] = Quantize(%nf, %t) {to = "i8"};
  %e: f32[2,9,64] = Dequantize(%q, %t);
  %wf: f32[64,96] = Dequantize(%w, %ws);
  %p: f32[2,9,96] = MatMul(%e, %wf);
  %pb: f32[2,9,96] = Add(%p, %b);
  %g: f32[2,9,96] = Gelu(%pb);
  %ga: f32[2,9,96] = Abs(%g);
  %gm: f32[2,9,1] = Reduce(%ga) {axes = [-1], keepdims = 1, kind = "max"};
  %gt: f32[2,9,1] = Div(%gm, %levels);
  %gq: i8[2,9,96] = Quantize(%g, %gt) {to = "i8"};
  %ge: f32[2,9,96] = Dequantize(%gq, %gt);
  %vf: f32[96,64] = Dequantize(%v, %ws);
  %r: f32[2,9,64] = MatMul(%ge, %vf);
  %y: f32[2,9,64] = Add(%r, %nf);
  return %y;
})";

class QuantizedRows : public OnCuda, public ::testing::WithParamInterface<DType> {
 protected:
  static std::string text() {
    std::string t = kBlock;
    for (size_t at = t.find("$T"); at != std::string::npos; at = t.find("$T")) t.replace(at, 2, dtype_name(GetParam()));
    return t;
  }
};

TEST_P(QuantizedRows, AreThoseOfTheModel) {
  const std::vector<HostTensor> inputs{random_tensor(GetParam(), {2, 9, 64}, seed_).value()};
  const std::unique_ptr<Graph> plain = parsed(text());
  ASSERT_NE(plain, nullptr);
  const RunResult want = run_on("reference", *plain, inputs, false);
  ASSERT_EQ(want.outputs.size(), 1U);
  for (const char* backend : {"cpu", "cuda"})
    for (const bool with : {true, false}) {
      SCOPED_TRACE(std::string(backend) + (with ? " with" : " without") + " the pass, seed " + std::to_string(seed_));
      const std::unique_ptr<Graph> graph = parsed(text());
      const RunResult got = run_on(backend, *graph, inputs, true,
                                   with ? std::set<std::string>() : std::set<std::string>{"quantize_rows"});
      ASSERT_EQ(got.outputs.size(), 1U);
      EXPECT_TRUE(got.reference_steps.empty()) << got.reference_steps.front();
      if (with) EXPECT_EQ(got.byte_steps, 2U);
      if (with) EXPECT_LE(got.steps, 5U);
      // A value next to a rounding boundary may fall on its other side.
      for (int64_t i = 0; i < want.outputs[0].volume(); ++i)
        ASSERT_NEAR(got.outputs[0].get_f64(i), want.outputs[0].get_f64(i), GetParam() == DType::kF32 ? 0.02 : 0.05)
            << "at " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Types, QuantizedRows, ::testing::Values(DType::kF32, DType::kF16),
                         [](const auto& type) { return dtype_name(type.param); });

}  // namespace
}  // namespace wootz::conformance
