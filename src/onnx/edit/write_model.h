// A message to a model file.
#pragma once

#include <string>

#include "base/status.h"
#include "onnx/onnx.pb.h"

namespace wootz::importer {

// `folder`: where the external data of the message are. A model that has some gets a file of its own for them, and for
// other large tensors, PATH.data. Errors: kIo with the system's reason; the files that were there are as they were.
Status write_model(const ::onnx::ModelProto& model, const std::string& folder, const std::string& path);

}  // namespace wootz::importer
