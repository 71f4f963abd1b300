#include "backend/chain_sum.h"

#include <gtest/gtest.h>

#include <functional>

#include "backend/work.h"
#include "base/expressions.h"

namespace wootz {
namespace {

TensorDesc desc(const Dims& dims, bool constant) { return {DType::kF16, Layout::kLinear, dims, dims, constant}; }

Problem conv(const Dims& x, const Dims& w, const Dims& y, int64_t step) {
  Problem p;
  p.params = ConvParams{.strides = {step, step}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}};
  p.inputs = {desc(x, false), desc(w, true)};
  p.num_main = 2;
  p.outputs = {desc(y, false)};
  p.acc_dtype = DType::kF16;
  return p;
}

// relu(second + first) * e, where e is read in front of what the first makes, or after it.
Problem adding(const Problem& second, uint16_t added) {
  Problem p = second;
  const Dims& y = p.outputs[0].dims;
  p.inputs.push_back(desc(y, false));
  p.inputs.push_back(desc(y, false));
  const DType type = DType::kF16;
  PointwiseExpr e;
  const uint16_t sum = e.push(PwOp::kAdd, type, e.input(added, type), e.input(0, type));
  const uint16_t positive = e.push(PwOp::kRelu, type, sum);
  e.outputs = {e.push(PwOp::kMul, type, positive, e.input(static_cast<uint16_t>(3 - added), type))};
  e.num_inputs = 3;
  p.epilogue = e;
  return p;
}

const Dims kX{2, 8, 5, 7}, kY{2, 24, 5, 7};
Problem first() { return conv({2, 16, 9, 14}, {24, 16, 1, 1}, kY, 2); }
Problem second() { return conv(kX, {24, 8, 1, 1}, kY, 1); }

TEST(ChainSum, IsOfTwoConvolutionsAgain) {
  for (const uint16_t added : {1, 2}) {
    const std::optional<Problem> sum = make_sum(first(), adding(second(), added), added);
    ASSERT_TRUE(sum.has_value());
    EXPECT_TRUE(adds_results(*sum));
    EXPECT_EQ(sum->inputs.size(), 5u);
    EXPECT_EQ(sum->num_main, 4);
    EXPECT_EQ(sum->epilogue.num_inputs, 2);
    EXPECT_FALSE(chain_parts(*sum).ok());  // no kernel takes it for problems one after the other
    const Result<ChainParts> parts = sum_parts(*sum);
    ASSERT_TRUE(parts.ok()) << parts.status().to_string();
    EXPECT_EQ(parts->first.key(), first().key());
    EXPECT_EQ(parts->second.key().substr(0, 40), adding(second(), 2).key().substr(0, 40));
    EXPECT_EQ(parts->second.inputs.size(), 4u);
    EXPECT_EQ(parts->second.num_main, 2);
    EXPECT_TRUE(parts->second.epilogue.verify().ok());
    EXPECT_EQ(parts->second.epilogue.num_inputs, 3);
    EXPECT_TRUE(without_addend(parts->second.epilogue, 2).has_value());
    EXPECT_DOUBLE_EQ(work_of(*sum).flops - work_of(parts->first).flops - 2.0 * kY.volume(),
                     work_of(parts->second).flops - 3.0 * kY.volume());
  }
}

TEST(ChainSum, IsOfNothingElse) {
  EXPECT_FALSE(make_sum(first(), second(), 1));
  EXPECT_FALSE(make_sum(first(), adding(second(), 1), 2));
  EXPECT_FALSE(make_sum(first(), adding(second(), 1), 3));
  EXPECT_FALSE(make_sum(adding(first(), 1), adding(second(), 1), 1));
  EXPECT_FALSE(make_sum(conv({2, 16, 5, 7}, {24, 16, 1, 1}, {2, 24, 5, 1}, 1), adding(second(), 1), 1));
  Problem pool = first();
  pool.params = PoolParams{};
  EXPECT_FALSE(make_sum(pool, adding(second(), 1), 1));
  EXPECT_FALSE(sum_parts(make_chain(first(), conv(kY, {24, 24, 1, 1}, kY, 1))).ok());
}

// A plan may say anything.
TEST(ChainSum, RefusesWhatDoesNotFit) {
  const Problem good = *make_sum(first(), adding(second(), 1), 1);
  const auto refused = [&](const std::function<void(Problem*)>& change) {
    Problem p = good;
    change(&p);
    return !sum_parts(p).ok();
  };
  EXPECT_FALSE(refused([](Problem*) {}));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ChainParams>().first = box_params(PoolParams{}); }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ChainParams>().second = box_params(PoolParams{}); }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ChainParams>().second = {}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ChainParams>().middle = DType::kBF16; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ChainParams>().first_inputs = 3; }));
  EXPECT_TRUE(refused([](Problem* p) { p->num_main = 3; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[0].dims[2] = 4; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs.push_back(p->outputs[0]); }));
  EXPECT_TRUE(refused([](Problem* p) { p->epilogue.num_inputs = 4; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
}

}  // namespace
}  // namespace wootz
