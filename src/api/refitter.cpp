#include "api/refitter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "api/runtime/convert.h"
#include "api/runtime/engine.h"
#include "api/runtime/host_stream.h"
#include "backends/registry.h"
#include "base/thread_pool.h"
#include "build/refit/rebuild.h"
#include "build/refit/recipe.h"
#include "runtime/refit_engine.h"

namespace wootz::api {

using nvinfer1::DataType;
using nvinfer1::TensorLocation;
using nvinfer1::Weights;
using nvinfer1::WeightsRole;

namespace {

std::string shown(const RefitWeight& weight) {
  static constexpr const char* kRoles[] = {"kKERNEL", "kBIAS", "kSHIFT", "kSCALE", "kCONSTANT", "kANY"};
  if (!weight.name.empty()) return fmt::format("'{}'", weight.name);
  return fmt::format("{} of layer '{}'", weight.role < std::size(kRoles) ? kRoles[weight.role] : "?", weight.layer);
}

// The first that is no number; -1: none.
int64_t first_non_finite(const HostTensor& tensor) {
  if (!is_float(tensor.dtype())) return -1;
  for (int64_t i = 0; i < tensor.volume(); ++i)
    if (!std::isfinite(tensor.get_f64(i))) return i;
  return -1;
}

// The order of a stream on the host: what is in it is waited for.
Status wait_for_stream(cudaStream_t stream) {
  if (is_immediate(stream)) return Status();
  if (is_host_stream(stream)) return synchronize_host_stream(stream);
  return unsupported(
      "a CPU engine is not refitted in the order of a CUDA stream: wait for it, and call refitCudaEngine");
}

}  // namespace

RefitterImpl::RefitterImpl(EngineImpl& engine, AppLogger logger)
    : engine_(engine),
      reporter_(logger),
      weights_(engine.weights()),
      offers_(weights_.size()),
      max_threads_(ThreadPool::process().size()) {}

const RefitRecipe& RefitterImpl::recipe() const { return *engine_.info()->program().refit; }

const RefitConstant& RefitterImpl::constant(size_t weight) const {
  return recipe().constants[static_cast<size_t>(weights_[weight].constant)];
}

std::optional<size_t> RefitterImpl::find(const char* name) const {
  if (name == nullptr || *name == '\0') return std::nullopt;
  for (size_t w = 0; w < weights_.size(); ++w)
    if (weights_[w].refittable && weights_[w].name == name) return w;
  return std::nullopt;
}

Result<size_t> RefitterImpl::named(const char* name) const {
  if (const std::optional<size_t> weight = find(name)) return *weight;
  if (name == nullptr) return invalid_argument("the name is null");
  return invalid_argument("the engine has no refittable weights '{}'", name);
}

Status RefitterImpl::offer(size_t weight, const Weights& weights, TensorLocation location) {
  const RefitWeight& known = weights_[weight];
  const RefitConstant& have = constant(weight);
  const auto volume = have.dims.volume();
  if (weights.count != volume)
    return invalid_argument("{}: {} values, there are {}", shown(known), weights.count, volume);
  const DType type = from_api(weights.type);
  if (type != have.dtype)
    return invalid_argument("{}: values of type {}, they are {}", shown(known),
                            type == DType::kInvalid ? "unknown" : dtype_name(type), dtype_name(have.dtype));
  if (weights.values == nullptr && volume > 0) return invalid_argument("{}: the address is null", shown(known));
  if (location != TensorLocation::kHOST && location != TensorLocation::kDEVICE)
    return invalid_argument("{}: unknown location {}", shown(known), static_cast<int>(location));
  if (validation_ && location == TensorLocation::kHOST) {
    const int64_t at = first_non_finite(HostTensor::wrap(type, have.dims, weights.values, nullptr));
    if (at >= 0) return invalid_argument("{}: value {} is not finite", shown(known), at);
  }
  offers_[weight] = Offer{weights, location};
  return Status();
}

bool RefitterImpl::setNamedWeights(const char* name, Weights weights) noexcept {
  return setNamedWeights(name, weights, TensorLocation::kHOST);
}

bool RefitterImpl::setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept {
  return attempt(reporter_, "IRefitter::setNamedWeights", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const size_t weight, named(name));
    return offer(weight, weights, location);
  });
}

Weights RefitterImpl::getNamedWeights(const char* weightsName) const noexcept {
  const std::optional<size_t> weight = find(weightsName);
  return weight && offers_[*weight] ? offers_[*weight]->weights : Weights{DataType::kFLOAT, nullptr, 0};
}

TensorLocation RefitterImpl::getWeightsLocation(const char* weightsName) const noexcept {
  const std::optional<size_t> weight = find(weightsName);
  return weight && offers_[*weight] ? offers_[*weight]->location : TensorLocation::kHOST;
}

bool RefitterImpl::unsetNamedWeights(const char* weightsName) noexcept {
  const std::optional<size_t> weight = find(weightsName);
  if (!weight || !offers_[*weight]) return false;
  offers_[*weight].reset();
  return true;
}

Weights RefitterImpl::getWeightsPrototype(const char* weightsName) const noexcept {
  const std::optional<size_t> weight = find(weightsName);
  if (!weight) return {DataType::kFLOAT, nullptr, -1};
  return {to_api(constant(*weight).dtype), nullptr, constant(*weight).dims.volume()};
}

// The plan knows all weights, and those that are not offered stay as they are.
int32_t RefitterImpl::getMissingWeights(int32_t, const char**) noexcept { return 0; }
int32_t RefitterImpl::getMissing(int32_t, const char**, WeightsRole*) noexcept { return 0; }

int32_t RefitterImpl::getAllWeights(int32_t size, const char** weightsNames) noexcept {
  int32_t count = 0;
  for (const RefitWeight& weight : weights_) {
    if (!weight.refittable || weight.name.empty()) continue;
    if (weightsNames != nullptr && count < size) weightsNames[count] = weight.name.c_str();
    ++count;
  }
  return count;
}

int32_t RefitterImpl::getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
  int32_t count = 0;
  for (const RefitWeight& weight : weights_) {
    if (!weight.refittable || weight.role == RefitWeight::kNoRole) continue;
    if (count < size && layerNames != nullptr) layerNames[count] = weight.layer.c_str();
    if (count < size && roles != nullptr) roles[count] = static_cast<WeightsRole>(weight.role);
    ++count;
  }
  return count;
}

bool RefitterImpl::setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept {
  return attempt(reporter_, "IRefitter::setWeights", [&]() -> Status {
    if (layerName == nullptr) return invalid_argument("the layer's name is null");
    for (size_t w = 0; w < weights_.size(); ++w) {
      const RefitWeight& weight = weights_[w];
      if (weight.refittable && weight.layer == layerName && weight.role == static_cast<uint8_t>(role))
        return offer(w, weights, TensorLocation::kHOST);
    }
    return invalid_argument("layer '{}' has no refittable weights of role {}", layerName, static_cast<int>(role));
  });
}

Status RefitterImpl::offer_all(const Graph& model) {
  std::map<std::string, const HostTensor*, std::less<>> there;
  for (const Value* value : model.constants()) there.emplace(value->name(), &value->constant());
  for (size_t w = 0; w < weights_.size(); ++w) {
    const RefitWeight& weight = weights_[w];
    const auto found = there.find(weight.name);
    if (found == there.end() && (weight.name.empty() || !weight.layer.empty())) continue;  // of a layer, not the model
    if (found == there.end()) return invalid_argument("the model has no weights {}", shown(weight));
    const HostTensor& tensor = *found->second;
    const RefitConstant& have = constant(w);
    if (tensor.dtype() != have.dtype || !(tensor.dims() == have.dims))
      return invalid_argument("{} is {} {} in the model, {} {} in the engine", shown(weight),
                              dtype_name(tensor.dtype()), tensor.dims().to_string(), dtype_name(have.dtype),
                              have.dims.to_string());
    if (have.bytes == 0 || std::memcmp(tensor.data(), have.data, have.bytes) == 0) continue;
    if (!weight.refittable) return invalid_argument("{} has other values and is not refittable", shown(weight));
    WOOTZ_RETURN_IF_ERROR(offer(w, {to_api(tensor.dtype()), tensor.data(), tensor.volume()}, TensorLocation::kHOST));
  }
  return Status();
}

std::string RefitterImpl::offered_names() const {
  constexpr size_t kShown = 3;
  std::string names;
  size_t count = 0;
  for (size_t w = 0; w < offers_.size(); ++w)
    if (offers_[w] && count++ < kShown) names += (names.empty() ? "" : ", ") + shown(weights_[w]);
  return count > kShown ? fmt::format("{} and {} more", names, count - kShown) : names;
}

// A copy: the application's memory is its own again after the refit.
Result<HostTensor> RefitterImpl::offered(size_t weight) const {
  const RefitConstant& have = constant(weight);
  const Offer& offer = *offers_[weight];
  WOOTZ_ASSIGN_OR_RETURN(HostTensor copy, HostTensor::allocate(have.dtype, have.dims));
  if (have.bytes == 0) return copy;
  if (offer.location == TensorLocation::kHOST) {
    std::memcpy(copy.mutable_data(), offer.weights.values, have.bytes);
    return copy;
  }
  Device& device = engine_.info()->core().device();
  const DeviceScope current(device);
  WOOTZ_RETURN_IF_ERROR(device.copy(copy.mutable_data(), offer.weights.values, have.bytes, nullptr));
  const int64_t at = validation_ ? first_non_finite(copy) : -1;
  if (at >= 0) return invalid_argument("{}: value {} is not finite", shown(weights_[weight]), at);
  return copy;
}

Status RefitterImpl::refit(cudaStream_t stream, bool async) {
  EngineCore& core = *engine_.info()->core_ptr();
  auto changed = std::make_shared<RefitRecipe>(recipe());
  for (size_t w = 0; w < offers_.size(); ++w) {
    if (!offers_[w]) continue;
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor tensor, offered(w));
    const auto owner = std::make_shared<const HostTensor>(tensor);
    RefitConstant& c = changed->constants[static_cast<size_t>(weights_[w].constant)];
    c.owner = owner;
    c.data = owner->data();
  }
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(core.program().backend));
  const ParallelScope threads(max_threads_);
  BuildServices services;
  Result<RefitChange> change = rebuild(core.program(), std::move(changed), core.device().number(), services);
  if (!change.ok()) return change.status().with_prefix("weights " + offered_names());
  if (async && core.device().host_memory()) WOOTZ_RETURN_IF_ERROR(wait_for_stream(stream));
  std::unique_ptr<Stream> ordered;
  if (async && !core.device().host_memory()) {
    WOOTZ_ASSIGN_OR_RETURN(ordered, core.device().adopt_stream(stream));
  }
  EngineUpdate update{std::move(change->recipe), std::move(change->constants), std::move(change->steps)};
  WOOTZ_RETURN_IF_ERROR(refit_engine(core, std::move(update), backend_providers(*backend), ordered.get()));
  std::fill(offers_.begin(), offers_.end(), std::nullopt);
  return Status();
}

bool RefitterImpl::refitCudaEngine() noexcept {
  return attempt(reporter_, "IRefitter::refitCudaEngine", [&] { return refit(nullptr, false); });
}

bool RefitterImpl::refitCudaEngineAsync(cudaStream_t stream) noexcept {
  return attempt(reporter_, "IRefitter::refitCudaEngineAsync", [&] { return refit(stream, true); });
}

bool RefitterImpl::setMaxThreads(int32_t maxThreads) noexcept {
  return attempt(reporter_, "IRefitter::setMaxThreads", [&]() -> Status {
    if (maxThreads < 1) return invalid_argument("{} threads", maxThreads);
    max_threads_ = maxThreads;
    return Status();
  });
}

bool RefitterImpl::setDynamicRange(const char*, float, float) noexcept {
  return attempt(reporter_, "IRefitter::setDynamicRange",
                 [] { return unsupported("nothing is quantized implicitly: refit the scales of Q/DQ layers"); });
}
float RefitterImpl::getDynamicRangeMin(const char*) const noexcept { return std::numeric_limits<float>::quiet_NaN(); }
float RefitterImpl::getDynamicRangeMax(const char*) const noexcept { return std::numeric_limits<float>::quiet_NaN(); }

}  // namespace wootz::api
