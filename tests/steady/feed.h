// One inference's data: inputs filled with random numbers and memory for the outputs, for one shape of the first input.
#pragma once

#include <cstring>
#include <random>

#include "api/harness.h"

namespace wootz_test {

class Feed {
 public:
  Feed(const nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext& context, const nvinfer1::Dims& shape,
       unsigned seed = 7)
      : shape_(shape) {
    EXPECT_TRUE(context.setInputShape(engine.getIOTensorName(0), shape));
    std::mt19937 rng(seed);
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      std::vector<float> data(volume(context.getTensorShape(name)));
      is_input_.push_back(engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT);
      if (is_input_.back())
        for (float& v : data) v = std::uniform_real_distribution<float>(-1, 1)(rng);
      names_.push_back(name);
      data_.push_back(std::move(data));
      addresses_.push_back(data_.back().data());
    }
  }

  enum class By { kExecute, kEnqueue };
  // Queues one inference, or with no stream does it. False: a call failed.
  bool start(nvinfer1::IExecutionContext& context, By by, void* stream) {
    bool good = context.setInputShape(names_[0], shape_);
    if (by == By::kExecute) return good && context.executeV2(addresses_.data());
    for (size_t i = 0; i < names_.size(); ++i) good = context.setTensorAddress(names_[i], addresses_[i]) && good;
    return good && context.enqueueV3(static_cast<cudaStream_t>(stream));
  }
  // Forgets results, so that old ones are not taken for new.
  void clear() {
    for (size_t i = 0; i < data_.size(); ++i)
      if (!is_input_[i]) std::memset(data_[i].data(), 0xff, data_[i].size() * sizeof(float));
  }
  // The results are the same bits, and numbers.
  bool same_results(const Feed& other) const {
    for (size_t i = 0; i < data_.size(); ++i) {
      if (is_input_[i]) continue;
      const std::vector<float>&a = data_[i], &b = other.data_[i];
      if (a.size() != b.size() || a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0)
        return false;
      for (const float v : a)
        if (!std::isfinite(v)) return false;
    }
    return true;
  }

 private:
  nvinfer1::Dims shape_;
  std::vector<const char*> names_;  // the engine's
  std::vector<bool> is_input_;
  std::vector<std::vector<float>> data_;
  std::vector<void*> addresses_;
};

}  // namespace wootz_test
