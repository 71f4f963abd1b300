// TensorProto -> HostTensor: type, shape, and exactly one field of the right size.
#pragma once

#include <unordered_map>

#include "base/tensor.h"
#include "onnx/external_data.h"

namespace onnx {
class TensorProto;
}

namespace wootz::importer {

// kInvalid for 0 and for numbers that name no type of ours (string has one, so that it can be refused by name).
DType dtype_from_onnx(int type);
int dtype_to_onnx(DType dtype);
// "FLOAT", or the number, for messages.
std::string onnx_type_name(int type);

// Reads each tensor once and takes its bytes out of the message, so that weights are held once.
class TensorReader {
 public:
  explicit TensorReader(ExternalFiles files) : files_(std::move(files)) {}
  // The tensor as it is in the model. The message is ours: raw bytes are moved out of it on the first call.
  Result<HostTensor> read(const ::onnx::TensorProto& tensor);

 private:
  Result<HostTensor> read_new(::onnx::TensorProto& tensor);
  ExternalFiles files_;
  std::unordered_map<const void*, Result<HostTensor>> done_;
};

}  // namespace wootz::importer
