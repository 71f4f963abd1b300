#include "ops/interpreter.h"

#include <new>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "ops/infer.h"
#include "ops/support/pointwise.h"

namespace wootz {
namespace {

Status place(const Node& node, const Status& status) {
  return status.place(PlaceKind::kNode) != nullptr ? status : at_node(node, status);
}

// `wanted`: the float in which an epilogue reads the first result. A sum of narrow products that it reads as f32 is not
// rounded in between.
Result<std::vector<HostTensor>> run_main(const Node& node, const std::vector<const HostTensor*>& inputs,
                                         DType wanted = DType::kInvalid) {
  WOOTZ_ASSIGN_OR_RETURN(std::vector<ConcreteOutput> types, infer_concrete(node, inputs));
  if (wanted != DType::kInvalid && !types.empty() && is_float(wanted) && is_float(types[0].dtype))
    types[0].dtype = wanted;
  const OpDef& def = node.op();
  if (def.reference == nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(const PointwiseExpr expr, node_expression(node));
    if (types.empty() || !types[0].dims) return internal_error("pointwise op without a shape");
    return evaluate_expression(expr, inputs, *types[0].dims);
  }
  EvalContext ctx{node, inputs, {}};
  for (const ConcreteOutput& type : types) {
    HostTensor tensor = HostTensor::wrap(type.dtype, Dims{0}, nullptr, nullptr);  // dtype for allocate()
    if (type.dims) {
      WOOTZ_ASSIGN_OR_RETURN(tensor, HostTensor::allocate(type.dtype, *type.dims));
    } else if (!def.traits.data_dependent) {
      return make_error(Code::kResourceExhausted, "an extent of output {} does not fit into 64 bits",
                        ctx.outputs.size());
    }
    ctx.outputs.push_back(std::move(tensor));
  }
  try {  // references keep their buffers in containers
    WOOTZ_RETURN_IF_ERROR(def.reference(ctx));
  } catch (const std::bad_alloc&) {
    return make_error(Code::kResourceExhausted, "no memory for the reference's buffers");
  } catch (const std::length_error&) {
    return make_error(Code::kResourceExhausted, "the reference's buffers are larger than memory can be");
  }
  return std::move(ctx.outputs);
}

}  // namespace

Result<std::vector<HostTensor>> run_node(const Node& node, const std::vector<const HostTensor*>& inputs) {
  const PointwiseExpr* epilogue = node.attr_expr("epilogue");
  if (epilogue == nullptr) {
    Result<std::vector<HostTensor>> outputs = run_main(node, inputs);
    if (!outputs.ok()) return place(node, outputs.status());
    return outputs;
  }
  const auto main = static_cast<size_t>(node.attr_int("main_inputs", node.num_inputs()));
  if (main > inputs.size()) return place(node, internal_error("{} main inputs of {}", main, inputs.size()));
  Result<std::vector<HostTensor>> result =
      run_main(node, {inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(main)}, epilogue->input_type(0));
  if (!result.ok()) return place(node, result.status());
  std::vector<HostTensor> outputs = std::move(result).value();
  std::vector<const HostTensor*> operands{&outputs[0]};
  operands.insert(operands.end(), inputs.begin() + static_cast<ptrdiff_t>(main), inputs.end());
  Result<std::vector<HostTensor>> fused = evaluate_expression(*epilogue, operands, outputs[0].dims());
  if (!fused.ok()) return place(node, fused.status());
  outputs[0] = std::move(fused.value()[0]);
  return outputs;
}

namespace {

Status check_input(const Value& value, const HostTensor& given) {
  if (given.dtype() != value.dtype())
    return invalid_argument("input '{}' is {}, the graph wants {}", value.name(), dtype_name(given.dtype()),
                            dtype_name(value.dtype()));
  bool fits = given.rank() == value.rank();
  for (int a = 0; fits && a < value.rank(); ++a) {
    const Dim& d = value.shape()[static_cast<size_t>(a)];
    fits = !d.is_const() || d.value() == given.dims()[static_cast<size_t>(a)];
  }
  if (!fits)
    return invalid_argument("input '{}' has shape {}, the graph wants {}", value.name(), given.dims().to_string(),
                            shape_to_string(value.shape()));
  return {};
}

// One run of a graph: the tensors that are still needed.
class GraphRun {
 public:
  GraphRun(const Graph& graph, const std::vector<int>& tap_ids) {
    for (const Value* out : graph.outputs()) kept_.insert(out->id());
    kept_.insert(tap_ids.begin(), tap_ids.end());
  }

  void set_input(const Value& value, const HostTensor& tensor) { live_[value.id()] = tensor; }

  Status run(const Node& node) {
    std::vector<const HostTensor*> operands;
    for (const Value* value : node.inputs()) {
      operands.push_back(find(value));
      if (value != nullptr && operands.back() == nullptr)
        return at_node(node, internal_error("'{}' is read before it is computed", value->name()));
    }
    WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> results, run_node(node, operands));
    for (size_t o = 0; o < results.size() && o < node.outputs().size(); ++o) {
      const Value* value = node.outputs()[o];
      if (value->uses().empty() && !kept_.count(value->id())) continue;
      remaining_[value->id()] = value->uses().size();
      live_[value->id()] = std::move(results[o]);
    }
    release(node.inputs());
    return {};
  }

  // Null: not computed, or released.
  const HostTensor* find(const Value* value) const {
    if (value == nullptr) return nullptr;
    return value->is_constant() ? &value->constant() : find(value->id());
  }
  const HostTensor* find(int id) const {
    const auto it = live_.find(id);
    return it == live_.end() ? nullptr : &it->second;
  }

 private:
  void release(const std::vector<Value*>& used) {
    for (const Value* value : used) {
      if (value == nullptr || value->kind() != ValueKind::kNodeOutput) continue;
      const auto it = remaining_.find(value->id());
      if (it != remaining_.end() && it->second > 0 && --it->second == 0 && !kept_.count(value->id()))
        live_.erase(value->id());
    }
  }

  std::unordered_map<int, HostTensor> live_;
  std::unordered_map<int, size_t> remaining_;  // uses still to come
  std::unordered_set<int> kept_;
};

}  // namespace

Result<std::vector<HostTensor>> run_graph_taps(const Graph& graph, const std::vector<HostTensor>& inputs,
                                               const std::vector<int>& tap_ids, std::vector<HostTensor>* taps) {
  if (inputs.size() != graph.inputs().size())
    return invalid_argument("graph '{}' takes {} inputs, {} given", graph.name(), graph.inputs().size(), inputs.size());
  GraphRun run(graph, tap_ids);
  for (size_t i = 0; i < inputs.size(); ++i) {
    WOOTZ_RETURN_IF_ERROR(check_input(*graph.inputs()[i], inputs[i]));
    run.set_input(*graph.inputs()[i], inputs[i]);
  }
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) WOOTZ_RETURN_IF_ERROR(run.run(*node));
  std::vector<HostTensor> outputs;
  for (const Value* out : graph.outputs()) {
    const HostTensor* tensor = run.find(out);
    if (tensor == nullptr) return internal_error("output '{}' was not computed", out->name());
    outputs.push_back(*tensor);
  }
  if (taps != nullptr) {
    for (int id : tap_ids) {
      const HostTensor* tensor = run.find(id);
      taps->push_back(tensor == nullptr ? HostTensor() : *tensor);
    }
  }
  return outputs;
}

Result<std::vector<HostTensor>> run_graph(const Graph& graph, const std::vector<HostTensor>& inputs) {
  return run_graph_taps(graph, inputs, {}, nullptr);
}

}  // namespace wootz
