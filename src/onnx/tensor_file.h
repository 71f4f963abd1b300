// A tensor by itself in ONNX's message form (.pb files: test data, inputs and outputs of the tools).
#pragma once

#include <span>
#include <string>

#include "base/tensor.h"

namespace wootz {

struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

// Everything in the message is checked; external data are refused.
Result<NamedTensor> parse_onnx_tensor(std::span<const std::byte> bytes);
Result<std::string> serialize_onnx_tensor(const std::string& name, const HostTensor& tensor);

}  // namespace wootz
