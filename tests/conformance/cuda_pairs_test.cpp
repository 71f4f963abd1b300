// A convolution and the one of single pixels that reads it, with a shortcut, as one step and as two: against the
// reference.
#include <cmath>

#include "conformance/on_cuda.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

constexpr int64_t kChannels = 16, kMiddle = 32, kColumns = 64, kSide = 65;

class CudaPairs : public OnCuda {
 protected:
  std::unique_ptr<Graph> block(DType type) {
    auto graph = std::make_unique<Graph>("block");
    uint64_t seed = seed_;
    const auto constant = [&](const Dims& dims, double scale) {
      HostTensor t = random_tensor(type, dims, ++seed).value();
      for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, scale * t.get_f64(i));
      return graph->add_constant(graph->unique_name("c"), std::move(t));
    };
    const auto add = [&](const char* name, std::vector<Value*> inputs, AttrMap attrs) {
      return graph->add_node(op(name), "", std::move(inputs), std::move(attrs))->output();
    };
    Value* const x = graph->add_input("x", type, {1, kChannels, kSide, kSide});
    Value* const shortcut = graph->add_input("s", type, {1, kColumns, kSide, kSide});
    Value* y = add("Conv", {x, constant({kMiddle, kChannels, 3, 3}, 0.1), constant({kMiddle}, 0.5)},
                   {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    y = add("Conv", {add("Relu", {y}, {}), constant({kColumns, kMiddle, 1, 1}, 0.2), constant({kColumns}, 0.5)}, {});
    graph->mark_output(add("Relu", {add("Add", {y, shortcut}, {})}, {}));
    EXPECT_TRUE(infer_graph(*graph).ok());
    return graph;
  }

  RunResult run(const std::string& backend, DType type, bool passes, std::set<std::string> without = {}) {
    const std::unique_ptr<Graph> graph = block(type);
    RunOptions options;
    options.backend = backend;
    options.passes = passes;
    options.without = std::move(without);
    Result<RunResult> r = run_graph_on(*graph,
                                       {random_tensor(type, {1, kChannels, kSide, kSide}, seed_).value(),
                                        random_tensor(type, {1, kColumns, kSide, kSide}, seed_ + 1).value()},
                                       options);
    EXPECT_TRUE(r.ok()) << r.status().to_string();
    return r.ok() ? std::move(r).value() : RunResult();
  }
};

TEST_F(CudaPairs, AreTheSameAsOneStepAndAsTwo) {
  for (const DType type : {DType::kF16, DType::kBF16}) {
    SCOPED_TRACE(std::string(dtype_name(type)) + ", seed " + std::to_string(seed_));
    const RunResult want = run("reference", type, false);
    const RunResult with = run("cuda", type, true), without = run("cuda", type, true, {"fuse_bottlenecks"});
    ASSERT_TRUE(want.outputs.size() == 1 && with.outputs.size() == 1 && without.outputs.size() == 1);
    EXPECT_EQ(with.steps + 1, without.steps);
    for (int64_t i = 0; i < want.outputs[0].volume(); ++i) {
      const double expected = want.outputs[0].get_f64(i), bound = type == DType::kF16 ? 0.01 : 0.08;
      ASSERT_LE(std::fabs(with.outputs[0].get_f64(i) - expected), bound) << "at " << i;
      ASSERT_LE(std::fabs(without.outputs[0].get_f64(i) - expected), bound) << "at " << i;
    }
  }
}

}  // namespace
}  // namespace wootz::conformance
