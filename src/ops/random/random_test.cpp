#include "base/testing.h"
#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

AttrMap drawn(const char* distribution) {
  return {{"distribution", std::string(distribution)}, {"shape", Ints{100, 100}}};
}
HostTensor state(int64_t drawn = 0) {
  const int64_t values[] = {static_cast<int64_t>(test_seed()), drawn};
  return HostTensor::from<int64_t>(values, {2});
}

void moments(const HostTensor& x, double* mean, double* deviation) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < x.volume(); ++i) {
    sum += x.get_f64(i);
    squares += x.get_f64(i) * x.get_f64(i);
  }
  *mean = sum / static_cast<double>(x.volume());
  *deviation = std::sqrt(squares / static_cast<double>(x.volume()) - *mean * *mean);
}

TEST(Random, MomentsOfTheDistributions) {
  double mean, deviation;
  AttrMap attrs = drawn("normal");
  attrs["mean"] = 2.0;
  attrs["scale"] = 3.0;
  moments(run_op("Random", {state()}, attrs), &mean, &deviation);
  EXPECT_NEAR(mean, 2, 0.18);  // six deviations of the mean
  EXPECT_NEAR(deviation, 3, 0.15);
  attrs = drawn("uniform");
  attrs["low"] = -1.0;
  attrs["high"] = 3.0;
  const HostTensor u = run_op("Random", {state()}, attrs);
  moments(u, &mean, &deviation);
  EXPECT_NEAR(mean, 1, 0.07);
  EXPECT_NEAR(deviation, 4 / std::sqrt(12.0), 0.05);
  for (int64_t i = 0; i < u.volume(); ++i) EXPECT_TRUE(u.get_f64(i) >= -1 && u.get_f64(i) <= 3);
}

TEST(Random, WhatIsDrawnFollowsFromTheState) {
  const AttrMap attrs = drawn("normal");
  const HostTensor a = run_op("Random", {state()}, attrs);
  expect_tensor(run_op("Random", {state()}, attrs), a);
  EXPECT_NE(run_op("Random", {state(1)}, attrs).get_f64(0), a.get_f64(0));
}

TEST(Random, StatesWithoutAKeyAreNeverTheSame) {
  const HostTensor a = run_op("RandomState", {}), b = run_op("RandomState", {});
  EXPECT_NE(a.get_i64(0), b.get_i64(0));
  EXPECT_EQ(a.get_i64(1), 0);
  expect_tensor(run_op("RandomState", {}, {{"key", int64_t{-5}}}), i64({2}, {-5, 0}));
}

TEST(Random, BernoulliAndMultinomial) {
  HostTensor p = *HostTensor::allocate(DType::kF32, {100, 100});
  for (int64_t i = 0; i < p.volume(); ++i) p.set_f64(i, 0.25);
  double mean, deviation;
  moments(run_op("Bernoulli", {state(), p}), &mean, &deviation);
  EXPECT_NEAR(mean, 0.25, 0.03);
  expect_tensor(run_op("Bernoulli", {state(), f32({2}, {0, 1})}, {{"dtype", std::string("bool")}}),
                boolean({2}, {0, 1}));
  const HostTensor m =
      run_op("Multinomial", {state(), f32({2, 3}, {0, 0, -1e30, -1e30, 50, -1e30})}, {{"sample_size", int64_t{2000}}});
  ASSERT_EQ(m.dims().to_string(), "[2x2000]");
  int64_t ones = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    EXPECT_LT(m.get_i64(i), 2);
    EXPECT_EQ(m.get_i64(2000 + i), 1);
    ones += m.get_i64(i);
  }
  EXPECT_NEAR(static_cast<double>(ones), 1000, 140);
}

TEST(Random, Refusals) {
  AttrMap attrs = drawn("poisson");
  EXPECT_FALSE(try_op("Random", {state()}, attrs).ok());
  attrs = drawn("normal");
  attrs["dtype"] = std::string("i32");
  EXPECT_FALSE(try_op("Random", {state()}, attrs).ok());
  attrs = drawn("normal");
  attrs["shape"] = Ints{-1};
  EXPECT_FALSE(try_op("Random", {state()}, attrs).ok());
  EXPECT_FALSE(try_op("Random", {i64({3}, {1, 2, 3})}, drawn("normal")).ok());
  EXPECT_FALSE(try_op("Random", {i32({2}, {1, 2})}, drawn("normal")).ok());
  EXPECT_FALSE(try_op("Bernoulli", {f32({2}, {0, 1}), f32({2}, {0, 1})}).ok());
  EXPECT_FALSE(try_op("Multinomial", {state(), f32({3}, {0, 0, 0})}).ok());
}

}  // namespace
}  // namespace wootz
