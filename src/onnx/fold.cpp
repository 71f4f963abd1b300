#include "onnx/fold.h"

#include <algorithm>

#include "base/limits.h"
#include "ops/interpreter.h"

namespace wootz::importer {
namespace {

// Work grows with the elements read and written; other ops are bounded by the product of all element counts.
bool is_linear(Lowering lowering) { return has_trait(lowering, kLinearWork); }

// The output as a constant when its tracked values are all numbers.
HostTensor from_shape_values(const Value& value) {
  const std::optional<Dims> dims = to_dims(value.shape());
  if (!value.shape_values() || !dims || (value.dtype() != DType::kI64 && value.dtype() != DType::kI32)) return {};
  const std::vector<Dim>& values = *value.shape_values();
  if (static_cast<int64_t>(values.size()) != dims->volume()) return {};
  for (const Dim& d : values)
    if (!d.is_const()) return {};
  Result<HostTensor> made = HostTensor::allocate(value.dtype(), *dims);
  if (!made.ok()) return {};
  for (size_t i = 0; i < values.size(); ++i) made->set_i64(static_cast<int64_t>(i), values[i].value());
  return std::move(made).value();
}

bool fits(const HostTensor& tensor, const Value& value) {
  if (tensor.dtype() != value.dtype() || tensor.rank() != value.rank()) return false;
  for (size_t i = 0; i < tensor.dims().size(); ++i) {
    const Dim& extent = value.shape()[i];
    if (extent.is_const() && extent.value() != tensor.dims()[i]) return false;
  }
  return true;
}

bool small(const HostTensor& tensor) { return tensor.bytes() <= limits::kMaxImportFoldBytes; }

}  // namespace

bool Folder::affordable(const Node& node) {
  const OpDef& op = node.op();
  if (!op.traits.foldable || op.traits.has_side_effects || has_trait(op.lowering, kOwnSizes)) return false;
  for (const auto& [name, attr] : node.attrs())
    if (std::holds_alternative<std::shared_ptr<Graph>>(attr)) return false;
  // Quantized weights are for the passes, which may compute in 8 bits.
  if (node.is("Quantize") || node.is("Dequantize")) return false;
  int64_t sum = 0, product = 1;
  const auto count = [&](int64_t volume) {
    sum += volume;
    product = std::min(product * std::max<int64_t>(volume, 1), limits::kMaxImportFoldCost + 1);
  };
  for (const Value* input : node.inputs()) {
    if (input == nullptr) continue;
    if (!input->is_constant() || input->constant().bytes() > 16 * limits::kMaxImportFoldBytes) return false;
    count(input->constant().volume());
  }
  for (const Value* output : node.outputs()) {
    const std::optional<Dims> dims = to_dims(output->shape());
    if (!dims) {
      if (!op.traits.data_dependent) return false;  // its size should follow from constants
      continue;
    }
    if (dtype_bytes(output->dtype(), dims->volume()) > limits::kMaxImportFoldBytes) return false;
    count(dims->volume());
  }
  const int64_t cost = is_linear(op.lowering) ? sum : product;
  if (cost > limits::kMaxImportFoldCost || spent_ > limits::kMaxImportFoldTotal) return false;
  spent_ += cost;
  return true;
}

bool Folder::fold(Node* node, Replaced* replaced) {
  if (bytes_ > limits::kMaxImportFoldTotalBytes) return false;
  std::vector<HostTensor> known;
  if (!node->op().traits.has_side_effects)
    for (const Value* output : node->outputs()) known.push_back(from_shape_values(*output));
  if (known.empty() || !std::all_of(known.begin(), known.end(), [](const HostTensor& t) { return t.valid(); })) {
    if (!affordable(*node)) return false;
    std::vector<const HostTensor*> inputs;
    for (const Value* input : node->inputs()) inputs.push_back(input == nullptr ? nullptr : &input->constant());
    Result<std::vector<HostTensor>> results = run_node(*node, inputs);
    if (!results.ok()) return false;  // the run will say so, if it comes to that
    known = std::move(results).value();
  }
  if (known.size() != node->outputs().size()) return false;
  for (size_t i = 0; i < known.size(); ++i)
    if (!fits(known[i], *node->outputs()[i]) || !small(known[i])) return false;
  Graph& graph = *node->graph();
  for (size_t i = 0; i < known.size(); ++i) {
    Value* old = node->outputs()[i];
    bytes_ += known[i].bytes();
    Value* constant = graph.add_constant(old->name(), std::move(known[i]));
    graph.replace_all_uses(old, constant);
    replaced->emplace_back(old, constant);
  }
  graph.erase(node);
  return true;
}

}  // namespace wootz::importer
