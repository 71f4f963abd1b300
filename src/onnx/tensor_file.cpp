#include "onnx/tensor_file.h"

#include "base/limits.h"
#include "onnx/onnx.pb.h"
#include "onnx/tensor_reader.h"

namespace wootz {

Result<NamedTensor> parse_onnx_tensor(std::span<const std::byte> bytes) {
  ::onnx::TensorProto message;
  if (bytes.size() > limits::kMaxModelBytes || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return corrupt("{} bytes that are not an ONNX tensor", bytes.size());
  importer::TensorReader reader(importer::ExternalFiles("", false));
  WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, reader.read(message));
  return NamedTensor{message.name(), std::move(tensor)};
}

Result<std::string> serialize_onnx_tensor(const std::string& name, const HostTensor& tensor) {
  if (!tensor.valid() || importer::dtype_to_onnx(tensor.dtype()) == 0 || tensor.bytes() > limits::kMaxModelBytes / 2)
    return invalid_argument("tensor '{}' cannot be written as an ONNX tensor", name);
  ::onnx::TensorProto message;
  message.set_name(name);
  message.set_data_type(importer::dtype_to_onnx(tensor.dtype()));
  for (const int64_t extent : tensor.dims()) message.add_dims(extent);
  message.set_raw_data(tensor.data(), tensor.bytes());
  return message.SerializeAsString();
}

}  // namespace wootz
