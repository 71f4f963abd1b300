#include "onnx/edit/write_model.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/limits.h"
#include "onnx/tensor_reader.h"

namespace wootz::importer {
namespace {

using ::onnx::TensorProto;

constexpr size_t kAlignment = 4096, kLeastExternal = 1024;

// A file that takes its name when it is whole.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path), temporary_(path + ".part" + std::to_string(getpid())) {
    file_ = std::fopen(temporary_.c_str(), "wb");
    if (file_ == nullptr) fail();
  }
  ~NewFile() {
    if (file_ != nullptr) std::fclose(file_);
    if (!kept_) std::remove(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  void write(const void* bytes, size_t count) {
    if (status_.ok() && std::fwrite(bytes, 1, count, file_) != count) fail();
    written_ += count;
  }
  void align() {
    static const std::string kZeros(kAlignment, '\0');
    if (written_ % kAlignment != 0) write(kZeros.data(), kAlignment - written_ % kAlignment);
  }
  size_t written() const { return written_; }
  const Status& status() const { return status_; }
  // Complete on disk.
  Status close() {
    if (!status_.ok()) return status_;
    if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) fail();
    if (std::fclose(std::exchange(file_, nullptr)) != 0 && status_.ok()) fail();
    return status_;
  }
  Status keep() {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
    kept_ = status_.ok();
    return status_;
  }

 private:
  void fail() { status_ = make_error(Code::kIo, "'{}' cannot be written: {}", path_, std::strerror(errno)); }
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
  size_t written_ = 0;
  bool kept_ = false;
  Status status_;
};

bool has_external(const ::onnx::GraphProto& graph) {
  for (const TensorProto& tensor : graph.initializer())
    if (tensor.data_location() == TensorProto::EXTERNAL) return true;
  return false;
}

void set_external(TensorProto* tensor, const std::string& location, size_t offset, size_t length) {
  tensor->clear_external_data();
  tensor->set_data_location(TensorProto::EXTERNAL);
  const std::pair<const char*, std::string> entries[] = {
      {"location", location}, {"offset", std::to_string(offset)}, {"length", std::to_string(length)}};
  for (const auto& [key, value] : entries) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

// Every large constant into one file, as the model then says.
Status move_constants(::onnx::GraphProto* graph, const std::string& folder, const std::string& location,
                      NewFile* data) {
  for (TensorProto& tensor : *graph->mutable_initializer()) {
    const bool external = tensor.data_location() == TensorProto::EXTERNAL;
    if (!external && tensor.raw_data().size() < kLeastExternal) continue;
    TensorProto own = tensor;  // the reader takes the bytes out
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor values, TensorReader(ExternalFiles(folder, false)).read(own));
    if (values.bytes() < kLeastExternal) {  // extents, which readers want to see
      tensor.clear_external_data();
      tensor.clear_data_location();
      tensor.set_raw_data(values.data(), values.bytes());
      continue;
    }
    data->align();
    const size_t offset = data->written();
    data->write(values.data(), values.bytes());
    tensor.clear_raw_data();
    set_external(&tensor, location, offset, values.bytes());
    WOOTZ_RETURN_IF_ERROR(data->status());
  }
  return Status();
}

Status write_message(const ::onnx::ModelProto& model, NewFile* file) {
  std::string bytes;
  if (model.ByteSizeLong() > limits::kMaxModelBytes || !model.SerializeToString(&bytes))
    return make_error(Code::kResourceExhausted, "the model is larger than an ONNX message may be");
  file->write(bytes.data(), bytes.size());
  return file->close();
}

}  // namespace

Status write_model(const ::onnx::ModelProto& model, const std::string& folder, const std::string& path) {
  NewFile file(path);
  WOOTZ_RETURN_IF_ERROR(file.status());
  if (!has_external(model.graph())) {
    WOOTZ_RETURN_IF_ERROR(write_message(model, &file));
    return file.keep();
  }
  ::onnx::ModelProto own = model;
  const std::string beside = path + ".data";
  NewFile data(beside);
  WOOTZ_RETURN_IF_ERROR(data.status());
  const size_t slash = beside.rfind('/');
  WOOTZ_RETURN_IF_ERROR(move_constants(own.mutable_graph(), folder,
                                       slash == std::string::npos ? beside : beside.substr(slash + 1), &data));
  WOOTZ_RETURN_IF_ERROR(data.close());
  WOOTZ_RETURN_IF_ERROR(write_message(own, &file));
  WOOTZ_RETURN_IF_ERROR(data.keep());
  return file.keep();
}

}  // namespace wootz::importer
