// V2 plugins, superseded by V3: IPluginV2, IPluginV2Ext, IPluginV2IOExt, IPluginCreator. Networks take plugins of
// IPluginV2DynamicExt (plugin_v2_dynamic.h), and, where all extents are fixed, of IPluginV2IOExt and IPluginV2Ext:
// these see the batch as an extent like any other, and a batch size of 1.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated names refer to each other
#endif

#include <cstddef>
#include <cstdint>

#include "wootz/allocator.h"
#include "wootz/char_types.h"
#include "wootz/cuda_types.h"
#include "wootz/macros.h"
#include "wootz/plugin_base.h"
#include "wootz/plugin_field.h"
#include "wootz/plugin_tensor.h"

namespace nvinfer1 {

/// Which V2 class a plugin derives from: the top byte of getTensorRTVersion().
enum class PluginVersion : uint8_t {
  kV2 TRT_DEPRECATED_ENUM = 0,
  kV2_EXT TRT_DEPRECATED_ENUM = 1,
  kV2_IOEXT TRT_DEPRECATED_ENUM = 2,
  kV2_DYNAMICEXT TRT_DEPRECATED_ENUM = 3,
  kV2_DYNAMICEXT_PYTHON TRT_DEPRECATED_ENUM = 67,
};

enum class PluginCreatorVersion : int32_t {
  kV1 TRT_DEPRECATED_ENUM = 0,
  kV1_PYTHON TRT_DEPRECATED_ENUM = 64,
};

/// A custom layer with a fixed, implicit batch; kept as a base class. A network takes none that derives from it alone.
class TRT_DEPRECATED IPluginV2 {
 public:
  /// API level the plugin was compiled with, and its PluginVersion in the top byte. Plugins leave it alone.
  virtual int32_t getTensorRTVersion() const noexcept { return NV_TENSORRT_VERSION; }

  /// Name and version under which its creator is found again when a plan is loaded.
  virtual const AsciiChar* getPluginType() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  virtual int32_t getNbOutputs() const noexcept = 0;

  /// Extents of output `index`, without the batch.
  virtual Dims getOutputDimensions(int32_t index, const Dims* inputs, int32_t nbInputDims) noexcept = 0;

  virtual bool supportsFormat(DataType type, PluginFormat format) const noexcept = 0;
  virtual void configureWithFormat(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims, int32_t nbOutputs,
                                   DataType type, PluginFormat format, int32_t maxBatchSize) noexcept = 0;

  /// Acquires and frees what enqueue needs, once per engine. 0 on success.
  virtual int32_t initialize() noexcept = 0;
  virtual void terminate() noexcept = 0;

  /// Scratch memory in bytes.
  virtual size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept = 0;

  /// Puts the work on `stream`. 0 on success.
  virtual int32_t enqueue(int32_t batchSize, const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

  /// Size in bytes of what serialize writes, and the writing.
  virtual size_t getSerializationSize() const noexcept = 0;
  virtual void serialize(void* buffer) const noexcept = 0;

  /// Ends the object; the library calls this, never delete.
  virtual void destroy() noexcept = 0;

  /// An equal plugin, to be ended with destroy().
  virtual IPluginV2* clone() const noexcept = 0;

  /// Namespace of its creator; the string is copied.
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

  IPluginV2() = default;
  virtual ~IPluginV2() noexcept = default;

 protected:
  IPluginV2(const IPluginV2&) = default;
  IPluginV2(IPluginV2&&) = default;
  IPluginV2& operator=(const IPluginV2&) & = default;
  IPluginV2& operator=(IPluginV2&&) & = default;
};

/// Adds output types.
class TRT_DEPRECATED IPluginV2Ext : public IPluginV2 {
 public:
  /// Type of output `index`, given the inputs' types.
  virtual nvinfer1::DataType getOutputDataType(int32_t index, const nvinfer1::DataType* inputTypes,
                                               int32_t nbInputs) const noexcept = 0;

#if NV_TENSORRT_MAJOR >= 11
 private:
  // Leftovers of level 10, which keep their places.
  virtual bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept { return false; }
  virtual bool canBroadcastInputAcrossBatch(int32_t) const noexcept { return true; }

 public:
#else
  /// Leftovers of the implicit batch; never asked.
  TRT_DEPRECATED virtual bool isOutputBroadcastAcrossBatch(int32_t outputIndex, const bool* inputIsBroadcasted,
                                                           int32_t nbInputs) const noexcept = 0;
  TRT_DEPRECATED virtual bool canBroadcastInputAcrossBatch(int32_t inputIndex) const noexcept = 0;
#endif

  virtual void configurePlugin(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims, int32_t nbOutputs,
                               const DataType* inputTypes, const DataType* outputTypes, const bool* inputIsBroadcast,
                               const bool* outputIsBroadcast, PluginFormat floatFormat,
                               int32_t maxBatchSize) noexcept = 0;

  /// An execution context begins or ends its use of the plugin. Library handles are null on a CPU engine.
  virtual void attachToContext(cudnnContext* /*cudnn*/, cublasContext* /*cublas*/,
                               IGpuAllocator* /*allocator*/) noexcept {}
  virtual void detachFromContext() noexcept {}

  IPluginV2Ext* clone() const noexcept override = 0;

  IPluginV2Ext() = default;
  ~IPluginV2Ext() noexcept override = default;

 protected:
  IPluginV2Ext(const IPluginV2Ext&) = default;
  IPluginV2Ext(IPluginV2Ext&&) = default;
  IPluginV2Ext& operator=(const IPluginV2Ext&) & = default;
  IPluginV2Ext& operator=(IPluginV2Ext&&) & = default;

  int32_t getTensorRTVersion() const noexcept override {
    return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_EXT) << 24U) |
                                (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
  }

  void configureWithFormat(const Dims* /*inputDims*/, int32_t /*nbInputs*/, const Dims* /*outputDims*/,
                           int32_t /*nbOutputs*/, DataType /*type*/, PluginFormat /*format*/,
                           int32_t /*maxBatchSize*/) noexcept override {}
};

/// Adds a type and format for each input and output.
class TRT_DEPRECATED IPluginV2IOExt : public IPluginV2Ext {
 public:
  virtual void configurePlugin(const PluginTensorDesc* in, int32_t nbInput, const PluginTensorDesc* out,
                               int32_t nbOutput) noexcept = 0;

  /// Whether entry `pos` of inOut (inputs, then outputs) is acceptable, given the entries before it.
  virtual bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* inOut, int32_t nbInputs,
                                         int32_t nbOutputs) const noexcept = 0;

  IPluginV2IOExt() = default;
  ~IPluginV2IOExt() noexcept override = default;

 protected:
  IPluginV2IOExt(const IPluginV2IOExt&) = default;
  IPluginV2IOExt(IPluginV2IOExt&&) = default;
  IPluginV2IOExt& operator=(const IPluginV2IOExt&) & = default;
  IPluginV2IOExt& operator=(IPluginV2IOExt&&) & = default;

  int32_t getTensorRTVersion() const noexcept override {
    return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_IOEXT) << 24U) |
                                (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
  }

 private:
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*, const bool*,
                       const bool*, PluginFormat, int32_t) noexcept final {}
  bool supportsFormat(DataType, PluginFormat) const noexcept final { return false; }
};

namespace v_1_0 {

/// Makes V2 plugins, implemented by the application and known to a plugin registry under name, version and namespace.
class TRT_DEPRECATED IPluginCreator : public IPluginCreatorInterface {
 public:
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  /// Attributes that createPlugin understands; owned by the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;

  /// A plugin named `name` with the attributes `fc`. Null on failure.
  virtual IPluginV2* createPlugin(const AsciiChar* name, const PluginFieldCollection* fc) noexcept = 0;

  /// A plugin from what IPluginV2::serialize wrote. Null on failure.
  virtual IPluginV2* deserializePlugin(const AsciiChar* name, const void* serialData, size_t serialLength) noexcept = 0;

  /// Namespace; the string is copied.
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

  IPluginCreator() = default;
  ~IPluginCreator() noexcept override = default;

 protected:
  IPluginCreator(const IPluginCreator&) = default;
  IPluginCreator(IPluginCreator&&) = default;
  IPluginCreator& operator=(const IPluginCreator&) & = default;
  IPluginCreator& operator=(IPluginCreator&&) & = default;

 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN CREATOR_V1", 1, 0}; }
};

}  // namespace v_1_0

using IPluginCreator = v_1_0::IPluginCreator;

}  // namespace nvinfer1
