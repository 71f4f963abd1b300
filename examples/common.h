// What the programs here share: a logger, checks that end the program with a reason, device memory, numbers that are
// the same in each run, and a comparison. Nothing but the C++ library, TensorRT's headers and CUDA's runtime.
#pragma once

#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

// Ends the program unless `condition` holds.
#define REQUIRE(condition)                                                         \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (false)

// Ends the program unless a call of CUDA's succeeds.
#define CUDA(call)                                                                                   \
  do {                                                                                               \
    if (const cudaError_t error = (call); error != cudaSuccess) {                                    \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (false)

namespace example {

using namespace nvinfer1;  // of a program, not of a library

struct Logger final : ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", text);
  }
};

// Must outlive everything that it is given to.
inline Logger& logger() {
  static Logger the_logger;
  return the_logger;
}

// Uniform numbers from a seed, the same with every standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2654435761U + 88172645463325252U) {}
  uint64_t next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    return state_ ^= state_ << 17U;
  }
  int64_t below(int64_t limit) { return static_cast<int64_t>(next() >> 11U) % limit; }
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(next() >> 40U) / static_cast<float>(1U << 24U);
  }
  std::vector<float> values(int64_t count, float low = -1, float high = 1) {
    std::vector<float> all(static_cast<size_t>(count));
    for (float& value : all) value = between(low, high);
    return all;
  }

 private:
  uint64_t state_;
};

inline int64_t volume(const Dims& dims) {
  int64_t product = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) product *= dims.d[i];
  return product;
}

inline Weights weights(const std::vector<float>& values) {
  return {DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())};
}

// A network does not copy its weights: `values` must stay until it is built.
inline ITensor* constant(INetworkDefinition& network, const Dims& dims, const std::vector<float>& values,
                         const char* name = nullptr) {
  REQUIRE(volume(dims) == static_cast<int64_t>(values.size()));
  IConstantLayer* const layer = network.addConstant(dims, weights(values));
  REQUIRE(layer != nullptr);
  if (name != nullptr) {
    layer->setName(name);
    REQUIRE(network.setWeightsName(weights(values), name));
  }
  return layer->getOutput(0);
}

inline ITensor* multiply(INetworkDefinition& network, ITensor* a, ITensor* b,
                         MatrixOperation of_b = MatrixOperation::kNONE) {
  return network.addMatrixMultiply(*a, MatrixOperation::kNONE, *b, of_b)->getOutput(0);
}

inline ITensor* combine(INetworkDefinition& network, ITensor* a, ElementWiseOperation operation, ITensor* b) {
  return network.addElementWise(*a, *b, operation)->getOutput(0);
}

inline void mark_output(INetworkDefinition& network, ITensor* tensor, const char* name) {
  tensor->setName(name);
  network.markOutput(*tensor);
}

// The results are compared with sums of the program's own, and so are to be as exact as those: no TF32, which is on
// unless it is cleared.
inline std::unique_ptr<IBuilderConfig> exact_config(IBuilder& builder) {
  std::unique_ptr<IBuilderConfig> config(builder.createBuilderConfig());
  config->clearFlag(BuilderFlag::kTF32);
  return config;
}

// Types follow from inputs and layers alone: since 11 this is so for every network, before it must be asked for.
inline std::unique_ptr<INetworkDefinition> typed_network(IBuilder& builder) {
#if NV_TENSORRT_MAJOR < 11
  const uint32_t flags = 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
#else
  const uint32_t flags = 0;
#endif
  return std::unique_ptr<INetworkDefinition>(builder.createNetworkV2(flags));
}

inline std::unique_ptr<ICudaEngine> load(IRuntime& runtime, const IHostMemory& plan) {
  std::unique_ptr<ICudaEngine> engine(runtime.deserializeCudaEngine(plan.data(), plan.size()));
  REQUIRE(engine != nullptr);
  return engine;
}

// Device memory for `count` elements.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    void* memory = nullptr;
    CUDA(cudaMalloc(&memory, (count == 0 ? 1 : count) * sizeof(T)));
    data_ = static_cast<T*>(memory);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    CUDA(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return data_; }
  size_t size() const { return count_; }
  void upload(const std::vector<T>& values, cudaStream_t stream) {
    REQUIRE(values.size() <= count_);
    CUDA(cudaMemcpyAsync(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
  }
  // Waits for the stream: the values are there.
  std::vector<T> download(cudaStream_t stream, size_t count) const {
    REQUIRE(count <= count_);
    std::vector<T> values(count);
    CUDA(cudaMemcpyAsync(values.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    return values;
  }
  std::vector<T> download(cudaStream_t stream) const { return download(stream, count_); }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

class Stream {
 public:
  Stream() { CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }  // NOLINT: it is one

 private:
  cudaStream_t stream_ = nullptr;
};

// Ends the program unless the values agree to `tolerance`, as a part of the largest that is expected. NaN agrees with
// nothing.
inline void expect_close(const char* what, const std::vector<float>& got, const std::vector<float>& expected,
                         float tolerance = 1e-4F) {
  float largest = 0, worst = 0;
  size_t where = 0;
  bool good = got.size() == expected.size();
  for (const float value : expected) largest = std::fmax(largest, std::fabs(value));
  for (size_t i = 0; good && i < got.size(); ++i) {
    const float difference = std::fabs(got[i] - expected[i]);
    if (difference <= worst) continue;
    worst = difference;
    where = i;
    if (!std::isfinite(difference)) break;
  }
  good = good && worst <= tolerance * largest;
  if (!good) {
    std::fprintf(stderr, "%s: wrong: %zu values for %zu, the worst at %zu is off by %g\n", what, got.size(),
                 expected.size(), where, worst);
    std::exit(1);
  }
  std::printf("%s: %zu values agree, at worst to %.1e of the largest\n", what, got.size(),
              largest == 0 ? 0.0 : static_cast<double>(worst / largest));
}

}  // namespace example
