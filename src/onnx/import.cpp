#include "onnx/import.h"

#include <google/protobuf/arena.h>

#include "onnx/importer.h"
#include "onnx/model_file.h"
#include "onnx/onnx.pb.h"
#include "onnx/text.h"

namespace wootz {
namespace {

using ::onnx::ModelProto;

// A model that is freed as a whole, also when there was no memory to read it to its end: the library's messages lose
// parts of themselves then. Strings that are taken out of it (weights) are moved, not copied.
class OwnModel {
 public:
  ModelProto& operator*() { return *model_; }
  ModelProto* get() { return model_; }

 private:
  google::protobuf::Arena arena_;
  ModelProto* model_ = google::protobuf::Arena::CreateMessage<ModelProto>(&arena_);
};

Result<std::shared_ptr<Graph>> import_message(ModelProto& model, const ImportOptions& options,
                                              std::vector<ImportProblem>* problems) {
  importer::Importer importer(model, options);
  std::shared_ptr<Graph> graph = importer.run();
  const Status status = importer.problems().summary();
  if (problems != nullptr) *problems = std::move(importer.problems().list());
  if (!status.ok()) return status;
  return graph;
}

Result<std::shared_ptr<Graph>> refuse(Status status, std::vector<ImportProblem>* problems) {
  if (problems != nullptr) {
    ImportProblem problem;
    problem.code = status.code();
    problem.reason = status.message();
    problems->push_back(std::move(problem));
  }
  return status;
}

}  // namespace

Result<std::shared_ptr<Graph>> import_model(std::span<const std::byte> bytes, const ImportOptions& options,
                                            std::vector<ImportProblem>* problems) {
  if (problems != nullptr) problems->clear();
  OwnModel model;
  if (Status status = importer::read_model(bytes, model.get()); !status.ok())
    return refuse(std::move(status), problems);
  return import_message(*model, options, problems);
}

Result<std::shared_ptr<Graph>> import_file(const std::string& path, const ImportOptions& options,
                                           std::vector<ImportProblem>* problems) {
  if (problems != nullptr) problems->clear();
  OwnModel model;
  if (Status status = importer::read_model_file(path, model.get()); !status.ok())
    return refuse(std::move(status), problems);
  ImportOptions own = options;
  if (own.model_dir.empty()) own.model_dir = importer::folder_of(path);
  return import_message(*model, own, problems);
}

Result<ModelSupport> query_support(std::span<const std::byte> bytes, const ImportOptions& options) {
  OwnModel model;
  WOOTZ_RETURN_IF_ERROR(importer::read_model(bytes, model.get()));
  importer::Importer importer(*model, options);
  (void)importer.run();
  ModelSupport support;
  for (const auto& node : (*model).graph().node()) {
    const auto index = static_cast<int>(support.nodes.size());
    support.nodes.push_back({importer::printable(node.name()), importer::printable(node.op_type()),
                             importer::printable(node.domain()), !importer.failed_nodes().contains(index)});
  }
  support.order = importer.topology().order((*model).graph().node()).sorted;
  support.problems = std::move(importer.problems().list());
  return support;
}

}  // namespace wootz
