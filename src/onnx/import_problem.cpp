#include "onnx/import_problem.h"

#include "onnx/text.h"

namespace wootz {

std::string ImportProblem::to_string() const {
  if (op.empty()) return node.empty() ? reason : fmt::format("{}: {}", importer::printable(node), reason);
  const std::string at =
      fmt::format("node '{}' ({}{}{}, opset {})", importer::printable(node), importer::printable(domain),
                  domain.empty() ? "" : ".", importer::printable(op), opset);
  return fmt::format("{}: {}", at, reason);
}

}  // namespace wootz
