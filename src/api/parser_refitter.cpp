#include "api/parser_refitter.h"

#include <filesystem>

#include "onnx/import.h"

namespace wootz::api {
namespace {

ImportOptions options_for(const char* model_path) {
  ImportOptions options;
  options.model_dir = model_path == nullptr ? "" : std::filesystem::path(model_path).parent_path().string();
  if (options.model_dir.empty()) options.model_dir = ".";
  return options;
}

ImportProblem refit_problem(const Status& status) { return {status.code(), status.message(), "", "", "", 0, -1}; }

}  // namespace

Status ParserRefitterImpl::take(Result<std::shared_ptr<Graph>> graph, std::vector<ImportProblem> problems) {
  for (ImportProblem& problem : problems) errors_.push_back(std::make_unique<ParserErrorImpl>(std::move(problem)));
  if (!graph.ok()) {
    if (problems.empty()) errors_.push_back(std::make_unique<ParserErrorImpl>(refit_problem(graph.status())));
    return graph.status();
  }
  models_.push_back(*graph);
  const Status offered = refitter_.offer_all(**graph);
  if (!offered.ok()) errors_.push_back(std::make_unique<ParserErrorImpl>(refit_problem(offered)));
  return offered;
}

bool ParserRefitterImpl::refitFromBytes(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                                        const char* modelPath) noexcept {
  return attempt(reporter_, "IParserRefitter::refitFromBytes", [&]() -> Status {
    if (serializedOnnxModel == nullptr || serializedOnnxModelSize == 0) return invalid_argument("the model is empty");
    const std::span bytes(static_cast<const std::byte*>(serializedOnnxModel), serializedOnnxModelSize);
    std::vector<ImportProblem> problems;
    Result<std::shared_ptr<Graph>> graph = import_model(bytes, options_for(modelPath), &problems);
    return take(std::move(graph), std::move(problems));
  });
}

bool ParserRefitterImpl::refitFromFile(const char* onnxModelFile) noexcept {
  return attempt(reporter_, "IParserRefitter::refitFromFile", [&]() -> Status {
    if (onnxModelFile == nullptr) return invalid_argument("the path is null");
    std::vector<ImportProblem> problems;
    Result<std::shared_ptr<Graph>> graph = import_file(onnxModelFile, {}, &problems);
    return take(std::move(graph), std::move(problems));
  });
}

const nvonnxparser::IParserError* ParserRefitterImpl::getError(int32_t index) const noexcept {
  return index >= 0 && index < getNbErrors() ? errors_[static_cast<size_t>(index)].get() : nullptr;
}

bool ParserRefitterImpl::loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                                        const char* modelPath) noexcept {
  return attempt(reporter_, "IParserRefitter::loadModelProto", [&]() -> Status {
    if (serializedOnnxModel == nullptr || serializedOnnxModelSize == 0) return invalid_argument("the model is empty");
    const auto* bytes = static_cast<const std::byte*>(serializedOnnxModel);
    loaded_.assign(bytes, bytes + serializedOnnxModelSize);
    loaded_path_ = modelPath == nullptr ? "" : modelPath;
    return Status();
  });
}

bool ParserRefitterImpl::loadInitializer(const char* name, const void*, size_t) noexcept {
  return attempt(reporter_, "IParserRefitter::loadInitializer", [&]() -> Status {
    if (loaded_.empty()) return make_error(Code::kInvalidState, "no model was loaded");
    return unsupported("initializer '{}': weights held by the application are given to IRefitter::setNamedWeights",
                       name == nullptr ? "" : name);
  });
}

bool ParserRefitterImpl::refitModelProto() noexcept {
  const std::vector<std::byte> bytes = std::exchange(loaded_, {});
  if (bytes.empty())
    return attempt(reporter_, "IParserRefitter::refitModelProto",
                   [] { return make_error(Code::kInvalidState, "no model was loaded"); });
  return refitFromBytes(bytes.data(), bytes.size(), loaded_path_.empty() ? nullptr : loaded_path_.c_str());
}

}  // namespace wootz::api
