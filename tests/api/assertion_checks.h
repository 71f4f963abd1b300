// Assertions of what only an inference knows, on any backend: it fails, with the layer's name and message, and the next
// one goes on.
#pragma once

#include "api/on_backend.h"

namespace wootz_test {

inline void expect_refusal(const std::string& why, const char* layer, const char* message) {
  EXPECT_NE(why.find(layer), std::string::npos) << why;
  EXPECT_NE(why.find(message), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), why.size() - 1) << "one error is one line: " << why;
}

inline nvinfer1::IAssertionLayer* assert_that(Bench& b, nvinfer1::ITensor* condition, const char* name,
                                              const char* message) {
  nvinfer1::IAssertionLayer* layer = b.network->addAssertion(*condition, message);
  layer->setName(name);
  return layer;
}

// x and z must have as many rows as one another.
struct RowsAreEqual : BackendBench {
  explicit RowsAreEqual(const char* backend) : BackendBench(backend) {
    using namespace nvinfer1;  // NOLINT
    ITensor *x = input("x", {-1, 3}), *z = input("z", {-1, 2});
    ITensor* zero = constant<int32_t>({}, zero_);
    const auto rows = [&](ITensor* t) {
      return network->addGather(*network->addShape(*t)->getOutput(0), *zero, 0)->getOutput(0);
    };
    ITensor* equal = network->addElementWise(*rows(x), *rows(z), ElementWiseOperation::kEQUAL)->getOutput(0);
    assert_that(*this, equal, "same_rows", "x and z have a row for each other");
    output(network->addReduce(*x, ReduceOperation::kSUM, 3, false), "y");
    output(network->addReduce(*z, ReduceOperation::kSUM, 3, false), "w");
    IOptimizationProfile* p = builder->createOptimizationProfile();
    for (const auto& [name, columns] : {std::pair("x", 3), std::pair("z", 2)}) {
      p->setDimensions(name, OptProfileSelector::kMIN, dims({1, columns}));
      p->setDimensions(name, OptProfileSelector::kOPT, dims({2, columns}));
      p->setDimensions(name, OptProfileSelector::kMAX, dims({4, columns}));
    }
    EXPECT_EQ(config->addOptimizationProfile(p), 0);
  }
  const std::vector<int32_t> zero_{0};
};

inline void check_assertions_of_extents(const char* backend) {
  SCOPED_TRACE(backend);
  RowsAreEqual b(backend);
  const Owned<nvinfer1::ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Inference inference(*engine);
  inference.give("x", dims({3, 3}), std::vector<float>(9, 1));
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(inference.give("z", dims({3, 2}), std::vector<float>(6, 1)).run()) << b.logger.errors();
    EXPECT_EQ(inference.get<float>("y"), std::vector<float>{9});
    EXPECT_EQ(b.logger.take_errors(), "");
    inference.give("z", dims({2, 2}), std::vector<float>(4, 1));
    EXPECT_FALSE(inference.context().enqueueV3(nullptr));
    expect_refusal(b.logger.take_errors(), "same_rows", "x and z have a row for each other");
  }
}

// All elements of x are to be above the least one that is allowed.
inline void check_assertions_of_data(const char* backend) {
  SCOPED_TRACE(backend);
  using namespace nvinfer1;  // NOLINT
  BackendBench b(backend);
  ITensor *x = b.input("x", {2, 3}), *least = b.input("least", {1, 1});
  assert_that(b, b.network->addElementWise(*x, *least, ElementWiseOperation::kGREATER)->getOutput(0), "all_above",
              "an element is too small");
  b.output(b.network->addUnary(*x, UnaryOperation::kNEG), "y");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Inference inference(*engine);
  inference.give("x", dims({2, 3}), std::vector<float>{1, 2, 3, 4, 5, 6});
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(inference.give("least", dims({1, 1}), std::vector<float>{0}).run()) << b.logger.errors();
    EXPECT_EQ(b.logger.take_errors(), "");
    EXPECT_EQ(inference.get<float>("y")[5], -6);
    EXPECT_FALSE(inference.give("least", dims({1, 1}), std::vector<float>{3}).run());
    expect_refusal(b.logger.take_errors(), "all_above", "an element is too small");
    std::vector<void*> bindings;
    for (int32_t i = 0; i < engine->getNbIOTensors(); ++i)
      bindings.push_back(const_cast<void*>(inference.context().getTensorAddress(engine->getIOTensorName(i))));
    EXPECT_FALSE(inference.context().executeV2(bindings.data()));
    expect_refusal(b.logger.take_errors(), "all_above", "an element is too small");
  }
}

// How many elements are not zero is known while the inference runs.
inline void check_assertions_of_found_sizes(const char* backend) {
  SCOPED_TRACE(backend);
  using namespace nvinfer1;  // NOLINT
  BackendBench b(backend);
  ITensor* x = b.input("x", {6});
  ITensor* found = b.network->addNonZero(*x, DataType::kINT64)->getOutput(0);
  const std::vector<int64_t> three{3};
  const std::vector<int32_t> one{1};
  ITensor* count =
      b.network->addGather(*b.network->addShape(*found)->getOutput(0), *b.constant<int32_t>({1}, one), 0)->getOutput(0);
  ITensor* few =
      b.network->addElementWise(*count, *b.constant<int64_t>({1}, three), ElementWiseOperation::kLESS)->getOutput(0);
  assert_that(b, few, "few", "fewer than three are expected");
  b.output(b.network->addReduce(*b.network->addCast(*found, DataType::kFLOAT)->getOutput(0), ReduceOperation::kSUM, 3,
                                false),
           "y");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Inference inference(*engine);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(inference.give("x", dims({6}), std::vector<float>{0, 1, 0, 1, 0, 0}).run()) << b.logger.errors();
    EXPECT_EQ(inference.get<float>("y"), std::vector<float>{4});
    EXPECT_FALSE(inference.give("x", dims({6}), std::vector<float>{1, 1, 0, 1, 0, 0}).run());
    expect_refusal(b.logger.take_errors(), "few", "fewer than three are expected");
  }
}

}  // namespace wootz_test
