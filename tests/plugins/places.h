// Where the networks of these tests run, and how a plugin that computes on the host gets at its tensors there.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "api/harness.h"

namespace wootz_test {

// A backend and its memory; this one is the host's.
class Place {
 public:
  Place() = default;
  virtual ~Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  virtual const char* backend() const { return "cpu"; }
  virtual bool is_host() const { return true; }
  virtual void open() {}
  virtual void* allocate(size_t bytes);
  virtual void release(void* memory);
  // Done when it returns, behind all that is on the stream.
  virtual bool copy(void* to, const void* from, size_t bytes, cudaStream_t stream);
  // False also while the stream is recorded.
  virtual bool wait(cudaStream_t stream);
  // What an instrument saw since the last call.
  virtual std::string faults() { return ""; }
};

// Those that this program can test, the host first.
const std::vector<Place*>& places();
// That of the test that runs.
Place*& place();

// What a plugin reads and writes, on the host: where the tensors are there already, they themselves; otherwise copies,
// the same for the same address, which done() brings back.
class Staging {
 public:
  explicit Staging(cudaStream_t stream) : stream_(stream) {
    if (!place()->is_host() && !place()->wait(stream)) status_ = 97;
  }
  void* at(const void* tensor, size_t bytes);
  int32_t status() const { return status_; }
  int32_t done(int32_t answer);

 private:
  struct Copy {
    void* tensor;
    std::vector<char> bytes;
  };
  cudaStream_t stream_;
  std::deque<Copy> copies_;
  int32_t status_ = 0;
};

// An array in the memory of the place.
template <class T>
class Array {
 public:
  explicit Array(const std::vector<T>& values)
      : count_(values.size()), data_(place()->allocate(count_ * sizeof(T) + sizeof(T))) {
    EXPECT_TRUE(place()->copy(data_, values.data(), count_ * sizeof(T), nullptr));
  }
  explicit Array(size_t count) : Array(std::vector<T>(count)) {}
  ~Array() { place()->release(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  void* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> got(count_);
    EXPECT_TRUE(place()->copy(got.data(), data_, count_ * sizeof(T), nullptr));
    return got;
  }

 private:
  size_t count_;
  void* data_;
};

// An output's memory, made when its size is known.
class Grower final : public nvinfer1::IOutputAllocator {
 public:
  ~Grower() override { place()->release(memory_); }
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t) override {
    place()->release(memory_);
    return memory_ = place()->allocate(size + 1);
  }
  void notifyShape(const char*, const nvinfer1::Dims& d) noexcept override { shape = list(d); }
  template <class T>
  std::vector<T> values() const {
    size_t count = 1;
    for (const int64_t d : shape) count *= static_cast<size_t>(d);
    std::vector<T> got(count);
    EXPECT_TRUE(place()->copy(got.data(), memory_, count * sizeof(T), nullptr));
    return got;
  }
  std::vector<int64_t> shape;

 private:
  void* memory_ = nullptr;
};

size_t bytes_of(nvinfer1::DataType type);

// Tests of networks on each place, which is the backend of whatever they build.
class OnEachPlace : public testing::TestWithParam<Place*> {
 protected:
  OnEachPlace();
  ~OnEachPlace() override;
  // As the function of this name, with the tensors where the engine has them.
  template <class Out = float>
  std::vector<Out> run(nvinfer1::IExecutionContext& context, const Inputs& inputs, const char* output);

 private:
  const char* before_;
};

inline std::string name_of(const testing::TestParamInfo<Place*>& info) { return info.param->backend(); }

template <class Out>
std::vector<Out> OnEachPlace::run(nvinfer1::IExecutionContext& context, const Inputs& inputs, const char* output) {
  if (place()->is_host()) return wootz_test::run<Out>(context, inputs, output);
  const nvinfer1::ICudaEngine& engine = context.getEngine();
  std::deque<Array<char>> arrays;
  for (const auto& [name, data] : inputs) {
    const void* address = data;
    if (engine.getTensorLocation(name) == nvinfer1::TensorLocation::kDEVICE) {
      const auto* bytes = static_cast<const char*>(data);
      const size_t size = volume(context.getTensorShape(name)) * bytes_of(engine.getTensorDataType(name));
      address = arrays.emplace_back(std::vector<char>(bytes, bytes + size)).data();
    }
    EXPECT_TRUE(context.setInputTensorAddress(name, address)) << name;
  }
  EXPECT_EQ(context.inferShapes(0, nullptr), 0);
  const Array<Out> result(volume(context.getTensorShape(output)));
  EXPECT_TRUE(context.setTensorAddress(output, result.data()));
  EXPECT_TRUE(context.enqueueV3(nullptr));
  return result.values();
}

}  // namespace wootz_test
