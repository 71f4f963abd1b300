// The import functions of all modules, looked up by domain, op and version.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "ops/onnx_import.h"

namespace wootz::importer {

// "ai.onnx" is another name of "".
std::string_view canonical_domain(std::string_view domain);

// Entries of one op, ascending by version; empty when the op is unknown.
std::span<const OnnxImport> find_imports(std::string_view domain, std::string_view op);
// The entry for `opset`: the highest version not above it. Null when there is none.
const OnnxImport* select_import(std::string_view domain, std::string_view op, int opset);

// Newest opset of a standard domain; kAnyOpset for domains that are not ONNX's.
inline constexpr int kAnyOpset = std::numeric_limits<int>::max();
int newest_opset(std::string_view domain);

}  // namespace wootz::importer
