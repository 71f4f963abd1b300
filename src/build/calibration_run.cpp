#include "build/calibration_run.h"

#include <algorithm>

#include "backends/addresses.h"
#include "backends/registry.h"
#include "build/build.h"
#include "ir/copy.h"
#include "plan/storage.h"
#include "quant/insert_qdq.h"
#include "runtime/create_engine.h"
#include "runtime/executor.h"

namespace wootz {
namespace {

constexpr const char* kPhase = "Calibrate";

// Memory of a device, given back with its scope.
class DeviceBytes {
 public:
  explicit DeviceBytes(Device& device) : device_(device) {}
  ~DeviceBytes() {
    for (void* memory : all_) device_.free(memory);
  }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  Result<void*> allocate(size_t bytes) {
    constexpr size_t kAlignment = 64;
    WOOTZ_ASSIGN_OR_RETURN(void* memory, device_.allocate(std::max(bytes, kAlignment), kAlignment));
    all_.push_back(memory);
    return memory;
  }

 private:
  Device& device_;
  std::vector<void*> all_;
};

// An output whose size only a run finds out, and which is not read.
class FoundOutput final : public OutputSink {
 public:
  explicit FoundOutput(DeviceBytes& memory) : memory_(memory) {}
  void* reallocate(int, void*, size_t bytes, const Dims&) override {
    if (data_ != nullptr && bytes <= bytes_) return data_;
    const Result<void*> larger = memory_.allocate(bytes);
    if (!larger.ok()) return nullptr;
    bytes_ = bytes;
    return data_ = *larger;
  }

 private:
  DeviceBytes& memory_;  // has what was too small as well, until the end
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

class CalibrationRun {
 public:
  CalibrationRun(const BuildSession& session, CalibrationSource& source) : session_(session), source_(source) {}

  Result<CalibrationResult> run() {
    WOOTZ_RETURN_IF_ERROR(prepare());
    ProgressPhase phase(session_.services.progress, kPhase, "Build", 2);
    WOOTZ_ASSIGN_OR_RETURN(const size_t batches, run_batches());
    if (!phase.step(0)) return phase.status();
    if (batches == 0)
      return invalid_argument("the calibrator gives neither a batch nor a cache: there is nothing to calibrate with");
    const RangeRule rule = calibration_rule(session_, source_);
    CalibrationResult result;
    for (const auto& [name, histogram] : seen_) {
      result.scales[name] = int8_scale(find_range(histogram, rule));
      result.least[name] = static_cast<float>(histogram.least());
    }
    result.without_range = std::move(without_range_);
    phase.step(1);
    session_.log.info(fmt::format("Calibration: {} scales by {} from {} batches, on {}", result.scales.size(),
                                  range_method_name(rule.method), batches, program().backend));
    if (Status status = phase.status(); !status.ok()) return status;
    return result;
  }

 private:
  const Program& program() const { return *program_; }

  // The network as it is in float, every value of it kept whole. Nothing is measured: it runs a few times.
  BuildSettings float_settings() const {
    const BuildSettings& given = session_.settings;
    BuildSettings settings;
    const bool here = session_.target.device != nullptr;
    settings.backend = here ? given.backend : "cpu";
    if (here) settings.device_number = given.device_number;
    settings.threads = given.threads;
    settings.isa_cap = here ? given.isa_cap : "";
    settings.left_out = given.left_out;
    settings.host_steps = true;
    settings.keep_compiled = given.keep_compiled;
    settings.tf32 = false;
    settings.measure = false;
    settings.level = 0;
    settings.aux_streams = 0;
    settings.keep_values = false;
    settings.native = KeepNative::kNone;
    if (given.calibration_profile)
      settings.profiles = {*given.calibration_profile};
    else if (!given.profiles.empty())
      settings.profiles = {given.profiles.front()};
    for (const Value* value : values_to_observe(session_.graph)) {
      observed_.insert(value->name());
      settings.debug_tensors.insert(value->name());
    }
    return settings;
  }

  Status prepare() {
    const BuildSettings settings = float_settings();
    const std::shared_ptr<Graph> graph = copy_of_network(session_.graph);
    BuildServices services;
    services.plugins = session_.services.plugins;
    services.allocator = session_.services.allocator;
    WOOTZ_ASSIGN_OR_RETURN(BuildOutput output, build_program(*graph, settings, services));
    program_ = std::move(output.program);
    WOOTZ_RETURN_IF_ERROR(make_constants(program_.get()));
    WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(settings.backend));
    WOOTZ_ASSIGN_OR_RETURN(device_, backend->open(settings.device_number));
    EngineOptions options;
    options.threads = settings.threads;
    std::vector<const Provider*> providers = backend_providers(*backend);
    if (session_.plugin_steps != nullptr) providers.push_back(session_.plugin_steps.get());
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<EngineCore> engine,
                           create_engine(program_, device_, std::move(providers), options));
    memory_ = std::make_unique<DeviceBytes>(*device_);
    bindings_ = std::make_unique<Bindings>(engine);
    executor_ = std::make_unique<Executor>(engine);
    executor_->set_replay(false);
    WOOTZ_RETURN_IF_ERROR(executor_->attach(nullptr));
    WOOTZ_RETURN_IF_ERROR(bind_shapes(settings));
    watch();
    return Status();
  }

  // Shapes of the profile's optimum; inputs whose values decide shapes have those of the profile.
  Status bind_shapes(const BuildSettings& settings) {
    for (size_t i = 0; i < program().inputs.size(); ++i) {
      const std::string& name = input_name(i);
      if (!settings.profiles.empty()) {
        const BuildProfile& profile = settings.profiles.front();
        if (const auto dims = profile.dims.find(name); dims != profile.dims.end())
          WOOTZ_RETURN_IF_ERROR(bindings_->set_input_dims(i, dims->second.opt));
        if (const auto values = profile.values.find(name); values != profile.values.end()) {
          WOOTZ_RETURN_IF_ERROR(bind_values(i, values->second.opt));
          continue;
        }
      }
      names_.push_back(name);
      given_.push_back(i);
    }
    WOOTZ_RETURN_IF_ERROR(bindings_->resolve_shapes());
    for (size_t o = 0; o < program().outputs.size(); ++o) {
      const TensorIndex t = program().outputs[o].tensor;
      if (!bindings_->plan()->known[t]) {
        bindings_->set_output_sink(o, std::make_shared<FoundOutput>(*memory_));
        continue;
      }
      const size_t bytes = dtype_bytes(program().tensors[t].dtype, bindings_->plan()->dims[t].volume());
      WOOTZ_ASSIGN_OR_RETURN(void* memory, memory_->allocate(bytes));
      bindings_->set_output_address(o, memory);
    }
    return Status();
  }

  // The host reads them, whatever the device.
  Status bind_values(size_t input, const std::vector<int64_t>& values) {
    const PlanTensor& tensor = program().tensors[program().inputs[input].tensor];
    WOOTZ_ASSIGN_OR_RETURN(HostTensor list,
                           HostTensor::allocate(tensor.dtype, Dims{static_cast<int64_t>(values.size())}));
    for (size_t i = 0; i < values.size(); ++i) list.set_i64(static_cast<int64_t>(i), values[i]);
    values_.push_back(std::move(list));
    bindings_->set_input_address(input, values_.back().data());
    return Status();
  }

  void watch() {
    const IndexedVector<TensorIndex, StepIndex> completing = completing_steps(program());
    std::vector<TensorIndex> tapped;
    for (const TensorIndex t : program().tensors.indices())
      if (completing[t].exists() && observed_.count(program().tensors[t].name) != 0) tapped.push_back(t);
    executor_->set_tap(std::move(tapped), [this](TensorIndex t, const void* data, const Dims& dims) {
      return look_at(program().tensors[t], data, dims);
    });
  }

  Status look_at(const PlanTensor& tensor, const void* data, const Dims& dims) {
    const auto count = static_cast<size_t>(dims.volume());
    if (tensor.dtype != DType::kF32 || tensor.layout != Layout::kLinear || count == 0) return Status();
    if (without_range_.count(tensor.name) != 0) return Status();
    const auto* values = static_cast<const float*>(data);
    if (!device_->host_memory()) {
      copied_.resize(count);
      WOOTZ_RETURN_IF_ERROR(device_->copy(copied_.data(), data, count * sizeof(float), nullptr));
      values = copied_.data();
    }
    if (const Status status = seen_[tensor.name].add({values, count}); !status.ok()) {
      without_range_[tensor.name] = status.message();
      seen_.erase(tensor.name);
    }
    return Status();
  }

  Result<size_t> run_batches() {
    const DeviceScope current(*device_);
    WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->create_stream());
    // Where copies of the application's may still be on their way.
    std::unique_ptr<Stream> usual;
    if (!device_->host_memory()) {
      WOOTZ_ASSIGN_OR_RETURN(usual, device_->adopt_stream(nullptr));
    }
    for (size_t batch = 0;; ++batch) {
      CalibrationBatch given;
      WOOTZ_ASSIGN_OR_RETURN(const bool more, source_.next_batch(names_, &given));
      if (!more) return batch;
      if (usual != nullptr) WOOTZ_RETURN_IF_ERROR(usual->synchronize());
      if (batch == 0) compare_batch_sizes();
      const std::string name = fmt::format("Calibrate batch {}", batch);
      ProgressPhase phase(session_.services.progress, name.c_str(), kPhase, 1);
      for (size_t i = 0; i < names_.size(); ++i) {
        const Status bound = bind_batch(i, given);
        if (!bound.ok()) return bound.with_prefix(fmt::format("calibration: batch {}: '{}'", batch, names_[i]));
      }
      WOOTZ_RETURN_IF_ERROR(run_batch(device_->host_memory() ? nullptr : stream.get()));
      if (!phase.step(0)) return phase.status();
    }
  }

  Status bind_batch(size_t number, const CalibrationBatch& given) {
    const size_t input = given_[number];
    const void* address = given.addresses[number];
    const PlanTensor& tensor = program().tensors[program().inputs[input].tensor];
    const Dims& dims = bindings_->plan()->dims[program().inputs[input].tensor];
    const size_t bytes = dtype_bytes(tensor.dtype, dims.volume());
    if (address == nullptr) return invalid_argument("it has no address");
    if (!given.bytes.empty() && given.bytes[number] != bytes)
      return invalid_argument("there are {} bytes, and {} {} are {}", given.bytes[number], dtype_name(tensor.dtype),
                              dims.to_string(), bytes);
    if (!given.on_host) WOOTZ_RETURN_IF_ERROR(check_address(*device_, address));
    if (given.on_host && !device_->host_memory()) {
      void*& copy = copies_[input];
      if (copy == nullptr) {
        WOOTZ_ASSIGN_OR_RETURN(copy, memory_->allocate(bytes));
      }
      WOOTZ_RETURN_IF_ERROR(device_->copy(copy, address, bytes, nullptr));
      address = copy;
    }
    bindings_->set_input_address(input, address);
    return Status();
  }

  Status run_batch(Stream* stream) {
    WOOTZ_RETURN_IF_ERROR(bindings_->validate());
    for (const size_t i : given_) {
      const TensorIndex t = program().inputs[i].tensor;
      if (observed_.count(program().tensors[t].name) != 0)
        WOOTZ_RETURN_IF_ERROR(look_at(program().tensors[t], bindings_->input_address(i), bindings_->plan()->dims[t]));
    }
    WOOTZ_RETURN_IF_ERROR(executor_->run(*bindings_, stream));
    return stream == nullptr ? Status() : stream->synchronize();
  }

  // Extents are the network's and the profile's: a calibrator that means others has too little in its memory, or more
  // than is looked at.
  void compare_batch_sizes() const {
    for (const size_t i : given_) {
      const Dims& dims = bindings_->input_dims(i);
      if (dims.rank() == 0 || dims[0] == source_.batch_size()) continue;
      session_.log.warning(fmt::format(
          "calibration: the calibrator's batches are of {}, input '{}' has {}: that much is read of each batch",
          source_.batch_size(), input_name(i), dims.to_string()));
    }
  }

  const std::string& input_name(size_t input) const { return program().tensors[program().inputs[input].tensor].name; }

  const BuildSession& session_;
  CalibrationSource& source_;
  mutable std::set<std::string, std::less<>> observed_;
  std::shared_ptr<Program> program_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<DeviceBytes> memory_;
  std::unique_ptr<Bindings> bindings_;
  std::unique_ptr<Executor> executor_;
  std::vector<HostTensor> values_;
  std::vector<size_t> given_;       // inputs that the source fills
  std::vector<std::string> names_;  // of these
  std::map<size_t, void*> copies_;  // of inputs that are given on the host, on the device
  std::vector<float> copied_;
  std::map<std::string, Histogram, std::less<>> seen_;
  std::map<std::string, std::string, std::less<>> without_range_;
};

}  // namespace

std::shared_ptr<Graph> copy_of_network(const Graph& graph) {
  std::shared_ptr<Graph> copy = copy_part(graph, graph.outputs());
  for (const Value* output : graph.outputs()) copy->mark_output(copy_of(*copy, output));
  return copy;
}

RangeRule calibration_rule(const BuildSession& session, CalibrationSource& source) {
  RangeRule rule = source.rule();
  rule.method = session.settings.calibration.value_or(rule.method);
  return rule;
}

Result<CalibrationResult> run_calibration(const BuildSession& session, CalibrationSource& source) {
  return CalibrationRun(session, source).run();
}

}  // namespace wootz
