#include "device.h"

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>

#include "callbacks.h"
#include "kept.h"
#include "wootz/extensions.h"

using namespace nvinfer1;

namespace wootz_python {
namespace {

ICudaEngine* engine_of(nb::handle engine) { return nb::cast<ICudaEngine*>(engine); }

// Of an element of a DataType, those of WOOTZ_EXTENDED_TYPE included.
size_t bits_of(int32_t type) {
  static const std::map<int32_t, size_t> kBits{{0, 32},   {1, 16},   {2, 8},    {3, 32},   {4, 8},    {5, 8},
                                               {6, 8},    {7, 16},   {8, 64},   {9, 4},    {10, 4},   {11, 8},
                                               {260, 64}, {263, 16}, {264, 16}, {266, 32}, {268, 64}, {271, 8},
                                               {272, 8},  {273, 8},  {277, 4},  {278, 2},  {279, 2}};
  const auto found = kBits.find(type);
  return found == kBits.end() ? 8 : found->second;
}

// Bytes of a tensor of these extents; nothing where one is not known.
bool bytes_of(DataType type, const Dims& shape, size_t* bytes) {
  size_t volume = 1;
  for (int32_t i = 0; i < shape.nbDims; ++i) {
    if (shape.d[i] < 0) return false;
    volume *= static_cast<size_t>(shape.d[i]);
  }
  *bytes = (volume * bits_of(static_cast<int32_t>(type)) + 7) / 8;
  return shape.nbDims >= 0;
}

std::string text(const char* what, size_t bytes, size_t offset, size_t size) {
  return std::to_string(bytes) + " bytes " + what + " offset " + std::to_string(offset) + " of device memory of " +
         std::to_string(size) + " bytes";
}

void copy(const DeviceBlock& block, void* to, const void* from, size_t bytes) {
  int failed = 0;
  {
    ICudaEngine* const engine = engine_of(block.engine);
    const nb::gil_scoped_release release;
    failed = wootz_device_copy(engine, to, from, bytes);
  }
  if (failed != 0) throw std::runtime_error("the copy failed: see the log");
}

// By context: the memory that its tensors have as addresses; while it is here, a block is not freed. An entry goes
// after its context's end, when no inference is under way.
using Blocks = Kept<std::shared_ptr<DeviceBlock>>;

}  // namespace

DeviceBlock::DeviceBlock(nb::object owner, size_t size) : engine(std::move(owner)), bytes(size) {
  memory = wootz_device_allocate(engine_of(engine), std::max<size_t>(size, 1));
  if (memory == nullptr)
    throw std::runtime_error("no device memory of " + std::to_string(size) + " bytes: see the log");
}

DeviceBlock::~DeviceBlock() { wootz_device_free(engine_of(engine), memory); }

const std::shared_ptr<DeviceBlock>& DeviceMemory::block() const {
  if (block_ == nullptr) throw nb::value_error("the device memory was freed");
  return block_;
}

void DeviceMemory::free() {
  if (block_.use_count() > 1)
    throw std::runtime_error("a context has this device memory as an address: set another one, or None, first");
  block_.reset();
}

void DeviceMemory::write(const void* from, size_t bytes, size_t offset) {
  const std::shared_ptr<DeviceBlock> to = block();
  if (offset > to->bytes || bytes > to->bytes - offset)
    throw nb::value_error(text("do not fit at", bytes, offset, to->bytes).c_str());
  copy(*to, static_cast<char*>(to->memory) + offset, from, bytes);
}

void DeviceMemory::read(void* to, size_t bytes, size_t offset) const {
  const std::shared_ptr<DeviceBlock> from = block();
  if (offset > from->bytes || bytes > from->bytes - offset)
    throw nb::value_error(text("are not at", bytes, offset, from->bytes).c_str());
  copy(*from, to, static_cast<const char*>(from->memory) + offset, bytes);
}

OutputBuffer::OutputBuffer(nb::object engine) : owner_(std::move(engine)), engine_(engine_of(owner_)) {}
OutputBuffer::~OutputBuffer() { wootz_device_free(engine_, memory_); }

// Called without Python's lock.
void* OutputBuffer::reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept {
  if (size <= capacity_ && memory_ != nullptr) return memory_;
  wootz_device_free(engine_, memory_);
  capacity_ = size + size / 4;  // the next run may find a little more
  memory_ = wootz_device_allocate(engine_, capacity_ + 1);
  if (memory_ == nullptr) capacity_ = 0;
  return memory_;
}

nb::bytes OutputBuffer::read(size_t bytes) const {
  if (bytes > capacity_) throw nb::value_error(text("are not at", bytes, 0, capacity_).c_str());
  std::string values(bytes, '\0');
  if (bytes != 0 && wootz_device_copy(engine_, values.data(), memory_, bytes) != 0)
    throw std::runtime_error("the output could not be copied from the device: see the log");
  return nb::bytes(values.data(), values.size());
}

TapListener::TapListener(nb::object engine) : owner_(std::move(engine)), engine_(engine_of(owner_)) {}

// Called without Python's lock.
bool TapListener::processDebugTensor(const void* data, TensorLocation, DataType type, const Dims& shape,
                                     const char* name, cudaStream_t stream) {
  size_t bytes = 0;
  if (!bytes_of(type, shape, &bytes)) return false;
  Kept value;
  value.type = static_cast<int32_t>(type);
  value.shape.assign(shape.d, shape.d + shape.nbDims);
  value.bytes.resize(bytes);
  if (bytes != 0) {
    if (wootz_engine_on_device(engine_) != 0 && wootz_device_wait(engine_, stream) != 0) return false;
    if (wootz_device_copy(engine_, value.bytes.data(), data, bytes) != 0) return false;
  }
  values[name] = std::move(value);
  return true;
}

void keep_for(nb::handle context, const std::string& name, nb::handle object) {
  keep_as(context, name.c_str(), object);
}

bool set_address(nb::handle context, const char* name, nb::handle memory) {
  auto* const c = nb::cast<IExecutionContext*>(context);
  if (!nb::isinstance<DeviceMemory>(memory)) {
    size_t number = 0;
    if (!memory.is_none() && !nb::try_cast<size_t>(memory, number))
      throw nb::type_error("an address is a number, a DeviceMemory or None");
    if (!c->setTensorAddress(name, reinterpret_cast<void*>(number))) return false;
    Blocks::forget(context, name);
    return true;
  }
  const std::shared_ptr<DeviceBlock> block = nb::cast<DeviceMemory&>(memory).block();
  auto* const engine = const_cast<ICudaEngine*>(&c->getEngine());
  const bool on_device = wootz_engine_on_device(engine) != 0;
  ICudaEngine* const owner = engine_of(block->engine);
  if (on_device != (wootz_engine_on_device(owner) != 0) ||
      (on_device && wootz_engine_device(engine) != wootz_engine_device(owner)))
    throw nb::value_error("the memory is of the device of another engine");
  if (on_device && engine->getTensorLocation(name) == TensorLocation::kHOST)
    throw nb::value_error(("'" + std::string(name) + "' is read by the host: give it the address of an array").c_str());
  if (!c->setTensorAddress(name, block->memory)) return false;
  Blocks::keep(context, name, block);
  return true;
}

void check_addresses(nb::handle context) {
  const Blocks::Named held = Blocks::of(context);
  if (held.empty()) return;
  auto* const c = nb::cast<IExecutionContext*>(context);
  const ICudaEngine& engine = c->getEngine();
  for (const auto& [key, block] : held) {
    const char* const name = key.c_str();
    const bool output = engine.getTensorIOMode(name) == TensorIOMode::kOUTPUT;
    if (output && c->getOutputAllocator(name) != nullptr) continue;
    size_t need = 0;
    if (!bytes_of(engine.getTensorDataType(name), c->getTensorShape(name), &need)) {
      if (!output || !c->allInputDimensionsSpecified()) continue;  // the call itself says what is missing
      throw nb::value_error(
          ("the size of '" + key +
           "' is data-dependent: give it an output allocator, or as a number the address of memory for the most")
              .c_str());
    }
    if (need > block->bytes)
      throw nb::value_error(
          ("'" + key + "' has " + std::to_string(need) + " bytes; its memory has " + std::to_string(block->bytes))
              .c_str());
  }
}

void bind_device(nb::module_& m) {
  nb::class_<TapListener, IDebugListener>(m, "_TapListener")
      .def(nb::init<nb::object>(), nb::arg("engine"))
      .def("take", [](TapListener& l) {
        nb::list list;
        for (const auto& [name, value] : l.values)
          list.append(nb::make_tuple(name, value.type, value.shape, nb::bytes(value.bytes.data(), value.bytes.size())));
        l.values.clear();
        return list;
      });
  nb::class_<OutputBuffer, IOutputAllocator>(m, "_OutputBuffer")
      .def(nb::init<nb::object>(), nb::arg("engine"))
      .def_prop_ro("shape", [](const OutputBuffer& b) { return b.shape; })
      .def("read", &OutputBuffer::read);
  nb::class_<DeviceMemory>(
      m, "DeviceMemory",
      "Memory of the device that an engine runs on. It keeps the engine, and a context that has it "
      "as an address keeps it.")
      .def(
          "__init__",
          [](DeviceMemory* self, nb::object engine, size_t nbytes) {
            if (!nb::isinstance<ICudaEngine>(engine)) throw nb::type_error("the first argument is an ICudaEngine");
            new (self) DeviceMemory(std::move(engine), nbytes);
          },
          nb::arg("engine"), nb::arg("nbytes"))
      .def_prop_ro("nbytes", [](const DeviceMemory& d) { return d.block()->bytes; })
      .def_prop_ro("engine", [](const DeviceMemory& d) { return d.block()->engine; })
      .def_prop_ro(
          "address", [](const DeviceMemory& d) { return reinterpret_cast<size_t>(d.block()->memory); },
          "As a number, for other libraries: valid while this object lives and is not freed.")
      .def_prop_ro("freed", &DeviceMemory::freed)
      .def("free", &DeviceMemory::free, "Gives the memory back now. Refused while a context has it as an address.")
      .def("_write",
           [](DeviceMemory& d, nb::handle from, size_t offset) {
             if (nb::isinstance<DeviceMemory>(from)) {
               const std::shared_ptr<DeviceBlock> other = nb::cast<DeviceMemory&>(from).block();
               return d.write(other->memory, other->bytes, offset);
             }
             Py_buffer view;
             if (PyObject_GetBuffer(from.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
             const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> owner(&view, PyBuffer_Release);
             d.write(view.buf, static_cast<size_t>(view.len), offset);
           })
      .def("_read", [](const DeviceMemory& d, nb::handle to, size_t offset) {
        Py_buffer view;
        if (PyObject_GetBuffer(to.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
        const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> owner(&view, PyBuffer_Release);
        d.read(view.buf, static_cast<size_t>(view.len), offset);
      });
}

}  // namespace wootz_python
