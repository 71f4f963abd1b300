// A network on the cuda backend through the public API: on the GPU where there is one, otherwise on the emulator.
#pragma once

#include <random>

#include "api/harness.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/emulator/emulator.h"

namespace wootz_test {

namespace cuda = wootz::cuda;
using namespace wootz::cuda;  // NOLINT: the driver's names

// True: a real GPU. The emulator takes its place for the rest of the process otherwise.
inline bool real_gpu() {
  static const bool real = [] {
    if (!cuda::emulator_in_use() && cuda::gpu().ok()) return true;
    const wootz::Status status = cuda::use_emulator();
    EXPECT_TRUE(status.ok()) << status.to_string();
    return false;
  }();
  return real;
}
// For calls of the application's own: as with cudart, a GPU is current on the thread that makes them.
inline const cuda::Driver& driver() {
  real_gpu();
  const cuda::Driver& table = **cuda::driver();
  CUcontext current = nullptr;
  EXPECT_EQ(table.cuCtxGetCurrent(&current), CUDA_SUCCESS);
  if (current == nullptr) EXPECT_EQ(table.cuCtxPushCurrent_v2((*cuda::gpu())->context), CUDA_SUCCESS);
  return table;
}

// A stream of the application's.
struct Stream {
  Stream() { EXPECT_EQ(driver().cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS); }
  ~Stream() { driver().cuStreamDestroy_v2(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void wait() const { EXPECT_EQ(driver().cuStreamSynchronize(handle), CUDA_SUCCESS); }
  CUstream handle = nullptr;
};

// relu(conv(x)) + x, mean over the pixels, a product, softmax: [N, 8, 8, 8] to [N, 10].
class SmallNet {
 public:
  explicit SmallNet(nvinfer1::IGpuAllocator* allocator = nullptr) : gpu_(real_gpu()) {
    using namespace nvinfer1;  // NOLINT
    std::mt19937 rng(5);
    const auto numbers = [&](size_t count) {
      std::vector<float> values(count);
      for (float& v : values) v = std::uniform_real_distribution<float>(-0.3F, 0.3F)(rng);
      return values;
    };
    const std::vector<float> filter = numbers(8 * 8 * 9), bias = numbers(8), matrix = numbers(8 * 10);
    INetworkDefinition& n = *bench.network;
    ITensor* x = bench.input("x", {-1, 8, 8, 8});
    auto* conv = n.addConvolutionNd(*x, 8, dims({3, 3}), weights(filter), weights(bias));
    conv->setPaddingNd(dims({1, 1}));
    conv->setName("the_conv");
    ITensor* active = n.addActivation(*conv->getOutput(0), ActivationType::kRELU)->getOutput(0);
    ITensor* sum = n.addElementWise(*active, *x, ElementWiseOperation::kSUM)->getOutput(0);
    ITensor* mean = n.addReduce(*sum, ReduceOperation::kAVG, (1U << 2) | (1U << 3), false)->getOutput(0);
    ITensor* product = n.addMatrixMultiply(*mean, MatrixOperation::kNONE, *bench.constant<float>({8, 10}, matrix),
                                           MatrixOperation::kNONE)
                           ->getOutput(0);
    ISoftMaxLayer* softmax = n.addSoftMax(*product);
    softmax->setName("the_softmax");
    softmax->setAxes(1U << 1);
    bench.output(softmax, "y");
    bench.profile("x", {1, 8, 8, 8}, {4, 8, 8, 8}, {32, 8, 8, 8});
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
    plan.reset(bench.builder->buildSerializedNetwork(n, *bench.config));
    EXPECT_NE(plan, nullptr) << bench.logger.errors();
    if (plan == nullptr) return;
    load(allocator);
  }
  bool load(nvinfer1::IGpuAllocator* allocator) {
    runtime.reset(nvinfer1::createInferRuntime(bench.logger));
    runtime->setGpuAllocator(allocator);
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    return engine != nullptr;
  }

  Bench bench;
  Owned<nvinfer1::IHostMemory> plan;
  Owned<nvinfer1::IRuntime> runtime;
  Owned<nvinfer1::ICudaEngine> engine;

 private:
  bool gpu_;
};

// Input and output of one batch size in device memory.
class Batch {
 public:
  Batch(nvinfer1::ICudaEngine& engine, int64_t count) : engine_(engine), count_(count) {
    std::mt19937 rng(static_cast<unsigned>(count));
    std::vector<float> values(static_cast<size_t>(count) * 512);
    for (float& v : values) v = std::uniform_real_distribution<float>(-1, 1)(rng);
    x_ = wootz_device_allocate(&engine, values.size() * sizeof(float));
    y_ = wootz_device_allocate(&engine, static_cast<size_t>(count) * 10 * sizeof(float));
    EXPECT_EQ(wootz_device_copy(&engine, x_, values.data(), values.size() * sizeof(float)), 0);
  }
  ~Batch() {
    wootz_device_free(&engine_, x_);
    wootz_device_free(&engine_, y_);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  bool set(nvinfer1::IExecutionContext& context) const {
    return context.setInputShape("x", dims({count_, 8, 8, 8})) && context.setInputTensorAddress("x", x_) &&
           context.setTensorAddress("y", y_);
  }
  bool enqueue(nvinfer1::IExecutionContext& context, CUstream stream) const {
    return set(context) && context.enqueueV3(reinterpret_cast<cudaStream_t>(stream));
  }
  std::vector<float> results() const {
    std::vector<float> values(static_cast<size_t>(count_) * 10);
    EXPECT_EQ(wootz_device_copy(&engine_, values.data(), y_, values.size() * sizeof(float)), 0);
    return values;
  }
  void clear() {
    const std::vector<float> none(static_cast<size_t>(count_) * 10, -1);
    EXPECT_EQ(wootz_device_copy(&engine_, y_, none.data(), none.size() * sizeof(float)), 0);
  }

 private:
  nvinfer1::ICudaEngine& engine_;
  int64_t count_;
  void *x_ = nullptr, *y_ = nullptr;
};

}  // namespace wootz_test
