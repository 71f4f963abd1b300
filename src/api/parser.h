// nvonnxparser::IParser over the importer.
#pragma once

#include <string>
#include <vector>

#include "api/public.h"
#include "api/runtime/reporter.h"
#include "onnx/import.h"

namespace wootz::api {

class NetworkImpl;

class ParserErrorImpl final : public nvonnxparser::IParserError {
 public:
  explicit ParserErrorImpl(ImportProblem problem);
  nvonnxparser::ErrorCode code() const noexcept override { return code_; }
  const char* desc() const noexcept override { return text_.c_str(); }
  const char* file() const noexcept override;
  int line() const noexcept override { return problem_.line; }
  const char* func() const noexcept override { return problem_.source_function; }
  int node() const noexcept override { return problem_.node_index; }
  const char* nodeName() const noexcept override { return problem_.node.c_str(); }
  const char* nodeOperator() const noexcept override { return problem_.op.c_str(); }
  const char* const* localFunctionStack() const noexcept override {
    return functions_.empty() ? nullptr : functions_.data();
  }
  int32_t localFunctionStackSize() const noexcept override { return static_cast<int32_t>(functions_.size()); }

 private:
  ImportProblem problem_;
  nvonnxparser::ErrorCode code_;
  std::string text_;
  std::vector<const char*> functions_;
};

class ParserImpl final : public nvonnxparser::IParser {
 public:
  ParserImpl(NetworkImpl& network, AppLogger logger);

  bool parse(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
             const char* model_path) noexcept override;
  bool parseFromFile(const char* onnxModelFile, int verbosity) noexcept override;
  int getNbErrors() const noexcept override { return static_cast<int>(errors_.size()); }
  const nvonnxparser::IParserError* getError(int index) const noexcept override;
  void clearErrors() noexcept override { errors_.clear(); }
  void setFlags(nvonnxparser::OnnxParserFlags onnxParserFlags) noexcept override;
  nvonnxparser::OnnxParserFlags getFlags() const noexcept override { return flags_; }
  void clearFlag(nvonnxparser::OnnxParserFlag onnxParserFlag) noexcept override;
  void setFlag(nvonnxparser::OnnxParserFlag onnxParserFlag) noexcept override;
  bool getFlag(nvonnxparser::OnnxParserFlag onnxParserFlag) const noexcept override;
  bool setBuilderConfig(const nvinfer1::IBuilderConfig* config) noexcept override;
  const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t i) noexcept override;
  bool supportsOperator(const char* op_name) const noexcept override;
  bool supportsModelV2(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                       const char* modelPath) noexcept override;
  int64_t getNbSubgraphs() noexcept override { return static_cast<int64_t>(subgraphs_.size()); }
  bool isSubgraphSupported(const int64_t index) noexcept override;
  int64_t* getSubgraphNodes(const int64_t index, int64_t& subgraphLength) noexcept override;
  bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                      const char* modelPath) noexcept override;
  bool loadInitializer(const char* name, const void* data, size_t size) noexcept override;
  bool parseModelProto() noexcept override;
  const char* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept override;
  bool supportsModel(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                     SubGraphCollection_t& sub_graph_collection, const char* model_path) noexcept override;
  bool parseWithWeightDescriptors(const void* serialized_onnx_model,
                                  size_t serialized_onnx_model_size) noexcept override;

  Status set_option(std::string_view key, const char* value);

 private:
  struct Subgraph {
    std::vector<int64_t> nodes;
    bool supported = false;
  };
  ImportOptions options_for(const char* model_path) const;
  void take_plugins(ImportOptions* options) const;  // the registry of the network's builder
  // Adds the imported graph, or notes every problem.
  Status finish(Result<std::shared_ptr<Graph>> graph, std::vector<ImportProblem> problems);
  void note(ImportProblem problem);
  // Keeps them, and names in a warning each that is new and has no effect.
  void take_flags(nvonnxparser::OnnxParserFlags flags) noexcept;
  void change_flag(const char* call, nvonnxparser::OnnxParserFlag flag, bool on) noexcept;
  bool has_subgraph(const char* call, int64_t index) const noexcept;  // false: reported

  NetworkImpl& network_;
  Reporter reporter_;
  std::vector<std::unique_ptr<ParserErrorImpl>> errors_;
  nvonnxparser::OnnxParserFlags flags_ = 1;  // kNATIVE_INSTANCENORM
  std::vector<Subgraph> subgraphs_;
  std::vector<std::byte> loaded_;
  std::string loaded_path_;
  bool exact_types_ = false;
  std::string model_dir_;
};

}  // namespace wootz::api
