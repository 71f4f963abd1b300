#include "api/runtime/engine.h"

#include <algorithm>

#include "api/runtime/configs.h"
#include "api/runtime/context.h"
#include "api/runtime/host_memory.h"
#include "api/runtime/inspector.h"
#include "plan/write.h"
#include "wootz/builder_flags.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: this file is that interface, line by line
using Dims = nvinfer1::Dims;

namespace {

ProfileEnd end_of(OptProfileSelector select) { return static_cast<ProfileEnd>(select); }

}  // namespace

const IoInfo* EngineImpl::look_up(const char* call, const char* name) const noexcept {
  return attempt_or<const IoInfo*>(reporter_, call, nullptr, [&] { return info_->get(name); });
}

Status EngineImpl::check_profile(int32_t profile) const {
  if (profile < 0 || static_cast<size_t>(profile) >= info_->num_profiles())
    return invalid_argument("there is no profile {}; the engine has {}", profile, info_->num_profiles());
  return Status();
}

int32_t EngineImpl::getNbAuxStreams() const noexcept {
  uint8_t last = 0;
  for (const Step& step : info_->program().steps) last = std::max(last, step.stream);
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
  look_up("ICudaEngine::getAliasedInputTensor", tensorName);
  return nullptr;
}

TensorFormat EngineImpl::getTensorFormat(const char* tensorName) const noexcept {
  return getTensorFormat(tensorName, 0);
}
TensorFormat EngineImpl::getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept {
  look_up("ICudaEngine::getTensorFormat", tensorName);
  attempt(reporter_, "ICudaEngine::getTensorFormat", [&] { return check_profile(profileIndex); });
  return TensorFormat::kLINEAR;
}

const char* EngineImpl::getTensorFormatDesc(const char* tensorName) const noexcept {
  return getTensorFormatDesc(tensorName, 0);
}
const char* EngineImpl::getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept {
  const IoInfo* io = look_up("ICudaEngine::getTensorFormatDesc", tensorName);
  const bool ok = attempt(reporter_, "ICudaEngine::getTensorFormatDesc", [&] { return check_profile(profileIndex); });
  if (io == nullptr || !ok) return "";
  switch (io->dtype) {
    case DType::kF32: return "Row-major linear FP32 format";
    case DType::kF16: return "Row-major linear FP16 format";
    case DType::kBF16: return "Row-major linear BF16 format";
    case DType::kI8: return "Row-major linear INT8 format";
    case DType::kI32: return "Row-major linear INT32 format";
    case DType::kI64: return "Row-major linear INT64 format";
    case DType::kBool: return "Row-major linear BOOL format";
    case DType::kU8: return "Row-major linear UINT8 format";
    default: return "Row-major linear format";
  }
}

int32_t EngineImpl::getTensorVectorizedDim(const char* tensorName) const noexcept {
  return getTensorVectorizedDim(tensorName, 0);
}
int32_t EngineImpl::getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept {
  look_up("ICudaEngine::getTensorVectorizedDim", tensorName);
  attempt(reporter_, "ICudaEngine::getTensorVectorizedDim", [&] { return check_profile(profileIndex); });
  return -1;
}

int32_t EngineImpl::getTensorComponentsPerElement(const char* tensorName) const noexcept {
  return getTensorComponentsPerElement(tensorName, 0);
}
int32_t EngineImpl::getTensorComponentsPerElement(const char* tensorName, int32_t profileIndex) const noexcept {
  const IoInfo* io = look_up("ICudaEngine::getTensorComponentsPerElement", tensorName);
  const bool ok =
      attempt(reporter_, "ICudaEngine::getTensorComponentsPerElement", [&] { return check_profile(profileIndex); });
  return io != nullptr && ok ? 1 : -1;
}

int32_t EngineImpl::getTensorBytesPerComponent(const char* tensorName) const noexcept {
  return getTensorBytesPerComponent(tensorName, 0);
}
int32_t EngineImpl::getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept {
  look_up("ICudaEngine::getTensorBytesPerComponent", tensorName);
  attempt(reporter_, "ICudaEngine::getTensorBytesPerComponent", [&] { return check_profile(profileIndex); });
  return -1;
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
        WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<ContextImpl> context,
                               ContextImpl::create(*this, info_, reporter_, strategy));
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

int64_t EngineImpl::getDeviceMemorySizeV2() const noexcept { return static_cast<int64_t>(info_->largest_memory()); }

int64_t EngineImpl::getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept {
  const bool ok =
      attempt(reporter_, "ICudaEngine::getDeviceMemorySizeForProfileV2", [&] { return check_profile(profileIndex); });
  return ok ? static_cast<int64_t>(info_->memory(static_cast<size_t>(profileIndex))) : 0;
}

size_t EngineImpl::getDeviceMemorySize() const noexcept { return info_->largest_memory(); }
size_t EngineImpl::getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept {
  return static_cast<size_t>(getDeviceMemorySizeForProfileV2(profileIndex));
}

IHostMemory* EngineImpl::serialize() const noexcept {
  return attempt_or<IHostMemory*>(reporter_, "ICudaEngine::serialize", nullptr, [&]() -> Result<IHostMemory*> {
    WOOTZ_ASSIGN_OR_RETURN(RawBytes bytes, write_plan(info_->program()));
    return new HostMemory(std::move(bytes));
  });
}

IHostMemory* EngineImpl::serializeWithConfig(ISerializationConfig& config) const noexcept {
  if (config.getFlag(SerializationFlag::kEXCLUDE_WEIGHTS)) {
    attempt(reporter_, "ICudaEngine::serializeWithConfig",
            [] { return unsupported("a plan without weights can only be made of a refittable engine"); });
    return nullptr;
  }
  return serialize();
}

ISerializationConfig* EngineImpl::createSerializationConfig() noexcept {
  return attempt_or<ISerializationConfig*>(
      reporter_, "ICudaEngine::createSerializationConfig", nullptr,
      [&]() -> Result<ISerializationConfig*> { return new SerializationConfig(); });
}

bool EngineImpl::setWeightStreamingBudgetV2(int64_t) noexcept {
  return attempt(reporter_, "ICudaEngine::setWeightStreamingBudgetV2",
                 [] { return make_error(Code::kInvalidState, "the engine does not stream its weights"); });
}
bool EngineImpl::setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept {
  return gpuMemoryBudget == -1 || setWeightStreamingBudgetV2(gpuMemoryBudget);
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
  return stat == EngineStat::kTOTAL_WEIGHTS_SIZE ? static_cast<int64_t>(info_->weight_bytes()) : -1;
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
