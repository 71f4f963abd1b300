#include "passes/assign_precision.h"

#include <gtest/gtest.h>

#include <random>

#include "base/tolerance.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace wootz {
namespace {

TEST(AssignPrecision, EveryCaseStaysCloseAndKeepsItsInterface) {
  const uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  int changed = 0;
  for (const OpCase& c : all_cases(seed)) {
    if (c.name.rfind("random/", 0) == 0) continue;
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(infer_graph(*c.graph).ok());
    const auto expected = run_graph(*c.graph, c.inputs);
    ASSERT_TRUE(expected.ok());
    const auto passes = run_pipeline(*c.graph, {});
    ASSERT_TRUE(passes.ok()) << passes.status().to_string();
    const Result<int> count = assign_precision(*c.graph, DType::kBF16);
    ASSERT_TRUE(count.ok()) << count.status().to_string();
    changed += *count;
    const Status sound = verify_graph(*c.graph);
    ASSERT_TRUE(sound.ok()) << sound.to_string();
    const auto actual = run_graph(*c.graph, c.inputs);
    ASSERT_TRUE(actual.ok()) << actual.status().to_string();
    for (size_t o = 0; o < expected->size(); ++o) {
      ASSERT_EQ((*actual)[o].dtype(), (*expected)[o].dtype());
      ASSERT_EQ((*actual)[o].dims(), (*expected)[o].dims());
    }
  }
  EXPECT_GT(changed, 100);
}

// A scale that f16 cannot hold stays what it is, also in the expression of a step whose data is kept in f16; and what
// is summed up from bytes is kept in f16 behind its epilogue.
TEST(AssignPrecision, ScalesOfBytesAreNotRounded) {
  constexpr const char* kText = R"(graph "g" {
    %x: f32[1,16,4,4] = input;
    %w: f32[16,16,1,1] = input;
    %s: f32[] = const [0.0039];
    %t: f32[] = const [1e-06];
    %v: i8[4,16,1,1] = const [VALUES];
    %u: f32[] = const [0.011];
    %h: f32[1,16,4,4] = Conv(%x, %w);
    %a: f32[1,16,4,4] = Sigmoid(%h);
    %q: i8[1,16,4,4] = Quantize(%a, %s) {to = "i8"};
    %p: i8[1,16,2,2] = Pool(%q) {kind = "max", kernel = [2, 2], strides = [2, 2]};
    %d: f32[1,16,2,2] = Dequantize(%p, %t);
    %b: f32[1,16,2,2] = Relu(%d);
    %k: f32[4,16,1,1] = Dequantize(%v, %u);
    %y: f32[1,4,2,2] = Conv(%d, %k);
    %e: f32[1,4,2,2] = Tanh(%y);
    %m: f32[1,4,1,1] = Pool(%e) {kind = "avg", global = 1};
    return %m, %b;
  })";
  std::string values;
  for (int i = 0; i < 64; ++i) values += fmt::format("{}{}", i == 0 ? "" : ", ", i * 37 % 251 - 125);
  std::string text = kText;
  text.replace(text.find("VALUES"), 6, values);
  std::mt19937 random(std::random_device{}());
  std::normal_distribution<float> normal;
  std::vector<HostTensor> inputs;
  for (const Dims& d : {Dims{1, 16, 4, 4}, Dims{16, 16, 1, 1}}) {
    inputs.push_back(HostTensor::allocate(DType::kF32, d).value());
    for (int64_t i = 0; i < inputs.back().volume(); ++i) inputs.back().set_f64(i, 0.2 * normal(random));
  }
  auto plain = parse_graph(text, find_op), changed = parse_graph(text, find_op);
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  for (auto* graph : {&plain, &changed}) ASSERT_TRUE(infer_graph(***graph).ok());
  const auto expected = run_graph(**plain, inputs);
  ASSERT_TRUE(expected.ok());
  ASSERT_TRUE(run_pipeline(**changed, {}).ok());
  const Result<int> count = assign_precision(**changed, DType::kF16);
  ASSERT_TRUE(count.ok()) << count.status().to_string();
  const Status sound = verify_graph(**changed);
  ASSERT_TRUE(sound.ok()) << sound.to_string();
  int bytes = 0;
  for (const Node* n = (*changed)->first(); n != nullptr; n = n->next()) {
    if (!n->has_attr("x_scale")) continue;
    ++bytes;
    EXPECT_EQ(n->output()->dtype(), DType::kF16) << n->name();
  }
  EXPECT_EQ(bytes, 1);
  const auto actual = run_graph(**changed, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status().to_string();
  for (size_t o = 0; o < 2; ++o) {
    const Difference d = compare((*actual)[o], (*expected)[o]);
    EXPECT_LE(d.max_abs, 2e-2 * d.scale) << o << " " << to_string(d);
  }
}

}  // namespace
}  // namespace wootz
