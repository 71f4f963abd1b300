// Assertions: during inference, and of what a build knows.
#include "api/assertion_checks.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

TEST(Assertions, OfExtents) { check_assertions_of_extents("cpu"); }
TEST(Assertions, OfData) { check_assertions_of_data("cpu"); }
TEST(Assertions, OfSizesThatRunningFinds) { check_assertions_of_found_sizes("cpu"); }

// What the profiles leave no shape for fails the build.
TEST(Assertions, ThatNoShapeFulfilsFailTheBuild) {
  Bench b;
  ITensor* x = b.input("x", {-1, 3});
  static const std::vector<int64_t> least{9, 3};
  ITensor* fewer = b.network
                       ->addElementWise(*b.network->addShape(*x)->getOutput(0), *b.constant<int64_t>({2}, least),
                                        ElementWiseOperation::kLESS)
                       ->getOutput(0);
  assert_that(b, b.network->addUnary(*fewer, UnaryOperation::kNOT)->getOutput(0), "nine", "nine rows are needed");
  b.output(b.network->addUnary(*x, UnaryOperation::kNEG), "y");
  b.profile("x", {1, 3}, {4, 3}, {8, 3});
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("nine rows are needed"), std::string::npos) << why;
  EXPECT_NE(why.find("'nine'"), std::string::npos) << why;
}

// What follows from constants alone is known once they are folded.
TEST(Assertions, OfConstants) {
  for (const float value : {1.F, -1.F}) {
    Bench b;
    ITensor* x = b.input("x", {3});
    const Floats number{value}, zero{0};
    ITensor* root = b.network->addUnary(*b.constant<float>({1}, number), UnaryOperation::kSIN)->getOutput(0);
    assert_that(
        b,
        b.network->addElementWise(*root, *b.constant<float>({1}, zero), ElementWiseOperation::kGREATER)->getOutput(0),
        "positive", "the constant is positive");
    b.output(b.network->addUnary(*x, UnaryOperation::kNEG), "y");
    const Owned<ICudaEngine> engine = b.engine();
    EXPECT_EQ(engine != nullptr, value > 0);
    const std::string why = b.logger.take_errors();
    if (value > 0)
      EXPECT_EQ(why, "");
    else
      EXPECT_NE(why.find("the constant is positive"), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace wootz_test
