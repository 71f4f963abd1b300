// nvonnxparser::IParser: ONNX models into networks.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated methods take deprecated types
#endif

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "wootz/builder_config.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/parser_error.h"
#include "wootz/subgraph.h"
#include "wootz/tensor.h"

namespace nvonnxparser {

/// Bits 1U << OnnxParserFlag.
using OnnxParserFlags = uint32_t;

enum class OnnxParserFlag : int32_t {
  /// Instance normalization by a layer, not a plugin; always so here, and set by default.
  kNATIVE_INSTANCENORM = 0,
  /// For DLA; no effect here. So for the other two of DLA.
  kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1,
  kREPORT_CAPABILITY_DLA = 2,
  /// A plugin wins over the built-in meaning of an operator of the same name.
  kENABLE_PLUGIN_OVERRIDE = 3,
  kADJUST_FOR_DLA = 4,
};

template <>
constexpr int32_t EnumMax<OnnxParserFlag>() noexcept {
  return 5;
}

/// Adds the layers of an ONNX model to a network; made by createParser. Weights stay in the parser, so it must live
/// until the network is built. Model bytes may come from anywhere: they are checked before use. Use one parser from one
/// thread at a time. What went wrong is in the errors, and in the log.
class IParser {
 public:
  /// Reads a model and adds it. `model_path` says where the bytes come from, for weights in files beside it; null: in
  /// the working folder. False on failure: then the network is of no use.
  virtual bool parse(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                     const char* model_path = nullptr) noexcept = 0;

  /// The same from a file. `verbosity` is a bound as an ILogger::Severity for what goes to the log.
  virtual bool parseFromFile(const char* onnxModelFile, int verbosity) noexcept = 0;

  /// Errors so far, and one of them, by index; null when out of range.
  virtual int getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int index) const noexcept = 0;
  virtual void clearErrors() noexcept = 0;

  /// Replaces all flags. Those that do nothing here are named in a warning; unknown bits are refused, and the flags
  /// stay.
  virtual void setFlags(OnnxParserFlags onnxParserFlags) noexcept = 0;
  virtual OnnxParserFlags getFlags() const noexcept = 0;

  /// Clears, sets and reads one flag. To be set before parsing.
  virtual void clearFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual void setFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual bool getFlag(OnnxParserFlag onnxParserFlag) const noexcept = 0;

  /// Config of the coming build, where support of an operator depends on it; null for none.
  virtual bool setBuilderConfig(const nvinfer1::IBuilderConfig* builderConfig) noexcept = 0;

  /// Output `i` of the layer made from the ONNX node `name`; null when there is none.
  virtual const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t i) noexcept = 0;

  /// Whether an operator is known; an example of it may still be refused.
  virtual bool supportsOperator(const char* op_name) const noexcept = 0;

  /// Splits a model into subgraphs by what is supported, to be asked for by the three methods below. True when the
  /// whole model is.
  virtual bool supportsModelV2(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                               const char* modelPath = nullptr) noexcept = 0;

  /// Number of subgraphs; 0 before supportsModelV2.
  virtual int64_t getNbSubgraphs() noexcept = 0;

  /// Whether all its nodes are supported; false also when out of range.
  virtual bool isSubgraphSupported(const int64_t index) noexcept = 0;

  /// Indices of its nodes in order, owned by the parser, and how many; null when out of range.
  virtual int64_t* getSubgraphNodes(const int64_t index, int64_t& subgraphLength) noexcept = 0;

  /// First of three steps that do what parse does: the model, whose large weights may be missing. Then loadInitializer
  /// for them, then parseModelProto.
  virtual bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                              const char* modelPath = nullptr) noexcept = 0;

  /// Values of an initializer, not copied: they must stay until the network is built. False for an unknown name or a
  /// wrong size.
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;

  /// Adds the model that was loaded. False on failure.
  virtual bool parseModelProto() noexcept = 0;

  /// Plugin libraries that the plan must carry to be loadable elsewhere; paths owned by the parser. None here.
  virtual const char* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept = 0;

  WOOTZ_UNTIL_10
  /// Which nodes could be added: sub_graph_collection receives runs of them, each with whether it is supported.
  /// True when the whole model is.
  TRT_DEPRECATED virtual bool supportsModel(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                                            std::vector<std::pair<std::vector<size_t>, bool>>& sub_graph_collection,
                                            const char* model_path = nullptr) noexcept = 0;

  /// As parse, for models that keep their weights elsewhere.
  TRT_DEPRECATED virtual bool parseWithWeightDescriptors(const void* serialized_onnx_model,
                                                         size_t serialized_onnx_model_size) noexcept = 0;

 public:
  virtual ~IParser() noexcept = default;
};

}  // namespace nvonnxparser
