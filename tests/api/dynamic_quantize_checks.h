// Dynamic quantization on any backend: what comes back is within the type's rounding of what went in, by scales that
// are those of the blocks.
#pragma once

#include <algorithm>
#include <random>

#include "api/on_backend.h"
#include "base/testing.h"

namespace wootz_test {

struct QuantizedForm {
  nvinfer1::DataType to, scale;
  float outer;  // the scale of the scales; 0: none
  std::vector<int64_t> block;
};

// x: [-1, 2, 64]; its rows are open.
struct DynamicallyQuantized : BackendBench {
  static constexpr int64_t kPlanes = 2, kColumns = 64;

  DynamicallyQuantized(const char* backend, const QuantizedForm& form) : BackendBench(backend), outer{form.outer} {
    using namespace nvinfer1;  // NOLINT
    ITensor* x = input("x", {-1, kPlanes, kColumns});
    Dims block{};
    for (const int64_t b : form.block) block.d[block.nbDims++] = b;
    layer = network->addDynamicQuantizeV2(*x, block, form.to, form.scale);
    ITensor* scale = layer->getOutput(1);
    if (form.outer != 0) {
      ITensor* of_scales = constant<float>({}, outer);
      layer->setInput(1, *of_scales);
      scale = network->addDequantize(*layer->getOutput(1), *of_scales, DataType::kFLOAT)->getOutput(0);
    }
    output(network->addDequantize(*layer->getOutput(0), *scale, DataType::kFLOAT), "y");
    output(form.scale == DataType::kFLOAT ? network->addIdentity(*scale)->getOutput(0)
                                          : network->addCast(*scale, DataType::kFLOAT)->getOutput(0),
           "scale");
    profile("x", {1, kPlanes, kColumns}, {4, kPlanes, kColumns}, {16, kPlanes, kColumns});
  }
  const std::vector<float> outer;
  nvinfer1::IDynamicQuantizeLayer* layer;
};

// What a value of so many steps may be off by, in steps.
inline double rounding(nvinfer1::DataType to, double steps) {
  if (to == nvinfer1::DataType::kINT8) return 0.5 + std::max(0.0, steps - 127);
  if (to == nvinfer1::DataType::kFP8) return std::max(steps / 16, 1.0 / 1024) + std::max(0.0, steps - 448);
  return (steps < 2 ? 0.25 : steps < 4 ? 0.5 : 1) + std::max(0.0, steps - 6);
}

// A scale beside the one that the block asks for.
inline void expect_scale(const QuantizedForm& form, double scale, double most) {
  using nvinfer1::DataType;
  const double wanted = most / (form.to == DataType::kFP4 ? 6 : form.to == DataType::kINT8 ? 127 : 448);
  if (form.scale == DataType::kFLOAT) {
    EXPECT_NEAR(scale, wanted, wanted * 1e-6);
  } else if (form.scale == DataType::kFP8) {
    EXPECT_NEAR(scale, wanted, wanted / 15);
  } else {
    int exponent = 0;
    EXPECT_EQ(std::frexp(scale, &exponent), 0.5) << scale << " is no power of two";
    if (most > 0) EXPECT_TRUE(scale >= wanted * 0.999999 && scale < wanted * 2.000001) << scale << " for " << wanted;
  }
}

inline void check_dynamic_quantization(const char* backend, const QuantizedForm& form) {
  constexpr int64_t kPlanes = DynamicallyQuantized::kPlanes, kColumns = DynamicallyQuantized::kColumns;
  SCOPED_TRACE(std::string(backend) + " to " + std::to_string(static_cast<int>(form.to)) + " by " +
               std::to_string(static_cast<int>(form.scale)) + ", blocks along the columns of " +
               std::to_string(form.block[2]));
  DynamicallyQuantized b(backend, form);
  const Owned<nvinfer1::ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Inference inference(*engine);
  std::mt19937_64 rng(wootz::test_seed());
  for (const int64_t rows : {5, 2}) {
    std::vector<float> x(static_cast<size_t>(rows * kPlanes * kColumns));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(std::normal_distribution<double>()(rng) * (i / kColumns % 3 == 0 ? 1 : 20));
    std::fill_n(x.begin(), kColumns, 0.F);  // whole blocks of nothing, where blocks are lines
    ASSERT_TRUE(inference.give("x", dims({rows, kPlanes, kColumns}), x).run()) << b.logger.errors();
    const std::vector<float> y = inference.get<float>("y"), scale = inference.get<float>("scale");
    const int64_t extents[] = {rows, kPlanes, kColumns};
    int64_t block[3], entries[3];
    for (size_t a = 0; a < 3; ++a) {
      block[a] = form.block[a] < 0 ? extents[a] : form.block[a];
      entries[a] = extents[a] / block[a];
    }
    ASSERT_EQ(scale.size(), static_cast<size_t>(entries[0] * entries[1] * entries[2]));
    ASSERT_EQ(y.size(), x.size());
    const auto entry = [&](size_t i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t row = at / (kPlanes * kColumns), plane = at / kColumns % kPlanes, column = at % kColumns;
      return static_cast<size_t>((row / block[0] * entries[1] + plane / block[1]) * entries[2] + column / block[2]);
    };
    std::vector<double> most(scale.size());
    for (size_t i = 0; i < x.size(); ++i) most[entry(i)] = std::max<double>(most[entry(i)], std::abs(x[i]));
    for (size_t s = 0; s < scale.size(); ++s)
      if (most[s] > 0 || form.scale != nvinfer1::DataType::kE8M0) expect_scale(form, scale[s], most[s]);
    for (size_t i = 0; i < x.size(); ++i) {
      const double step = scale[entry(i)];
      const double off = most[entry(i)] == 0 ? 0 : step * rounding(form.to, std::abs(x[i]) / step);
      EXPECT_LE(std::abs(y[i] - x[i]), off * 1.00001) << "element " << i << ": " << x[i] << " became " << y[i];
    }
  }
  EXPECT_EQ(b.logger.errors(), "");
}

inline void check_dynamic_quantization(const char* backend) {
  using nvinfer1::DataType;
  for (const QuantizedForm& form : std::vector<QuantizedForm>{{DataType::kFP4, DataType::kFP8, 0, {1, 1, 16}},
                                                              {DataType::kFP4, DataType::kFP8, 0.05F, {1, 1, 16}},
                                                              {DataType::kFP8, DataType::kE8M0, 0, {1, 1, 32}},
                                                              {DataType::kFP8, DataType::kFLOAT, 0, {1, 2, 64}},
                                                              {DataType::kFP8, DataType::kFLOAT, 0, {1, 1, 64}},
                                                              {DataType::kINT8, DataType::kFLOAT, 0, {1, 1, -1}},
                                                              {DataType::kINT8, DataType::kFLOAT, 0, {1, 1, 16}},
                                                              {DataType::kFP8, DataType::kFLOAT, 0, {-1, 1, -1}}})
    check_dynamic_quantization(backend, form);
}

}  // namespace wootz_test
