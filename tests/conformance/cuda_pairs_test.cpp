// A convolution and the one of single pixels that reads it, with a shortcut (as it is, and by a convolution of its
// own), as one step and as several: against the reference.
#include <cmath>

#include "conformance/on_cuda.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

constexpr int64_t kChannels = 16, kMiddle = 32, kColumns = 64, kOther = 32, kNext = 96, kSide = 65;

struct Kind {
  DType type;
  bool made;  // the shortcut, by a convolution
  bool next;  // the result is convolved once more
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
    y = add("Relu", {add("Add", {y, shortcut}, {})}, {});
    graph->mark_output(y);
    if (kind.next)
      graph->mark_output(
          add("Relu", {add("Conv", {y, constant({kNext, kColumns, 1, 1}, 0.2), constant({kNext}, 0.5)}, {})}, {}));
    EXPECT_TRUE(infer_graph(*graph).ok());
    return graph;
  }

  RunResult run(const std::string& backend, const Kind& kind, bool passes, std::set<std::string> without = {}) {
    return run_on(backend, *block(kind),
                  {random_tensor(kind.type, {1, kChannels, kSide, kSide}, seed_).value(),
                   random_tensor(kind.type, kind.shortcut(), seed_ + 1).value()},
                  passes, std::move(without));
  }
};

// Whether both have the results of the reference, within a bound for each.
void expect_alike(const std::vector<HostTensor>& want, const std::vector<HostTensor>& given, DType type) {
  ASSERT_EQ(want.size(), given.size());
  for (size_t o = 0; o < want.size(); ++o) {
    const double bound = (o + 1) * (type == DType::kF16 ? 0.01 : 0.08);
    ASSERT_EQ(want[o].dims(), given[o].dims());
    for (int64_t i = 0; i < want[o].volume(); ++i)
      ASSERT_LE(std::fabs(given[o].get_f64(i) - want[o].get_f64(i)), bound) << "result " << o << " at " << i;
  }
}

TEST_F(CudaPairs, AreTheSameAsOneStepAndAsSeveral) {
  for (const DType type : {DType::kF16, DType::kBF16})
    for (const Kind& kind : {Kind{type, false, false}, {type, true, false}, {type, false, true}, {type, true, true}}) {
      if (type == DType::kBF16 && kind.made != kind.next) continue;
      SCOPED_TRACE(std::string(dtype_name(type)) + (kind.made ? ", a made shortcut" : "") +
                   (kind.next ? ", one more" : "") + ", seed " + std::to_string(seed_));
      const RunResult want = run("reference", kind, false);
      const RunResult with = run("cuda", kind, true),
                      without = run("cuda", kind, true, {"fuse_bottlenecks", "fuse_shortcuts"});
      EXPECT_EQ(with.steps + 1 + kind.made + kind.next, without.steps);
      expect_alike(want.outputs, with.outputs, type);
      expect_alike(want.outputs, without.outputs, type);
    }
}

}  // namespace
}  // namespace wootz::conformance
