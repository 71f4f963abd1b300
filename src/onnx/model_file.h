// Bytes to the message that they are, whatever it says.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"

namespace onnx {
class ModelProto;
}

namespace wootz::importer {

Status read_model(std::span<const std::byte> bytes, ::onnx::ModelProto* model);
// Streams the file into the message: its bytes are never in memory twice.
Status read_model_file(const std::string& path, ::onnx::ModelProto* model);
// The folder that a model's external data lies in.
std::string folder_of(const std::string& path);

}  // namespace wootz::importer
