// The same network on any backend: memory where the engine computes, and inferences with it.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>

#include "api/harness.h"

namespace wootz_test {

struct BackendBench : Bench {
  explicit BackendBench(const char* backend, uint32_t flags = 0) : Bench(flags) {
    EXPECT_EQ(wootz_config_set_option(config.get(), "backend", backend), 0);
    EXPECT_EQ(wootz_config_set_option(config.get(), "timing", "0"), 0);
  }
  static uint32_t strongly_typed() {
    return 1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  }
};

// Memory where the engine computes.
template <class T>
class EngineArray {
 public:
  EngineArray(nvinfer1::ICudaEngine& engine, const std::vector<T>& values) : engine_(engine), count_(values.size()) {
    data_ = wootz_device_allocate(&engine, values.size() * sizeof(T));
    set(values);
  }
  ~EngineArray() { wootz_device_free(&engine_, data_); }
  EngineArray(const EngineArray&) = delete;
  EngineArray& operator=(const EngineArray&) = delete;
  void* data() const { return data_; }
  size_t size() const { return count_; }
  void set(const std::vector<T>& values) {
    EXPECT_EQ(wootz_device_copy(&engine_, data_, values.data(), values.size() * sizeof(T)), 0);
  }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    EXPECT_EQ(wootz_device_copy(&engine_, values.data(), data_, count_ * sizeof(T)), 0);
    return values;
  }

 private:
  nvinfer1::ICudaEngine& engine_;
  size_t count_;
  void* data_ = nullptr;
};

// One context with its inputs and outputs.
class Inference {
 public:
  explicit Inference(nvinfer1::ICudaEngine& engine) : engine_(engine), context_(engine.createExecutionContext()) {}
  nvinfer1::IExecutionContext& context() { return *context_; }

  template <class T>
  Inference& give(const char* name, const nvinfer1::Dims& shape, const std::vector<T>& values) {
    EXPECT_TRUE(context_->setInputShape(name, shape)) << name;
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    place(name, std::move(bytes));
    return *this;
  }
  bool run() {
    EXPECT_EQ(context_->inferShapes(0, nullptr), 0);
    for (int32_t i = 0; i < engine_.getNbIOTensors(); ++i) {
      const char* const name = engine_.getIOTensorName(i);
      if (engine_.getTensorIOMode(name) != nvinfer1::TensorIOMode::kOUTPUT) continue;
      const size_t count = volume(context_->getTensorShape(name));
      place(name, std::vector<std::byte>(std::max<size_t>(1, count * 8)));
    }
    return context_->enqueueV3(nullptr);
  }
  template <class T>
  std::vector<T> get(const char* name) {
    std::vector<T> values(volume(context_->getTensorShape(name)));
    EXPECT_EQ(wootz_device_copy(&engine_, values.data(), memory_.at(name)->data(), values.size() * sizeof(T)), 0);
    return values;
  }

 private:
  void place(const char* name, std::vector<std::byte> bytes) {
    if (bytes.empty()) bytes.resize(1);
    std::unique_ptr<EngineArray<std::byte>>& memory = memory_[name];
    if (memory == nullptr || memory->size() != bytes.size())
      memory = std::make_unique<EngineArray<std::byte>>(engine_, bytes);
    else
      memory->set(bytes);
    EXPECT_TRUE(context_->setTensorAddress(name, memory->data())) << name;
  }

  nvinfer1::ICudaEngine& engine_;
  Owned<nvinfer1::IExecutionContext> context_;
  std::map<std::string, std::unique_ptr<EngineArray<std::byte>>, std::less<>> memory_;
};

}  // namespace wootz_test
