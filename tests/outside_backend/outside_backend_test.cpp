// A backend that nothing in src/ knows of: added by the application, then built for and run by the public API.
#include <gmock/gmock.h>

#include "api/harness.h"
#include "backends/registry.h"
#include "outside_backend/toy.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using testing::AllOf;
using testing::HasSubstr;

bool add_toy() {
  static const bool added = wootz::add_backend(toy_backend()).ok();
  return added;
}

// y = softmax(x * w), of 2x3 and 3x2.
struct Net {
  Net() {
    ITensor* x = bench.input("x", {2, 3});
    ITensor* product = bench.network
                           ->addMatrixMultiply(*x, MatrixOperation::kNONE, *bench.constant<float>({3, 2}, matrix),
                                               MatrixOperation::kNONE)
                           ->getOutput(0);
    ISoftMaxLayer* const softmax = bench.network->addSoftMax(*product);
    softmax->setAxes(1U << 1);
    bench.output(softmax, "y");
  }
  Owned<ICudaEngine> build(const char* device) {
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "device", device), 0) << bench.logger.errors();
    return Owned<ICudaEngine>(bench.builder->buildEngineWithConfig(*bench.network, *bench.config));
  }
  const std::vector<float> matrix{1, 2, 3, 4, 5, 6};
  Bench bench;
};

std::vector<float> run(ICudaEngine& engine) {
  const std::vector<float> x{1, 0, 0, 0, 0.5F, 0};
  std::vector<float> y(4);
  const Owned<IExecutionContext> context(engine.createExecutionContext());
  EXPECT_TRUE(context->setInputTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()) &&
              context->enqueueV3(nullptr));
  return y;
}

TEST(OutsideBackend, IsFoundByNameOnceItWasAdded) {
  ASSERT_TRUE(add_toy());
  const auto found = wootz::find_backend("toy");
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(*found, &toy_backend());
  EXPECT_THAT(wootz::add_backend(toy_backend()).message(), HasSubstr("there is a backend 'toy' already"));
  EXPECT_THAT(wootz::find_backend("tin").status().message(), AllOf(HasSubstr("no backend 'tin'"), HasSubstr("toy")));
  EXPECT_THAT(wootz_machine(), HasSubstr("\"toy\""));
}

TEST(OutsideBackend, BuildsAndRunsOnTheDeviceAskedFor) {
  ASSERT_TRUE(add_toy());
  Net net;
  std::vector<std::vector<float>> results;
  for (int device = 0; device < 2; ++device) {
    const Owned<ICudaEngine> engine = net.build(device == 0 ? "toy:0" : "toy:1");
    ASSERT_NE(engine, nullptr) << net.bench.logger.errors();
    EXPECT_EQ(wootz_engine_device(engine.get()), device);
    const ToyCounts here = toy_counts(device), there = toy_counts(1 - device);
    results.push_back(run(*engine));
    EXPECT_GT(toy_counts(device).products, here.products) << "the product is the toy's own";
    EXPECT_GT(toy_counts(device).allocations, here.allocations);
    EXPECT_EQ(toy_counts(1 - device).products, there.products);
    EXPECT_EQ(toy_counts(1 - device).allocations, there.allocations);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_NEAR(results[0][0] + results[0][1], 1, 1e-6);
  EXPECT_NEAR(results[0][1] / results[0][0], std::exp(1.0), 1e-5);
}

TEST(OutsideBackend, HasNoThirdDevice) {
  ASSERT_TRUE(add_toy());
  Net net;
  EXPECT_EQ(net.build("toy:2"), nullptr);
  EXPECT_THAT(net.bench.logger.errors(),
              HasSubstr("there is no device 2 of backend toy; there are 0: a toy (toy1), 1: a toy (toy1)"));
}

}  // namespace
}  // namespace wootz_test
