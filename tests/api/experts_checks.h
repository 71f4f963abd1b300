// Mixture of experts on any backend, against its definition.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "api/on_backend.h"
#include "base/testing.h"

namespace wootz_test {

struct ExpertsForm {
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  nvinfer1::MoEActType activation = nvinfer1::MoEActType::kSILU;
  bool biased = false, quantized = false, variable_weights = false;
  float limit = std::numeric_limits<float>::infinity(), alpha = 1, beta = 0;
};

// To eight bits: four of exponent, three of mantissa.
inline double as_fp8(double x) {
  if (x == 0) return 0;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double step = std::ldexp(1., std::max(exponent - 1, -6) - 3);
  return std::clamp(std::nearbyint(x / step) * step, -448., 448.);
}

class Experts {
 public:
  static constexpr int64_t kBatch = 2, kWidth = 12, kInner = 20, kExperts = 5, kChosen = 2;

  Experts(const char* backend, const ExpertsForm& form) : form_(form), bench(backend, BackendBench::strongly_typed()) {
    using namespace nvinfer1;  // NOLINT
    std::mt19937_64 rng(wootz::test_seed());
    for (std::vector<float>* values : {&gate_, &up_, &down_}) *values = numbers(rng, kExperts * kWidth * kInner, 0.4);
    gate_bias_ = numbers(rng, kExperts * kInner, 1);
    up_bias_ = numbers(rng, kExperts * kInner, 1);
    down_bias_ = numbers(rng, kExperts * kWidth, 1);
    for (int64_t e = 0; e < kExperts; ++e) scale_.push_back(0.01F + 0.005F * static_cast<float>(e));
    INetworkDefinition& n = *bench.network;
    ITensor* x = cast(*bench.input("x", {kBatch, -1, kWidth}));
    ITensor* experts = bench.input("experts", {kBatch, -1, kChosen}, DataType::kINT32);
    ITensor* scores = cast(*bench.input("scores", {kBatch, -1, kChosen}));
    layer = n.addMoE(*x, *experts, *scores);
    EXPECT_NE(layer, nullptr) << bench.logger.errors();
    layer->setGatedWeights(*weights(gate_, {kExperts, kWidth, kInner}, "gate"),
                           *weights(up_, {kExperts, kWidth, kInner}, "up"),
                           *weights(down_, {kExperts, kInner, kWidth}, "down"), form.activation);
    if (form.biased)
      layer->setGatedBiases(*weights(gate_bias_, {kExperts, kInner}), *weights(up_bias_, {kExperts, kInner}),
                            *weights(down_bias_, {kExperts, kWidth}));
    if (form.quantized) layer->setQuantizationStatic(*bench.constant<float>({kExperts}, scale_), DataType::kFP8);
    layer->setSwigluParams(form.limit, form.alpha, form.beta);
    bench.output(n.addCast(*layer->getOutput(0), DataType::kFLOAT), "y");
    IOptimizationProfile* p = bench.builder->createOptimizationProfile();
    for (const auto& [name, width] :
         {std::pair("x", kWidth), std::pair("experts", kChosen), std::pair("scores", kChosen)}) {
      p->setDimensions(name, OptProfileSelector::kMIN, dims({kBatch, 1, width}));
      p->setDimensions(name, OptProfileSelector::kOPT, dims({kBatch, 4, width}));
      p->setDimensions(name, OptProfileSelector::kMAX, dims({kBatch, 64, width}));
    }
    EXPECT_EQ(bench.config->addOptimizationProfile(p), 0);
  }

  void check(Inference& inference, int64_t tokens, double tolerance) {
    std::mt19937_64 rng(wootz::test_seed() + static_cast<uint64_t>(tokens));
    const std::vector<float> x = numbers(rng, kBatch * tokens * kWidth, 1),
                             scores = numbers(rng, kBatch * tokens * kChosen, 1);
    std::vector<int32_t> experts(scores.size());
    for (int32_t& e : experts) e = static_cast<int32_t>(rng() % (kExperts + 1)) - (form_.quantized ? 0 : 1);
    for (int32_t& e : experts) e = std::min<int32_t>(e, kExperts - 1);
    if (form_.variable_weights) {
      inference.give("gate", dims({kExperts, kWidth, kInner}), gate_).give("up", dims({kExperts, kWidth, kInner}), up_);
      inference.give("down", dims({kExperts, kInner, kWidth}), down_);
    }
    ASSERT_TRUE(inference.give("x", dims({kBatch, tokens, kWidth}), x)
                    .give("experts", dims({kBatch, tokens, kChosen}), experts)
                    .give("scores", dims({kBatch, tokens, kChosen}), scores)
                    .run())
        << bench.logger.errors();
    const std::vector<float> y = inference.get<float>("y");
    ASSERT_EQ(y.size(), x.size());
    for (size_t t = 0; t < x.size() / kWidth; ++t) {
      std::vector<double> want(kWidth);
      for (size_t k = 0; k < kChosen; ++k)
        add(&x[t * kWidth], experts[t * kChosen + k], scores[t * kChosen + k], &want);
      for (size_t c = 0; c < kWidth; ++c)
        EXPECT_NEAR(y[t * kWidth + c], want[c], tolerance) << "token " << t << ", column " << c;
    }
  }

  ExpertsForm form_;
  BackendBench bench;
  nvinfer1::IMoELayer* layer;

 private:
  // As the type holds them: what is compared is the layer, not the rounding of its operands.
  static std::vector<float> numbers(std::mt19937_64& rng, int64_t count, double deviation) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& v : values)
      v = static_cast<float>(std::nearbyint(std::normal_distribution<double>(0, deviation)(rng) * 64) / 64);
    return values;
  }
  nvinfer1::ITensor* cast(nvinfer1::ITensor& t) {
    return form_.type == nvinfer1::DataType::kFLOAT ? &t : bench.network->addCast(t, form_.type)->getOutput(0);
  }
  nvinfer1::ITensor* weights(const std::vector<float>& values, std::initializer_list<int64_t> shape,
                             const char* name = nullptr) {
    return cast(form_.variable_weights && name != nullptr ? *bench.input(name, shape)
                                                          : *bench.constant<float>(shape, values));
  }
  void add(const float* x, int64_t expert, double score, std::vector<double>* y) const {
    if (expert < 0) return;
    std::vector<double> inner(kInner);
    for (int64_t i = 0; i < kInner; ++i) {
      double gate = form_.biased ? gate_bias_[static_cast<size_t>(expert * kInner + i)] : 0;
      double up = form_.biased ? up_bias_[static_cast<size_t>(expert * kInner + i)] : 0;
      for (int64_t c = 0; c < kWidth; ++c) {
        const auto at = static_cast<size_t>((expert * kWidth + c) * kInner + i);
        gate += static_cast<double>(x[c]) * gate_[at];
        up += static_cast<double>(x[c]) * up_[at];
      }
      gate = std::min<double>(gate, form_.limit);
      up = std::clamp<double>(up, -form_.limit, form_.limit) + form_.beta;
      const bool silu = form_.activation == nvinfer1::MoEActType::kSILU;
      double v = gate * up * (silu ? 1 / (1 + std::exp(-form_.alpha * gate)) : 1);
      if (form_.quantized) {
        const double scale = scale_[static_cast<size_t>(expert)];
        v = as_fp8(v / scale) * scale;
      }
      inner[static_cast<size_t>(i)] = v;
    }
    for (int64_t c = 0; c < kWidth; ++c) {
      double sum = form_.biased ? down_bias_[static_cast<size_t>(expert * kWidth + c)] : 0;
      for (int64_t i = 0; i < kInner; ++i)
        sum += inner[static_cast<size_t>(i)] * down_[static_cast<size_t>((expert * kInner + i) * kWidth + c)];
      (*y)[static_cast<size_t>(c)] += score * sum;
    }
  }

  std::vector<float> gate_, up_, down_, gate_bias_, up_bias_, down_bias_, scale_;
};

inline void check_experts(const char* backend, const ExpertsForm& form, double tolerance) {
  SCOPED_TRACE(std::string(backend) + ", type " + std::to_string(static_cast<int>(form.type)) + ", biased " +
               std::to_string(form.biased) + ", quantized " + std::to_string(form.quantized) + ", limit " +
               std::to_string(form.limit));
  Experts experts(backend, form);
  const Owned<nvinfer1::ICudaEngine> engine = experts.bench.engine();
  ASSERT_NE(engine, nullptr) << experts.bench.logger.errors();
  Inference inference(*engine);
  for (const int64_t tokens : {1, 40, 3}) experts.check(inference, tokens, tolerance);
  EXPECT_EQ(experts.bench.logger.errors(), "");
}

inline void check_experts(const char* backend) {
  using nvinfer1::DataType;
  using nvinfer1::MoEActType;
  check_experts(backend, {}, 1e-4);
  check_experts(backend, {.activation = MoEActType::kNONE, .biased = true}, 1e-4);
  check_experts(backend, {.biased = true, .limit = 0.5F, .alpha = 1.702F, .beta = 1}, 1e-4);
  check_experts(backend, {.variable_weights = true}, 1e-4);
  check_experts(backend, {.type = DataType::kHALF, .biased = true}, 0.1);
}

}  // namespace wootz_test
