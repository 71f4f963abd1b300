#include "api/runtime/plugins/loader.h"

#include <cstring>

#include "api/runtime/plugins/describe.h"
#include "api/runtime/plugins/logger_finder.h"
#include "api/runtime/plugins/object_aot.h"
#include "api/runtime/plugins/object_quick.h"
#include "api/runtime/plugins/object_v2.h"
#include "api/runtime/plugins/object_v3.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: calls that interface, line by line

namespace {

bool is_kind(IPluginCreatorInterface* creator, const char* kind) {
  const char* const is = creator == nullptr ? nullptr : creator->getInterfaceInfo().kind;
  return is != nullptr && std::strcmp(is, kind) == 0;
}

class PluginLoader final : public PluginSource {
 public:
  PluginLoader(std::shared_ptr<PluginRegistry> registry, bool native)
      : registry_(std::move(registry)), native_(native) {}

  Result<std::vector<PluginForm>> forms(const Problem&, const PluginParams&) const override {
    return internal_error("plugins of a plan are not chosen again");
  }

  Result<std::shared_ptr<PluginObject>> make(const Problem&, const PluginParams& params, int32_t tactic,
                                             size_t workspace) const override {
    const LoggerScope scope(registry_->logger());
    Result<std::shared_ptr<PluginObject>> made = create(params, tactic, workspace);
    return made.ok() ? std::move(made) : made.status().with_prefix(plugin_place(params));
  }

 private:
  Result<std::shared_ptr<PluginObject>> create(const PluginParams& params, int32_t tactic, size_t workspace) const {
    WOOTZ_ASSIGN_OR_RETURN(const std::string data, from_hex(params.data));
    if (is_aot(data)) return made_ahead(data);
    WOOTZ_ASSIGN_OR_RETURN(IPluginCreatorInterface* const creator,
                           find_creator(*registry_, params.name, params.version, params.space));
    if (IPluginCreator* const v2 = as_creator_v2(creator)) {
      OwnedV2 plugin(v2->deserializePlugin(params.layer.c_str(), data.data(), data.size()));
      if (plugin == nullptr) return make_error(Code::kInvalidState, "IPluginCreator::deserializePlugin gave no plugin");
      plugin->setPluginNamespace(params.space.c_str());
      return make_object_v2(std::move(plugin));
    }
    WOOTZ_ASSIGN_OR_RETURN(OwnedFields fields, OwnedFields::read(data));
    if (IPluginCreatorV3Quick* const quick = as_creator_quick(creator)) {
      std::unique_ptr<IPluginV3> plugin(quick->createPlugin(params.layer.c_str(), params.space.c_str(),
                                                            &fields.collection(), TensorRTPhase::kRUNTIME,
                                                            QuickPluginCreationRequest::kSTRICT_JIT));
      if (plugin == nullptr)
        return make_error(Code::kInvalidState, "IPluginCreatorV3Quick::createPlugin gave no plugin");
      return make_object_quick(std::move(plugin), tactic);
    }
    std::unique_ptr<IPluginV3> plugin(
        as_creator_v3(creator)->createPlugin(params.layer.c_str(), &fields.collection(), TensorRTPhase::kRUNTIME));
    if (plugin == nullptr) return make_error(Code::kInvalidState, "IPluginCreatorV3One::createPlugin gave no plugin");
    return make_object_v3(std::move(plugin), tactic, workspace);
  }

  Result<std::shared_ptr<PluginObject>> made_ahead(std::string_view data) const {
    if (!native_)
      return make_error(Code::kInvalidState,
                        "the plan brings its kernel as code, which IRuntime::setEngineHostCodeAllowed permits to run");
    WOOTZ_ASSIGN_OR_RETURN(AotKernel kernel, read_aot(data));
    return make_object_aot(std::move(kernel));
  }

  std::shared_ptr<PluginRegistry> registry_;
  bool native_;
};

}  // namespace

std::shared_ptr<const PluginSource> plugin_loader(std::shared_ptr<PluginRegistry> registry, bool native) {
  return std::make_shared<PluginLoader>(std::move(registry), native);
}

IPluginCreator* as_creator_v2(IPluginCreatorInterface* creator) {
  return is_kind(creator, "PLUGIN CREATOR_V1") ? static_cast<IPluginCreator*>(creator) : nullptr;
}
IPluginCreatorV3One* as_creator_v3(IPluginCreatorInterface* creator) {
  return is_kind(creator, "PLUGIN CREATOR_V3ONE") ? static_cast<IPluginCreatorV3One*>(creator) : nullptr;
}
IPluginCreatorV3Quick* as_creator_quick(IPluginCreatorInterface* creator) {
  return is_kind(creator, "PLUGIN CREATOR_V3QUICK") ? static_cast<IPluginCreatorV3Quick*>(creator) : nullptr;
}

Result<IPluginCreatorInterface*> find_creator(PluginRegistry& registry, const std::string& name,
                                              const std::string& version, const std::string& space) {
  IPluginCreatorInterface* const found = registry.getCreator(name.c_str(), version.c_str(), space.c_str());
  if (found != nullptr) return found;
  const std::string known = registry.listed();
  return make_error(Code::kInvalidState,
                    "no creator is registered under this name, version and namespace; {}: load the plugin's library "
                    "first (IPluginRegistry::loadLibrary, --dynamicPlugins)",
                    known.empty() ? "none is registered at all" : "registered are " + known);
}

}  // namespace wootz::api
