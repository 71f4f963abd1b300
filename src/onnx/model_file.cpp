#include "onnx/model_file.h"

#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/limits.h"
#include "onnx/onnx.pb.h"
#include "onnx/text.h"

namespace wootz::importer {
namespace {

using ::onnx::ModelProto;

Status check_size(uint64_t bytes) {
  if (bytes <= limits::kMaxModelBytes) return Status();
  return make_error(Code::kResourceExhausted,
                    "an ONNX model of {} bytes, the limit is {}: keep the weights of a larger one as external data",
                    bytes, limits::kMaxModelBytes);
}

}  // namespace

Status read_model(std::span<const std::byte> bytes, ::onnx::ModelProto* model) {
  WOOTZ_RETURN_IF_ERROR(check_size(bytes.size()));
  if (bytes.empty()) return corrupt("the ONNX model is empty");
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return corrupt("{} bytes that are not an ONNX model, or a truncated one", bytes.size());
  return Status();
}

Status read_model_file(const std::string& path, ::onnx::ModelProto* model) {
  const std::string shown = printable(path);
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

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace wootz::importer
