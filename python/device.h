// Memory of an engine's device as Python objects, whose lifetimes follow from what refers to them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "casters.h"

namespace wootz_python {

using Engine = nb::class_<nvinfer1::ICudaEngine>;
void bind_engine_tensors(Engine& engine);
using Context = nb::class_<nvinfer1::IExecutionContext>;
void bind_context_extras(Context& context);

// One allocation. It keeps its engine, and every user of it keeps it.
class DeviceBlock {
 public:
  DeviceBlock(nb::object engine, size_t bytes);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  nb::object engine;
  size_t bytes = 0;
  void* memory = nullptr;
};

// What Python holds: memory that can be written, read, freed, and set as a tensor's address.
class DeviceMemory {
 public:
  DeviceMemory(nb::object engine, size_t bytes) : block_(std::make_shared<DeviceBlock>(std::move(engine), bytes)) {}
  // Errors: it was freed.
  const std::shared_ptr<DeviceBlock>& block() const;
  bool freed() const { return block_ == nullptr; }
  // Errors: a context has it as an address.
  void free();
  // Errors: beyond its end.
  void write(const void* from, size_t bytes, size_t offset);
  void read(void* to, size_t bytes, size_t offset) const;

 private:
  std::shared_ptr<DeviceBlock> block_;
};

// Memory for outputs of data-dependent size, on the engine's device; kept until the next run.
class OutputBuffer final : public nvinfer1::IOutputAllocator {
 public:
  explicit OutputBuffer(nb::object engine);
  ~OutputBuffer() override;
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t alignment) noexcept override;
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override { shape = dims; }
  nb::bytes read(size_t bytes) const;
  nvinfer1::Dims shape{};

 private:
  nb::object owner_;
  nvinfer1::ICudaEngine* engine_;
  void* memory_ = nullptr;
  uint64_t capacity_ = 0;
};

// Keeps what a context's taps hand over, on the host.
class TapListener final : public nvinfer1::IDebugListener {
 public:
  explicit TapListener(nb::object engine);
  bool processDebugTensor(const void* data, nvinfer1::TensorLocation location, nvinfer1::DataType type,
                          const nvinfer1::Dims& shape, const char* name, cudaStream_t stream) override;
  struct Kept {
    int32_t type = 0;
    std::vector<int64_t> shape;
    std::string bytes;
  };
  std::map<std::string, Kept> values;

 private:
  nb::object owner_;
  nvinfer1::ICudaEngine* engine_;
};

// Sets a tensor's address from a number, which is the caller's to keep alive, or from a DeviceMemory, which the context
// keeps until the tensor gets another one. False: the context refused.
bool set_address(nb::handle context, const char* name, nb::handle memory);
// Errors (ValueError): memory that was set is too small for the shapes that are set.
void check_addresses(nb::handle context);
// A Python object that the context keeps under a name until another one, or None, comes there.
void keep_for(nb::handle context, const std::string& name, nb::handle object);

}  // namespace wootz_python
