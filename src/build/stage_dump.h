// The graph and the program as they are between stages, as files to read, to compare and to start from.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/program.h"
#include "base/json.h"
#include "ir/graph.h"
#include "report/record.h"

namespace wootz {

// Files are numbered in the order of the build: "03.passes.fold_constants.graph.txt", "21.choose.program.txt".
// Constants of some size are beside them, each once: "constants/<digest>.bin". "stages.json" lists stages with their
// times and files.
class StageDump {
 public:
  explicit StageDump(std::string folder) : folder_(std::move(folder)) {}

  bool wanted() const { return !folder_.empty(); }
  // Write nothing where nothing is wanted, or where nothing changed since the last one.
  Status graph(const std::string& stage, const Graph& graph);
  Status program(const std::string& stage, const Program& program);
  Status finish(const std::vector<StageTime>& stages);

 private:
  Status write(const std::string& stage, const char* kind, const std::string& text, std::string* last);
  std::string store(std::span<const std::byte> bytes);

  std::filesystem::path folder_;
  std::string last_graph_, last_program_;  // texts
  std::set<std::string> constants_;        // names of those that are written
  Status stored_;                          // the first failure
  OrderedJson files_ = OrderedJson::array();
};

// A graph or a program that was dumped, constants included. Of a program machine code is not; it is not verified.
Result<std::unique_ptr<Graph>> read_dumped_graph(const std::string& file);
Result<Program> read_dumped_program(const std::string& file);

}  // namespace wootz
