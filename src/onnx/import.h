// The ONNX front end: untrusted bytes to a checked Graph. All problems of a model are found in one pass.
// No protobuf type leaves src/onnx.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "onnx/import_options.h"
#include "onnx/import_problem.h"

namespace wootz {

// The graph; its inputs and outputs carry the model's names. On failure the Status says how many problems there are
// and the first few, and `problems` (may be null) gets all. Weights are not copied twice: a tensor owns the bytes that
// the parser made, and external data stay in the mapped file, which must not shrink while a tensor of it lives.
Result<std::shared_ptr<Graph>> import_model(std::span<const std::byte> bytes, const ImportOptions& options = {},
                                            std::vector<ImportProblem>* problems = nullptr);
Result<std::shared_ptr<Graph>> import_file(const std::string& path, const ImportOptions& options = {},
                                           std::vector<ImportProblem>* problems = nullptr);

// Which nodes of a model can be imported. Where a refused node's outputs have a type in the model's value_info, the
// nodes after it are judged with that type; elsewhere by their op and version alone.
struct NodeSupport {
  std::string name;
  std::string op;
  std::string domain;
  bool supported = true;
};
struct ModelSupport {
  std::vector<NodeSupport> nodes;  // the top-level nodes, as the file has them
  std::vector<int> order;          // their indices in topological order
  std::vector<ImportProblem> problems;
  bool whole() const { return problems.empty(); }
};
Result<ModelSupport> query_support(std::span<const std::byte> bytes, const ImportOptions& options = {});

// The support table: for each op the opset versions from which its import functions apply, by domain and name.
struct SupportedOp {
  std::string domain;
  std::string op;
  std::vector<int> since_versions;  // ascending
};
const std::vector<SupportedOp>& supported_ops();

// Newest versions that were read when this was written. Newer models are refused, not guessed at.
inline constexpr int kMaxOnnxIrVersion = 14;
inline constexpr int kMaxOnnxOpset = 28;

}  // namespace wootz
