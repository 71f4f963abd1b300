#include "api/parser.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "api/builder_config.h"
#include "api/network/network.h"
#include "api/plugins/onnx_plugins.h"
#include "api/runtime/made_here.h"

namespace wootz::api {

using nvonnxparser::ErrorCode;
using nvonnxparser::OnnxParserFlag;

namespace {

ErrorCode code_of(const ImportProblem& problem) {
  const bool node = !problem.op.empty();
  switch (problem.code) {
    case Code::kOk: return ErrorCode::kSUCCESS;
    case Code::kCorrupt:
    case Code::kIo: return ErrorCode::kMODEL_DESERIALIZE_FAILED;
    case Code::kUnsupported: return node ? ErrorCode::kUNSUPPORTED_NODE : ErrorCode::kUNSUPPORTED_GRAPH;
    case Code::kResourceExhausted: return ErrorCode::kMEM_ALLOC_FAILED;
    case Code::kInvalidArgument:
    case Code::kInvalidState: return node ? ErrorCode::kINVALID_NODE : ErrorCode::kINVALID_GRAPH;
    case Code::kCancelled:
    case Code::kInternal: break;
  }
  return ErrorCode::kINTERNAL_ERROR;
}

// What becomes of each flag when it is not as it is at first, in the order of their numbers.
constexpr const char* kFlagNotes[] = {
    "OnnxParserFlag::kNATIVE_INSTANCENORM: instance normalization is computed by a layer with or without this flag",
    "OnnxParserFlag::kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA: there is no DLA here",
    "OnnxParserFlag::kREPORT_CAPABILITY_DLA: there is no DLA here",
    nullptr,  // kENABLE_PLUGIN_OVERRIDE acts
    "OnnxParserFlag::kADJUST_FOR_DLA: there is no DLA here",
};
static_assert(std::size(kFlagNotes) == nvonnxparser::EnumMax<OnnxParserFlag>());
constexpr uint32_t kFlagsAtFirst = 1;

bool known(OnnxParserFlag flag) {
  const auto number = static_cast<int32_t>(flag);
  return number >= 0 && number < nvonnxparser::EnumMax<OnnxParserFlag>();
}

Result<std::span<const std::byte>> bytes_of(const void* data, size_t size) {
  if (data == nullptr) return invalid_argument("the model is null");
  if (size == 0) return invalid_argument("the model has no bytes");
  return std::span<const std::byte>(static_cast<const std::byte*>(data), size);
}

}  // namespace

ParserErrorImpl::ParserErrorImpl(ImportProblem problem)
    : problem_(std::move(problem)), code_(code_of(problem_)), text_(problem_.reason) {
  for (const std::string& name : problem_.functions) functions_.push_back(name.c_str());
}

// From the folder of the sources on: the rest is the machine that built the library.
const char* ParserErrorImpl::file() const noexcept {
  const char* const in_sources = std::strstr(problem_.source, "src/");
  return in_sources == nullptr ? problem_.source : in_sources;
}

ParserImpl::ParserImpl(NetworkImpl& network, AppLogger logger) : network_(network), reporter_(logger) {}

ImportOptions ParserImpl::options_for(const char* model_path) const {
  ImportOptions options;
  if (!model_dir_.empty())
    options.model_dir = model_dir_;
  else if (model_path == nullptr || *model_path == '\0')
    options.model_dir = ".";
  else
    options.model_dir = std::filesystem::path(model_path).parent_path().string();
  if (options.model_dir.empty()) options.model_dir = ".";
  take_plugins(&options);
  return options;
}

namespace {

// As the network was made.
nvinfer1::QuickPluginCreationRequest quick_request(const NetworkImpl& network) {
  using nvinfer1::NetworkDefinitionCreationFlag;
  using nvinfer1::QuickPluginCreationRequest;
  if (network.has_flag(NetworkDefinitionCreationFlag::kPREFER_AOT_PYTHON_PLUGINS))
    return QuickPluginCreationRequest::kPREFER_AOT;
  if (network.has_flag(NetworkDefinitionCreationFlag::kPREFER_JIT_PYTHON_PLUGINS))
    return QuickPluginCreationRequest::kPREFER_JIT;
  return QuickPluginCreationRequest::kUNKNOWN;
}

}  // namespace

void ParserImpl::take_plugins(ImportOptions* options) const {
  if (auto* const registry = made_here<PluginRegistry>(&network_.getBuilder().getPluginRegistry()))
    options->plugins = plugins_from(*registry, quick_request(network_));
  options->plugins_first = getFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
}

void ParserImpl::note(ImportProblem problem) {
  reporter_.log(Reporter::Severity::kERROR, "ONNX parser: " + problem.to_string());
  errors_.push_back(std::make_unique<ParserErrorImpl>(std::move(problem)));
}

Status ParserImpl::finish(Result<std::shared_ptr<Graph>> graph, std::vector<ImportProblem> problems) {
  const bool reported = !problems.empty();
  for (ImportProblem& problem : problems) note(std::move(problem));
  if (!graph.ok()) {
    if (!reported) note({graph.status().code(), graph.status().message(), "", "", "", 0, -1});
    return graph.status();
  }
  if (Status status = network_.adopt(std::move(graph).value(), exact_types_); !status.ok()) {
    note({status.code(), status.message(), "", "", "", 0, -1});
    return status;
  }
  return Status();
}

bool ParserImpl::parse(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                       const char* model_path) noexcept {
  return attempt(reporter_, "IParser::parse", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const auto bytes, bytes_of(serialized_onnx_model, serialized_onnx_model_size));
    std::vector<ImportProblem> problems;
    ImportOptions options = options_for(model_path);
    options.absent = &network_.absent();
    Result<std::shared_ptr<Graph>> graph = import_model(bytes, options, &problems);
    return finish(std::move(graph), std::move(problems));
  });
}

bool ParserImpl::parseFromFile(const char* onnxModelFile, int) noexcept {
  return attempt(reporter_, "IParser::parseFromFile", [&]() -> Status {
    if (onnxModelFile == nullptr) return invalid_argument("the path is null");
    ImportOptions options;
    options.model_dir = model_dir_;
    options.absent = &network_.absent();
    take_plugins(&options);
    std::vector<ImportProblem> problems;
    Result<std::shared_ptr<Graph>> graph = import_file(onnxModelFile, options, &problems);
    return finish(std::move(graph), std::move(problems));
  });
}

const nvonnxparser::IParserError* ParserImpl::getError(int index) const noexcept {
  return index >= 0 && static_cast<size_t>(index) < errors_.size() ? errors_[static_cast<size_t>(index)].get()
                                                                   : nullptr;
}

void ParserImpl::take_flags(nvonnxparser::OnnxParserFlags flags) noexcept {
  for (size_t bit = 0; bit < std::size(kFlagNotes); ++bit)
    if (((flags ^ flags_) >> bit & 1U) != 0 && ((flags ^ kFlagsAtFirst) >> bit & 1U) != 0 && kFlagNotes[bit] != nullptr)
      reporter_.warning(kFlagNotes[bit]);
  flags_ = flags;
}
void ParserImpl::setFlags(nvonnxparser::OnnxParserFlags onnxParserFlags) noexcept {
  attempt(reporter_, "IParser::setFlags", [&]() -> Status {
    if (onnxParserFlags >> std::size(kFlagNotes) != 0)
      return invalid_argument("unknown bits in {:#x}", onnxParserFlags);
    take_flags(onnxParserFlags);
    return Status();
  });
}
void ParserImpl::change_flag(const char* call, OnnxParserFlag flag, bool on) noexcept {
  attempt(reporter_, call, [&]() -> Status {
    if (!known(flag)) return invalid_argument("there is no flag {}", static_cast<int32_t>(flag));
    const uint32_t bit = 1U << static_cast<uint32_t>(flag);
    take_flags(on ? flags_ | bit : flags_ & ~bit);
    return Status();
  });
}
void ParserImpl::clearFlag(OnnxParserFlag onnxParserFlag) noexcept {
  change_flag("IParser::clearFlag", onnxParserFlag, false);
}
void ParserImpl::setFlag(OnnxParserFlag onnxParserFlag) noexcept {
  change_flag("IParser::setFlag", onnxParserFlag, true);
}
bool ParserImpl::getFlag(OnnxParserFlag onnxParserFlag) const noexcept {
  return known(onnxParserFlag) && (flags_ >> static_cast<uint32_t>(onnxParserFlag) & 1U) != 0;
}

// What an operator is imported as depends on no setting of a build: every backend has all of them.
bool ParserImpl::setBuilderConfig(const nvinfer1::IBuilderConfig* config) noexcept {
  return attempt(reporter_, "IParser::setBuilderConfig", [&]() -> Status {
    if (config == nullptr) return Status();
    if (made_here<BuilderConfigImpl>(config) == nullptr)
      return invalid_argument("the config was not made by a builder of this library");
    reporter_.log(Reporter::Severity::kINFO,
                  "IParser::setBuilderConfig: operators are supported alike under every config of a build");
    return Status();
  });
}

const nvinfer1::ITensor* ParserImpl::getLayerOutputTensor(const char* name, int64_t i) noexcept {
  if (name == nullptr || i < 0) return nullptr;
  const std::string_view wanted(name);
  const LayerCore* found = nullptr;
  for (const auto& layer : network_.layers()) {
    // Of several layers made from one node, the last gives the node's results.
    const bool from = layer->origin && std::find(layer->origin->provenance.begin(), layer->origin->provenance.end(),
                                                 wanted) != layer->origin->provenance.end();
    if (layer->name() == wanted || from) found = layer.get();
  }
  if (found == nullptr || static_cast<size_t>(i) >= found->outputs.size()) return nullptr;
  return found->outputs[static_cast<size_t>(i)];
}

bool ParserImpl::supportsOperator(const char* op_name) const noexcept {
  if (op_name == nullptr) return false;
  return attempt_or(reporter_, "IParser::supportsOperator", false, [&]() -> Result<bool> {
    const std::vector<SupportedOp>& ops = supported_ops();
    return std::any_of(ops.begin(), ops.end(), [&](const SupportedOp& op) { return op.op == op_name; });
  });
}

bool ParserImpl::supportsModelV2(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                                 const char* modelPath) noexcept {
  subgraphs_.clear();
  return attempt_or(reporter_, "IParser::supportsModelV2", false, [&]() -> Result<bool> {
    WOOTZ_ASSIGN_OR_RETURN(const auto bytes, bytes_of(serializedOnnxModel, serializedOnnxModelSize));
    Result<ModelSupport> support = query_support(bytes, options_for(modelPath));
    if (!support.ok()) {
      note({support.status().code(), support.status().message(), "", "", "", 0, -1});
      return false;
    }
    // Runs in topological order, so that no subgraph depends on one after it.
    for (const int node : support->order) {
      const bool supported = support->nodes[static_cast<size_t>(node)].supported;
      if (subgraphs_.empty() || subgraphs_.back().supported != supported) subgraphs_.push_back({{}, supported});
      subgraphs_.back().nodes.push_back(node);
    }
    const bool whole = support->whole();
    for (ImportProblem& problem : support->problems) note(std::move(problem));
    return whole;
  });
}

bool ParserImpl::has_subgraph(const char* call, int64_t index) const noexcept {
  return attempt(reporter_, call, [&]() -> Status {
    if (index >= 0 && static_cast<size_t>(index) < subgraphs_.size()) return Status();
    return invalid_argument("there is no subgraph {}; the last model asked about has {}", index, subgraphs_.size());
  });
}

bool ParserImpl::isSubgraphSupported(const int64_t index) noexcept {
  return has_subgraph("IParser::isSubgraphSupported", index) && subgraphs_[static_cast<size_t>(index)].supported;
}

int64_t* ParserImpl::getSubgraphNodes(const int64_t index, int64_t& subgraphLength) noexcept {
  subgraphLength = 0;
  if (!has_subgraph("IParser::getSubgraphNodes", index)) return nullptr;
  std::vector<int64_t>& nodes = subgraphs_[static_cast<size_t>(index)].nodes;
  subgraphLength = static_cast<int64_t>(nodes.size());
  return nodes.data();
}

bool ParserImpl::supportsModel(const void* serialized_onnx_model, size_t serialized_onnx_model_size,
                               SubGraphCollection_t& sub_graph_collection, const char* model_path) noexcept {
  const bool whole = supportsModelV2(serialized_onnx_model, serialized_onnx_model_size, model_path);
  return attempt(reporter_, "IParser::supportsModel",
                 [&]() -> Status {
                   sub_graph_collection.clear();
                   for (const Subgraph& subgraph : subgraphs_)
                     sub_graph_collection.emplace_back(
                         std::vector<size_t>(subgraph.nodes.begin(), subgraph.nodes.end()), subgraph.supported);
                   return Status();
                 }) &&
         whole;
}

bool ParserImpl::loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                                const char* modelPath) noexcept {
  return attempt(reporter_, "IParser::loadModelProto", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(const auto bytes, bytes_of(serializedOnnxModel, serializedOnnxModelSize));
    loaded_.assign(bytes.begin(), bytes.end());
    loaded_path_ = modelPath == nullptr ? "" : modelPath;
    return Status();
  });
}

bool ParserImpl::loadInitializer(const char* name, const void*, size_t) noexcept {
  return attempt(reporter_, "IParser::loadInitializer", [&]() -> Status {
    if (loaded_.empty()) return make_error(Code::kInvalidState, "no model was loaded");
    return unsupported(
        "initializer '{}': weights held by the application are not taken; put them into the model, or "
        "into a file beside it",
        name == nullptr ? "" : name);
  });
}

bool ParserImpl::parseModelProto() noexcept {
  if (loaded_.empty())
    return attempt(reporter_, "IParser::parseModelProto",
                   [] { return make_error(Code::kInvalidState, "no model was loaded"); });
  const std::vector<std::byte> bytes = std::exchange(loaded_, {});
  return parse(bytes.data(), bytes.size(), loaded_path_.empty() ? nullptr : loaded_path_.c_str());
}

const char* const* ParserImpl::getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept {
  nbPluginLibs = 0;
  return nullptr;
}

bool ParserImpl::parseWithWeightDescriptors(const void* serialized_onnx_model,
                                            size_t serialized_onnx_model_size) noexcept {
  return parse(serialized_onnx_model, serialized_onnx_model_size, nullptr);
}

Status ParserImpl::set_option(std::string_view key, const char* value) {
  const std::string_view text = value == nullptr ? "" : value;
  if (key == "io_types") {
    if (!text.empty() && text != "api" && text != "exact")
      return invalid_argument("option 'io_types': '{}'; api and exact are possible", text);
    exact_types_ = text == "exact";
    return Status();
  }
  if (key == "model_dir") {
    model_dir_ = text;
    return Status();
  }
  return invalid_argument("there is no option '{}'; the options are: io_types, model_dir", key);
}

}  // namespace wootz::api
