// On the processor a norm whose result is also rounded to bytes gives both in one step, and an attention that is only
// rounded gives bytes: fewer steps, and the bits that a step of its own for the rounding gives.
#include <cmath>

#include "base/testing.h"
#include "conformance/parsed_graph.h"
#include "conformance/run_graph_on.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

RunResult run(const std::string& text, const std::vector<HostTensor>& inputs) {
  const std::unique_ptr<Graph> graph = parsed(text);
  if (graph == nullptr) return {};
  Result<RunResult> result = run_graph_on(*graph, inputs, {});
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? std::move(result).value() : RunResult();
}

// Half to even, of f32 by a scale and zero point.
int64_t rounded(double value, double scale, double zero, bool is_signed) {
  const double low = is_signed ? -128 : 0;
  const double by_step = std::nearbyint(static_cast<float>(value) / static_cast<float>(scale));
  return static_cast<int64_t>(std::fmin(std::fmax(by_step + zero, low), low + 255));
}

void check_bytes(const HostTensor& floats, const HostTensor& bytes, double scale, double zero) {
  ASSERT_EQ(floats.volume(), bytes.volume());
  int64_t within = 0;
  for (int64_t i = 0; i < floats.volume(); ++i) {
    ASSERT_EQ(bytes.get_i64(i), rounded(floats.get_f64(i), scale, zero, bytes.dtype() == DType::kI8))
        << i << ": " << floats.get_f64(i);
    within += std::fabs(floats.get_f64(i)) < 100 * scale ? 1 : 0;
  }
  EXPECT_GT(within, floats.volume() / 2) << "nearly all results are at the ends of the bytes";
}

class RoundedResults : public testing::TestWithParam<const char*> {};

TEST_P(RoundedResults, OfNorms) {
  const std::string type = GetParam();
  for (const std::string bytes : {"i8", "u8"}) {
    const std::string text = "graph \"g\" { %x: " + type +
                             "[3,7,100] = input; %s: f32[100] = const splat(1.5); %b: f32[100]"
                             " = const splat(0.1); %q: f32[] = const [0.021]; %z: " +
                             bytes +
                             "[] = const [5]; "
                             "%n = LayerNorm(%x, %s, %b) {axis = -1}; %r = Quantize(%n, %q, %z); %a = Add(%n, %x); "
                             "return %n, %r, %a; }";
    const HostTensor x = random_tensor(dtype_from_name(type), {3, 7, 100}, test_seed()).value();
    const RunResult got = run(text, {x});
    ASSERT_EQ(got.outputs.size(), 3u);
    EXPECT_EQ(got.steps, 2u);
    EXPECT_TRUE(got.reference_steps.empty());
    check_bytes(got.outputs[0], got.outputs[1], 0.021, 5);
  }
}

TEST_P(RoundedResults, OfAttention) {
  const std::string type = GetParam();
  const std::string head =
      "graph \"g\" { %x: " + type +
      "[2,70,288] = input; %q: f32[] = const [0.0033]; %z: i8[] = const"
      " [-3]; %y = Attention(%x, %x, %x) {scale = 0.2, merged = 1, q_view = [0,3,32,32,0], k_view = "
      "[96,3,32,32,0], v_view = [192,3,32,32,0]}; ";
  const HostTensor x = random_tensor(dtype_from_name(type), {2, 70, 288}, test_seed()).value();
  const RunResult floats = run(head + "return %y; }", {x});
  const RunResult got = run(head + "%r = Quantize(%y, %q, %z); return %r; }", {x});
  ASSERT_EQ(got.outputs.size(), 1u);
  EXPECT_EQ(got.steps, floats.steps);
  // Of narrow floats the sums are rounded once, to bytes.
  if (type == "f32") return check_bytes(floats.outputs[0], got.outputs[0], 0.0033, -3);
  for (int64_t i = 0; i < got.outputs[0].volume(); ++i) {
    const double near = floats.outputs[0].get_f64(i) / 0.0033 - 3;
    ASSERT_NEAR(static_cast<double>(got.outputs[0].get_i64(i)), near, 0.51 + std::fabs(near + 3) / 128) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RoundedResults, testing::Values("f32", "f16", "bf16"));

}  // namespace
}  // namespace wootz::conformance
