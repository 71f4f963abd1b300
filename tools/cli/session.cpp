#include "session.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "arrangement.h"
#include "base/json.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace nvinfer1;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

class Session::Output final : public IOutputAllocator {
 public:
  Output(void* engine, bool managed)
      : engine_(engine),
        on_device_(wootz_engine_on_device(engine) != 0),
        allocate_(managed ? wootz_device_allocate_managed : wootz_device_allocate) {}
  ~Output() override { wootz_device_free(engine_, on_device_ ? memory_ : nullptr); }
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    try {
      if (on_device_) {
        if (memory_ != nullptr && size <= memory_bytes_) return memory_;
        wootz_device_free(engine_, memory_);
        memory_bytes_ = size;
        return memory_ = allocate_(engine_, size);
      }
      if (bytes.size() < size + 64) bytes.resize(size + 64);
      return bytes.data();
    } catch (...) {
      return nullptr;
    }
  }
  void notifyShape(const char*, const Dims& d) noexcept override { dims = d; }
  Place place() const { return {on_device_ ? memory_ : nullptr, nullptr, on_device_ ? memory_bytes_ : bytes.size()}; }
  // Brings what is on the device to `bytes`.
  bool fetch() {
    if (!on_device_ || memory_ == nullptr) return true;
    bytes.resize(memory_bytes_);
    return wootz_device_copy(engine_, bytes.data(), memory_, memory_bytes_) == 0;
  }

 private:
  void* engine_;
  bool on_device_;
  void* (*allocate_)(void*, size_t);
  void* memory_ = nullptr;
  size_t memory_bytes_ = 0;

 public:
  std::vector<char> bytes;
  Dims dims{};
  DataType dtype = DataType::kFLOAT;
};

class Session::Listener final : public IDebugListener {
 public:
  explicit Listener(ICudaEngine* engine) : engine_(engine) {}
  bool processDebugTensor(const void* data, TensorLocation, DataType type, const Dims& shape, const char* name,
                          cudaStream_t stream) override {
    Array& array = values[name];
    array.dtype = type;
    array.shape = to_shape(shape);
    array.bytes.resize(bytes_of(array));
    return array.bytes.empty() || (wootz_device_wait(engine_, stream) == 0 &&
                                   wootz_device_copy(engine_, array.bytes.data(), data, array.bytes.size()) == 0);
  }
  std::map<std::string, Array> values;

 private:
  ICudaEngine* engine_;
};

Session::Session(const std::string& path, Logger& logger, const LoadOptions& options) : logger_(logger) {
  start(load_engine(path, options, logger));
}

Session::Session(IHostMemory& plan, Logger& logger, LoadOptions options) : logger_(logger) {
  options.native = true;
  start(load_engine(plan, options, logger));
}

Session::Session(std::shared_ptr<Loaded> loaded, const ContextOptions& options, Logger& logger)
    : options_(options), logger_(logger) {
  start(std::move(loaded));
}

void Session::start(std::shared_ptr<Loaded> loaded) {
  const Clock::time_point start = Clock::now();
  loaded_ = std::move(loaded);
  engine_ = loaded_->engine.get();
  context_.reset(engine_->createExecutionContext(options_.allocation));
  if (context_ == nullptr) fail("the execution context could not be created", logger_);
  if (options_.profile >= engine_->getNbOptimizationProfiles())
    throw Failure("--useProfile=" + std::to_string(options_.profile) + ": the engine has " +
                  std::to_string(engine_->getNbOptimizationProfiles()) + " optimization profiles, from 0");
  if (options_.profile != 0 && !context_->setOptimizationProfileAsync(options_.profile, nullptr))
    fail("the optimization profile was refused", logger_);
  if (!options_.replay && wootz_context_replay(context_.get(), 0) != 0) fail("the context was refused", logger_);
  load_ms = loaded_->ms + ms_since(start);
}

Session::~Session() {
  context_.reset();
  outputs_.clear();
  for (const auto& [name, memory] : device_memory_) wootz_device_free(engine_, memory);
  wootz_device_free(engine_, own_memory_);
}

// A context without memory of its own gets what the shapes at hand need.
void Session::give_memory() {
  if (options_.allocation != ExecutionContextAllocationStrategy::kUSER_MANAGED) return;
  const size_t bytes = context_->updateDeviceMemorySizeForShapes();
  wootz_device_free(engine_, std::exchange(own_memory_, nullptr));
  host_memory_.assign(on_device() ? 0 : bytes + 64, 0);
  void* memory = host_memory_.data();
  if (on_device()) {
    memory = own_memory_ = wootz_device_allocate(engine_, std::max<size_t>(1, bytes));
    if (memory == nullptr) fail("no device memory for the context", logger_);
  } else {
    size_t left = host_memory_.size();
    if (std::align(64, bytes, memory, left) == nullptr) throw Failure("no memory for the context");
  }
  context_->setDeviceMemoryV2(memory, static_cast<int64_t>(bytes));
}

bool Session::on_device() const { return wootz_engine_on_device(engine_) != 0; }

void Session::check_inputs(const Shapes& shapes, const std::map<std::string, Array>& given) const {
  const auto check = [&](const std::string& name) {
    if (engine_->getTensorIOMode(name.c_str()) != TensorIOMode::kINPUT)
      throw Failure("the engine has no input '" + name + "'");
  };
  for (const auto& [name, array] : given) {
    check(name);
    const DataType want = engine_->getTensorDataType(name.c_str());
    if (array.dtype != want)
      throw Failure("input '" + name + "' is " + dtype_name(array.dtype) + ", the engine wants " + dtype_name(want));
  }
  for (const auto& [name, shape] : shapes) check(name);
}

void fill_random(Array& input, std::mt19937& random) {
  int64_t volume = 1;
  for (int64_t d : input.shape) volume *= d;
  input.bytes.assign(bytes_of(input), 0);
  std::normal_distribution<float> normal;
  if (input.dtype == DataType::kFLOAT)
    for (int64_t e = 0; e < volume; ++e) reinterpret_cast<float*>(input.bytes.data())[e] = normal(random);
  if (input.dtype == DataType::kINT64)
    for (int64_t e = 0; e < volume; ++e)
      reinterpret_cast<int64_t*>(input.bytes.data())[e] = static_cast<int64_t>(random() & 1);
  if (input.dtype == DataType::kINT32)
    for (int64_t e = 0; e < volume; ++e)
      reinterpret_cast<int32_t*>(input.bytes.data())[e] = static_cast<int32_t>(random() & 1);
}

void fill_values(Array& input, const std::vector<int64_t>& values) {
  for (size_t e = 0; e < values.size(); ++e) {
    if (input.dtype == DataType::kINT64) reinterpret_cast<int64_t*>(input.bytes.data())[e] = values[e];
    if (input.dtype == DataType::kINT32)
      reinterpret_cast<int32_t*>(input.bytes.data())[e] = static_cast<int32_t>(values[e]);
  }
}

// Files and random values are row-major; the engine may want them in another format.
void Session::set_input_address(const char* name, Array& input) {
  packed_.erase(name);
  const Arrangement arrangement(*engine_, *context_, name);
  if (!arrangement.row_major()) packed_[name] = arrangement.pack(input.bytes);
  std::vector<char>& memory_of_host = arrangement.row_major() ? input.bytes : packed_[name];
  memory_of_host.resize(memory_of_host.size() + 64);  // never an empty address
  void* address = memory_of_host.data();
  if (on_device() && engine_->getTensorLocation(name) == TensorLocation::kDEVICE) {
    void*& memory = device_memory_[name];
    wootz_device_free(engine_, std::exchange(memory, nullptr));  // of other shapes
    address =
        (options_.managed ? wootz_device_allocate_managed : wootz_device_allocate)(engine_, memory_of_host.size());
    if (address == nullptr) fail(std::string("no device memory for input '") + name + "'", logger_);
    memory = address;
    if (wootz_device_copy(engine_, address, memory_of_host.data(), memory_of_host.size()) != 0)
      fail(std::string("input '") + name + "' could not be copied to the device", logger_);
  }
  if (!context_->setTensorAddress(name, address)) fail(std::string("input '") + name + "' takes no address", logger_);
}

std::vector<int64_t> Session::shape_values(const char* input, const Shapes& shapes) const {
  const Dims dims = engine_->getTensorShape(input);
  if (const auto values = shapes.find(input); values != shapes.end()) {
    check_values(input, values->second, dims);
    return values->second;
  }
  const int64_t* optimum = engine_->getProfileTensorValuesV2(input, options_.profile, OptProfileSelector::kOPT);
  if (optimum == nullptr) return {};
  return {optimum, optimum + elements_of(dims)};
}

std::vector<int64_t> Session::shape_of(const std::string& input, const Shapes& shapes) const {
  if (takes_values(input)) return to_shape(engine_->getTensorShape(input.c_str()));
  if (const auto shape = shapes.find(input); shape != shapes.end()) return shape->second;
  const Dims dims = engine_->getTensorShape(input.c_str());
  return to_shape(dynamic(dims) ? engine_->getProfileShape(input.c_str(), options_.profile, OptProfileSelector::kOPT)
                                : dims);
}

void Session::prepare(const Shapes& shapes, const std::map<std::string, Array>& given) {
  check_inputs(shapes, given);
  std::mt19937 random(1234);
  for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
    const char* name = engine_->getIOTensorName(i);
    if (engine_->getTensorIOMode(name) != TensorIOMode::kINPUT) continue;
    const auto array = given.find(name);
    const Dims dims = to_dims(array != given.end() ? array->second.shape : shape_of(name, shapes), name);
    if (!context_->setInputShape(name, dims))
      fail(std::string("input '") + name + "': shape " + shape_text(to_shape(dims)) + " is not accepted", logger_);
    Array& input = inputs_[name];
    if (array != given.end()) {
      input = array->second;
    } else {
      input.dtype = engine_->getTensorDataType(name);
      input.shape = to_shape(dims);
      fill_random(input, random);
      if (takes_values(name)) fill_values(input, shape_values(name, shapes));
    }
    set_input_address(name, input);
  }
  prepare_outputs();
  give_memory();
}

void Session::prepare_outputs() {
  for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
    const char* name = engine_->getIOTensorName(i);
    if (engine_->getTensorIOMode(name) != TensorIOMode::kOUTPUT) continue;
    auto& output = outputs_[name];
    output = std::make_unique<Output>(engine_, options_.managed);
    output->dtype = engine_->getTensorDataType(name);
    if (!context_->setOutputAllocator(name, output.get()))
      fail(std::string("output '") + name + "' takes no allocator", logger_);
  }
}

void Session::run() {
  enqueue();
  if (wootz_device_synchronize(engine_) != 0) fail("the inference failed", logger_);
}

void Session::enqueue(void* stream) {
  if (!context_->enqueueV3(static_cast<cudaStream_t>(stream))) fail("the inference failed", logger_);
}

std::vector<Session::Place> Session::places() const {
  std::vector<Place> places;
  for (const auto& [name, input] : inputs_) {
    const auto device = device_memory_.find(name);
    const auto packed = packed_.find(name);
    const std::vector<char>& bytes = packed == packed_.end() ? input.bytes : packed->second;
    places.push_back({device == device_memory_.end() ? nullptr : device->second, bytes.data(), bytes.size()});
  }
  for (const auto& [name, output] : outputs_) places.push_back(output->place());
  return places;
}

void Session::run_many(int count) {
  for (int i = 0; i < count; ++i) enqueue();
  if (wootz_device_synchronize(engine_) != 0) fail("an inference failed", logger_);
}

std::map<std::string, Array> Session::outputs() const {
  std::map<std::string, Array> all;
  for (const auto& [name, output] : outputs_) {
    if (!output->fetch()) fail("output '" + name + "' could not be copied from the device", logger_);
    Array array;
    array.dtype = output->dtype;
    array.shape = to_shape(output->dims);
    if (const Arrangement arrangement(*engine_, *context_, name); !arrangement.row_major()) {
      array.bytes = arrangement.unpack(output->bytes);
    } else {
      const size_t bytes = bytes_of(array);
      array.bytes.assign(output->bytes.begin(),
                         output->bytes.begin() + static_cast<ptrdiff_t>(std::min(bytes, output->bytes.size())));
    }
    all[name] = std::move(array);
  }
  return all;
}

std::map<std::string, Array> Session::inputs() const {
  std::map<std::string, Array> all = inputs_;
  for (auto& [name, array] : all) array.bytes.resize(bytes_of(array));  // without the padding
  return all;
}

std::string Session::report(const char* format) const {
  return take_text(wootz_engine_report(engine_, format), "the report", logger_);
}

void Session::tap(const std::vector<std::string>& names) {
  if (listener_ == nullptr) listener_ = std::make_unique<Listener>(engine_);
  context_->setDebugListener(listener_.get());
  std::vector<std::string> wanted;
  for (const std::string& name : names) {
    if (name != "all") {
      wanted.push_back(name);
      continue;
    }
    for (const wootz::SortedJson& value : wootz::SortedJson::parse(report("values")))
      if (value["state"] == "tensor") wanted.push_back(value["name"]);
  }
  for (const std::string& name : wanted)
    if (wootz_context_tap(context_.get(), name.c_str(), 1) != 0) fail("'" + name + "' cannot be read", logger_);
}

void Session::watch(const std::vector<std::string>& names) {
  if (listener_ == nullptr) listener_ = std::make_unique<Listener>(engine_);
  context_->setDebugListener(listener_.get());
  for (const std::string& name : names) {
    if (name == "all") {
      // One of the two is enough: marked tensors, or those that markUnfusedTensorsAsDebugTensors left.
      const size_t errors = logger_.errors.size();
      const bool unfused = context_->setUnfusedTensorsDebugState(true);
      logger_.errors.resize(errors);
      if (!context_->setAllTensorsDebugState(true) && !unfused) fail("no tensor can be shown", logger_);
    } else if (!context_->setTensorDebugState(name.c_str(), true)) {
      fail("'" + name + "' cannot be shown: build with --markDebug=" + name, logger_);
    }
  }
}

const std::map<std::string, Array>& Session::tapped() const {
  static const std::map<std::string, Array> kNone;
  return listener_ == nullptr ? kNone : listener_->values;
}

std::vector<double> time_inferences(Session& session, int iterations, double seconds, double warmup_ms) {
  const Clock::time_point warm = Clock::now();
  do session.run();
  while (ms_since(warm) < warmup_ms);
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  while (static_cast<int>(times.size()) < iterations || ms_since(start) < seconds * 1e3) {
    // A GPU is given several at once: waiting for each would time the waiting too.
    const int each = session.on_device() ? 20 : 1;
    const Clock::time_point one = Clock::now();
    session.run_many(each);
    times.push_back(ms_since(one) / each);
  }
  std::sort(times.begin(), times.end());
  return times;
}

double percentile(const std::vector<double>& sorted, double percent) {
  if (sorted.empty()) return 0;
  const auto index = static_cast<size_t>(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace wootz_cli
