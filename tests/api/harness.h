// What the tests of the public API share: a logger that remembers, owned objects, one-call runs.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#define WOOTZ_NO_DEPRECATION
#include "NvInfer.h"
#include "NvInferPlugin.h"
#include "NvOnnxParser.h"
#include "wootz/extensions.h"

namespace wootz_test {

class Logger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const nvinfer1::AsciiChar* msg) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (severity <= Severity::kERROR) errors_ += std::string(msg) + "\n";
    if (severity == Severity::kWARNING) warnings_ += std::string(msg) + "\n";
    if (severity == Severity::kINFO) infos_ += std::string(msg) + "\n";
  }
  std::string errors() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return errors_;
  }
  std::string warnings() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return warnings_;
  }
  std::string infos() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return infos_;
  }
  std::string take_errors() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(errors_, "");
  }

 private:
  mutable std::mutex mutex_;
  std::string errors_, warnings_, infos_;
};

template <class T>
using Owned = std::unique_ptr<T>;

inline nvinfer1::Dims dims(std::initializer_list<int64_t> values) {
  nvinfer1::Dims d{};
  for (int64_t v : values) d.d[d.nbDims++] = v;
  return d;
}
// Of the "unknown" answer: one impossible entry.
inline std::vector<int64_t> list(const nvinfer1::Dims& d) {
  return d.nbDims < 0 ? std::vector<int64_t>{-1000} : std::vector<int64_t>(d.d, d.d + d.nbDims);
}
inline nvinfer1::Weights weights(const std::vector<float>& values) {
  return {nvinfer1::DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())};
}
inline nvinfer1::Weights weights(const std::vector<int32_t>& values) {
  return {nvinfer1::DataType::kINT32, values.data(), static_cast<int64_t>(values.size())};
}
inline nvinfer1::Weights weights(const std::vector<int64_t>& values) {
  return {nvinfer1::DataType::kINT64, values.data(), static_cast<int64_t>(values.size())};
}
inline constexpr nvinfer1::Weights kNone{nvinfer1::DataType::kFLOAT, nullptr, 0};

// A builder with one network and config, and the way from there to an engine.
struct Bench {
  explicit Bench(uint32_t flags = 0) {
    builder.reset(nvinfer1::createInferBuilder(logger));
    network.reset(builder->createNetworkV2(flags));
    config.reset(builder->createBuilderConfig());
  }
  Logger logger;
  Owned<nvinfer1::IBuilder> builder;
  Owned<nvinfer1::INetworkDefinition> network;
  Owned<nvinfer1::IBuilderConfig> config;

  Owned<nvinfer1::ICudaEngine> engine() {
    Owned<nvinfer1::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    if (plan == nullptr) return nullptr;
    Owned<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
    return Owned<nvinfer1::ICudaEngine>(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  }
  nvinfer1::ITensor* input(const char* name, std::initializer_list<int64_t> shape,
                           nvinfer1::DataType type = nvinfer1::DataType::kFLOAT) {
    return network->addInput(name, type, dims(shape));
  }
  template <class T>
  nvinfer1::ITensor* constant(std::initializer_list<int64_t> shape, const std::vector<T>& values) {
    return network->addConstant(dims(shape), weights(values))->getOutput(0);
  }
  void output(nvinfer1::ITensor* tensor, const char* name) {
    tensor->setName(name);
    network->markOutput(*tensor);
  }
  void output(nvinfer1::ILayer* layer, const char* name) { output(layer->getOutput(0), name); }
  // Adds a profile with one range of shapes.
  void profile(const char* name, std::initializer_list<int64_t> min, std::initializer_list<int64_t> opt,
               std::initializer_list<int64_t> max) {
    nvinfer1::IOptimizationProfile* p = builder->createOptimizationProfile();
    EXPECT_TRUE(p->setDimensions(name, nvinfer1::OptProfileSelector::kMIN, dims(min)));
    EXPECT_TRUE(p->setDimensions(name, nvinfer1::OptProfileSelector::kOPT, dims(opt)));
    EXPECT_TRUE(p->setDimensions(name, nvinfer1::OptProfileSelector::kMAX, dims(max)));
    EXPECT_GE(config->addOptimizationProfile(p), 0);
  }
};

inline size_t volume(const nvinfer1::Dims& d) {
  size_t v = 1;
  for (int32_t i = 0; i < d.nbDims; ++i) v *= static_cast<size_t>(std::max<int64_t>(0, d.d[i]));
  return v;
}

using Inputs = std::vector<std::pair<const char*, const void*>>;

// Runs once and gives the one output. Shapes must be set where they are open.
template <class Out = float>
std::vector<Out> run(nvinfer1::IExecutionContext& context, const Inputs& inputs, const char* output,
                     void* stream = nullptr) {
  for (const auto& [name, data] : inputs) EXPECT_TRUE(context.setInputTensorAddress(name, data)) << name;
  EXPECT_EQ(context.inferShapes(0, nullptr), 0);
  std::vector<Out> result(volume(context.getTensorShape(output)) + 1);
  EXPECT_TRUE(context.setTensorAddress(output, result.data()));
  EXPECT_TRUE(context.enqueueV3(static_cast<cudaStream_t>(stream)));
  if (stream != nullptr) EXPECT_EQ(wootz_stream_synchronize(stream), 0);
  result.pop_back();
  return result;
}

inline void expect_near(const std::vector<float>& got, const std::vector<float>& want, float tolerance = 1e-5F) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(std::abs(got[i] - want[i]) <= tolerance) << "element " << i << ": " << got[i] << " is not " << want[i];
}

}  // namespace wootz_test
