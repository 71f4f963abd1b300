// nvonnxparser::IParserRefitter: a model's weights for a refitter.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/parser.h"
#include "api/public.h"
#include "api/refitter.h"

namespace wootz::api {

class ParserRefitterImpl final : public nvonnxparser::IParserRefitter {
 public:
  ParserRefitterImpl(RefitterImpl& refitter, AppLogger logger) : refitter_(refitter), reporter_(logger) {}

  bool refitFromBytes(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                      const char* modelPath) noexcept override;
  bool refitFromFile(const char* onnxModelFile) noexcept override;
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(errors_.size()); }
  const nvonnxparser::IParserError* getError(int32_t index) const noexcept override;
  void clearErrors() override { errors_.clear(); }
  bool loadModelProto(const void* serializedOnnxModel, size_t serializedOnnxModelSize,
                      const char* modelPath) noexcept override;
  bool loadInitializer(const char* name, const void* data, size_t size) noexcept override;
  bool refitModelProto() noexcept override;

 private:
  Status take(Result<std::shared_ptr<Graph>> graph, std::vector<ImportProblem> problems);

  RefitterImpl& refitter_;
  Reporter reporter_;
  std::vector<std::unique_ptr<ParserErrorImpl>> errors_;
  std::vector<std::shared_ptr<Graph>> models_;  // whose weights were offered
  std::vector<std::byte> loaded_;
  std::string loaded_path_;
};

}  // namespace wootz::api
