#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

AttrMap drawn(const char* distribution) {
  return {{"distribution", std::string(distribution)}, {"shape", Ints{100, 100}}, {"seed", 3.0}};
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
  moments(run_op("Random", {}, attrs), &mean, &deviation);
  EXPECT_NEAR(mean, 2, 0.15);
  EXPECT_NEAR(deviation, 3, 0.15);
  attrs = drawn("uniform");
  attrs["low"] = -1.0;
  attrs["high"] = 3.0;
  const HostTensor u = run_op("Random", {}, attrs);
  moments(u, &mean, &deviation);
  EXPECT_NEAR(mean, 1, 0.06);
  EXPECT_NEAR(deviation, 4 / std::sqrt(12.0), 0.05);
  for (int64_t i = 0; i < u.volume(); ++i) EXPECT_TRUE(u.get_f64(i) >= -1 && u.get_f64(i) <= 3);
}

TEST(Random, SeedRepeatsAndNoSeedDoesNot) {
  AttrMap attrs = drawn("normal");
  expect_tensor(run_op("Random", {}, attrs), run_op("Random", {}, attrs));
  attrs.erase("seed");
  const HostTensor a = run_op("Random", {}, attrs), b = run_op("Random", {}, attrs);
  EXPECT_NE(a.get_f64(0), b.get_f64(0));
}

TEST(Random, BernoulliAndMultinomial) {
  HostTensor p = *HostTensor::allocate(DType::kF32, {100, 100});
  for (int64_t i = 0; i < p.volume(); ++i) p.set_f64(i, 0.25);
  double mean, deviation;
  moments(run_op("Bernoulli", {p}, {{"seed", 1.0}}), &mean, &deviation);
  EXPECT_NEAR(mean, 0.25, 0.02);
  expect_tensor(run_op("Bernoulli", {f32({2}, {0, 1})}, {{"dtype", std::string("bool")}}), boolean({2}, {0, 1}));
  const HostTensor m = run_op("Multinomial", {f32({2, 3}, {0, 0, -1e30, -1e30, 50, -1e30})},
                              {{"sample_size", int64_t{2000}}, {"seed", 1.0}});
  ASSERT_EQ(m.dims().to_string(), "[2x2000]");
  int64_t ones = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    EXPECT_LT(m.get_i64(i), 2);
    EXPECT_EQ(m.get_i64(2000 + i), 1);
    ones += m.get_i64(i);
  }
  EXPECT_NEAR(static_cast<double>(ones), 1000, 120);
}

TEST(Random, Refusals) {
  AttrMap attrs = drawn("poisson");
  EXPECT_FALSE(try_op("Random", {}, attrs).ok());
  attrs = drawn("normal");
  attrs["dtype"] = std::string("i32");
  EXPECT_FALSE(try_op("Random", {}, attrs).ok());
  attrs = drawn("normal");
  attrs["shape"] = Ints{-1};
  EXPECT_FALSE(try_op("Random", {}, attrs).ok());
  EXPECT_FALSE(try_op("Multinomial", {f32({3}, {0, 0, 0})}).ok());
}

}  // namespace
}  // namespace wootz
