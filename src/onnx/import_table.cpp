#include "onnx/import_table.h"

#include <algorithm>
#include <tuple>

#include "onnx/import.h"
#include "ops/onnx_imports.h"

namespace wootz {
namespace importer {
namespace {

auto key(const OnnxImport& entry) {
  return std::tuple(std::string_view(entry.domain), std::string_view(entry.op_type));
}

const std::vector<OnnxImport>& table() {
  static const std::vector<OnnxImport> kTable = [] {
    std::vector<OnnxImport> entries = all_onnx_imports();
    std::stable_sort(entries.begin(), entries.end(), [](const OnnxImport& a, const OnnxImport& b) {
      return std::tuple_cat(key(a), std::tuple(a.since_version)) < std::tuple_cat(key(b), std::tuple(b.since_version));
    });
    return entries;
  }();
  return kTable;
}

}  // namespace

std::string_view canonical_domain(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

std::span<const OnnxImport> find_imports(std::string_view domain, std::string_view op) {
  const std::tuple wanted(domain, op);
  const auto first = std::lower_bound(table().begin(), table().end(), wanted,
                                      [](const OnnxImport& entry, const auto& value) { return key(entry) < value; });
  auto last = first;
  while (last != table().end() && key(*last) == wanted) ++last;
  return {first, last};
}

const OnnxImport* select_import(std::string_view domain, std::string_view op, int opset) {
  const OnnxImport* best = nullptr;
  for (const OnnxImport& entry : find_imports(domain, op))
    if (entry.since_version <= opset) best = &entry;
  return best;
}

int newest_opset(std::string_view domain) {
  if (domain.empty()) return kMaxOnnxOpset;
  if (domain == "ai.onnx.ml") return 5;
  if (domain == "ai.onnx.preview" || domain == "ai.onnx.preview.training" || domain == "ai.onnx.training") return 1;
  return kAnyOpset;
}

}  // namespace importer

const std::vector<SupportedOp>& supported_ops() {
  static const std::vector<SupportedOp> kOps = [] {
    std::vector<SupportedOp> ops;
    for (const OnnxImport& entry : importer::table()) {
      if (ops.empty() || ops.back().domain != entry.domain || ops.back().op != entry.op_type)
        ops.push_back({entry.domain, entry.op_type, {}});
      ops.back().since_versions.push_back(entry.since_version);
    }
    return ops;
  }();
  return kOps;
}

}  // namespace wootz
