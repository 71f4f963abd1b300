// How many inputs and outputs the versions of the standard ops have, so that an import function can rely on them.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "onnx/onnx.pb.h"
#include "onnx/scope.h"

namespace wootz::importer {

// Ok for an op of a domain that is not in the table.
// `inputs`: what the node's input names stand for (a function's caller may have omitted one).
Status check_signature(const ::onnx::NodeProto& node, std::string_view domain, int opset,
                       const std::vector<Slot>& inputs);
// The version from which ONNX has the op; 0 when it has none of that name.
int first_version(std::string_view domain, std::string_view op);

}  // namespace wootz::importer
