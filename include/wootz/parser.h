// nvonnxparser::IParser: ONNX models into networks.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated methods take deprecated types
#endif

#include <cstddef>
#include <cstdint>

#include "wootz/builder_config.h"
#include "wootz/macros.h"
#include "wootz/parser_error.h"
#include "wootz/subgraph.h"
#include "wootz/tensor.h"

namespace nvonnxparser {

/// Bits 1U << OnnxParserFlag.
using OnnxParserFlags = uint32_t;

enum class OnnxParserFlag : int32_t {
  kNATIVE_INSTANCENORM = 0,
  kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1,
  kREPORT_CAPABILITY_DLA = 2,
  kENABLE_PLUGIN_OVERRIDE = 3,
  kADJUST_FOR_DLA = 4,
};

template <>
constexpr int32_t EnumMax<OnnxParserFlag>() noexcept {
  return 5;
}

class IParser {
 public:
  virtual bool parse(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                     const char* model_path = nullptr) noexcept = 0;
  virtual bool parseFromFile(const char* onnxModelFile, int verbosity) noexcept = 0;
  TRT_DEPRECATED virtual bool supportsModel(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                                            SubGraphCollection_t& sub_graph_collection,
                                            const char* model_path = nullptr) noexcept = 0;
  TRT_DEPRECATED virtual bool parseWithWeightDescriptors(const void* serialized_onnx_model,
                                                         size_t serialized_onnx_model_size) noexcept = 0;
  virtual bool supportsOperator(const char* op_name) const noexcept = 0;
  virtual int getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int index) const noexcept = 0;
  virtual void clearErrors() noexcept = 0;
  virtual const char* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept = 0;
  virtual void setFlags(OnnxParserFlags onnxParserFlags) noexcept = 0;
  virtual OnnxParserFlags getFlags() const noexcept = 0;
  virtual void clearFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual void setFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual bool getFlag(OnnxParserFlag onnxParserFlag) const noexcept = 0;
  virtual const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t i) noexcept = 0;
  virtual bool supportsModelV2(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                               const char* modelPath = nullptr) noexcept = 0;
  virtual int64_t getNbSubgraphs() noexcept = 0;
  virtual bool isSubgraphSupported(const int64_t index) noexcept = 0;
  virtual int64_t* getSubgraphNodes(const int64_t index, int64_t& subgraphLength) noexcept = 0;
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  virtual bool parseModelProto() noexcept = 0;
  virtual bool setBuilderConfig(const nvinfer1::IBuilderConfig* builderConfig) noexcept = 0;

  virtual ~IParser() noexcept = default;
};

}  // namespace nvonnxparser
