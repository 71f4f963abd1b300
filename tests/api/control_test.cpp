// Loops and conditionals.
#include "api/harness.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

ITensor* scalar(Bench& b, const int32_t* value) {
  return b.network->addConstant(dims({}), {DataType::kINT32, value, 1})->getOutput(0);
}

TEST(Loops, RunningSumOverRows) {
  // For each row of x: sum += row; gives the last sum, all sums, and all sums last first.
  Bench b;
  static const int32_t kRows = 3;
  static const Floats zero{0, 0};
  ITensor* x = b.input("x", {3, 2});
  ITensor* start = b.network->addConstant(dims({2}), weights(zero))->getOutput(0);
  ILoop* loop = b.network->addLoop();
  ASSERT_NE(loop, nullptr);
  loop->addTripLimit(*scalar(b, &kRows), TripLimit::kCOUNT);
  IIteratorLayer* rows = loop->addIterator(*x);
  IRecurrenceLayer* sum = loop->addRecurrence(*start);
  EXPECT_EQ(list(rows->getOutput(0)->getDimensions()), (std::vector<int64_t>{2}));
  ITensor* next =
      b.network->addElementWise(*sum->getOutput(0), *rows->getOutput(0), ElementWiseOperation::kSUM)->getOutput(0);
  sum->setInput(1, *next);
  b.output(loop->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE), "last");
  ILoopOutputLayer* all = loop->addLoopOutput(*next, LoopOutput::kCONCATENATE, 1);
  all->setInput(1, *scalar(b, &kRows));
  b.output(all, "all");
  b.output(loop->addLoopOutput(*next, LoopOutput::kREVERSE), "reverse");
  EXPECT_EQ(list(all->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 3})) << b.logger.errors();
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats data{1, 10, 2, 20, 3, 30};
  Floats last(2), all_sums(6), reverse(6);
  context->setInputTensorAddress("x", data.data());
  context->setTensorAddress("last", last.data());
  context->setTensorAddress("all", all_sums.data());
  context->setTensorAddress("reverse", reverse.data());
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  EXPECT_EQ(last, (Floats{6, 60}));
  EXPECT_EQ(all_sums, (Floats{1, 3, 6, 10, 30, 60}));
  EXPECT_EQ(reverse, (Floats{6, 60, 3, 30, 1, 10}));
  EXPECT_EQ(b.logger.errors(), "");
}

TEST(Loops, WhileTheValueIsSmall) {
  // v *= 2 while v < 100: also when it never is.
  Bench b;
  static const Floats limit{100}, two{2};
  ITensor* x = b.input("x", {});
  ILoop* loop = b.network->addLoop();
  IRecurrenceLayer* v = loop->addRecurrence(*x);
  ITensor* small =
      b.network
          ->addElementWise(*v->getOutput(0), *b.network->addConstant(dims({}), weights(limit))->getOutput(0),
                           ElementWiseOperation::kLESS)
          ->getOutput(0);
  loop->addTripLimit(*small, TripLimit::kWHILE);
  v->setInput(1, *b.network
                      ->addElementWise(*v->getOutput(0), *b.network->addConstant(dims({}), weights(two))->getOutput(0),
                                       ElementWiseOperation::kPROD)
                      ->getOutput(0));
  b.output(loop->addLoopOutput(*v->getOutput(0), LoopOutput::kLAST_VALUE), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  for (const auto& [in, out] : {std::pair(3.F, 192.F), std::pair(150.F, 150.F), std::pair(50.F, 100.F)}) {
    expect_near(run(*context, {{"x", &in}}, "y"), {out});
  }
}

TEST(Loops, NestedAndOverAnIteratorCondition) {
  // Outer: twice. Inner: adds the outer value once per element of x as long as the elements are positive.
  Bench b;
  static const int32_t kTwice = 2;
  static const Floats zero{0};
  ITensor* x = b.input("x", {3});
  ITensor* one = b.input("one", {});
  ITensor* none = b.network->addConstant(dims({}), weights(zero))->getOutput(0);
  ILoop* outer = b.network->addLoop();
  outer->addTripLimit(*scalar(b, &kTwice), TripLimit::kCOUNT);
  IRecurrenceLayer* total = outer->addRecurrence(*one);
  ILoop* inner = b.network->addLoop();
  IIteratorLayer* element = inner->addIterator(*x);
  static const int32_t kThree = 3;
  inner->addTripLimit(*scalar(b, &kThree), TripLimit::kCOUNT);
  inner->addTripLimit(
      *b.network->addElementWise(*element->getOutput(0), *none, ElementWiseOperation::kGREATER)->getOutput(0),
      TripLimit::kWHILE);
  IRecurrenceLayer* sum = inner->addRecurrence(*total->getOutput(0));
  sum->setInput(
      1,
      *b.network->addElementWise(*sum->getOutput(0), *total->getOutput(0), ElementWiseOperation::kSUM)->getOutput(0));
  ITensor* inner_result = inner->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  total->setInput(1, *inner_result);
  b.output(outer->addLoopOutput(*total->getOutput(0), LoopOutput::kLAST_VALUE), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const float start = 1;
  const Floats two_positive{1, 1, -1}, all_positive{1, 1, 1}, first_negative{-1, 1, 1};
  expect_near(run(*context, {{"x", two_positive.data()}, {"one", &start}}, "y"), {9});    // times 3, twice
  expect_near(run(*context, {{"x", all_positive.data()}, {"one", &start}}, "y"), {16});   // times 4, twice
  expect_near(run(*context, {{"x", first_negative.data()}, {"one", &start}}, "y"), {1});  // never
}

TEST(Conditionals, OneBranch) {
  Bench b;
  ITensor* x = b.input("x", {2});
  ITensor* flag = b.input("flag", {}, DataType::kBOOL);
  IIfConditional* choice = b.network->addIfConditional();
  ASSERT_NE(choice, nullptr);
  ASSERT_NE(choice->setCondition(*flag), nullptr);
  EXPECT_EQ(choice->setCondition(*flag), nullptr);
  b.logger.take_errors();
  ITensor* inside = choice->addInput(*x)->getOutput(0);
  ITensor* doubled = b.network->addElementWise(*inside, *inside, ElementWiseOperation::kSUM)->getOutput(0);
  ITensor* squared = b.network->addElementWise(*inside, *inside, ElementWiseOperation::kPROD)->getOutput(0);
  IIfConditionalOutputLayer* out = choice->addOutput(*doubled, *squared);
  EXPECT_EQ(out->getConditional(), choice);
  b.output(out, "y");
  b.output(choice->addOutput(*squared, *inside), "z");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats data{3, 5};
  for (const bool yes : {true, false}) {
    Floats z(2), y(2);
    context->setInputTensorAddress("x", data.data());
    context->setInputTensorAddress("flag", &yes);
    context->setTensorAddress("y", y.data());
    context->setTensorAddress("z", z.data());
    ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
    EXPECT_EQ(y, yes ? (Floats{6, 10}) : (Floats{9, 25}));
    EXPECT_EQ(z, yes ? (Floats{9, 25}) : (Floats{3, 5}));
  }
}

// TensorRT wants the ranks to be the same; both are named.
TEST(Conditionals, BranchesOfTwoRanksAreRefused) {
  Bench b;
  ITensor* x = b.input("x", {2, 3});
  ITensor* flag = b.input("flag", {}, DataType::kBOOL);
  IIfConditional* choice = b.network->addIfConditional();
  choice->setCondition(*flag);
  ITensor* inside = choice->addInput(*x)->getOutput(0);
  ITensor* sum = b.network->addReduce(*inside, ReduceOperation::kSUM, 1, false)->getOutput(0);
  ITensor* squared = b.network->addElementWise(*inside, *inside, ElementWiseOperation::kPROD)->getOutput(0);
  b.output(choice->addOutput(*sum, *squared), "y");
  EXPECT_EQ(b.engine(), nullptr);
  const std::string errors = b.logger.take_errors();
  for (const char* part : {"f32[3]", "f32[2,3]", "the ranks must be the same"})
    EXPECT_NE(errors.find(part), std::string::npos) << errors;
}

// A condition over extents, which the build or the run knows before anything is computed.
TEST(Conditionals, ByExtents) {
  for (const int64_t most : {1, 4}) {
    Bench b;
    ITensor* x = b.input("x", {-1, 2});
    IShapeLayer* shape = b.network->addShape(*x);
    static const int64_t kOne[] = {1, 2};
    Weights one{DataType::kINT64, kOne, 2};
    ITensor* same = b.network
                        ->addElementWise(*shape->getOutput(0), *b.network->addConstant(Dims{1, {2}}, one)->getOutput(0),
                                         ElementWiseOperation::kEQUAL)
                        ->getOutput(0);
    ITensor* first = b.network->addSlice(*same, Dims{1, {0}}, Dims{1, {1}}, Dims{1, {1}})->getOutput(0);
    IShuffleLayer* scalar = b.network->addShuffle(*first);
    scalar->setReshapeDimensions(Dims{0, {}});
    IIfConditional* choice = b.network->addIfConditional();
    ASSERT_NE(choice->setCondition(*scalar->getOutput(0)), nullptr) << b.logger.errors();
    ITensor* inside = choice->addInput(*x)->getOutput(0);
    ITensor* twice[] = {inside, inside};
    ITensor* joined = b.network->addConcatenation(twice, 2)->getOutput(0);
    ITensor* squared = b.network->addElementWise(*inside, *inside, ElementWiseOperation::kPROD)->getOutput(0);
    b.output(choice->addOutput(*joined, *squared), "y");
    IOptimizationProfile* profile = b.builder->createOptimizationProfile();
    profile->setDimensions("x", OptProfileSelector::kMIN, Dims{2, {1, 2}});
    profile->setDimensions("x", OptProfileSelector::kOPT, Dims{2, {most, 2}});
    profile->setDimensions("x", OptProfileSelector::kMAX, Dims{2, {most, 2}});
    b.config->addOptimizationProfile(profile);
    Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    const Floats data{3, 5, 2, 1, 7, 6, 4, 9};
    for (int64_t n = 1; n <= most; n += 2) {
      ASSERT_TRUE(context->setInputShape("x", Dims{2, {n, 2}}));
      EXPECT_EQ(context->getTensorShape("y").d[0], n == 1 ? 2 : n);
      Floats y(static_cast<size_t>(n == 1 ? 4 : 2 * n));
      context->setInputTensorAddress("x", data.data());
      context->setTensorAddress("y", y.data());
      ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
      EXPECT_EQ(y[0], n == 1 ? 3 : 9);
      EXPECT_EQ(y.back(), n == 1 ? 5 : data[static_cast<size_t>(2 * n - 1)] * data[static_cast<size_t>(2 * n - 1)]);
    }
  }
}

TEST(Loops, BadOnesAreRefused) {
  Bench b;
  ITensor* x = b.input("x", {2});
  ILoop* loop = b.network->addLoop();
  IRecurrenceLayer* r = loop->addRecurrence(*x);
  ILoopOutputLayer* out = loop->addLoopOutput(*r->getOutput(0), LoopOutput::kLAST_VALUE);
  b.output(out, "y");
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_NE(b.logger.take_errors().find("no trip limit"), std::string::npos);
  static const int32_t kTwo = 2;
  ASSERT_NE(loop->addTripLimit(*scalar(b, &kTwo), TripLimit::kCOUNT), nullptr);
  EXPECT_EQ(loop->addTripLimit(*scalar(b, &kTwo), TripLimit::kCOUNT), nullptr);
  b.logger.take_errors();
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_NE(b.logger.take_errors().find("no next value"), std::string::npos);
}

}  // namespace
}  // namespace wootz_test
