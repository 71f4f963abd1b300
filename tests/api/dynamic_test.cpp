// Open extents: profiles, shapes outside them, several profiles, shape tensors, results of unknown size.
#include "api/harness.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

// y = relu(x) summed over the last axis, x [N, C] with both open.
Owned<ICudaEngine> row_sums(Bench& b) {
  ITensor* x = b.input("x", {-1, -1});
  ITensor* r = b.network->addActivation(*x, ActivationType::kRELU)->getOutput(0);
  ILayer* sum = b.network->addReduce(*r, ReduceOperation::kSUM, 1U << 1, false);
  EXPECT_EQ(list(sum->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1}));
  b.output(sum, "y");
  b.profile("x", {1, 1}, {4, 8}, {8, 16});
  b.profile("x", {9, 2}, {16, 2}, {32, 2});
  return b.engine();
}

TEST(Dynamic, TwoProfiles) {
  Bench b;
  Owned<ICudaEngine> engine = row_sums(b);
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getNbOptimizationProfiles(), 2);
  EXPECT_EQ(list(engine->getTensorShape("x")), (std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(list(engine->getProfileShape("x", 0, OptProfileSelector::kMAX)), (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(list(engine->getProfileShape("x", 1, OptProfileSelector::kMIN)), (std::vector<int64_t>{9, 2}));
  EXPECT_GE(engine->getDeviceMemorySizeV2(), engine->getDeviceMemorySizeForProfileV2(0));

  Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_FALSE(context->allInputDimensionsSpecified());
  const char* missing = nullptr;
  EXPECT_EQ(context->inferShapes(1, &missing), 1);
  EXPECT_STREQ(missing, "x");
  EXPECT_EQ(list(context->getTensorShape("y")), (std::vector<int64_t>{-1}));

  ASSERT_TRUE(context->setInputShape("x", dims({2, 3})));
  EXPECT_TRUE(context->allInputDimensionsSpecified());
  EXPECT_EQ(list(context->getTensorShape("y")), (std::vector<int64_t>{2}));
  EXPECT_EQ(list(context->getTensorStrides("x")), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(context->getMaxOutputSize("y"), 8);
  Floats x{1, -2, 3, 4, 5, -6};
  expect_near(run(*context, {{"x", x.data()}}, "y"), {4, 9});
  ASSERT_TRUE(context->setInputShape("x", dims({3, 2})));
  expect_near(run(*context, {{"x", x.data()}}, "y"), {1, 7, 5});

  // Outside the profile, which the message names.
  EXPECT_FALSE(context->setInputShape("x", dims({9, 2})));
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("profile 0"), std::string::npos) << why;
  EXPECT_NE(why.find("[1, 8]"), std::string::npos) << why;

  ASSERT_TRUE(context->setOptimizationProfileAsync(1, nullptr));
  EXPECT_EQ(context->getOptimizationProfile(), 1);
  EXPECT_FALSE(context->allInputDimensionsSpecified()) << "a new profile forgets shapes";
  ASSERT_TRUE(context->setInputShape("x", dims({9, 2})));
  Floats more(18, 0.5F);
  expect_near(run(*context, {{"x", more.data()}}, "y"), Floats(9, 1));
  EXPECT_FALSE(context->setInputShape("x", dims({8, 2})));
  EXPECT_FALSE(context->setOptimizationProfileAsync(2, nullptr));
  b.logger.take_errors();

  // Two contexts, one profile.
  Owned<IExecutionContext> other(engine->createExecutionContext());
  ASSERT_TRUE(other->setOptimizationProfileAsync(1, nullptr));
  ASSERT_TRUE(other->setInputShape("x", dims({10, 2})));
  Floats ten(20, 1);
  expect_near(run(*other, {{"x", ten.data()}}, "y"), Floats(10, 2));
  EXPECT_EQ(b.logger.errors(), "");
}

TEST(Dynamic, EmptyTensors) {
  Bench b;
  ITensor* x = b.input("x", {-1, 3});
  b.output(b.network->addUnary(*x, UnaryOperation::kNEG), "y");
  b.profile("x", {0, 3}, {1, 3}, {2, 3});
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputShape("x", dims({0, 3})));
  float dummy = 0;
  EXPECT_EQ(run(*context, {{"x", &dummy}}, "y").size(), 0u);
  EXPECT_EQ(b.logger.errors(), "");
}

TEST(Dynamic, NamedDimensionsMustAgree) {
  Bench b;
  ITensor *x = b.input("x", {-1, 2}), *y = b.input("y", {-1, 2});
  x->setDimensionName(0, "batch");
  y->setDimensionName(0, "batch");
  EXPECT_STREQ(x->getDimensionName(0), "batch");
  EXPECT_EQ(x->getDimensionName(1), nullptr);
  b.output(b.network->addElementWise(*x, *y, ElementWiseOperation::kSUM), "z");
  IOptimizationProfile* p = b.builder->createOptimizationProfile();
  for (const char* name : {"x", "y"}) {
    p->setDimensions(name, OptProfileSelector::kMIN, dims({1, 2}));
    p->setDimensions(name, OptProfileSelector::kOPT, dims({2, 2}));
    p->setDimensions(name, OptProfileSelector::kMAX, dims({4, 2}));
  }
  b.config->addOptimizationProfile(p);
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputShape("x", dims({2, 2})));
  ASSERT_TRUE(context->setInputShape("y", dims({3, 2})));
  EXPECT_EQ(context->inferShapes(0, nullptr), -1);
  EXPECT_NE(b.logger.take_errors().find("[3x2]"), std::string::npos);
  ASSERT_TRUE(context->setInputShape("y", dims({2, 2})));
  const Floats a{1, 2, 3, 4};
  expect_near(run(*context, {{"x", a.data()}, {"y", a.data()}}, "z"), {2, 4, 6, 8});
}

TEST(Dynamic, InputShapeTensor) {
  Bench b;
  ITensor* x = b.input("x", {-1});
  ITensor* shape = b.input("shape", {2}, DataType::kINT64);
  IShuffleLayer* s = b.network->addShuffle(*x);
  s->setInput(1, *shape);
  EXPECT_TRUE(shape->isShapeTensor());
  EXPECT_FALSE(x->isShapeTensor());
  EXPECT_EQ(list(s->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, -1}));
  b.output(b.network->addReduce(*s->getOutput(0), ReduceOperation::kSUM, 1U << 1, false), "y");
  IOptimizationProfile* p = b.builder->createOptimizationProfile();
  const int64_t low[2]{1, 1}, usual[2]{2, 3}, high[2]{6, 6};
  p->setDimensions("x", OptProfileSelector::kMIN, dims({1}));
  p->setDimensions("x", OptProfileSelector::kOPT, dims({6}));
  p->setDimensions("x", OptProfileSelector::kMAX, dims({12}));
  EXPECT_FALSE(p->isValid() && p->getNbShapeValues("shape") != -1);
  p->setShapeValuesV2("shape", OptProfileSelector::kMIN, low, 2);
  p->setShapeValuesV2("shape", OptProfileSelector::kOPT, usual, 2);
  p->setShapeValuesV2("shape", OptProfileSelector::kMAX, high, 2);
  EXPECT_EQ(p->getNbShapeValues("shape"), 2);
  ASSERT_EQ(b.config->addOptimizationProfile(p), 0);
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_TRUE(engine->isShapeInferenceIO("shape"));
  EXPECT_FALSE(engine->isShapeInferenceIO("x"));
  EXPECT_EQ(engine->getTensorLocation("shape"), TensorLocation::kHOST);
  const int64_t* values = engine->getProfileTensorValuesV2("shape", 0, OptProfileSelector::kMAX);
  ASSERT_NE(values, nullptr);
  EXPECT_EQ(values[1], 6);
  EXPECT_EQ(engine->getProfileTensorValuesV2("x", 0, OptProfileSelector::kMAX), nullptr);

  Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputShape("x", dims({6})));
  EXPECT_FALSE(context->allInputShapesSpecified());
  const Floats data{1, 2, 3, 4, 5, 6};
  std::vector<int64_t> wanted{2, 3};
  expect_near(run(*context, {{"x", data.data()}, {"shape", wanted.data()}}, "y"), {6, 15});
  wanted = {3, 2};  // the same memory, other values
  expect_near(run(*context, {{"x", data.data()}, {"shape", wanted.data()}}, "y"), {3, 7, 11});
  wanted = {7, 1};
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_NE(b.logger.take_errors().find("[1, 6]"), std::string::npos);
  wanted = {4, 2};
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_NE(b.logger.take_errors().find("6 against 8 elements"), std::string::npos);
}

class Allocator final : public IOutputAllocator {
 public:
  void* reallocateOutput(const char* name, void*, uint64_t size, uint64_t) noexcept override {
    asked = name;
    bytes.resize(size + 1);
    return refuse ? nullptr : bytes.data();
  }
  void notifyShape(const char*, const Dims& dims) noexcept override { shape = list(dims); }
  std::string asked;
  std::vector<char> bytes;
  std::vector<int64_t> shape;
  bool refuse = false;
};

TEST(Dynamic, DataDependentOutput) {
  Bench b;
  ITensor* x = b.input("x", {2, 2});
  INonZeroLayer* positions = b.network->addNonZero(*x);
  EXPECT_EQ(list(positions->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, -1}));
  b.output(positions, "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(list(engine->getTensorShape("y")), (std::vector<int64_t>{2, -1}));
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats data{0, 1, 2, 0};
  context->setInputTensorAddress("x", data.data());
  Allocator allocator;
  ASSERT_TRUE(context->setOutputAllocator("y", &allocator));
  EXPECT_EQ(context->getOutputAllocator("y"), &allocator);
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  EXPECT_EQ(allocator.asked, "y");
  EXPECT_EQ(allocator.shape, (std::vector<int64_t>{2, 2}));
  const auto* result = reinterpret_cast<const int32_t*>(allocator.bytes.data());
  EXPECT_EQ(std::vector<int32_t>(result, result + 4), (std::vector<int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(list(context->getTensorShape("y")), (std::vector<int64_t>{2, 2}));
  const Floats none(4, 0);
  context->setInputTensorAddress("x", none.data());
  ASSERT_TRUE(context->enqueueV3(nullptr));
  EXPECT_EQ(allocator.shape, (std::vector<int64_t>{2, 0}));
  // Without an allocator an address of enough memory will do.
  std::vector<int32_t> memory(8, -1);
  ASSERT_TRUE(context->setOutputAllocator("y", nullptr));
  context->setTensorAddress("y", memory.data());
  context->setInputTensorAddress("x", data.data());
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  EXPECT_EQ(memory, (std::vector<int32_t>{0, 1, 1, 0, -1, -1, -1, -1}));
  allocator.refuse = true;
  ASSERT_TRUE(context->setOutputAllocator("y", &allocator));
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_NE(b.logger.take_errors().find("'y'"), std::string::npos);
}

TEST(Dynamic, SlicesAndFillsOfUnknownSize) {
  // The last two rows of x, which has any number of them, and a range as long as x.
  Bench b;
  ITensor* x = b.input("x", {-1, 2});
  static const std::vector<int64_t> two{2, 0}, size{2, 2}, first{0};
  ITensor* shape = b.network->addShape(*x)->getOutput(0);
  ITensor* back = b.network->addConstant(dims({2}), weights(two))->getOutput(0);
  ITensor* extents = b.network->addConstant(dims({2}), weights(size))->getOutput(0);
  ITensor* columns = b.network->addSlice(*shape, dims({1}), dims({1}), dims({1}))->getOutput(0);
  ITensor* rows = b.network->addSlice(*shape, dims({0}), dims({1}), dims({1}))->getOutput(0);
  ITensor* both[2] = {rows, b.network->addElementWise(*columns, *columns, ElementWiseOperation::kSUB)->getOutput(0)};
  ITensor* start =
      b.network->addElementWise(*b.network->addConcatenation(both, 2)->getOutput(0), *back, ElementWiseOperation::kSUB)
          ->getOutput(0);
  ISliceLayer* slice = b.network->addSlice(*x, dims({0, 0}), dims({0, 0}), dims({1, 1}));
  slice->setInput(1, *start);
  slice->setInput(2, *extents);
  b.output(slice, "y");
  IFillLayer* fill = b.network->addFill(dims({}), FillOperation::kLINSPACE, DataType::kFLOAT);
  fill->setInput(0, *rows);
  b.output(fill, "count");
  b.profile("x", {2, 2}, {4, 2}, {8, 2});
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats data{1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(context->setInputShape("x", dims({3, 2})));
  Floats y(4), count(3);
  context->setInputTensorAddress("x", data.data());
  context->setTensorAddress("y", y.data());
  context->setTensorAddress("count", count.data());
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  EXPECT_EQ(y, (Floats{3, 4, 5, 6}));
  EXPECT_EQ(count, (Floats{0, 1, 2}));
  EXPECT_EQ(b.logger.errors(), "");
}

}  // namespace
}  // namespace wootz_test
