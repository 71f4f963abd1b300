#include "api/runtime/plugin_registry.h"

#include <algorithm>
#include <cstring>

#include "wootz/plugin_creator_v3.h"
#include "wootz/plugin_quick.h"

namespace wootz::api {
namespace {

using nvinfer1::AsciiChar;
using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorInterface;
using nvinfer1::IPluginCreatorV3One;
using nvinfer1::IPluginRegistry;
using nvinfer1::IPluginResource;

std::string text(const AsciiChar* s) { return s == nullptr ? std::string() : std::string(s); }

IPluginCreator* as_v2(IPluginCreatorInterface* creator) {
  const bool v2 = std::strcmp(creator->getInterfaceInfo().kind, "PLUGIN CREATOR_V1") == 0;
  return v2 ? static_cast<IPluginCreator*>(creator) : nullptr;
}

struct CreatorName {
  std::string name, version, space;
};
Result<CreatorName> name_of(IPluginCreatorInterface& creator) {
  const char* kind = creator.getInterfaceInfo().kind;
  if (const IPluginCreator* v2 = as_v2(&creator))
    return CreatorName{text(v2->getPluginName()), text(v2->getPluginVersion()), text(v2->getPluginNamespace())};
  if (std::strcmp(kind, "PLUGIN CREATOR_V3ONE") == 0) {
    const auto& v3 = static_cast<IPluginCreatorV3One&>(creator);
    return CreatorName{text(v3.getPluginName()), text(v3.getPluginVersion()), text(v3.getPluginNamespace())};
  }
  if (kind != nullptr && std::strcmp(kind, "PLUGIN CREATOR_V3QUICK") == 0) {
    const auto& quick = static_cast<nvinfer1::IPluginCreatorV3Quick&>(creator);
    return CreatorName{text(quick.getPluginName()), text(quick.getPluginVersion()), text(quick.getPluginNamespace())};
  }
  return unsupported("plugin creators of kind '{}' are not known here", kind == nullptr ? "" : kind);
}

}  // namespace

PluginRegistry& PluginRegistry::process() noexcept {
  static PluginRegistry* const kRegistry = new PluginRegistry(nullptr);
  return *kRegistry;
}

PluginRegistry::~PluginRegistry() noexcept {
  while (!libraries_.empty()) deregisterLibrary(libraries_.begin()->first);
  for (auto& [key, resource] : resources_) {
    resource.object->release();
    delete resource.object;
  }
}

void PluginRegistry::rebuild_lists() {
  list_.clear();
  v2_list_.clear();
  for (const auto& [key, creator] : creators_) {
    list_.push_back(creator);
    if (IPluginCreator* v2 = as_v2(creator)) v2_list_.push_back(v2);
  }
}

Status PluginRegistry::add(IPluginCreatorInterface& creator, const AsciiChar* pluginNamespace) {
  WOOTZ_ASSIGN_OR_RETURN(const CreatorName named, name_of(creator));
  if (named.name.empty()) return invalid_argument("a plugin creator without a name");
  // A V2 creator hands it on to the plugins that it makes.
  if (IPluginCreator* v2 = as_v2(&creator); v2 != nullptr && !text(pluginNamespace).empty())
    v2->setPluginNamespace(pluginNamespace);
  const std::string space = text(pluginNamespace).empty() ? named.space : text(pluginNamespace);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!creators_.emplace(Key{named.name, named.version, space}, &creator).second)
    return make_error(Code::kInvalidState, "plugin creator '{}' version '{}' is registered already (namespace '{}')",
                      named.name, named.version, space);
  rebuild_lists();
  return Status();
}

void PluginRegistry::add_missing(const std::vector<IPluginCreatorInterface*>& creators, const std::string& space) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (IPluginCreatorInterface* creator : creators)
    if (const Result<CreatorName> named = name_of(*creator); named.ok())
      creators_.emplace(Key{named->name, named->version, space}, creator);
  rebuild_lists();
}

bool PluginRegistry::remove(const IPluginCreatorInterface* creator) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it =
      std::find_if(creators_.begin(), creators_.end(), [&](const auto& entry) { return entry.second == creator; });
  if (it == creators_.end()) return false;
  creators_.erase(it);
  rebuild_lists();
  return true;
}

IPluginCreatorInterface* PluginRegistry::find(const Key& key) const {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto it = creators_.find(key); it != creators_.end()) return it->second;
  }
  return parent_ != nullptr && parent_search_ ? parent_->find(key) : nullptr;
}

std::string PluginRegistry::listed() const {
  std::string list;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, creator] : creators_)
      list += fmt::format("{}'{}' version '{}' (namespace '{}')", list.empty() ? "" : ", ", key.name, key.version,
                          key.space);
  }
  const std::string more = parent_ != nullptr && parent_search_ ? parent_->listed() : "";
  return list + (list.empty() || more.empty() ? "" : ", ") + more;
}

void PluginRegistry::lend_creators(IPluginRegistry& other) const {
  std::map<Key, IPluginCreatorInterface*> lent;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    lent = creators_;
  }
  for (const auto& [key, creator] : lent)
    if (other.getCreator(key.name.c_str(), key.version.c_str(), key.space.c_str()) == nullptr)
      other.registerCreator(*creator, key.space.c_str());
  if (parent_ != nullptr && parent_search_) parent_->lend_creators(other);
}

bool PluginRegistry::registerCreator(IPluginCreatorInterface& creator, const AsciiChar* pluginNamespace) noexcept {
  return attempt(reporter_, "IPluginRegistry::registerCreator", [&] { return add(creator, pluginNamespace); });
}

bool PluginRegistry::deregisterCreator(const IPluginCreatorInterface& creator) noexcept {
  return attempt_or(reporter_, "IPluginRegistry::deregisterCreator", false,
                    [&]() -> Result<bool> { return remove(&creator); });
}

bool PluginRegistry::registerCreator(IPluginCreator& creator, const AsciiChar* pluginNamespace) noexcept {
  return registerCreator(static_cast<IPluginCreatorInterface&>(creator), pluginNamespace);
}

bool PluginRegistry::deregisterCreator(const IPluginCreator& creator) noexcept {
  return deregisterCreator(static_cast<const IPluginCreatorInterface&>(creator));
}

IPluginCreatorInterface* PluginRegistry::getCreator(const AsciiChar* pluginName, const AsciiChar* pluginVersion,
                                                    const AsciiChar* pluginNamespace) noexcept {
  return attempt_or<IPluginCreatorInterface*>(
      reporter_, "IPluginRegistry::getCreator", nullptr, [&]() -> Result<IPluginCreatorInterface*> {
        return find(Key{text(pluginName), text(pluginVersion), text(pluginNamespace)});
      });
}

IPluginCreatorInterface* const* PluginRegistry::getAllCreators(int32_t* numCreators) const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(list_.size());
  return list_.data();
}

IPluginCreatorInterface* const* PluginRegistry::getAllCreatorsRecursive(int32_t* numCreators) noexcept {
  if (numCreators != nullptr) *numCreators = 0;
  const bool ok = attempt(reporter_, "IPluginRegistry::getAllCreatorsRecursive", [&]() -> Status {
    std::vector<IPluginCreatorInterface*> all;
    for (const PluginRegistry* r = this; r != nullptr; r = r->parent_search_ ? r->parent_ : nullptr) {
      const std::lock_guard<std::mutex> lock(r->mutex_);
      all.insert(all.end(), r->list_.begin(), r->list_.end());
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    recursive_ = std::move(all);
    return Status();
  });
  if (!ok) return nullptr;
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(recursive_.size());
  return recursive_.data();
}

IPluginCreator* PluginRegistry::getPluginCreator(const AsciiChar* pluginName, const AsciiChar* pluginVersion,
                                                 const AsciiChar* pluginNamespace) noexcept {
  IPluginCreatorInterface* creator = getCreator(pluginName, pluginVersion, pluginNamespace);
  return creator == nullptr ? nullptr : as_v2(creator);
}

IPluginCreator* const* PluginRegistry::getPluginCreatorList(int32_t* numCreators) const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (numCreators != nullptr) *numCreators = static_cast<int32_t>(v2_list_.size());
  return v2_list_.data();
}

std::vector<IPluginCreatorInterface*> PluginRegistry::own() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return list_;
}

bool PluginRegistry::is_taken(IPluginCreatorInterface& creator) const {
  const Result<CreatorName> named = name_of(creator);
  return named.ok() && find(Key{named->name, named->version, named->space}) != nullptr;
}

IPluginCreatorInterface* PluginRegistry::find_same(const IPluginCreatorInterface* creator) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = std::find(list_.begin(), list_.end(), creator);
  return it == list_.end() ? nullptr : *it;
}

IPluginResource* PluginRegistry::acquirePluginResource(const AsciiChar* key, IPluginResource* resource) noexcept {
  return attempt_or<IPluginResource*>(
      reporter_, "IPluginRegistry::acquirePluginResource", nullptr, [&]() -> Result<IPluginResource*> {
        if (key == nullptr) return invalid_argument("no key");
        const std::lock_guard<std::mutex> lock(mutex_);
        Resource& entry = resources_[key];
        if (entry.object == nullptr) {
          entry.object = resource == nullptr ? nullptr : resource->clone();
          if (entry.object == nullptr) {
            resources_.erase(key);
            return invalid_argument("resource '{}' does not exist, and {}", key,
                                    resource == nullptr ? "none was given" : "the given one could not be cloned");
          }
        }
        ++entry.users;
        return entry.object;
      });
}

int32_t PluginRegistry::releasePluginResource(const AsciiChar* key) noexcept {
  const bool ok = attempt(reporter_, "IPluginRegistry::releasePluginResource", [&]() -> Status {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = resources_.find(text(key));
    if (it == resources_.end()) return invalid_argument("no resource '{}'", text(key));
    if (--it->second.users > 0) return Status();
    IPluginResource* object = it->second.object;
    resources_.erase(it);
    const int32_t result = object->release();
    delete object;
    return result == 0 ? Status()
                       : make_error(Code::kInvalidState, "resource '{}' answered {} to release", text(key), result);
  });
  return ok ? 0 : -1;
}

}  // namespace wootz::api

extern "C" TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept {
  return &wootz::api::PluginRegistry::process();
}

namespace wootz::api {
namespace {
StockCreators stock_creators = nullptr;
}

bool provide_stock_creators(StockCreators creators) {
  stock_creators = creators;
  return true;
}

}  // namespace wootz::api

extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char* libNamespace) {
  using namespace wootz::api;
  // Nothing tells the caller's level, so that its logger cannot be called yet.
  if (logger != nullptr && process_logger().object == nullptr)
    note_logger({static_cast<nvinfer1::ILogger*>(logger), ApiLevel::kUnknown});
  if (stock_creators == nullptr) return true;
  return attempt(Reporter(process_logger()), "initLibNvInferPlugins", [&]() -> wootz::Status {
    const std::string space = text(libNamespace);
    PluginRegistry::process().add_missing(stock_creators(space), space);
    return wootz::Status();
  });
}
