#include "session.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

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
  explicit Output(void* engine) : engine_(engine), on_device_(wootz_engine_on_device(engine) != 0) {}
  ~Output() override { wootz_device_free(engine_, on_device_ ? memory_ : nullptr); }
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    try {
      if (on_device_) {
        if (memory_ != nullptr && size <= memory_bytes_) return memory_;
        wootz_device_free(engine_, memory_);
        memory_bytes_ = size;
        return memory_ = wootz_device_allocate(engine_, size);
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
    int64_t volume = 1;
    for (int64_t d : array.shape) volume *= d;
    array.bytes.resize((static_cast<size_t>(volume) * element_bits(type) + 7) / 8);
    return array.bytes.empty() || (wootz_device_wait(engine_, stream) == 0 &&
                                   wootz_device_copy(engine_, array.bytes.data(), data, array.bytes.size()) == 0);
  }
  std::map<std::string, Array> values;

 private:
  ICudaEngine* engine_;
};

Session::Session(const std::string& path, Logger& logger, bool native, int device) : logger_(logger) {
  start([&] { return static_cast<ICudaEngine*>(wootz_runtime_load_file(runtime_.get(), path.c_str())); }, native,
        device);
}

Session::Session(IHostMemory& plan, Logger& logger, int device) : logger_(logger) {
  start([&] { return static_cast<ICudaEngine*>(wootz_runtime_load_memory(runtime_.get(), &plan)); },
        /*native=*/true, device);  // made just now
}

void Session::start(const std::function<ICudaEngine*()>& load, bool native, int device) {
  Logger& logger = logger_;
  const Clock::time_point start = Clock::now();
  runtime_.reset(createInferRuntime(logger));
  if (runtime_ == nullptr) fail("the runtime could not be created", logger);
  runtime_->setEngineHostCodeAllowed(native);
  if (wootz_runtime_set_device(runtime_.get(), device) != 0) fail("the device was refused", logger);
  engine_.reset(load());
  if (engine_ == nullptr) fail("the plan was refused", logger);
  context_.reset(engine_->createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC));
  if (context_ == nullptr) fail("the execution context could not be created", logger);
  load_ms = ms_since(start);
}

Session::~Session() {
  context_.reset();
  outputs_.clear();
  for (const auto& [name, memory] : device_memory_) wootz_device_free(engine_.get(), memory);
}

bool Session::on_device() const { return wootz_engine_on_device(engine_.get()) != 0; }

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

namespace {

// Random elements of a shape and type: floats of the normal distribution, integers 0 or 1, zeros of other types.
void fill_random(Array& input, std::mt19937& random) {
  int64_t volume = 1;
  for (int64_t d : input.shape) volume *= d;
  input.bytes.assign((static_cast<size_t>(volume) * element_bits(input.dtype) + 7) / 8, 0);
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

}  // namespace

void Session::set_input_address(const char* name, Array& input) {
  input.bytes.resize(input.bytes.size() + 64);  // never an empty address
  void* address = input.bytes.data();
  if (on_device() && engine_->getTensorLocation(name) == TensorLocation::kDEVICE) {
    address = wootz_device_allocate(engine_.get(), input.bytes.size());
    if (address == nullptr) fail(std::string("no device memory for input '") + name + "'", logger_);
    device_memory_[name] = address;
    if (wootz_device_copy(engine_.get(), address, input.bytes.data(), input.bytes.size()) != 0)
      fail(std::string("input '") + name + "' could not be copied to the device", logger_);
  }
  if (!context_->setTensorAddress(name, address)) fail(std::string("input '") + name + "' takes no address", logger_);
}

void Session::prepare(const Shapes& shapes, const std::map<std::string, Array>& given) {
  check_inputs(shapes, given);
  std::mt19937 random(1234);
  for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
    const char* name = engine_->getIOTensorName(i);
    if (engine_->getTensorIOMode(name) != TensorIOMode::kINPUT) continue;
    const auto array = given.find(name);
    const auto shape = shapes.find(name);
    Dims dims = engine_->getTensorShape(name);
    if (array != given.end())
      dims = to_dims(array->second.shape, name);
    else if (shape != shapes.end())
      dims = to_dims(shape->second, name);
    else if (dynamic(dims))
      dims = engine_->getProfileShape(name, 0, OptProfileSelector::kOPT);
    if (!context_->setInputShape(name, dims))
      fail(std::string("input '") + name + "': shape " + shape_text(to_shape(dims)) + " is not accepted", logger_);
    Array& input = inputs_[name];
    if (array != given.end()) {
      input = array->second;
    } else {
      input.dtype = engine_->getTensorDataType(name);
      input.shape = to_shape(dims);
      fill_random(input, random);
    }
    set_input_address(name, input);
  }
  prepare_outputs();
}

void Session::prepare_outputs() {
  for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
    const char* name = engine_->getIOTensorName(i);
    if (engine_->getTensorIOMode(name) != TensorIOMode::kOUTPUT) continue;
    auto& output = outputs_[name];
    output = std::make_unique<Output>(engine_.get());
    output->dtype = engine_->getTensorDataType(name);
    if (!context_->setOutputAllocator(name, output.get()))
      fail(std::string("output '") + name + "' takes no allocator", logger_);
  }
}

void Session::run() {
  enqueue();
  if (wootz_device_synchronize(engine_.get()) != 0) fail("the inference failed", logger_);
}

void Session::enqueue(void* stream) {
  if (!context_->enqueueV3(static_cast<cudaStream_t>(stream))) fail("the inference failed", logger_);
}

std::vector<Session::Place> Session::places() const {
  std::vector<Place> places;
  for (const auto& [name, input] : inputs_) {
    const auto device = device_memory_.find(name);
    places.push_back(
        {device == device_memory_.end() ? nullptr : device->second, input.bytes.data(), input.bytes.size()});
  }
  for (const auto& [name, output] : outputs_) places.push_back(output->place());
  return places;
}

void Session::run_many(int count) {
  for (int i = 0; i < count; ++i) enqueue();
  if (wootz_device_synchronize(engine_.get()) != 0) fail("an inference failed", logger_);
}

std::map<std::string, Array> Session::outputs() const {
  std::map<std::string, Array> all;
  for (const auto& [name, output] : outputs_) {
    if (!output->fetch()) fail("output '" + name + "' could not be copied from the device", logger_);
    Array array;
    array.dtype = output->dtype;
    array.shape = to_shape(output->dims);
    int64_t volume = 1;
    for (int64_t d : array.shape) volume *= d;
    const size_t bytes = (static_cast<size_t>(volume) * element_bits(array.dtype) + 7) / 8;
    array.bytes.assign(output->bytes.begin(),
                       output->bytes.begin() + static_cast<ptrdiff_t>(std::min(bytes, output->bytes.size())));
    all[name] = std::move(array);
  }
  return all;
}

std::string Session::report(const char* format) const {
  return take_text(wootz_engine_report(engine_.get(), format), "the report", logger_);
}

void Session::tap(const std::vector<std::string>& names) {
  if (listener_ == nullptr) listener_ = std::make_unique<Listener>(engine_.get());
  context_->setDebugListener(listener_.get());
  std::vector<std::string> wanted;
  for (const std::string& name : names) {
    if (name != "all") {
      wanted.push_back(name);
      continue;
    }
    for (const nlohmann::json& value : nlohmann::json::parse(report("values")))
      if (value["state"] == "tensor") wanted.push_back(value["name"]);
  }
  for (const std::string& name : wanted)
    if (wootz_context_tap(context_.get(), name.c_str(), 1) != 0) fail("'" + name + "' cannot be read", logger_);
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
