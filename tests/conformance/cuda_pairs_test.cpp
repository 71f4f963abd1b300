// A convolution and the one of single pixels that reads it, with a shortcut (as it is, and by a convolution of its
// own), as one step and as several: against the reference.
#include <cmath>

#include "conformance/on_cuda.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

constexpr int64_t kChannels = 16, kMiddle = 32, kColumns = 64, kOther = 32, kSide = 65;

struct Kind {
  DType type;
  bool made;  // the shortcut, by a convolution
  Dims shortcut() const { return {1, made ? kOther : kColumns, kSide, kSide}; }
};

class CudaPairs : public OnCuda {
 protected:
  std::unique_ptr<Graph> block(const Kind& kind) {
    auto graph = std::make_unique<Graph>("block");
    uint64_t seed = seed_;
    const auto constant = [&](const Dims& dims, double scale) {
      HostTensor t = random_tensor(kind.type, dims, ++seed).value();
      for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, scale * t.get_f64(i));
      return graph->add_constant(graph->unique_name("c"), std::move(t));
    };
    const auto add = [&](const char* name, std::vector<Value*> inputs, AttrMap attrs) {
      return graph->add_node(op(name), "", std::move(inputs), std::move(attrs))->output();
    };
    Value* const x = graph->add_input("x", kind.type, {1, kChannels, kSide, kSide});
    Value* shortcut = graph->add_input("s", kind.type, to_shape(kind.shortcut()));
    if (kind.made)
      shortcut = add("Conv", {shortcut, constant({kColumns, kOther, 1, 1}, 0.2), constant({kColumns}, 0.5)}, {});
    Value* y = add("Conv", {x, constant({kMiddle, kChannels, 3, 3}, 0.1), constant({kMiddle}, 0.5)},
                   {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    y = add("Conv", {add("Relu", {y}, {}), constant({kColumns, kMiddle, 1, 1}, 0.2), constant({kColumns}, 0.5)}, {});
    graph->mark_output(add("Relu", {add("Add", {y, shortcut}, {})}, {}));
    EXPECT_TRUE(infer_graph(*graph).ok());
    return graph;
  }

  RunResult run(const std::string& backend, const Kind& kind, bool passes, std::set<std::string> without = {}) {
    const std::unique_ptr<Graph> graph = block(kind);
    RunOptions options;
    options.backend = backend;
    options.passes = passes;
    options.without = std::move(without);
    Result<RunResult> r = run_graph_on(*graph,
                                       {random_tensor(kind.type, {1, kChannels, kSide, kSide}, seed_).value(),
                                        random_tensor(kind.type, kind.shortcut(), seed_ + 1).value()},
                                       options);
    EXPECT_TRUE(r.ok()) << r.status().to_string();
    return r.ok() ? std::move(r).value() : RunResult();
  }
};

TEST_F(CudaPairs, AreTheSameAsOneStepAndAsSeveral) {
  for (const Kind& kind :
       {Kind{DType::kF16, false}, {DType::kBF16, false}, {DType::kF16, true}, {DType::kBF16, true}}) {
    SCOPED_TRACE(std::string(dtype_name(kind.type)) + (kind.made ? ", a made shortcut" : "") + ", seed " +
                 std::to_string(seed_));
    const RunResult want = run("reference", kind, false);
    const RunResult with = run("cuda", kind, true), without = run("cuda", kind, true, {"fuse_bottlenecks"});
    ASSERT_TRUE(want.outputs.size() == 1 && with.outputs.size() == 1 && without.outputs.size() == 1);
    EXPECT_EQ(with.steps + (kind.made ? 2 : 1), without.steps);
    for (int64_t i = 0; i < want.outputs[0].volume(); ++i) {
      const double expected = want.outputs[0].get_f64(i), bound = kind.type == DType::kF16 ? 0.01 : 0.08;
      ASSERT_LE(std::fabs(with.outputs[0].get_f64(i) - expected), bound) << "at " << i;
      ASSERT_LE(std::fabs(without.outputs[0].get_f64(i) - expected), bound) << "at " << i;
    }
  }
}

}  // namespace
}  // namespace wootz::conformance
