#include "onnx/import.h"

#include <fcntl.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/limits.h"
#include "onnx/importer.h"
#include "onnx/onnx.pb.h"
#include "onnx/text.h"

namespace wootz {
namespace {

using ::onnx::ModelProto;

Status check_size(uint64_t bytes) {
  if (bytes <= limits::kMaxModelBytes) return Status();
  return make_error(Code::kResourceExhausted,
                    "an ONNX model of {} bytes, the limit is {}: keep the weights of a larger one as external data",
                    bytes, limits::kMaxModelBytes);
}

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

Status parse(std::span<const std::byte> bytes, ModelProto* model) {
  WOOTZ_RETURN_IF_ERROR(check_size(bytes.size()));
  if (bytes.empty()) return corrupt("the ONNX model is empty");
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return corrupt("{} bytes that are not an ONNX model, or a truncated one", bytes.size());
  return Status();
}

// Streams the file into the message: its bytes are never in memory twice.
Status parse_file(const std::string& path, ModelProto* model) {
  const std::string shown = importer::printable(path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return make_error(Code::kIo, "'{}': {}", shown, std::strerror(errno));
  google::protobuf::io::FileInputStream stream(fd, 1 << 20);
  stream.SetCloseOnDelete(true);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return make_error(Code::kIo, "'{}': {}", shown, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return make_error(Code::kIo, "'{}' is not a regular file", shown);
  if (const Status status = check_size(static_cast<uint64_t>(info.st_size)); !status.ok())
    return status.with_prefix(shown);
  if (info.st_size == 0) return corrupt("'{}' is empty", shown);
  if (model->ParseFromZeroCopyStream(&stream)) return Status();
  if (stream.GetErrno() != 0) return make_error(Code::kIo, "'{}': {}", shown, std::strerror(stream.GetErrno()));
  return corrupt("'{}' is not an ONNX model, or a truncated one", shown);
}

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
  if (Status status = parse(bytes, model.get()); !status.ok()) return refuse(std::move(status), problems);
  return import_message(*model, options, problems);
}

Result<std::shared_ptr<Graph>> import_file(const std::string& path, const ImportOptions& options,
                                           std::vector<ImportProblem>* problems) {
  if (problems != nullptr) problems->clear();
  OwnModel model;
  if (Status status = parse_file(path, model.get()); !status.ok()) return refuse(std::move(status), problems);
  ImportOptions own = options;
  if (own.model_dir.empty()) {
    const size_t slash = path.rfind('/');
    own.model_dir = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  }
  return import_message(*model, own, problems);
}

Result<ModelSupport> query_support(std::span<const std::byte> bytes, const ImportOptions& options) {
  OwnModel model;
  WOOTZ_RETURN_IF_ERROR(parse(bytes, model.get()));
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
