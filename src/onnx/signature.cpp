#include "onnx/signature.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace wootz::importer {
namespace {

struct Signature {
  std::string_view domain, op;
  int since;
  int required;   // leading inputs that must be given
  int inputs;     // at most; -1: any number
  int outputs;    // at most; -1: any number
  bool variadic;  // no input may be omitted
};

// Sorted by domain, op, version.
constexpr Signature kSignatures[] = {
#define SIGNATURE(domain, op, since, required, inputs, outputs, variadic) \
  {domain, op, since, required, inputs, outputs, variadic != 0},
#include "onnx/signatures.inc"
#undef SIGNATURE
};

const Signature* first_signature(std::string_view domain, std::string_view op) {
  const auto wanted = std::tuple(domain, op);
  const auto* at =
      std::lower_bound(std::begin(kSignatures), std::end(kSignatures), wanted,
                       [](const Signature& s, const auto& key) { return std::tuple(s.domain, s.op) < key; });
  return at != std::end(kSignatures) && std::tuple(at->domain, at->op) == wanted ? at : nullptr;
}

}  // namespace

int first_version(std::string_view domain, std::string_view op) {
  const Signature* signature = first_signature(domain, op);
  return signature == nullptr ? 0 : signature->since;
}

Status check_signature(const ::onnx::NodeProto& node, std::string_view domain, int opset,
                       const std::vector<Slot>& slots) {
  const Signature* signature = first_signature(domain, node.op_type());
  if (signature == nullptr) return Status();
  for (const Signature* next = signature + 1;
       next != std::end(kSignatures) && next->op == signature->op && next->domain == domain && next->since <= opset;
       ++next)
    signature = next;
  const auto omitted = [&](int i) {
    return slots[static_cast<size_t>(i)].value == nullptr && !slots[static_cast<size_t>(i)].poisoned;
  };
  auto inputs = static_cast<int>(slots.size());
  int outputs = node.output_size();
  while (inputs > 0 && omitted(inputs - 1)) --inputs;
  while (outputs > 0 && node.output(outputs - 1).empty()) --outputs;
  if (signature->inputs >= 0 && inputs > signature->inputs)
    return invalid_argument("{} inputs, the op has at most {}", inputs, signature->inputs);
  if (signature->outputs >= 0 && outputs > signature->outputs)
    return invalid_argument("{} outputs, the op has at most {}", outputs, signature->outputs);
  const int given = signature->variadic ? std::max(inputs, signature->required) : signature->required;
  for (int i = 0; i < given; ++i)
    if (i >= inputs || omitted(i)) return invalid_argument("input {} is required", i);
  return Status();
}

}  // namespace wootz::importer
