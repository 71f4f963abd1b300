#include "api/refitter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "api/runtime/convert.h"
#include "api/runtime/engine.h"
#include "api/runtime/host_stream.h"
#include "api/runtime/hostcuda.h"
#include "backends/registry.h"
#include "base/thread_pool.h"
#include "base/tolerance.h"
#include "build/refit/constants.h"
#include "build/refit/rebuild.h"
#include "build/refit/recipe.h"
#include "plan/digest.h"
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

// The order of a stream on the host: what is in it is waited for.
Status wait_for_stream(cudaStream_t stream) {
  find_hostcuda();
  if (is_immediate(stream)) return Status();
  if (is_host_stream(stream)) return synchronize_host_stream(stream);
  if (hostcuda_loaded()) {
    if (captured_by_hostcuda(stream)) return unsupported("a refit of a CPU engine cannot be captured into a graph");
    return synchronize_hostcuda(stream);
  }
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

// What several places of the network have is one for refitters: a constant that bodies take over, say.
Status RefitterImpl::offer_each(FunctionRef<bool(const RefitWeight&)> meant, const Weights& weights,
                                TensorLocation location) {
  for (size_t w = 0; w < weights_.size(); ++w)
    if (weights_[w].refittable && meant(weights_[w])) WOOTZ_RETURN_IF_ERROR(offer(w, weights, location));
  return Status();
}

bool RefitterImpl::setNamedWeights(const char* name, Weights weights) noexcept {
  return setNamedWeights(name, weights, TensorLocation::kHOST);
}

bool RefitterImpl::setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept {
  return attempt(reporter_, "IRefitter::setNamedWeights", [&]() -> Status {
    if (name == nullptr) return invalid_argument("the name is null");
    if (!find(name)) return invalid_argument("the engine has no refittable weights '{}'", name);
    return offer_each([&](const RefitWeight& weight) { return !weight.name.empty() && weight.name == name; }, weights,
                      location);
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
  bool any = false;
  for (size_t w = 0; w < weights_.size() && weightsName != nullptr && *weightsName != '\0'; ++w) {
    if (weights_[w].name != weightsName || !offers_[w]) continue;
    offers_[w].reset();
    any = true;
  }
  return any;
}

Weights RefitterImpl::getWeightsPrototype(const char* weightsName) const noexcept {
  const std::optional<size_t> weight = find(weightsName);
  if (!weight) return {DataType::kFLOAT, nullptr, -1};
  return {to_api(constant(*weight).dtype), nullptr, constant(*weight).dims.volume()};
}

// What a stripped plan lacks and was not offered, by whichever of its names. Weights that the plan has stay as they
// are where they are not offered.
std::vector<uint8_t> RefitterImpl::missing() const {
  const std::vector<RefitConstant>& constants = recipe().constants;
  std::vector<uint8_t> lacks(constants.size(), 0), missing(weights_.size(), 0);
  for (size_t c = 0; c < constants.size(); ++c) lacks[c] = constants[c].stripped ? 1 : 0;
  for (size_t w = 0; w < weights_.size(); ++w)
    if (offers_[w]) lacks[static_cast<size_t>(weights_[w].constant)] = 0;
  for (size_t w = 0; w < weights_.size(); ++w)
    missing[w] = weights_[w].refittable && lacks[static_cast<size_t>(weights_[w].constant)] != 0 ? 1 : 0;
  return missing;
}

int32_t RefitterImpl::list_names(std::span<const uint8_t> which, int32_t size, const char** names) const {
  int32_t count = 0;
  std::set<std::string_view> listed;
  for (size_t w = 0; w < weights_.size(); ++w) {
    if (which[w] == 0 || weights_[w].name.empty() || !listed.insert(weights_[w].name).second) continue;
    if (names != nullptr && count < size) names[count] = weights_[w].name.c_str();
    ++count;
  }
  return count;
}

int32_t RefitterImpl::list_roles(std::span<const uint8_t> which, int32_t size, const char** layers,
                                 WeightsRole* roles) const {
  int32_t count = 0;
  std::set<std::pair<std::string_view, uint8_t>> listed;
  for (size_t w = 0; w < weights_.size(); ++w) {
    if (which[w] == 0 || weights_[w].role == RefitWeight::kNoRole) continue;
    if (!listed.emplace(weights_[w].layer, weights_[w].role).second) continue;
    if (count < size && layers != nullptr) layers[count] = weights_[w].layer.c_str();
    if (count < size && roles != nullptr) roles[count] = static_cast<WeightsRole>(weights_[w].role);
    ++count;
  }
  return count;
}

std::vector<uint8_t> RefitterImpl::all() const {
  std::vector<uint8_t> all;
  for (const RefitWeight& weight : weights_) all.push_back(weight.refittable ? 1 : 0);
  return all;
}

int32_t RefitterImpl::getMissingWeights(int32_t size, const char** weightsNames) noexcept {
  return attempt_or(reporter_, "IRefitter::getMissingWeights", 0,
                    [&]() -> Result<int32_t> { return list_names(missing(), size, weightsNames); });
}
int32_t RefitterImpl::getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
  return attempt_or(reporter_, "IRefitter::getMissing", 0,
                    [&]() -> Result<int32_t> { return list_roles(missing(), size, layerNames, roles); });
}
int32_t RefitterImpl::getAllWeights(int32_t size, const char** weightsNames) noexcept {
  return attempt_or(reporter_, "IRefitter::getAllWeights", 0,
                    [&]() -> Result<int32_t> { return list_names(all(), size, weightsNames); });
}
int32_t RefitterImpl::getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
  return attempt_or(reporter_, "IRefitter::getAll", 0,
                    [&]() -> Result<int32_t> { return list_roles(all(), size, layerNames, roles); });
}

bool RefitterImpl::setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept {
  return attempt(reporter_, "IRefitter::setWeights", [&]() -> Status {
    if (layerName == nullptr) return invalid_argument("the layer's name is null");
    const auto meant = [&](const RefitWeight& weight) {
      return weight.layer == layerName && weight.role == static_cast<uint8_t>(role);
    };
    const auto is = [&](const RefitWeight& weight) { return weight.refittable && meant(weight); };
    if (std::any_of(weights_.begin(), weights_.end(), is)) return offer_each(meant, weights, TensorLocation::kHOST);
    return invalid_argument("layer '{}' has no refittable weights of role {}", layerName, static_cast<int>(role));
  });
}

Status RefitterImpl::offer_all(const Graph& model) {
  std::map<std::string, const HostTensor*, std::less<>> there;
  for (NamedConstant& constant : named_constants(model))
    there.emplace(std::move(constant.name), &constant.value->constant());
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
    if (have.bytes == 0 || (!have.stripped && std::memcmp(tensor.data(), have.data, have.bytes) == 0)) continue;
    if (!weight.refittable) return invalid_argument("{} has other values and is not refittable", shown(weight));
    WOOTZ_RETURN_IF_ERROR(offer(w, {to_api(tensor.dtype()), tensor.data(), tensor.volume()}, TensorLocation::kHOST));
  }
  return Status();
}

// The first few, and how many more there are.
std::string RefitterImpl::names_of(std::span<const uint8_t> which) const {
  constexpr size_t kShown = 3;
  std::string names;
  size_t count = 0;
  for (size_t w = 0; w < weights_.size(); ++w)
    if (which[w] != 0 && count++ < kShown) names += (names.empty() ? "" : ", ") + shown(weights_[w]);
  return count > kShown ? fmt::format("{} and {} more", names, count - kShown) : names;
}

std::string RefitterImpl::offered_names() const {
  std::vector<uint8_t> offered;
  for (const std::optional<Offer>& offer : offers_) offered.push_back(offer ? 1 : 0);
  return names_of(offered);
}

// Of a plan whose weights come back as they were.
Status RefitterImpl::check_identical(size_t weight, const HostTensor& tensor) const {
  if (!recipe().identical) return Status();
  const RefitConstant& have = constant(weight);
  const std::span bytes(static_cast<const std::byte*>(tensor.data()), have.bytes);
  const bool same = have.bytes == 0 || (have.stripped ? tree_digest(bytes) == have.digest
                                                      : std::memcmp(bytes.data(), have.data, have.bytes) == 0);
  if (same) return Status();
  return invalid_argument(
      "{}: its values are not those that the engine was built with, and it was built to be refitted with the same "
      "(BuilderFlag::kREFIT_IDENTICAL, or kSTRIP_PLAN alone): build it with kREFIT for others",
      shown(weights_[weight]));
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
  if (const std::vector<uint8_t> lacks = missing(); std::find(lacks.begin(), lacks.end(), 1) != lacks.end())
    return make_error(Code::kInvalidState, "the engine's plan has no weights {}: set them too", names_of(lacks));
  auto changed = std::make_shared<RefitRecipe>(recipe());
  for (size_t w = 0; w < offers_.size(); ++w) {
    if (!offers_[w]) continue;
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor tensor, offered(w));
    WOOTZ_RETURN_IF_ERROR(check_identical(w, tensor));
    const auto owner = std::make_shared<const HostTensor>(tensor);
    RefitConstant& c = changed->constants[static_cast<size_t>(weights_[w].constant)];
    c.owner = owner;
    c.data = owner->data();
    c.stripped = false;
  }
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(core.program().backend));
  const ParallelScope threads(max_threads_);
  BuildServices services;
  Result<ProgramUpdate> update = rebuild(core.program(), std::move(changed), core.device().number(), services);
  if (!update.ok()) return update.status().with_prefix("weights " + offered_names());
  if (async && core.device().host_memory()) WOOTZ_RETURN_IF_ERROR(wait_for_stream(stream));
  std::unique_ptr<Stream> ordered;
  if (async && !core.device().host_memory()) {
    WOOTZ_ASSIGN_OR_RETURN(ordered, core.device().adopt_stream(stream));
  }
  WOOTZ_RETURN_IF_ERROR(refit_engine(core, std::move(*update), backend_providers(*backend), ordered.get()));
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
