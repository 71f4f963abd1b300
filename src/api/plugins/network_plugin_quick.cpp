// Quick plugins in networks: run by themselves (JIT), or by the kernel that they give while building (AOT).
#include "api/plugins/ask_build.h"
#include "api/plugins/network_plugin.h"
#include "api/runtime/plugins/capability.h"
#include "api/runtime/plugins/object_aot.h"
#include "api/runtime/plugins/object_quick.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: calls that interface, line by line

namespace {

constexpr const char* kBuild = "IPluginV3QuickBuild";

// Kinds of what is compiled while building, all with the functions of IPluginV3QuickAOTBuild. The second one is ours:
// its kernel is a function in a shared library for the host.
struct Ahead {
  const char* kind;
  NetworkPlugin::Place place;
};
constexpr Ahead kAhead[] = {{"PLUGIN_V3QUICKAOT_BUILD", NetworkPlugin::Place::kGpu},
                            {"WOOTZ_V3QUICKHOST_BUILD", NetworkPlugin::Place::kHost}};

class NetworkPluginQuick final : public NetworkPlugin {
 public:
  NetworkPluginQuick(std::unique_ptr<IPluginV3> plugin, IPluginV3QuickCore* core, IPluginV3QuickBuild* build,
                     IPluginV3QuickAOTBuild* ahead, Place place)
      : plugin_(std::move(plugin)), core_(core), build_(build), ahead_(ahead), place_(place) {}

  IPluginV3* plugin() const { return plugin_.get(); }
  Place place() const override { return place_; }

  Identity identity() const override {
    return {text_of(core_->getPluginName()), text_of(core_->getPluginVersion()), text_of(core_->getPluginNamespace()),
            text_of(build_->getTimingCacheID())};
  }
  int num_outputs() const override { return build_->getNbOutputs(); }
  int aliased_input(int output) const override { return build_->getAliasedInput(output); }
  Result<CustomResults> results(const std::vector<TypeInfo>& operands,
                                const std::vector<std::vector<Dim>>& shape_operands) const override {
    return ask_results(*build_, kBuild, operands, shape_operands, [&](const OutputTypes& types) {
      return build_->getOutputDataTypes(types.out, types.outputs, types.in, types.ranks, types.inputs);
    });
  }
  bool supports(const PluginTensors& tensors, size_t pos) override;
  Result<std::unique_ptr<NetworkPlugin>> clone() override;
  Status configure(const PluginTensors& tensors) override {
    configured_ = tensors;
    const DynamicPluginDescs descs(tensors);
    return answer(
        "IPluginV3QuickBuild::configurePlugin",
        build_->configurePlugin(descs.inputs.data(), descs.num_inputs(), descs.outputs.data(), descs.num_outputs()));
  }
  Result<std::vector<int32_t>> tactics() override { return ask_tactics(*build_, kBuild); }
  Result<size_t> workspace(const PluginTensors&) override { return size_t{0}; }
  std::string metadata() override { return text_of(build_->getMetadataString()); }
  Result<std::shared_ptr<PluginObject>> release(int32_t tactic, size_t) override {
    if (ahead_ == nullptr) return make_object_quick(std::move(plugin_), tactic);
    WOOTZ_ASSIGN_OR_RETURN(AotKernel kernel, compiled(tactic));
    return make_object_aot(std::move(kernel));
  }

 private:
  Result<AotKernel> compiled(int32_t tactic);

  std::unique_ptr<IPluginV3> plugin_;
  IPluginV3QuickCore* core_;
  IPluginV3QuickBuild* build_;
  IPluginV3QuickAOTBuild* ahead_;  // null: it runs itself
  Place place_;
  PluginTensors configured_;
};

// All entries of a combination before `pos` are as they were accepted.
bool NetworkPluginQuick::supports(const PluginTensors& tensors, size_t pos) {
  constexpr int32_t kMost = 100'000;
  const DynamicPluginDescs descs(tensors);
  std::vector<DynamicPluginTensorDesc> all = descs.inputs;
  all.insert(all.end(), descs.outputs.begin(), descs.outputs.end());
  const int32_t inputs = descs.num_inputs(), outputs = descs.num_outputs();
  const int32_t count = build_->getNbSupportedFormatCombinations(all.data(), inputs, outputs);
  if (count <= 0 || count > kMost || pos >= all.size()) return false;
  std::vector<PluginTensorDesc> listed(all.size() * static_cast<size_t>(count));
  if (build_->getSupportedFormatCombinations(all.data(), inputs, outputs, listed.data(), count) != 0) return false;
  for (size_t first = 0; first < listed.size(); first += all.size()) {
    bool fits = true;
    for (size_t i = 0; i <= pos; ++i) {
      const bool absent =
          (i < tensors.inputs.size() ? tensors.inputs[i] : tensors.outputs[i - tensors.inputs.size()]).dtype ==
          DType::kInvalid;
      fits = fits &&
             (absent || (listed[first + i].type == all[i].desc.type && listed[first + i].format == all[i].desc.format));
    }
    if (fits) return true;
  }
  return false;
}

// What the plugin writes a launch into.
class SymbolicExpressions final : public ISymExprsImpl {
 public:
  ISymExpr* getSymExpr(int32_t index) const noexcept override {
    return index >= 0 && index < getNbSymExprs() ? list_[static_cast<size_t>(index)] : nullptr;
  }
  bool setSymExpr(int32_t index, ISymExpr* expression) noexcept override {
    if (index < 0 || index >= getNbSymExprs() || expression == nullptr) return false;
    list_[static_cast<size_t>(index)] = expression;
    return true;
  }
  int32_t getNbSymExprs() const noexcept override { return static_cast<int32_t>(list_.size()); }
  bool setNbSymExprs(int32_t count) noexcept override {
    constexpr int32_t kMost = 256;
    if (count < 0 || count > kMost) return false;
    list_.assign(static_cast<size_t>(count), nullptr);
    return true;
  }

 private:
  std::vector<ISymExpr*> list_;
};
class Extras final : public ISymExprs {
 public:
  Extras() { mImpl = &list_; }

 private:
  SymbolicExpressions list_;
};

class LaunchValues final : public IKernelLaunchParamsImpl {
 public:
  enum Place { kGridX, kGridY, kGridZ, kBlockX, kBlockY, kBlockZ, kShared, kPlaces };
  ISymExpr* at(int place) const { return values_[static_cast<size_t>(place)]; }
  ISymExpr* getGridX() noexcept override { return at(kGridX); }
  bool setGridX(ISymExpr* e) noexcept override { return set(kGridX, e); }
  ISymExpr* getGridY() noexcept override { return at(kGridY); }
  bool setGridY(ISymExpr* e) noexcept override { return set(kGridY, e); }
  ISymExpr* getGridZ() noexcept override { return at(kGridZ); }
  bool setGridZ(ISymExpr* e) noexcept override { return set(kGridZ, e); }
  ISymExpr* getBlockX() noexcept override { return at(kBlockX); }
  bool setBlockX(ISymExpr* e) noexcept override { return set(kBlockX, e); }
  ISymExpr* getBlockY() noexcept override { return at(kBlockY); }
  bool setBlockY(ISymExpr* e) noexcept override { return set(kBlockY, e); }
  ISymExpr* getBlockZ() noexcept override { return at(kBlockZ); }
  bool setBlockZ(ISymExpr* e) noexcept override { return set(kBlockZ, e); }
  ISymExpr* getSharedMem() noexcept override { return at(kShared); }
  bool setSharedMem(ISymExpr* e) noexcept override { return set(kShared, e); }

 private:
  bool set(Place place, ISymExpr* expression) {
    if (expression == nullptr) return false;
    values_[place] = expression;
    return true;
  }
  std::array<ISymExpr*, kPlaces> values_{};
};
class LaunchParams final : public IKernelLaunchParams {
 public:
  LaunchParams() { mImpl = &values; }
  LaunchValues values;
};

Result<int32_t> number_of(ISymExpr* expression, const LaunchBuilder& builder) {
  if (expression == nullptr) return -1;
  const int32_t number = builder.number_of(static_cast<const IDimensionExpr*>(expression->getExpr()));
  if (number < 0)
    return invalid_argument(
        "IPluginV3QuickAOTBuild::getLaunchParams gave an expression that the builder's IExprBuilder did not make");
  return number;
}

Result<AotKernel> NetworkPluginQuick::compiled(int32_t tactic) {
  WOOTZ_RETURN_IF_ERROR(answer("IPluginV3QuickAOTBuild::setTactic", ahead_->setTactic(tactic)));
  const PluginDescs descs(configured_);
  const char* name = nullptr;
  char* code = nullptr;
  int32_t bytes = 0;
  WOOTZ_RETURN_IF_ERROR(answer("IPluginV3QuickAOTBuild::getKernel",
                               ahead_->getKernel(descs.inputs.data(), descs.num_inputs(), descs.outputs.data(),
                                                 descs.num_outputs(), &name, &code, &bytes)));
  if (name == nullptr || code == nullptr || bytes <= 0)
    return make_error(Code::kInvalidState, "IPluginV3QuickAOTBuild::getKernel gave no kernel");
  AotKernel kernel;
  kernel.name = name;
  kernel.code.assign(code, static_cast<size_t>(bytes));
  kernel.host = place_ == Place::kHost;
  const DynamicPluginDescs dynamic(configured_);
  std::vector<DynamicPluginTensorDesc> all = dynamic.inputs;
  all.insert(all.end(), dynamic.outputs.begin(), dynamic.outputs.end());
  LaunchBuilder builder;
  const std::vector<DimsExprs> extents = builder.extents(configured_.inputs);
  LaunchParams launch;
  Extras extras;
  const int32_t code_of = ahead_->getLaunchParams(extents.data(), all.data(), dynamic.num_inputs(),
                                                  dynamic.num_outputs(), &launch, &extras, builder);
  WOOTZ_RETURN_IF_ERROR(builder.refused());
  WOOTZ_RETURN_IF_ERROR(answer("IPluginV3QuickAOTBuild::getLaunchParams", code_of));
  for (int a = 0; a < 3; ++a) {
    const auto axis = static_cast<size_t>(a);
    WOOTZ_ASSIGN_OR_RETURN(kernel.grid[axis], number_of(launch.values.at(LaunchValues::kGridX + a), builder));
    WOOTZ_ASSIGN_OR_RETURN(kernel.block[axis], number_of(launch.values.at(LaunchValues::kBlockX + a), builder));
  }
  WOOTZ_ASSIGN_OR_RETURN(kernel.shared, number_of(launch.values.at(LaunchValues::kShared), builder));
  for (int32_t i = 0; i < extras.getNbSymExprs(); ++i) {
    ISymExpr* const extra = extras.getSymExpr(i);
    WOOTZ_ASSIGN_OR_RETURN(const int32_t number, number_of(extra, builder));
    if (number < 0) return invalid_argument("IPluginV3QuickAOTBuild::getLaunchParams left argument {} open", i);
    const auto type = static_cast<int32_t>(extra->getDataType());
    if (extra->getType() != PluginArgType::kINT || type < 0 || type > static_cast<int32_t>(PluginArgDataType::kINT32))
      return unsupported("argument {} of the kernel is of a type that is not known here", i);
    kernel.extras.push_back({number, extra->getDataType()});
  }
  kernel.expressions = builder.expressions();
  return kernel;
}

Result<std::unique_ptr<NetworkPluginQuick>> adopt(std::unique_ptr<IPluginV3> plugin) {
  if (plugin == nullptr) return make_error(Code::kInvalidState, "IPluginV3::clone gave no plugin");
  WOOTZ_ASSIGN_OR_RETURN(IPluginV3QuickCore* const core,
                         capability<IPluginV3QuickCore>(*plugin, PluginCapabilityType::kCORE, "PLUGIN_V3QUICK_CORE"));
  IPluginV3QuickBuild* build = nullptr;
  IPluginV3QuickAOTBuild* ahead = nullptr;
  NetworkPlugin::Place place = NetworkPlugin::Place::kAny;
  for (const Ahead& sort : kAhead) {
    if (!has_kind(*plugin, PluginCapabilityType::kBUILD, sort.kind)) continue;
    WOOTZ_ASSIGN_OR_RETURN(ahead, capability<IPluginV3QuickAOTBuild>(*plugin, PluginCapabilityType::kBUILD, sort.kind));
    build = ahead;
    place = sort.place;
  }
  if (ahead == nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(
        build, capability<IPluginV3QuickBuild>(*plugin, PluginCapabilityType::kBUILD, "PLUGIN_V3QUICK_BUILD"));
    WOOTZ_RETURN_IF_ERROR(quick_runtime_of(*plugin).status());
  }
  WOOTZ_RETURN_IF_ERROR(check_identity(*core, *build, kBuild));
  return std::make_unique<NetworkPluginQuick>(std::move(plugin), core, build, ahead, place);
}

Result<std::unique_ptr<NetworkPlugin>> NetworkPluginQuick::clone() {
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<NetworkPluginQuick> made, adopt(std::unique_ptr<IPluginV3>(plugin_->clone())));
  return std::unique_ptr<NetworkPlugin>(std::move(made));
}

}  // namespace

Result<std::shared_ptr<NetworkPlugin>> adopt_plugin_quick(std::unique_ptr<IPluginV3> plugin) {
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<NetworkPluginQuick> made, adopt(std::move(plugin)));
  return std::shared_ptr<NetworkPlugin>(std::move(made));
}

IPluginV3* plugin_quick_of(const CustomOp* op) {
  const auto* plugin = dynamic_cast<const NetworkPluginQuick*>(op);
  return plugin == nullptr ? nullptr : plugin->plugin();
}

}  // namespace wootz::api
