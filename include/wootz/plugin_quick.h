// Quick plugins: capabilities of a V3 plugin in the form that decorators of a scripting language fill in. One that is
// compiled while building (IPluginV3QuickAOTBuild) gives a kernel for a GPU and needs one.
#pragma once

#include <cstdint>

#include "wootz/char_types.h"
#include "wootz/cuda_types.h"
#include "wootz/dim_expr.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_field.h"
#include "wootz/plugin_quick_launch.h"
#include "wootz/plugin_tensor.h"

namespace nvinfer1 {

/// Which of its two forms a plugin is asked for: compiled when it first runs, or while building.
enum class QuickPluginCreationRequest : int32_t {
  kUNKNOWN = 0,
  kPREFER_JIT = 1,
  kPREFER_AOT = 2,
  kSTRICT_JIT = 3,
  kSTRICT_AOT = 4,
};

namespace v_1_0 {

/// Identity, as IPluginV3OneCore.
class IPluginV3QuickCore : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3QUICK_CORE", 1, 0}; }
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

/// What the builder asks; int32_t answers are 0 on success.
class IPluginV3QuickBuild : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3QUICK_BUILD", 1, 0}; }

  /// Writes the outputs' types, by those of the inputs and their ranks.
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, const DataType* inputTypes,
                                     const int32_t* inputRanks, int32_t nbInputs) const noexcept = 0;

  /// Writes the outputs' shapes as expressions made with `exprBuilder`.
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs, const DimsExprs* shapeInputs,
                                  int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;

  /// The types, formats and ranges of shapes about to be tried or settled on.
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;

  /// How many combinations of types and formats there are, and all of them, one after the other.
  virtual int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut, int32_t nbInputs,
                                                   int32_t nbOutputs) noexcept = 0;
  virtual int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut, int32_t nbInputs,
                                                 int32_t nbOutputs, PluginTensorDesc* supportedCombinations,
                                                 int32_t nbFormatCombinations) noexcept = 0;

  virtual int32_t getNbOutputs() const noexcept = 0;

  /// Index of the input that an output overwrites in place, or -1.
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }

  /// The plugin's own tactics: distinct positive numbers.
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept { return 0; }
  virtual int32_t getNbTactics() noexcept { return 0; }

  /// Text that tells this plugin's problem from others in the timing cache; null: time it anew.
  virtual const char* getTimingCacheID() noexcept { return nullptr; }

  /// Text that the engine inspector shows for the layer; may be null.
  virtual const char* getMetadataString() noexcept { return nullptr; }
};

/// A plugin that is compiled while building: it gives the kernel and how to launch it.
class IPluginV3QuickAOTBuild : public IPluginV3QuickBuild {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3QUICKAOT_BUILD", 1, 0}; }

  /// Writes the launch and the further arguments for the current tactic.
  virtual int32_t getLaunchParams(const DimsExprs* inputs, const DynamicPluginTensorDesc* inOut, int32_t nbInputs,
                                  int32_t nbOutputs, IKernelLaunchParams* launchParams, ISymExprs* extraArgs,
                                  IExprBuilder& exprBuilder) noexcept = 0;

  /// The kernel's name and code, owned by the plugin.
  virtual int32_t getKernel(const PluginTensorDesc* in, int32_t nbInputs, const PluginTensorDesc* out,
                            int32_t nbOutputs, const char** kernelName, char** compiledKernel,
                            int32_t* compiledKernelSize) noexcept = 0;

  /// The tactic to use from now on.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
};

/// What the runtime asks; int32_t answers are 0 on success.
class IPluginV3QuickRuntime : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3QUICK_RUNTIME", 1, 0}; }

  /// The tactic to use from now on.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }

  /// Puts the work on `stream`.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, const Dims* inputStrides,
                          const Dims* outputStrides, int32_t nbInputs, int32_t nbOutputs,
                          cudaStream_t stream) noexcept = 0;

  /// What the creator needs to make this plugin again when the plan is loaded; owned by the plugin.
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};

/// Makes Quick plugins.
class IPluginCreatorV3Quick : public IPluginCreatorInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN CREATOR_V3QUICK", 1, 0}; }

  /// A plugin of this name and namespace, owned by the caller; null on failure.
  virtual IPluginV3* createPlugin(const AsciiChar* name, const AsciiChar* nspace, const PluginFieldCollection* fc,
                                  TensorRTPhase phase,
                                  QuickPluginCreationRequest quickPluginCreationRequest) noexcept = 0;

  /// Attributes that createPlugin understands; owned by the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;

  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

  IPluginCreatorV3Quick() = default;
  ~IPluginCreatorV3Quick() override = default;

 protected:
  IPluginCreatorV3Quick(const IPluginCreatorV3Quick&) = default;
  IPluginCreatorV3Quick(IPluginCreatorV3Quick&&) = default;
  IPluginCreatorV3Quick& operator=(const IPluginCreatorV3Quick&) & = default;
  IPluginCreatorV3Quick& operator=(IPluginCreatorV3Quick&&) & = default;
};

}  // namespace v_1_0

using IPluginV3QuickCore = v_1_0::IPluginV3QuickCore;
using IPluginV3QuickBuild = v_1_0::IPluginV3QuickBuild;
using IPluginV3QuickAOTBuild = v_1_0::IPluginV3QuickAOTBuild;
using IPluginV3QuickRuntime = v_1_0::IPluginV3QuickRuntime;
using IPluginCreatorV3Quick = v_1_0::IPluginCreatorV3Quick;

}  // namespace nvinfer1
