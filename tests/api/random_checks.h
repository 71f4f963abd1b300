// Random fills on any backend: other numbers in every inference and in each context, with their distribution.
#pragma once

#include <algorithm>
#include <set>

#include "api/on_backend.h"

namespace wootz_test {

// The largest distance between the distribution of the numbers and the one that they are drawn from (Kolmogorov and
// Smirnov), times the root of their count: 2.5 is passed once in 130 000 times.
inline double distance_to(std::vector<float> x, bool normal) {
  std::sort(x.begin(), x.end());
  const auto count = static_cast<double>(x.size());
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = normal ? 0.5 * std::erfc(-x[i] / std::sqrt(2.)) : x[i];
    most = std::max({most, expected - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - expected});
  }
  return most * std::sqrt(count);
}

// Two fills of the extents of x.
struct Drawn : BackendBench {
  explicit Drawn(const char* backend, nvinfer1::DataType type = nvinfer1::DataType::kFLOAT) : BackendBench(backend) {
    using namespace nvinfer1;  // NOLINT
    ITensor* shape = network->addShape(*input("x", {-1, 100}))->getOutput(0);
    for (const auto& [operation, name] :
         {std::pair(FillOperation::kRANDOM_UNIFORM, "uniform"), std::pair(FillOperation::kRANDOM_NORMAL, "normal")}) {
      IFillLayer* fill = network->addFill(dims({}), operation, type);
      fill->setInput(0, *shape);
      ITensor* drawn = fill->getOutput(0);
      output(type == DataType::kFLOAT ? network->addIdentity(*drawn)->getOutput(0)
                                      : network->addCast(*drawn, DataType::kFLOAT)->getOutput(0),
             name);
    }
    profile("x", {1, 100}, {64, 100}, {128, 100});
  }
};

inline std::vector<float> draw(Inference& inference, const char* name, int64_t rows) {
  inference.give("x", dims({rows, 100}), std::vector<float>(static_cast<size_t>(rows) * 100));
  EXPECT_TRUE(inference.run());
  return inference.get<float>(name);
}

inline void check_draws(const char* backend) {
  SCOPED_TRACE(backend);
  Drawn b(backend);
  const Owned<nvinfer1::ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Inference one(*engine), other(*engine);
  std::set<std::vector<float>> seen;
  // Often enough for a device to replay what it recorded, of shapes in turn.
  for (int round = 0; round < 4; ++round)
    for (Inference* context : {&one, &other})
      for (const int64_t rows : {100, 3})
        for (const char* name : {"uniform", "normal"}) {
          const std::vector<float> y = draw(*context, name, rows);
          ASSERT_EQ(y.size(), static_cast<size_t>(rows) * 100);
          EXPECT_LT(distance_to(y, name[0] == 'n'), 2.5) << name;
          EXPECT_TRUE(seen.emplace(y.begin(), y.begin() + 8).second) << name << " was drawn before, round " << round;
        }
  EXPECT_EQ(b.logger.errors(), "");
}

inline void check_narrow_draws(const char* backend) {
  SCOPED_TRACE(backend);
  Drawn b(backend, nvinfer1::DataType::kHALF);
  const Owned<nvinfer1::ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Inference one(*engine);
  const std::vector<float> y = draw(one, "normal", 100);
  double sum = 0, squares = 0;
  for (const float v : y) sum += v, squares += static_cast<double>(v) * v;
  EXPECT_NEAR(sum / 10000, 0, 0.06);  // six deviations of the mean
  EXPECT_NEAR(squares / 10000, 1, 0.09);
}

}  // namespace wootz_test
