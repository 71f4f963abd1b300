// Products that normalize the rows that they read: rows whose mean is large for their deviation, constant rows, and the
// normalized rows as a result of their own. Held against sums of doubles, beside the two as steps of their own.
#include <cmath>

#include "conformance/on_cuda.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "tuner/measure/random_data.h"

namespace wootz::conformance {
namespace {

constexpr int64_t kRows = 37, kDepth = 264, kColumns = 72;

struct Operands {
  HostTensor x, scale, bias, w;
  bool centered = true;
};

struct Results {
  std::vector<double> rows, product;
};

Results exact(const Operands& o, double epsilon) {
  Results r;
  for (int64_t m = 0; m < kRows; ++m) {
    double mean = 0, square = 0;
    for (int64_t k = 0; k < kDepth; ++k) mean += o.centered ? o.x.get_f64(m * kDepth + k) / kDepth : 0;
    for (int64_t k = 0; k < kDepth; ++k) square += std::pow(o.x.get_f64(m * kDepth + k) - mean, 2) / kDepth;
    for (int64_t k = 0; k < kDepth; ++k)
      r.rows.push_back((o.x.get_f64(m * kDepth + k) - mean) / std::sqrt(square + epsilon) * o.scale.get_f64(k) +
                       o.bias.get_f64(k));
    for (int64_t n = 0; n < kColumns; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < kDepth; ++k)
        sum += r.rows[static_cast<size_t>(m * kDepth + k)] * o.w.get_f64(k * kColumns + n);
      r.product.push_back(sum);
    }
  }
  return r;
}

double largest_difference(const HostTensor& got, const std::vector<double>& expected) {
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double d = std::fabs(got.get_f64(static_cast<int64_t>(i)) - expected[i]);
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

class CudaNormProducts : public OnCuda {
 protected:
  Operands operands(DType type, double mean, double deviation) {
    Operands o;
    o.x = random_tensor(type, {kRows, kDepth}, seed_).value();
    for (int64_t i = 0; i < o.x.volume(); ++i) o.x.set_f64(i, mean + deviation * 1.7 * o.x.get_f64(i));
    o.scale = random_tensor(type, {kDepth}, seed_ + 1).value();
    for (int64_t i = 0; i < kDepth; ++i) o.scale.set_f64(i, 1 + 0.5 * o.scale.get_f64(i));
    o.bias = random_tensor(type, {kDepth}, seed_ + 2).value();
    o.w = random_tensor(type, {kDepth, kColumns}, seed_ + 3).value();
    for (int64_t i = 0; i < o.w.volume(); ++i) o.w.set_f64(i, 0.1 * o.w.get_f64(i));
    return o;
  }

  // The product, then the normalized rows where they are `kept`.
  RunResult run(const Operands& o, double epsilon, bool kept, bool passes) {
    Graph graph;
    Value* const x = graph.add_input("x", o.x.dtype(), to_shape(o.x.dims()));
    std::vector<Value*> of{x, graph.add_constant("s", o.scale)};
    if (o.centered) of.push_back(graph.add_constant("b", o.bias));
    Node* const norm = graph.add_node(op(o.centered ? "LayerNorm" : "RMSNorm"), "norm", of,
                                      {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
    Node* const product = graph.add_node(op("MatMul"), "product", {norm->output(), graph.add_constant("w", o.w)}, {});
    graph.mark_output(product->output());
    if (kept) graph.mark_output(graph.add_node(op("Neg"), "rows", {norm->output()}, {})->output());
    EXPECT_TRUE(infer_graph(graph).ok());
    return run_on("cuda", graph, {o.x}, passes);
  }
};

TEST_F(CudaNormProducts, AreRightWhateverTheMean) {
  for (const DType type : {DType::kF16, DType::kBF16})
    for (const bool centered : {true, false})
      for (const double mean : {0.0, 1.0, 10.0, 30.0}) {
        Operands o = operands(type, mean, 1);
        o.centered = centered;
        if (!centered)
          for (int64_t i = 0; i < kDepth; ++i) o.bias.set_f64(i, 0);
        const Results right = exact(o, 1e-5);
        const RunResult one = run(o, 1e-5, false, true), two = run(o, 1e-5, false, false);
        ASSERT_FALSE(one.outputs.empty() || two.outputs.empty());
        EXPECT_EQ(one.steps, 1U);
        EXPECT_EQ(two.steps, 2U);
        const double folded = largest_difference(one.outputs[0], right.product),
                     apart = largest_difference(two.outputs[0], right.product);
        std::printf("%s %s, mean of %g deviations: %.2g as one step, %.2g as two\n", dtype_name(type),
                    centered ? "by mean" : "by square", mean, folded, apart);
        EXPECT_LE(folded, (type == DType::kF16 ? 0.004 : 0.032) * (1 + mean / 30)) << mean;
      }
}

TEST_F(CudaNormProducts, KeepRowsThatOthersRead) {
  const Operands o = operands(DType::kF16, 1, 1);
  const Results right = exact(o, 1e-5);
  const RunResult one = run(o, 1e-5, true, true);
  ASSERT_EQ(one.outputs.size(), 2U);
  EXPECT_EQ(one.steps, 2U);
  std::vector<double> negative;
  for (const double v : right.rows) negative.push_back(-v);
  EXPECT_LE(largest_difference(one.outputs[0], right.product), 0.004);
  EXPECT_LE(largest_difference(one.outputs[1], negative), 0.003);
}

// Sums of squares know nothing of deviations that small: what is left is small, too.
TEST_F(CudaNormProducts, ConstantRowsGiveWhatTheBiasGives) {
  for (const double value : {0.0, 1.0, -300.0, 20000.0}) {
    const Operands o = operands(DType::kF16, value, 0);
    const Results right = exact(o, 1e-12);
    const RunResult one = run(o, 1e-12, true, true);
    ASSERT_EQ(one.outputs.size(), 2U);
    EXPECT_LE(largest_difference(one.outputs[0], right.product), 0.02) << value;
  }
}

}  // namespace
}  // namespace wootz::conformance
