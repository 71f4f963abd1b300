#include "api/plugins/stock.h"

#include <cstring>
#include <map>
#include <mutex>

#include "api/plugins/network_plugin.h"
#include "api/plugins/stock_fields.h"
#include "api/runtime/plugin_registry.h"
#include "api/runtime/reporter.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

// The objects and creators that there are, so that an application's need not be asked what they are.
class Known {
 public:
  static Known& get() {
    static Known* const kKnown = new Known;  // plugins may outlive static objects
    return *kKnown;
  }
  void add(const void* plugin, const StockObject* object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    objects_[plugin] = object;
  }
  void remove(const void* plugin) {
    const std::lock_guard<std::mutex> lock(mutex_);
    objects_.erase(plugin);
  }
  const StockObject* find(const void* plugin) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(plugin);
    return found == objects_.end() ? nullptr : found->second;
  }
  bool has(const void* creator) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return objects_.contains(creator);
  }

 private:
  mutable std::mutex mutex_;
  std::map<const void*, const StockObject*> objects_;  // of creators: null
};

Reporter reporter() { return Reporter(process_logger()); }

// What only plugins that run are asked: these are layers of the network that holds them.
int32_t not_run(const StockObject& object, const char* call) {
  reporter().error(call,
                   unsupported("plugin '{}' is written into a network as layers by INetworkDefinition::addPluginV2 "
                               "or addPluginV3, and is not run by itself",
                               object.plugin->name));
  return 1;
}

class StockV2 final : public IPluginV2DynamicExt {
 public:
  StockV2(const StockObject& object, std::string space) : object_(object), space_(std::move(space)) {
    Known::get().add(static_cast<const IPluginV2*>(this), &object_);
  }
  ~StockV2() noexcept override { Known::get().remove(static_cast<const IPluginV2*>(this)); }

  const AsciiChar* getPluginType() const noexcept override { return object_.plugin->name; }
  const AsciiChar* getPluginVersion() const noexcept override { return object_.plugin->version; }
  int32_t getNbOutputs() const noexcept override { return stock::num_outputs(*object_.plugin, object_.fields); }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return bytes().size(); }
  void serialize(void* buffer) const noexcept override {
    const std::string all = bytes();
    if (buffer != nullptr) std::memcpy(buffer, all.data(), all.size());
  }
  void destroy() noexcept override { delete this; }
  IPluginV2DynamicExt* clone() const noexcept override { return new (std::nothrow) StockV2(object_, space_); }
  void setPluginNamespace(const AsciiChar* space) noexcept override { space_ = text_of(space); }
  const AsciiChar* getPluginNamespace() const noexcept override { return space_.c_str(); }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t count) const noexcept override {
    not_run(object_, "IPluginV2Ext::getOutputDataType");
    return types == nullptr || count < 1 ? DataType::kFLOAT : types[0];
  }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs*, int32_t, IExprBuilder&) noexcept override {
    not_run(object_, "IPluginV2DynamicExt::getOutputDimensions");
    return DimsExprs{-1, {}};
  }
  bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all != nullptr && pos >= 0 && all[pos].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return not_run(object_, "IPluginV2DynamicExt::enqueue");
  }

 private:
  std::string bytes() const {
    OwnedFields fields = api_fields(object_.fields);
    Result<std::string> written = write_fields(fields.collection());
    return written.ok() ? std::move(written).value() : std::string();
  }

  const StockObject object_;
  std::string space_;
};

class StockV3 final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime {
 public:
  StockV3(const StockObject& object, std::string space)
      : object_(object), space_(std::move(space)), fields_(api_fields(object.fields)) {
    Known::get().add(static_cast<const IPluginV3*>(this), &object_);
  }
  ~StockV3() noexcept override { Known::get().remove(static_cast<const IPluginV3*>(this)); }

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new (std::nothrow) StockV3(object_, space_); }

  const AsciiChar* getPluginName() const noexcept override { return object_.plugin->name; }
  const AsciiChar* getPluginVersion() const noexcept override { return object_.plugin->version; }
  const AsciiChar* getPluginNamespace() const noexcept override { return space_.c_str(); }

  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType*, int32_t, const DataType*, int32_t) const noexcept override {
    return not_run(object_, "IPluginV3OneBuild::getOutputDataTypes");
  }
  int32_t getOutputShapes(const DimsExprs*, int32_t, const DimsExprs*, int32_t, DimsExprs*, int32_t,
                          IExprBuilder&) noexcept override {
    return not_run(object_, "IPluginV3OneBuild::getOutputShapes");
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all != nullptr && pos >= 0 && all[pos].desc.format == TensorFormat::kLINEAR;
  }
  int32_t getNbOutputs() const noexcept override { return stock::num_outputs(*object_.plugin, object_.fields); }

  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return not_run(object_, "IPluginV3OneRuntime::enqueue");
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return &fields_.collection(); }

 private:
  const StockObject object_;
  std::string space_;
  OwnedFields fields_;
};

Result<StockObject> make_object(const stock::Plugin& plugin, const PluginFieldCollection* given) {
  std::string unknown;
  Result<stock::Fields> fields = stock_fields(plugin, given, &unknown);
  if (!fields.ok())
    return fields.status().with_prefix(fmt::format("plugin '{}' version '{}'", plugin.name, plugin.version));
  if (!unknown.empty())
    reporter().warning(
        fmt::format("plugin '{}' version '{}' has no field {}: without effect", plugin.name, plugin.version, unknown));
  return StockObject{&plugin, std::move(fields).value()};
}

// What creators of both sorts have.
class CreatorCore {
 public:
  CreatorCore(const stock::Plugin& plugin, std::string space)
      : plugin_(plugin),
        space_(std::move(space)),
        fields_(listed_fields(plugin)),
        collection_{static_cast<int32_t>(fields_.size()), fields_.data()} {}
  ~CreatorCore() = default;
  CreatorCore(const CreatorCore&) = delete;
  CreatorCore& operator=(const CreatorCore&) = delete;

 protected:
  const stock::Plugin& plugin_;
  std::string space_;

  const PluginFieldCollection* listed() const { return &collection_; }

 private:
  std::vector<PluginField> fields_;
  PluginFieldCollection collection_;
};

class StockCreatorV2 final : public IPluginCreator, private CreatorCore {
 public:
  StockCreatorV2(const stock::Plugin& plugin, std::string space) : CreatorCore(plugin, std::move(space)) {
    Known::get().add(static_cast<const IPluginCreatorInterface*>(this), nullptr);
  }
  const AsciiChar* getPluginName() const noexcept override { return plugin_.name; }
  const AsciiChar* getPluginVersion() const noexcept override { return plugin_.version; }
  const PluginFieldCollection* getFieldNames() noexcept override { return listed(); }
  IPluginV2* createPlugin(const AsciiChar*, const PluginFieldCollection* given) noexcept override {
    return attempt_or<IPluginV2*>(reporter(), "IPluginCreator::createPlugin", nullptr, [&]() -> Result<IPluginV2*> {
      WOOTZ_ASSIGN_OR_RETURN(const StockObject object, make_object(plugin_, given));
      return new StockV2(object, space_);
    });
  }
  IPluginV2* deserializePlugin(const AsciiChar*, const void* data, size_t size) noexcept override {
    return attempt_or<IPluginV2*>(
        reporter(), "IPluginCreator::deserializePlugin", nullptr, [&]() -> Result<IPluginV2*> {
          if (data == nullptr) return invalid_argument("no data");
          WOOTZ_ASSIGN_OR_RETURN(OwnedFields fields, OwnedFields::read({static_cast<const char*>(data), size}));
          WOOTZ_ASSIGN_OR_RETURN(const StockObject object, make_object(plugin_, &fields.collection()));
          return new StockV2(object, space_);
        });
  }
  void setPluginNamespace(const AsciiChar* space) noexcept override { space_ = text_of(space); }
  const AsciiChar* getPluginNamespace() const noexcept override { return space_.c_str(); }
};

class StockCreatorV3 final : public IPluginCreatorV3One, private CreatorCore {
 public:
  StockCreatorV3(const stock::Plugin& plugin, std::string space) : CreatorCore(plugin, std::move(space)) {
    Known::get().add(static_cast<const IPluginCreatorInterface*>(this), nullptr);
  }
  IPluginV3* createPlugin(const AsciiChar*, const PluginFieldCollection* given, TensorRTPhase) noexcept override {
    return attempt_or<IPluginV3*>(reporter(), "IPluginCreatorV3One::createPlugin", nullptr,
                                  [&]() -> Result<IPluginV3*> {
                                    WOOTZ_ASSIGN_OR_RETURN(const StockObject object, make_object(plugin_, given));
                                    return new StockV3(object, space_);
                                  });
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return listed(); }
  const AsciiChar* getPluginName() const noexcept override { return plugin_.name; }
  const AsciiChar* getPluginVersion() const noexcept override { return plugin_.version; }
  const AsciiChar* getPluginNamespace() const noexcept override { return space_.c_str(); }
};

// Creators of a namespace, made once: registries keep their addresses.
std::vector<IPluginCreatorInterface*> creators(const std::string& space) {
  static std::mutex mutex;
  static auto* const made = new std::map<std::string, std::vector<IPluginCreatorInterface*>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<IPluginCreatorInterface*>& list = (*made)[space];
  if (!list.empty()) return list;
  for (const stock::Plugin* plugin : stock::plugins()) {
    if (plugin->interface == stock::Interface::kV2)
      list.push_back(new StockCreatorV2(*plugin, space));
    else
      list.push_back(new StockCreatorV3(*plugin, space));
  }
  return list;
}

// The runtime without a compiler has no such creators, and needs none: plans hold no such plugins.
[[maybe_unused]] const bool kProvided = provide_stock_creators(creators);

}  // namespace

const StockObject* stock_object(const CustomOp* op) {
  if (const IPluginV2* const v2 = plugin_v2_of(op)) return Known::get().find(v2);
  if (const IPluginV3* const v3 = plugin_v3_of(op)) return Known::get().find(v3);
  return nullptr;
}

bool is_stock(const IPluginCreatorInterface* creator) { return Known::get().has(creator); }

}  // namespace wootz::api
