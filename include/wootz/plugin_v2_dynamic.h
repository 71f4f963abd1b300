// IPluginV2DynamicExt: the V2 plugin with dynamic shapes.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated names refer to each other
#endif

#include "wootz/plugin_v2.h"

namespace nvinfer1 {

/// A custom layer whose shapes may be open until run time. The batch is a dimension like any other.
class TRT_DEPRECATED IPluginV2DynamicExt : public nvinfer1::IPluginV2Ext {
 public:
  IPluginV2DynamicExt* clone() const noexcept override = 0;

  /// Shape of output `outputIndex` as expressions made with `exprBuilder`.
  virtual DimsExprs getOutputDimensions(int32_t outputIndex, const DimsExprs* inputs, int32_t nbInputs,
                                        IExprBuilder& exprBuilder) noexcept = 0;

  /// More combinations than this are not asked for.
  static constexpr int32_t kFORMAT_COMBINATION_LIMIT = 100;

  /// Whether entry `pos` of inOut (inputs, then outputs) is acceptable, given the entries before it. Entries after it
  /// must not be read.
  virtual bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* inOut, int32_t nbInputs,
                                         int32_t nbOutputs) noexcept = 0;

  /// The types, formats and ranges of shapes that were settled on; may come more than once.
  virtual void configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs, const DynamicPluginTensorDesc* out,
                               int32_t nbOutputs) noexcept = 0;

  /// Scratch memory in bytes for the given shapes.
  virtual size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t nbInputs, const PluginTensorDesc* outputs,
                                  int32_t nbOutputs) const noexcept = 0;

  /// Puts the work on `stream`; addresses are host addresses on a CPU engine. 0 on success.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

  IPluginV2DynamicExt() = default;

 protected:
  ~IPluginV2DynamicExt() noexcept override = default;
  IPluginV2DynamicExt(const IPluginV2DynamicExt&) = default;
  IPluginV2DynamicExt(IPluginV2DynamicExt&&) = default;
  IPluginV2DynamicExt& operator=(const IPluginV2DynamicExt&) & = default;
  IPluginV2DynamicExt& operator=(IPluginV2DynamicExt&&) & = default;

  int32_t getTensorRTVersion() const noexcept override {
    return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_DYNAMICEXT) << 24U) |
                                (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
  }

 private:
  // What the bases ask of plugins with fixed shapes has no meaning here.
  bool supportsFormat(DataType, PluginFormat) const noexcept final { return false; }
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*, const bool*,
                       const bool*, PluginFormat, int32_t) noexcept final {}
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept final { return true; }
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept final { return false; }
  Dims getOutputDimensions(int32_t, const Dims*, int32_t) noexcept final { return Dims{-1, {}}; }
  size_t getWorkspaceSize(int32_t) const noexcept final { return 0; }
  int32_t enqueue(int32_t, const void* const*, void* const*, void*, cudaStream_t) noexcept final { return 1; }
};

}  // namespace nvinfer1
