#include "api/runtime/engine.h"

#include <algorithm>

#include "api/runtime/configs.h"
#include "api/runtime/context.h"
#include "api/runtime/host_memory.h"
#include "api/runtime/inspector.h"
#include "api/runtime/lean_runtime.h"
#include "plan/strip.h"
#include "plan/write.h"
#include "runtime/report/properties.h"
#include "wootz/builder_flags.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: this file is that interface, line by line
using Dims = nvinfer1::Dims;

namespace {

ProfileEnd end_of(OptProfileSelector select) { return static_cast<ProfileEnd>(select); }

// The operand that a step updates in place, where both are at one address: what a plugin says, or the cache of a
// TensorScatter.
TensorIndex overwritten_operand(const Step& step, size_t output) {
  if (is_plugin(step.problem)) {
    const Result<PluginParams> plugin = read_plugin(step.problem);
    const bool known = plugin.ok() && output < plugin->aliases.size() && plugin->aliases[output] >= 0;
    return known ? step.inputs[static_cast<size_t>(plugin->aliases[output])] : TensorIndex();
  }
  const auto* op = std::get_if<OpParams>(&step.problem.params);
  return op != nullptr && op->op == "TensorScatter" ? step.inputs[0] : TensorIndex();
}

// What else reads it might find it changed.
bool used_once(const Program& program, TensorIndex tensor) {
  size_t uses = 0;
  for (const Step& step : program.steps)
    uses += static_cast<size_t>(std::count(step.inputs.begin(), step.inputs.end(), tensor));
  for (const PlanTensor& other : program.tensors) uses += other.view_of == tensor ? 1 : 0;
  return uses == 1;
}

}  // namespace

EngineImpl::EngineImpl(std::shared_ptr<const EngineInfo> info, const Reporter& reporter,
                       nvinfer1::IGpuAllocator* allocator)
    : info_(std::move(info)), reporter_(reporter), allocator_(allocator), stripped_(info_->program().stripped) {
  if (info_->core().options().stream_weights) streamable_ = static_cast<int64_t>(streamable_bytes(info_->program()));
  if (isRefittable()) weights_ = info_->program().refit->weights;
  const size_t bytes = info_->weight_bytes();
  reporter_.log(Reporter::Severity::kINFO, fmt::format("Loaded engine size: {} MiB", bytes >> 20));
  held_.hold(reporter_, "engine deserialization", !info_->core().device().host_memory(), bytes);
}

const IoInfo* EngineImpl::look_up(const char* call, const char* name) const noexcept {
  return attempt_or<const IoInfo*>(reporter_, call, nullptr, [&] { return info_->get(name); });
}

const TensorFormatInfo& EngineImpl::look_up_format(const char* call, const char* name, int32_t profile) const noexcept {
  const TensorFormatInfo* format = &format_info(TensorFormat::kLINEAR);
  attempt(reporter_, call, [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(name));
    WOOTZ_RETURN_IF_ERROR(check_profile(profile));
    format = &format_of(*info_, *io);
    return Status();
  });
  return *format;
}

Status EngineImpl::check_profile(int32_t profile) const {
  if (profile < 0 || static_cast<size_t>(profile) >= info_->num_profiles())
    return invalid_argument("there is no profile {}; the engine has {}", profile, info_->num_profiles());
  return Status();
}

int32_t EngineImpl::getNbAuxStreams() const noexcept {
  uint8_t last = 0;
  for (const EngineInfo* info : info_->all())
    for (const Step& step : info->program().steps) last = std::max(last, step.stream);
  return info_->core_ptr()->device().host_memory() ? 0 : last;
}

const char* EngineImpl::getIOTensorName(int32_t index) const noexcept {
  if (index >= 0 && static_cast<size_t>(index) < info_->ios().size())
    return info_->ios()[static_cast<size_t>(index)].name;
  attempt(reporter_, "ICudaEngine::getIOTensorName",
          [&] { return invalid_argument("index {} of {} inputs and outputs", index, info_->ios().size()); });
  return nullptr;
}

TensorIOMode EngineImpl::getTensorIOMode(const char* tensorName) const noexcept {
  const IoInfo* io = look_up("ICudaEngine::getTensorIOMode", tensorName);
  return io == nullptr ? TensorIOMode::kNONE : io->is_input ? TensorIOMode::kINPUT : TensorIOMode::kOUTPUT;
}

Dims EngineImpl::getTensorShape(const char* tensorName) const noexcept {
  return attempt_or(reporter_, "ICudaEngine::getTensorShape", bad_dims(), [&]() -> Result<Dims> {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(tensorName));
    WOOTZ_ASSIGN_OR_RETURN(const wootz::Dims dims, info_->open_shape(io->tensor));
    return to_api(dims);
  });
}

DataType EngineImpl::getTensorDataType(const char* tensorName) const noexcept {
  const IoInfo* io = look_up("ICudaEngine::getTensorDataType", tensorName);
  return io == nullptr ? DataType::kFLOAT : to_api(io->dtype);
}

TensorLocation EngineImpl::getTensorLocation(const char* tensorName) const noexcept {
  const IoInfo* io = look_up("ICudaEngine::getTensorLocation", tensorName);
  return io != nullptr && io->shape_tensor ? TensorLocation::kHOST : TensorLocation::kDEVICE;
}

bool EngineImpl::isShapeInferenceIO(const char* tensorName) const noexcept {
  const IoInfo* io = look_up("ICudaEngine::isShapeInferenceIO", tensorName);
  return io != nullptr && io->shape_tensor;
}

const char* EngineImpl::getAliasedInputTensor(const char* tensorName) const noexcept {
  const IoInfo* io = look_up("ICudaEngine::getAliasedInputTensor", tensorName);
  if (io == nullptr || io->is_input) return nullptr;
  const Program& program = info_->program();
  for (const Step& step : program.steps) {
    const auto at = std::find(step.outputs.begin(), step.outputs.end(), io->tensor);
    if (at == step.outputs.end()) continue;
    const TensorIndex operand = overwritten_operand(step, static_cast<size_t>(at - step.outputs.begin()));
    if (!operand.exists() || program.tensors[operand].kind != TensorKind::kInput) return nullptr;
    return is_plugin(step.problem) || used_once(program, operand) ? program.tensors[operand].name.c_str() : nullptr;
  }
  return nullptr;
}

TensorFormat EngineImpl::getTensorFormat(const char* tensorName) const noexcept {
  return getTensorFormat(tensorName, 0);
}
TensorFormat EngineImpl::getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept {
  return look_up_format("ICudaEngine::getTensorFormat", tensorName, profileIndex).format;
}

const char* EngineImpl::getTensorFormatDesc(const char* tensorName) const noexcept {
  return getTensorFormatDesc(tensorName, 0);
}
const char* EngineImpl::getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept {
  return attempt_or(reporter_, "ICudaEngine::getTensorFormatDesc", "", [&]() -> Result<const char*> {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(tensorName));
    WOOTZ_RETURN_IF_ERROR(check_profile(profileIndex));
    return describe_format(format_of(*info_, *io), io->dtype);
  });
}

int32_t EngineImpl::getTensorVectorizedDim(const char* tensorName) const noexcept {
  return getTensorVectorizedDim(tensorName, 0);
}
int32_t EngineImpl::getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept {
  return look_up_format("ICudaEngine::getTensorVectorizedDim", tensorName, profileIndex).together > 1 ? 1 : -1;
}

int32_t EngineImpl::getTensorComponentsPerElement(const char* tensorName) const noexcept {
  return getTensorComponentsPerElement(tensorName, 0);
}
int32_t EngineImpl::getTensorComponentsPerElement(const char* tensorName, int32_t profileIndex) const noexcept {
  const char* const call = "ICudaEngine::getTensorComponentsPerElement";
  const TensorFormatInfo& format = look_up_format(call, tensorName, profileIndex);
  return info_->find(tensorName) != nullptr && check_profile(profileIndex).ok() ? format.together : -1;
}

int32_t EngineImpl::getTensorBytesPerComponent(const char* tensorName) const noexcept {
  return getTensorBytesPerComponent(tensorName, 0);
}
int32_t EngineImpl::getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept {
  const TensorFormatInfo& format = look_up_format("ICudaEngine::getTensorBytesPerComponent", tensorName, profileIndex);
  const IoInfo* io = info_->find(tensorName);
  return io != nullptr && format.together > 1 ? static_cast<int32_t>(dtype_bits(io->dtype) / 8) : -1;
}

Dims EngineImpl::getProfileShape(const char* tensorName, int32_t profileIndex,
                                 OptProfileSelector select) const noexcept {
  return attempt_or(reporter_, "ICudaEngine::getProfileShape", bad_dims(), [&]() -> Result<Dims> {
    WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(tensorName));
    WOOTZ_RETURN_IF_ERROR(check_profile(profileIndex));
    if (!io->is_input) return invalid_argument("'{}' is an output; profiles are about inputs", tensorName);
    const std::vector<int64_t> symbols = info_->profile_symbols(static_cast<size_t>(profileIndex), end_of(select));
    WOOTZ_ASSIGN_OR_RETURN(const wootz::Dims dims, info_->shape_under(io->tensor, symbols));
    return to_api(dims);
  });
}

const int64_t* EngineImpl::getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                                    OptProfileSelector select) const noexcept {
  return attempt_or<const int64_t*>(reporter_, "ICudaEngine::getProfileTensorValuesV2", nullptr,
                                    [&]() -> Result<const int64_t*> {
                                      WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(tensorName));
                                      WOOTZ_RETURN_IF_ERROR(check_profile(profileIndex));
                                      const std::vector<int64_t>* values =
                                          info_->profile_values(*io, static_cast<size_t>(profileIndex), end_of(select));
                                      return values == nullptr ? nullptr : values->data();
                                    });
}

const int32_t* EngineImpl::getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                                  OptProfileSelector select) const noexcept {
  return attempt_or<const int32_t*>(
      reporter_, "ICudaEngine::getProfileTensorValues", nullptr, [&]() -> Result<const int32_t*> {
        WOOTZ_ASSIGN_OR_RETURN(const IoInfo* io, info_->get(tensorName));
        WOOTZ_RETURN_IF_ERROR(check_profile(profileIndex));
        const std::vector<int32_t>* values =
            info_->profile_values_32(*io, static_cast<size_t>(profileIndex), end_of(select));
        return values == nullptr ? nullptr : values->data();
      });
}

IExecutionContext* EngineImpl::createExecutionContext(ExecutionContextAllocationStrategy strategy) noexcept {
  return attempt_or<IExecutionContext*>(
      reporter_, "ICudaEngine::createExecutionContext", nullptr, [&]() -> Result<IExecutionContext*> {
        WOOTZ_RETURN_IF_ERROR(info_->core_ptr()->place_weights());
        WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<ContextImpl> context,
                               ContextImpl::create(*this, info_, reporter_, strategy, allocator_));
        context->keep(contexts_);
        return context.release();
      });
}

IExecutionContext* EngineImpl::createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept {
  return createExecutionContext(runtimeConfig == nullptr ? ExecutionContextAllocationStrategy::kSTATIC
                                                         : runtimeConfig->getExecutionContextAllocationStrategy());
}

IExecutionContext* EngineImpl::createExecutionContextWithoutDeviceMemory() noexcept {
  return createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED);
}

IRuntimeConfig* EngineImpl::createRuntimeConfig() noexcept {
  return attempt_or<IRuntimeConfig*>(reporter_, "ICudaEngine::createRuntimeConfig", nullptr,
                                     [&]() -> Result<IRuntimeConfig*> { return new RuntimeConfig(); });
}

int64_t EngineImpl::getDeviceMemorySizeV2() const noexcept { return static_cast<int64_t>(getDeviceMemorySize()); }

int64_t EngineImpl::getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept {
  const bool ok =
      attempt(reporter_, "ICudaEngine::getDeviceMemorySizeForProfileV2", [&] { return check_profile(profileIndex); });
  return ok ? static_cast<int64_t>(info_->memory(static_cast<size_t>(profileIndex)) + weight_scratch()) : 0;
}

size_t EngineImpl::getDeviceMemorySize() const noexcept { return info_->largest_memory() + weight_scratch(); }
size_t EngineImpl::getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept {
  return static_cast<size_t>(getDeviceMemorySizeForProfileV2(profileIndex));
}

IHostMemory* EngineImpl::serialize() const noexcept {
  return attempt_or<IHostMemory*>(reporter_, "ICudaEngine::serialize", nullptr, [&]() -> Result<IHostMemory*> {
    const EngineCore::Reading reading(info_->core());
    WOOTZ_ASSIGN_OR_RETURN(const Companion companion, companion_of(info_->program()));
    WOOTZ_ASSIGN_OR_RETURN(RawBytes bytes, write_plan(info_->program(), companion));
    return new HostMemory(std::move(bytes));
  });
}

Result<RawBytes> EngineImpl::plan_with(const ISerializationConfig& config) const {
  const EngineCore::Reading reading(info_->core());
  Program program = info_->program();
  if (const auto found = program.properties.find(property::kVersionCompatible);
      found != program.properties.end() && config.getFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME))
    found->second = property::kWithoutRuntime;
  WOOTZ_ASSIGN_OR_RETURN(const Companion companion, companion_of(program));
  if (config.getFlag(SerializationFlag::kEXCLUDE_WEIGHTS)) {
    WOOTZ_ASSIGN_OR_RETURN(const Program stripped, strip_weights(program));
    return write_plan(stripped, companion);
  }
  if (program.stripped)
    return make_error(Code::kInvalidState,
                      "the engine has no weights to write: refit it first, or set SerializationFlag::kEXCLUDE_WEIGHTS");
  if (!config.getFlag(SerializationFlag::kINCLUDE_REFIT)) program.refit = nullptr;
  return write_plan(program, companion);
}

IHostMemory* EngineImpl::serializeWithConfig(ISerializationConfig& config) const noexcept {
  return attempt_or<IHostMemory*>(reporter_, "ICudaEngine::serializeWithConfig", nullptr,
                                  [&]() -> Result<IHostMemory*> {
                                    WOOTZ_ASSIGN_OR_RETURN(RawBytes bytes, plan_with(config));
                                    return new HostMemory(std::move(bytes));
                                  });
}

ISerializationConfig* EngineImpl::createSerializationConfig() noexcept {
  return attempt_or<ISerializationConfig*>(
      reporter_, "ICudaEngine::createSerializationConfig", nullptr,
      [&]() -> Result<ISerializationConfig*> { return new SerializationConfig(reporter_); });
}

IEngineInspector* EngineImpl::createEngineInspector() const noexcept {
  return attempt_or<IEngineInspector*>(
      reporter_, "ICudaEngine::createEngineInspector", nullptr,
      [&]() -> Result<IEngineInspector*> { return new InspectorImpl(info_, reporter_); });
}

bool EngineImpl::isDebugTensor(const char* name) const noexcept {
  return name != nullptr && info_->debug_tensors().count(std::string_view(name)) != 0;
}

int64_t EngineImpl::getEngineStat(EngineStat stat) const noexcept {
  const auto bytes = static_cast<int64_t>(info_->weight_bytes());
  switch (stat) {
    case EngineStat::kTOTAL_WEIGHTS_SIZE: return bytes;
    case EngineStat::kSTRIPPED_WEIGHTS_SIZE: return stripped_ ? bytes : -1;
  }
  attempt(reporter_, "ICudaEngine::getEngineStat",
          [&] { return invalid_argument("there is no EngineStat {}", static_cast<int>(stat)); });
  return -1;
}

HardwareCompatibilityLevel EngineImpl::getHardwareCompatibilityLevel() const noexcept {
  return static_cast<HardwareCompatibilityLevel>(info_->property_int(property::kCompatibility, 0));
}
TacticSources EngineImpl::getTacticSources() const noexcept {
  return mask_to_caller<TacticSource>(reporter_.level(),
                                      static_cast<uint32_t>(info_->property_int(property::kTacticSources, 0)));
}
ProfilingVerbosity EngineImpl::getProfilingVerbosity() const noexcept {
  const int32_t v = info_->property_int(property::kVerbosity, 0);
  return v >= 0 && v < EnumMax<ProfilingVerbosity>() ? static_cast<ProfilingVerbosity>(v)
                                                     : ProfilingVerbosity::kLAYER_NAMES_ONLY;
}

}  // namespace wootz::api
