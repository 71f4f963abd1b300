// Two convolutions whose results are added up, one by single pixels at steps of two, as one step and as two: against
// the reference.
#include <cmath>

#include "conformance/on_cuda.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

constexpr int64_t kImages = 14, kChannels = 40, kOther = 72, kColumns = 80, kSide = 25;

struct Kind {
  DType type;
  int64_t window;      // of the other one
  bool bias, other;    // of that one, of the shortcut
  bool pixels_behind;  // the expression is behind the shortcut
};

class CudaSums : public OnCuda {
 protected:
  std::unique_ptr<Graph> block(const Kind& kind) {
    auto graph = std::make_unique<Graph>("block");
    uint64_t seed = seed_;
    const auto constant = [&](const Dims& dims, double scale) {
      HostTensor t = random_tensor(kind.type, dims, ++seed).value();
      for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, scale * t.get_f64(i));
      return graph->add_constant(graph->unique_name("c"), std::move(t));
    };
    const auto conv = [&](Value* x, const Dims& w, bool bias, AttrMap attrs) {
      std::vector<Value*> inputs{x, constant(w, 0.2)};
      if (bias) inputs.push_back(constant({w[0]}, 0.5));
      return graph->add_node(op("Conv"), "", std::move(inputs), std::move(attrs))->output();
    };
    Value* const x = graph->add_input("x", kind.type, {kImages, kChannels, kSide, kSide});
    Value* const s = graph->add_input("s", kind.type, {kImages, kOther, 2 * kSide, 2 * kSide - 1});
    const auto own = [&] {
      return conv(x, {kColumns, kChannels, kind.window, kind.window}, kind.bias,
                  {{"pads", std::vector<int64_t>(4, kind.window / 2)}});
    };
    Value* a = kind.pixels_behind ? own() : nullptr;
    Value* const b = conv(s, {kColumns, kOther, 1, 1}, kind.other, {{"strides", std::vector<int64_t>{2, 2}}});
    if (a == nullptr) a = own();
    Value* const sum = graph->add_node(op("Add"), "", {a, b}, {})->output();
    graph->mark_output(graph->add_node(op("Relu"), "", {sum}, {})->output());
    EXPECT_TRUE(infer_graph(*graph).ok());
    return graph;
  }

  RunResult run(const std::string& backend, const Kind& kind, bool passes, std::set<std::string> without = {}) {
    return run_on(backend, *block(kind),
                  {random_tensor(kind.type, {kImages, kChannels, kSide, kSide}, seed_).value(),
                   random_tensor(kind.type, {kImages, kOther, 2 * kSide, 2 * kSide - 1}, seed_ + 1).value()},
                  passes, std::move(without));
  }
};

TEST_F(CudaSums, AreTheSameAsOneStepAndAsTwo) {
  for (const Kind& kind : {Kind{DType::kF16, 1, true, true, false},
                           {DType::kF16, 3, false, true, true},
                           {DType::kBF16, 1, true, false, true},
                           {DType::kBF16, 1, false, false, false}}) {
    SCOPED_TRACE(fmt::format("{}, {}x{}, biases {} {}, seed {}", dtype_name(kind.type), kind.window, kind.window,
                             kind.bias, kind.other, seed_));
    const RunResult want = run("reference", kind, false), with = run("cuda", kind, true),
                    without = run("cuda", kind, true, {"fuse_shortcuts"});
    EXPECT_EQ(with.steps + 1, without.steps);
    const double bound = kind.type == DType::kF16 ? 0.01 : 0.08;
    for (const RunResult* given : {&with, &without}) {
      ASSERT_EQ(given->outputs.size(), 1u);
      ASSERT_EQ(given->outputs[0].dims(), want.outputs[0].dims());
      for (int64_t i = 0; i < want.outputs[0].volume(); ++i)
        ASSERT_LE(std::fabs(given->outputs[0].get_f64(i) - want.outputs[0].get_f64(i)), bound) << "at " << i;
    }
  }
}

}  // namespace
}  // namespace wootz::conformance
