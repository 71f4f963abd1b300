// The capabilities of a V3 plugin, which applications implement, and what it is given to work with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wootz/allocator.h"
#include "wootz/char_types.h"
#include "wootz/cuda_types.h"
#include "wootz/error_recorder.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_field.h"
#include "wootz/plugin_tensor.h"

namespace nvinfer1 {

/// What an execution context lends to the plugins attached to it; valid while the context is.
class IPluginResourceContext {
 public:
  /// The context's allocator and error recorder; either may be null.
  virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;

  virtual ~IPluginResourceContext() noexcept = default;

 protected:
  IPluginResourceContext() = default;
  IPluginResourceContext(const IPluginResourceContext&) = default;
  IPluginResourceContext(IPluginResourceContext&&) = default;
  IPluginResourceContext& operator=(const IPluginResourceContext&) & = default;
  IPluginResourceContext& operator=(IPluginResourceContext&&) & = default;
};

namespace v_1_0 {

/// Identity: under these three strings, each under 1024 bytes, the registry finds the creator again.
class IPluginV3OneCore : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_CORE", 1, 0}; }

  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

/// What the builder asks. Called by one thread at a time for one plugin object; int32_t answers are 0 on success.
class IPluginV3OneBuild : public IPluginCapability {
 public:
  /// Default of getFormatCombinationLimit.
  static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT = 100;

  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 1, 0}; }

  /// The types, formats and ranges of shapes about to be tried or settled on; comes before tactics are asked or timed.
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;

  /// Writes the outputs' types.
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;

  /// Writes the outputs' shapes as expressions made with `exprBuilder`. `shapeInputs` holds the values of the shape
  /// tensor inputs, one dimension for each value.
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs, const DimsExprs* shapeInputs,
                                  int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;

  /// Whether type and format of entry `pos` of inOut (inputs, then outputs) are acceptable, given the entries before
  /// it. Entries after it must not be read.
  virtual bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut, int32_t nbInputs,
                                         int32_t nbOutputs) noexcept = 0;

  virtual int32_t getNbOutputs() const noexcept = 0;

  /// Scratch memory in bytes that is enough for every shape in range.
  virtual size_t getWorkspaceSize(const DynamicPluginTensorDesc* /*inputs*/, int32_t /*nbInputs*/,
                                  const DynamicPluginTensorDesc* /*outputs*/, int32_t /*nbOutputs*/) const noexcept {
    return 0;
  }

  /// The plugin's own tactics for the current configuration: distinct positive numbers, to be timed against each other.
  /// With none, tactic 0 stands for the plugin.
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept { return 0; }
  virtual int32_t getNbTactics() noexcept { return 0; }

  /// Text that, with types, formats and shapes, tells this plugin's problem from others in the timing cache. Null: time
  /// it anew in every build.
  virtual const char* getTimingCacheID() noexcept { return nullptr; }

  /// How many combinations the builder may try before it gives up.
  virtual int32_t getFormatCombinationLimit() noexcept { return kDEFAULT_FORMAT_COMBINATION_LIMIT; }

  /// Text that the engine inspector shows for the layer; may be null.
  virtual const char* getMetadataString() noexcept { return nullptr; }
};

/// What the runtime asks. int32_t answers are 0 on success.
class IPluginV3OneRuntime : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_RUNTIME", 1, 0}; }

  /// The tactic to use from now on: one of getValidTactics, or 0.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }

  /// The shapes of the coming enqueue calls; comes before the first one and whenever they change.
  virtual int32_t onShapeChange(const PluginTensorDesc* in, int32_t nbInputs, const PluginTensorDesc* out,
                                int32_t nbOutputs) noexcept = 0;

  /// Puts the work on `stream`. Addresses are device addresses, and host addresses on a CPU engine; size-tensor outputs
  /// are scalars. `workspace` has the size asked for.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

  /// A clone for one execution context, which owns it. Null on failure.
  virtual IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;

  /// Everything the creator needs to make this plugin again when the plan is loaded; owned by the plugin.
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};

}  // namespace v_1_0

namespace v_2_0 {

/// Adds outputs that share an input's memory; needs PreviewFeature::kALIASED_PLUGIN_IO_10_03.
class IPluginV3OneBuild : public v_1_0::IPluginV3OneBuild {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 2, 0}; }

  /// Index of the input that output `outputIndex` overwrites in place, or -1.
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }
};

}  // namespace v_2_0

using IPluginV3OneCore = v_1_0::IPluginV3OneCore;
using IPluginV3OneBuild = v_1_0::IPluginV3OneBuild;
using IPluginV3OneRuntime = v_1_0::IPluginV3OneRuntime;
using IPluginV3OneBuildV2 = v_2_0::IPluginV3OneBuild;

}  // namespace nvinfer1
