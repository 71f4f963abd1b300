// Names of weights: by which refitters find them, and which of them may be refitted.
#include <algorithm>
#include <map>

#include "api/network/adopt.h"
#include "api/network/emission.h"
#include "api/network/network.h"
#include "backend/refit.h"
#include "build/refit/constants.h"

namespace wootz::api {

using nvinfer1::Weights;

namespace {

bool same(const Weights& a, const Weights& b) { return a.values == b.values && a.count == b.count && a.type == b.type; }

// Of a model's constants, lists of 64-bit integers are extents, axes and indices, not weights.
bool is_weight(const HostTensor& tensor) { return tensor.dtype() != DType::kI64 && tensor.dtype() != DType::kBool; }

}  // namespace

bool NetworkImpl::setWeightsName(Weights weights, const char* name) noexcept {
  return attempt(reporter_, "INetworkDefinition::setWeightsName", [&]() -> Status {
    if (name == nullptr || *name == '\0') return invalid_argument("weights need a name");
    std::vector<Weights> given;
    for (const auto& layer : layers()) layer->collect_weights(&given);
    const auto found = std::find_if(given.begin(), given.end(), [&](const Weights& w) { return same(w, weights); });
    if (weights.count <= 0 || found == given.end())
      return invalid_argument("no layer has the {} values at {}", weights.count, weights.values);
    for (auto& [known, text] : weight_names_)
      if (text == name && !same(known, weights)) return invalid_argument("other weights are named '{}' already", name);
    std::erase_if(weight_names_, [&](const auto& named) { return same(named.first, weights); });
    weight_names_.emplace_back(weights, name);
    return Status();
  });
}

std::string NetworkImpl::name_of_weights(const Weights& weights) const {
  const auto found = std::find_if(weight_names_.begin(), weight_names_.end(),
                                  [&](const auto& named) { return same(named.first, weights); });
  return found == weight_names_.end() ? "" : found->second;
}

bool NetworkImpl::weights_known(const std::string& name) const {
  for (const auto& [weights, text] : weight_names_)
    if (text == name) return true;
  for (const std::shared_ptr<Graph>& graph : adopted_)
    for (const NamedConstant& constant : named_constants(*graph))
      if (constant.name == name && is_weight(constant.value->constant())) return true;
  return false;
}

bool NetworkImpl::markWeightsRefittable(const char* name) noexcept {
  return attempt(reporter_, "INetworkDefinition::markWeightsRefittable", [&]() -> Status {
    if (name == nullptr || *name == '\0') return invalid_argument("weights need a name");
    if (!weights_known(name)) return invalid_argument("no weights are named '{}'", name);
    refittable_.insert(name);
    return Status();
  });
}
bool NetworkImpl::unmarkWeightsRefittable(const char* name) noexcept {
  return name != nullptr && refittable_.erase(name) != 0;
}
bool NetworkImpl::areWeightsMarkedRefittable(const char* name) const noexcept {
  return name != nullptr && refittable_.count(name) != 0;
}

std::vector<NamedWeight> NetworkImpl::name_weights(Emission& emission, const Graph& graph) const {
  std::map<std::pair<const Graph*, int>, const EmittedWeights*> emitted;  // copies of the graph keep the ids
  const Graph* const whole = emission.graph().get();
  for (const EmittedWeights& w : emission.weights())
    emitted.emplace(std::pair(w.graph == whole ? &graph : w.graph, w.value_id), &w);
  std::vector<NamedWeight> named;
  for (const NamedConstant& constant : named_constants(graph)) {
    const auto found = emitted.find({constant.graph, constant.value->id()});
    if (found == emitted.end()) {
      const bool fixed = !is_weight(constant.value->constant());
      named.push_back({constant.name, constant.name, "", RefitWeight::kNoRole, fixed});
      continue;
    }
    const EmittedWeights& w = *found->second;
    std::string name = name_of_weights(w.weights);
    const bool any = w.role == nvinfer1::WeightsRole::kANY;
    if (any && name.empty()) continue;
    named.push_back({constant.name, std::move(name), w.layer->name(), static_cast<uint8_t>(w.role), false});
  }
  return named;
}

}  // namespace wootz::api
