// An attention between transpositions of batch and sequence, as nn.MultiheadAttention is exported: with the rows in the
// one order and in the other, against the reference.
#include <cmath>

#include "conformance/on_cuda.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

constexpr int64_t kBatch = 3, kRows = 19, kHeads = 2, kSize = 32, kColumns = kHeads * kSize;

class CudaRows : public OnCuda {
 protected:
  // Norm, transposition, product, attention, product, transposition, residual.
  std::unique_ptr<Graph> block(DType type) {
    auto graph = std::make_unique<Graph>("block");
    uint64_t seed = seed_;
    const auto constant = [&](const Dims& dims, double scale) {
      HostTensor t = random_tensor(type, dims, ++seed).value();
      for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, scale * t.get_f64(i));
      return graph->add_constant(graph->unique_name("c"), std::move(t));
    };
    const auto ints = [&](std::vector<int64_t> values) {
      const Dims count{static_cast<int64_t>(values.size())};
      return graph->add_constant(graph->unique_name("i"), HostTensor::from<int64_t>(values, count));
    };
    const auto add = [&](const char* name, std::vector<Value*> inputs, AttrMap attrs) {
      return graph->add_node(op(name), "", std::move(inputs), std::move(attrs))->output();
    };
    const AttrMap exchange{{"perm", std::vector<int64_t>{1, 0, 2}}};
    Value* const x = graph->add_input("x", type, {kBatch, kRows, kColumns});
    Value* y = add("LayerNorm", {x, constant({kColumns}, 1), constant({kColumns}, 1)}, {{"axis", int64_t{-1}}});
    y = add("Transpose", {y}, exchange);
    y = add("MatMul", {y, constant({kColumns, 3 * kColumns}, 0.2), constant({3 * kColumns}, 1)}, {});
    AttrMap heads{{"scale", 0.2}, {"merged", int64_t{2}}};
    for (const auto& [name, part] : {std::pair{"q_view", 0}, {"k_view", 1}, {"v_view", 2}})
      heads[name] = std::vector<int64_t>{part * kColumns, kHeads, kSize, kSize, 1};
    y = add("Attention", {y, y, y}, heads);
    y = add("Reshape", {y, ints({kRows * kBatch, kColumns})}, {});
    y = add("MatMul", {y, constant({kColumns, kColumns}, 0.2), constant({kColumns}, 1)}, {{"trans_b", int64_t{1}}});
    y = add("Transpose", {add("Reshape", {y, ints({kRows, kBatch, kColumns})}, {})}, exchange);
    graph->mark_output(add("Add", {y, x}, {}));
    EXPECT_TRUE(infer_graph(*graph).ok());
    return graph;
  }

  RunResult run(const std::string& backend, DType type, bool passes, std::set<std::string> without = {}) {
    return run_on(backend, *block(type), {random_tensor(type, {kBatch, kRows, kColumns}, seed_).value()}, passes,
                  std::move(without));
  }
};

TEST_F(CudaRows, AreTheSameInEitherOrder) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    SCOPED_TRACE(std::string(dtype_name(type)) + ", seed " + std::to_string(seed_));
    const RunResult want = run("reference", type, false);
    const RunResult with = run("cuda", type, true), without = run("cuda", type, true, {"reorder_rows"});
    ASSERT_TRUE(want.outputs.size() == 1 && with.outputs.size() == 1 && without.outputs.size() == 1);
    // Both transpositions are gone, and the residual is in its product again; in 16 bits a product may take in the
    // norm.
    EXPECT_LE(with.steps + 3, without.steps);
    for (int64_t i = 0; i < want.outputs[0].volume(); ++i) {
      const double expected = want.outputs[0].get_f64(i), bound = type == DType::kF32   ? 0.02
                                                                  : type == DType::kF16 ? 0.03
                                                                                        : 0.2;
      ASSERT_LE(std::fabs(with.outputs[0].get_f64(i) - expected), bound) << "at " << i;
      ASSERT_LE(std::fabs(without.outputs[0].get_f64(i) - expected), bound) << "at " << i;
    }
  }
}

}  // namespace
}  // namespace wootz::conformance
