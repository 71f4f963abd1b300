// The life of an engine as an application leads it, call by call, in which any call may fail: network, build, plan,
// runtime, context, inferences. Its own memory is taken before, so that what fails is the library's.
#pragma once

#include <array>
#include <atomic>
#include <cstring>

#include "api/harness.h"
#include "steady/allocations.h"

namespace wootz_test {

// Remembers the last error.
class LastError final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const nvinfer1::AsciiChar* text) noexcept override {
    if (severity > Severity::kERROR) return;
    const OwnAllocations own;
    const std::lock_guard<std::mutex> lock(mutex_);
    ++errors_;
    text_ = text;
  }
  int errors() const { return errors_; }
  std::string text() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<int> errors_{0};
  std::string text_;
};

// An output's values, as many as there turn out to be.
class Room final : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    return size <= bytes_.size() ? bytes_.data() : nullptr;
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override { count = volume(dims); }
  const float* values() const { return reinterpret_cast<const float*>(bytes_.data()); }
  size_t count = 0;

 private:
  alignas(64) std::array<char, 65536> bytes_ = {};
};

struct Shape {
  const char* input;
  nvinfer1::Dims min, opt, max;
};

// Where a life came to its end: the call that failed, or null; its outputs.
struct Life {
  const char* failed = nullptr;
  std::array<Room, 3> outputs;
  int32_t num_outputs = 0;
};

struct Model {
  const char* name;
  const char* file;  // an ONNX file, or null: `make`
  bool (*make)(nvinfer1::INetworkDefinition& network);
  std::vector<Shape> shapes;
};

void live(const Model& model, const std::string& path, LastError& logger, Life& life);

// The models of the tests, and the file of one.
const std::vector<Model>& models();
std::string file_of(const Model& model);

}  // namespace wootz_test
