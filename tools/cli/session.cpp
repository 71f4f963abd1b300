#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "NvOnnxParser.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace nvinfer1;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Dims to_dims(const std::vector<int64_t>& shape, const std::string& name) {
  if (shape.size() > Dims::MAX_DIMS) throw Failure("'" + name + "' has more than 8 dimensions");
  Dims dims{};
  dims.nbDims = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), dims.d);
  return dims;
}

std::vector<int64_t> to_shape(const Dims& dims) { return {dims.d, dims.d + std::max(0, dims.nbDims)}; }

bool dynamic(const Dims& dims) {
  return std::any_of(dims.d, dims.d + dims.nbDims, [](int64_t d) { return d < 0; });
}

[[noreturn]] void fail(const std::string& what, const Logger& logger) {
  std::string text = what;
  for (const std::string& e : logger.errors) text += "\n  " + e;
  throw Failure(text);
}

std::string describe(const nvonnxparser::IParserError& error) {
  const std::string name = error.nodeName(), op = error.nodeOperator();
  const std::string place = op.empty() ? name : "node '" + name + "' (" + op + ")";
  return place + (place.empty() ? "" : ": ") + error.desc();
}

// One line on the terminal, redrawn.
class ProgressBar final : public IProgressMonitor {
 public:
  explicit ProgressBar(bool on) : on_(on && isatty(2)) {}
  void phaseStart(const char* phase, const char*, int32_t steps) noexcept override {
    phase_ = phase;
    steps_ = std::max(1, steps);
    draw(0);
  }
  bool stepComplete(const char*, int32_t step) noexcept override {
    draw(step + 1);
    return true;
  }
  void phaseFinish(const char*) noexcept override {
    if (on_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  void draw(int32_t done) noexcept {
    if (!on_) return;
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(static_cast<int64_t>(kWidth) * std::min(done, steps_) / steps_);
    std::fprintf(stderr, "\r\033[K[%.*s%.*s] %d/%d %s", filled, "########################################",
                 kWidth - filled, "........................................", done, steps_, phase_.c_str());
  }
  bool on_;
  std::string phase_;
  int32_t steps_ = 1;
};

void add_profile(const BuildRequest& request, IBuilder& builder, INetworkDefinition& network, IBuilderConfig& config,
                 const Logger& logger) {
  bool any = false;
  IOptimizationProfile* profile = builder.createOptimizationProfile();
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const ITensor& input = *network.getInput(i);
    const std::string name = input.getName();
    if (!dynamic(input.getDimensions())) continue;
    const auto find = [&](const Shapes& shapes) -> const std::vector<int64_t>* {
      const auto it = shapes.find(name);
      return it == shapes.end() ? nullptr : &it->second;
    };
    const std::vector<int64_t>* opt = find(request.opt_shapes);
    const std::vector<int64_t>* min = find(request.min_shapes);
    const std::vector<int64_t>* max = find(request.max_shapes);
    if (opt == nullptr) opt = max != nullptr ? max : min;
    if (opt == nullptr) {
      std::string shape;
      for (int64_t d : to_shape(input.getDimensions())) shape += (shape.empty() ? "" : "x") + std::to_string(d);
      throw Failure("input '" + name + "' has dynamic dimensions (" + shape + "): give --shapes " + name +
                    ":... or --minShapes, --optShapes, --maxShapes");
    }
    const bool ok =
        profile->setDimensions(name.c_str(), OptProfileSelector::kMIN, to_dims(min != nullptr ? *min : *opt, name)) &&
        profile->setDimensions(name.c_str(), OptProfileSelector::kOPT, to_dims(*opt, name)) &&
        profile->setDimensions(name.c_str(), OptProfileSelector::kMAX, to_dims(max != nullptr ? *max : *opt, name));
    if (!ok) fail("the shapes of input '" + name + "' are not a range: min <= opt <= max", logger);
    any = true;
  }
  for (const Shapes* shapes : {&request.min_shapes, &request.opt_shapes, &request.max_shapes})
    for (const auto& [name, shape] : *shapes) {
      bool known = false;
      for (int32_t i = 0; i < network.getNbInputs(); ++i) known = known || name == network.getInput(i)->getName();
      if (!known) throw Failure("the model has no input '" + name + "'");
    }
  if (any && config.addOptimizationProfile(profile) < 0) fail("the optimization profile was refused", logger);
}

}  // namespace

void Logger::log(Severity severity, const char* message) noexcept {
  if (severity <= Severity::kERROR) errors.emplace_back(message);
  if (severity > least || severity <= Severity::kERROR) return;  // errors are printed once, at the end
  static const char* const kTags[] = {"F", "E", "W", "I", "V"};
  std::fprintf(stderr, "[%s] %s\n", kTags[static_cast<int>(severity)], message);
}

Shapes parse_shapes(const std::string& text, const char* option) {
  Shapes shapes;
  const auto wrong = [&](const std::string& part) {
    return Usage(std::string(option) + ": '" + part + "' is not NAME:1x2x3");
  };
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const size_t colon = part.rfind(':');
    if (colon == std::string::npos || colon == 0) throw wrong(part);
    std::vector<int64_t> shape;
    const std::string numbers = part.substr(colon + 1);
    for (size_t n = 0; n < numbers.size();) {
      const size_t x = std::min(numbers.find('x', n), numbers.size());
      const std::string number = numbers.substr(n, x - n);
      if (number.empty() || number.size() > 18 || number.find_first_not_of("0123456789") != std::string::npos)
        throw wrong(part);
      shape.push_back(std::stoll(number));
      n = x + 1;
    }
    if (numbers != "scalar" && shape.empty()) throw wrong(part);
    shapes[part.substr(0, colon)] = std::move(shape);
    at = comma + 1;
  }
  return shapes;
}

Built build_plan(const BuildRequest& request, Logger& logger) {
  const Clock::time_point start = Clock::now();
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  if (builder == nullptr) fail("the builder could not be created", logger);
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(
      request.strongly_typed ? 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED) : 0U));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (network == nullptr || parser == nullptr) fail("the network could not be created", logger);
  if (!parser->parseFromFile(request.model.c_str(), 0)) {
    std::string text = request.model + " cannot be read:";
    for (int i = 0; i < parser->getNbErrors(); ++i) text += "\n  " + describe(*parser->getError(i));
    if (parser->getNbErrors() == 0) fail(text, logger);
    throw Failure(text);
  }
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  for (const auto& [key, value] : request.options)
    if (wootz_config_set_option(config.get(), key.c_str(), value.c_str()) != 0)
      fail("option " + key + "=" + value + " was refused", logger);
  for (BuilderFlag flag : request.flags) config->setFlag(flag);
  for (BuilderFlag flag : request.cleared_flags) config->clearFlag(flag);
  for (const auto& [pool, bytes] : request.pools) config->setMemoryPoolLimit(pool, bytes);
  if (request.optimization_level >= 0) config->setBuilderOptimizationLevel(request.optimization_level);
  if (request.aux_streams >= 0) config->setMaxAuxStreams(request.aux_streams);
  if (request.avg_timing > 0) config->setAvgTimingIterations(request.avg_timing);
  config->setProfilingVerbosity(request.verbosity);
  ProgressBar bar(request.progress);
  config->setProgressMonitor(&bar);
  add_profile(request, *builder, *network, *config, logger);
  std::unique_ptr<ITimingCache> cache;
  if (!request.timing_cache.empty()) {
    std::vector<char> bytes;
    if (std::ifstream(request.timing_cache).good()) bytes = read_file(request.timing_cache);
    cache.reset(config->createTimingCache(bytes.data(), bytes.size()));
    if (cache == nullptr) fail(request.timing_cache + " is not a timing cache of this version", logger);
    config->setTimingCache(*cache, false);
  }
  Built built;
  bool made = false;
  const bool in_memory = request.output.empty() || is_special(request.output);
  if (in_memory) {
    built.plan.reset(builder->buildSerializedNetwork(*network, *config));
    made = built.plan != nullptr;
  } else {
    made = wootz_build_file(builder.get(), network.get(), config.get(), request.output.c_str()) == 0;
  }
  const char* report = wootz_build_report(builder.get());
  built.report = report == nullptr ? "" : report;
  if (request.page && made) built.page = take_text(wootz_build_report_as(builder.get(), "html"), "the report", logger);
  if (!made) fail("the build of " + request.model + " failed", logger);
  if (cache != nullptr) {
    const std::unique_ptr<IHostMemory> bytes(config->getTimingCache()->serialize());
    if (bytes != nullptr) write_file(request.timing_cache, bytes->data(), bytes->size());
  }
  if (in_memory && !request.output.empty()) write_file(request.output, built.plan->data(), built.plan->size());
  built.plan_bytes = in_memory ? built.plan->size() : std::filesystem::file_size(request.output);
  built.seconds = ms_since(start) / 1e3;
  return built;
}

std::string take_text(void* memory, const char* what, const Logger& logger) {
  const std::unique_ptr<IHostMemory> text(static_cast<IHostMemory*>(memory));
  if (text == nullptr || text->size() == 0) fail(std::string(what) + " could not be made", logger);
  return {static_cast<const char*>(text->data()), text->size() - 1};
}

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

Session::Session(const std::string& path, Logger& logger, bool native) : logger_(logger) {
  start([&] { return static_cast<ICudaEngine*>(wootz_runtime_load_file(runtime_.get(), path.c_str())); }, native);
}

Session::Session(IHostMemory& plan, Logger& logger) : logger_(logger) {
  start([&] { return static_cast<ICudaEngine*>(wootz_runtime_load_memory(runtime_.get(), &plan)); },
        /*native=*/true);  // made just now
}

void Session::start(const std::function<ICudaEngine*()>& load, bool native) {
  Logger& logger = logger_;
  const Clock::time_point start = Clock::now();
  runtime_.reset(createInferRuntime(logger));
  if (runtime_ == nullptr) fail("the runtime could not be created", logger);
  runtime_->setEngineHostCodeAllowed(native);
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
  if (on_device() && wootz_device_synchronize(engine_.get()) != 0) fail("the inference failed", logger_);
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
  if (on_device() && wootz_device_synchronize(engine_.get()) != 0) fail("an inference failed", logger_);
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
