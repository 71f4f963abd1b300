#include "passes/precision/assign_precision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "base/rounding.h"
#include "base/testing.h"
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

HostTensor rounded(const HostTensor& t, DType type) {
  if (t.dtype() != DType::kF32) return t;
  HostTensor narrow = HostTensor::allocate(type, t.dims()).value(),
             back = HostTensor::allocate(t.dtype(), t.dims()).value();
  for (int64_t i = 0; i < t.volume(); ++i) {
    narrow.set_f64(i, t.get_f64(i));
    back.set_f64(i, narrow.get_f64(i));
  }
  return back;
}

// Empty, or what is wrong: further from what is right than the type explains. `moved` is what comes out where only the
// inputs are rounded: as much as that moves a place, rounding inside may move it, and several times.
std::string too_far(const HostTensor& actual, const HostTensor& expected, const HostTensor& moved, DType type,
                    int64_t reduction) {
  const Difference d = compare(actual, expected), m = compare(moved, expected);
  if (d.shape_mismatch) return to_string(d);
  if (m.non_finite_mismatch || m.shape_mismatch) return "";  // the inputs alone overflow, or find other places
  if (d.non_finite_mismatch) return to_string(d);
  if (!is_float(expected.dtype())) {
    if (m.max_abs > 0) return "";  // a boundary within the rounding of the inputs
    int64_t off = 0;               // next to one: what is divided by a scale is rounded as well
    for (int64_t i = 0; i < expected.volume(); ++i) off += actual.get_i64(i) != expected.get_i64(i);
    return d.max_abs <= 1 && off <= 1 + expected.volume() / 50 ? "" : fmt::format("{} off; {}", off, to_string(d));
  }
  HostTensor distance = HostTensor::allocate(DType::kF64, expected.dims()).value();
  for (int64_t i = 0; i < distance.volume(); ++i)
    distance.set_f64(i, std::fabs(moved.get_f64(i) - expected.get_f64(i)));
  const std::vector<double> scales = place_scales(expected), moves = place_scales(distance);
  for (int64_t i = 0; i < expected.volume(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double off = std::fabs(actual.get_f64(i) - expected.get_f64(i));
    const double allowed = 2 * tolerance_for(type, reduction) * scales[at] + 4 * moves[at];
    if (off > allowed)
      return fmt::format("element {}: {} instead of {} (allowed {:.1e}); {}", i, actual.get_f64(i), expected.get_f64(i),
                         allowed, to_string(d));
  }
  return "";
}

TEST(AssignPrecision, EveryCaseStaysCloseAndKeepsItsInterface) {
  const uint64_t seed = test_seed();
  int changed = 0;
  for (const OpCase& c : all_cases(seed)) {
    if (c.name.rfind("random/", 0) == 0) continue;
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(infer_graph(*c.graph).ok());
    const auto expected = run_graph(*c.graph, c.inputs);
    ASSERT_TRUE(expected.ok());
    std::vector<HostTensor> narrow;
    for (const HostTensor& t : c.inputs) narrow.push_back(rounded(t, DType::kBF16));
    const auto moved = run_graph(*c.graph, narrow);
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
      if (!moved.ok()) continue;  // rounded inputs say something else: sizes, places
      EXPECT_EQ(too_far((*actual)[o], (*expected)[o], (*moved)[o], DType::kBF16, c.reduction), "") << "output " << o;
    }
  }
  EXPECT_GT(changed, 100);
}

// A scale that f16 cannot hold stays what it is, also in the expression of a step whose data is kept in f16; and what
// is summed up from bytes is kept in f16 after its epilogue.
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
  std::mt19937 random(static_cast<unsigned>(test_seed()));
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

// A mask that hides keys by the lowest float, every key of one row: 16 bits of it are finite, so that no row is left
// without a sum. What is infinite stays so.
TEST(AssignPrecision, ScalesOfBlocksAreNotRounded) {
  auto parsed = parse_graph(R"(graph "g" {
    %x: f8e4m3[3,2,128] = input;
    %r: f32[3,2] = input;
    %t: i64[3] = const [3, 2, 1];
    %w: f8e4m3[8,256] = const splat(1);
    %v: f32[2,8] = const splat(0.5);
    %a: f32[3,2] = Abs(%r);
    %s: f32[3,2,1] = Reshape(%a, %t);
    %y: f32[3,8] = BlockMatMul(%x, %s, %w, %v) {w_block = 128, x_scale = [1]};
    %z: f32[3,8] = Relu(%y);
    return %z;
  })",
                            find_op);
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  Graph& graph = **parsed;
  ASSERT_TRUE(infer_graph(graph).ok());
  ASSERT_TRUE(assign_precision(graph, DType::kF16).ok());
  for (const Node* node : graph.nodes()) {
    if (!node->is("BlockMatMul")) continue;
    const Value* scale = node->input(1);
    EXPECT_EQ(scale->dtype(), DType::kF32);
    ASSERT_TRUE(scale->producer() != nullptr && scale->producer()->is("Reshape"));
    EXPECT_TRUE(scale->producer()->input(0)->producer()->is("Abs"));
    EXPECT_EQ(node->input(3)->dtype(), DType::kF32);
    EXPECT_EQ(node->output()->dtype(), DType::kF16);
  }
}

TEST(AssignPrecision, MasksStayFinite) {
  for (const DType type : {DType::kF16, DType::kBF16})
    for (const bool infinite : {false, true}) {
      auto graph = parse_graph(R"(graph "g" {
        %q: f32[1,2,4,8] = input;
        %k: f32[1,2,6,8] = input;
        %v: f32[1,2,6,8] = input;
        %m: f32[1,1,4,6] = input;
        %y: f32[1,2,4,8] = Attention(%q, %k, %v, %m);
        return %y;
      })",
                               find_op);
      ASSERT_TRUE(graph.ok()) << graph.status().to_string();
      ASSERT_TRUE(infer_graph(**graph).ok());
      const Result<int> count = assign_precision(**graph, type);
      ASSERT_TRUE(count.ok()) << count.status().to_string();
      EXPECT_EQ(*count, 1);
      std::vector<HostTensor> inputs;
      for (const Dims& d : {Dims{1, 2, 4, 8}, Dims{1, 2, 6, 8}, Dims{1, 2, 6, 8}, Dims{1, 1, 4, 6}}) {
        inputs.push_back(HostTensor::allocate(DType::kF32, d).value());
        for (int64_t i = 0; i < inputs.back().volume(); ++i) inputs.back().set_f64(i, inputs.size() == 4 ? 0 : 0.25);
      }
      const double hidden = infinite ? -INFINITY : -3.4028234663852886e38;
      for (int64_t key = 0; key < 6; ++key) inputs[3].set_f64(6 + key, hidden);
      inputs[3].set_f64(0, hidden);
      const auto y = run_graph(**graph, inputs);
      ASSERT_TRUE(y.ok()) << y.status().to_string();
      for (int64_t i = 0; i < 8; ++i) EXPECT_EQ((*y)[0].get_f64(i), 0.25) << i;  // of the keys that are left
      if (!infinite)
        for (int64_t i = 8; i < 16; ++i) EXPECT_EQ((*y)[0].get_f64(i), 0.25) << i;
    }
}

// %w is read by one GEMM alone, %v also by a sum, %u by two GEMMs along different axes, %p by two alike.
TEST(AssignPrecision, WeightsAreRoundedByWhatTheirReadersSumUp) {
  const uint64_t seed = test_seed();
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<float> normal;
  for (const DType type : {DType::kF16, DType::kBF16}) {
    auto graph = parse_graph(R"(graph "g" {
      %x: f32[4,64] = input;
      %n: f32[64,48] = input;
      %i: f32[1,24,8,8] = input;
      %w: f32[64,48] = const splat(0);
      %v: f32[64,48] = const splat(0);
      %u: f32[48,48] = const splat(0);
      %p: f32[48,48] = const splat(0);
      %l: f32[6,48] = const splat(0);
      %c: f32[8,12,3,3] = const splat(0);
      %t: f32[8,5,4,4] = const splat(0);
      %a: f32[4,48] = MatMul(%x, %w);
      %b: f32[4,48] = MatMul(%x, %v);
      %s: f32[64,48] = Add(%n, %v);
      %d: f32[4,48] = MatMul(%a, %u);
      %e: f32[4,48] = MatMul(%b, %u) {trans_b = 1};
      %f: f32[4,48] = MatMul(%d, %p) {trans_b = 1};
      %g: f32[4,48] = MatMul(%e, %p) {trans_b = 1};
      %h: f32[6,4] = MatMul(%l, %g) {trans_b = 1};
      %j: f32[1,8,6,6] = Conv(%i, %c) {groups = 2};
      %k: f32[1,10,14,14] = ConvTranspose(%j, %t) {groups = 2, strides = [2, 2]};
      return %f, %h, %s, %k;
    })",
                             find_op);
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    const std::vector<int64_t> two{2, 2};
    const std::map<std::string, WeightRows> rows{{"w", matrix_rows({64, 48}, false)},
                                                 {"v", single_elements({64, 48})},
                                                 {"u", single_elements({48, 48})},
                                                 {"p", matrix_rows({48, 48}, true)},
                                                 {"l", matrix_rows({6, 48}, true)},
                                                 {"c", conv_rows({8, 12, 3, 3})},
                                                 {"t", transposed_conv_rows({8, 5, 4, 4}, 2, two, {})}};
    std::map<std::string, HostTensor> expected;
    for (Value* constant : (*graph)->constants()) {
      HostTensor values = HostTensor::allocate(DType::kF32, constant->constant().dims()).value();
      for (float& v : values.as_mutable<float>()) v = normal(random);
      (*graph)->replace_all_uses(constant, (*graph)->add_constant(constant->name() + "_made", values));
      HostTensor rounded = HostTensor::allocate(DType::kF32, values.dims()).value();
      std::copy_n(values.as<float>().begin(), values.volume(), rounded.as_mutable<float>().begin());
      round_rows(rounded.as_mutable<float>(), rows.at(constant->name()), type == DType::kF16 ? kF16Grid : kBf16Grid);
      expected[constant->name()] = rounded;
    }
    ASSERT_TRUE(infer_graph(**graph).ok());
    ASSERT_TRUE(assign_precision(**graph, type).ok());
    std::set<std::string> seen;
    for (const Node* node = (*graph)->first(); node != nullptr; node = node->next())
      for (const Value* in : node->inputs()) {
        if (!in->is_constant()) continue;
        const std::string name = in->name().substr(0, 1);
        seen.insert(name);
        ASSERT_EQ(in->dtype(), type) << in->name();
        for (int64_t i = 0; i < in->constant().volume(); ++i)
          ASSERT_EQ(in->constant().get_f64(i), expected.at(name).get_f64(i)) << name << " " << i;
      }
    EXPECT_EQ(seen.size(), rows.size());
  }
}

// Detectors push boxes of different labels apart by adding a multiple of the label: 323,584 in the end, more than f16
// holds, and where it still holds it, boxes would become multiples of 32. And angles of positions are far from exact.
TEST(AssignPrecision, WhatComesFromLabelsAndPositionsStaysWide) {
  auto graph = parse_graph(R"(graph "g" {
    %x: f32[6,4] = input;
    %l: i64[6] = input;
    %f: f32[1,8,1] = input;
    %t: i64[1,1,6] = input;
    %o: f32[] = const [4096];
    %b: f32[6,4] = Relu(%x);
    %lf: f32[6] = Cast(%l) {to = "f32"};
    %lo: f32[6] = Mul(%lf, %o);
    %lu = Unsqueeze(%lo) {axes = [1]};
    %a: f32[6,4] = Add(%b, %lu);
    %r = Unsqueeze(%a) {axes = [0]};
    %tf: f32[1,1,6] = Cast(%t) {to = "f32"};
    %angle: f32[1,8,6] = MatMul(%f, %tf);
    %c: f32[1,8,6] = Cos(%angle);
    %s: f32[1,8,6] = Softmax(%c);
    %p: f32[6,4] = Softmax(%a);
    return %r, %s, %p;
  })",
                           find_op);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  ASSERT_TRUE(infer_graph(**graph).ok());
  std::mt19937 random(static_cast<unsigned>(test_seed()));
  std::vector<HostTensor> inputs;
  for (const Value* in : (*graph)->inputs()) {
    Dims dims;
    for (const Dim& d : in->shape()) dims.push_back(d.value());
    inputs.push_back(HostTensor::allocate(in->dtype(), dims).value());
    for (int64_t i = 0; i < inputs.back().volume(); ++i)
      inputs.back().set_f64(i, in->dtype() == DType::kI64 ? random() % 3000 : random() % 1000 * 0.001);
  }
  const auto expected = run_graph(**graph, inputs);
  ASSERT_TRUE(expected.ok());
  ASSERT_TRUE(run_pipeline(**graph, {}).ok());
  const Result<int> changed = assign_precision(**graph, DType::kF16);
  ASSERT_TRUE(changed.ok()) << changed.status().to_string();
  EXPECT_GE(*changed, 2);  // the softmaxes, what is around them
  const auto actual = run_graph(**graph, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status().to_string();
  for (int64_t i = 0; i < 24; ++i) ASSERT_NEAR((*actual)[0].get_f64(i), (*expected)[0].get_f64(i), 1e-3) << i;
  for (int64_t i = 0; i < 48; ++i) ASSERT_NEAR((*actual)[1].get_f64(i), (*expected)[1].get_f64(i), 2e-3) << i;
}

}  // namespace
}  // namespace wootz
