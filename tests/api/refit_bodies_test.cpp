// New weights inside of loops and branches.
#include <random>

#include "api/harness.h"
#include "base/testing.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;
constexpr int64_t kWidth = 8;

// Three rounds of tanh(v * matrix + bias); then, as a flag says, v * factor or v + addend.
struct Looped : Bench {
  Looped(unsigned seed, const std::vector<BuilderFlag>& flags) : rng(seed) {
    wootz_config_set_option(config.get(), "timing", "0");
    wootz_config_set_option(config.get(), "backend", "cpu");
    for (const BuilderFlag flag : flags) config->setFlag(flag);
    matrix = numbers(kWidth * kWidth), bias = numbers(kWidth), factor = numbers(kWidth), addend = numbers(kWidth);
    INetworkDefinition& n = *network;
    ITensor* x = input("x", {2, kWidth});
    ITensor* flag = input("flag", {}, DataType::kBOOL);
    ILoop* loop = n.addLoop();
    IConstantLayer* rounds = n.addConstant(dims({}), {DataType::kINT32, &kRounds, 1});
    rounds->setName("rounds");
    loop->addTripLimit(*rounds->getOutput(0), TripLimit::kCOUNT);
    IRecurrenceLayer* v = loop->addRecurrence(*x);
    ITensor* product = n.addMatrixMultiply(*v->getOutput(0), MatrixOperation::kNONE,
                                           *named({kWidth, kWidth}, matrix, "matrix"), MatrixOperation::kNONE)
                           ->getOutput(0);
    ITensor* sum =
        n.addElementWise(*product, *named({1, kWidth}, bias, "bias"), ElementWiseOperation::kSUM)->getOutput(0);
    v->setInput(1, *n.addActivation(*sum, ActivationType::kTANH)->getOutput(0));
    ITensor* last = loop->addLoopOutput(*v->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
    IIfConditional* choice = n.addIfConditional();
    choice->setCondition(*flag);
    ITensor* inside = choice->addInput(*last)->getOutput(0);
    ITensor* yes =
        n.addElementWise(*inside, *named({1, kWidth}, factor, "factor"), ElementWiseOperation::kPROD)->getOutput(0);
    ITensor* no =
        n.addElementWise(*inside, *named({1, kWidth}, addend, "addend"), ElementWiseOperation::kSUM)->getOutput(0);
    output(choice->addOutput(*yes, *no), "y");
  }
  Floats numbers(size_t count) {
    Floats values(count);
    for (float& v : values) v = std::uniform_real_distribution<float>(-0.5F, 0.5F)(rng);
    return values;
  }
  ITensor* named(std::initializer_list<int64_t> shape, const Floats& values, const char* name) {
    ITensor* made = constant(shape, values);
    EXPECT_TRUE(network->setWeightsName(weights(values), name));
    return made;
  }
  void offer_to(IRefitter& refitter) const {
    EXPECT_TRUE(refitter.setWeights("rounds", WeightsRole::kCONSTANT, {DataType::kINT32, &kRounds, 1}));
    EXPECT_TRUE(refitter.setNamedWeights("matrix", weights(matrix)));
    EXPECT_TRUE(refitter.setNamedWeights("bias", weights(bias)));
    EXPECT_TRUE(refitter.setNamedWeights("factor", weights(factor)));
    EXPECT_TRUE(refitter.setNamedWeights("addend", weights(addend)));
  }
  static constexpr int32_t kRounds = 3;
  std::mt19937 rng;
  Floats matrix, bias, factor, addend;
};

Floats results(IExecutionContext& context) {
  Floats x(2 * kWidth), all;
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  for (const bool flag : {true, false}) {
    const Floats y = run(context, {{"x", x.data()}, {"flag", &flag}}, "y");
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}

TEST(RefitBodies, GiveTheBitsOfABuildWithTheseWeights) {
  const auto seed = static_cast<unsigned>(wootz::test_seed());
  const std::vector<std::vector<BuilderFlag>> kinds = {{BuilderFlag::kREFIT},
                                                       {BuilderFlag::kREFIT, BuilderFlag::kSTRIP_PLAN}};
  for (const std::vector<BuilderFlag>& flags : kinds) {
    Looped before(seed, flags), after(seed + 1, {}), same(seed, {});
    const auto engine = before.engine(), fresh = after.engine(), usual = same.engine();
    ASSERT_NE(engine, nullptr) << before.logger.errors();
    const Owned<IExecutionContext> context(engine->createExecutionContext()), wanted(fresh->createExecutionContext()),
        known(usual->createExecutionContext());
    const Owned<IRefitter> refitter(createInferRefitter(*engine, before.logger));
    EXPECT_EQ(refitter->getAllWeights(0, nullptr), 4);
    EXPECT_EQ(refitter->getAll(0, nullptr, nullptr), 5);
    before.offer_to(*refitter);
    EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 0);
    ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
    EXPECT_EQ(results(*context), results(*known));
    for (int i = 0; i < 3; ++i) {
      after.offer_to(*refitter);
      ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
      EXPECT_EQ(results(*context), results(*wanted)) << "frames of earlier runs are used again";
      before.offer_to(*refitter);
      ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
      EXPECT_EQ(results(*context), results(*known));
    }
    EXPECT_EQ(before.logger.errors(), "");
  }
}

}  // namespace
}  // namespace wootz_test
