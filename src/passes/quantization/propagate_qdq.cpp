// Dequantize moves forward and Quantize backward through what only moves elements, so that the data moves in 8 bits and
// the two meet the ops they belong to; a Quantize that meets a Dequantize of the same grid goes away with it.
#include <algorithm>

#include "base/fp8.h"
#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool always(const Node&) { return true; }
bool takes_maximum(const Node& node) { return node.attr_string("kind") == "max" && node.num_outputs() == 1; }
// Padding with 0 becomes padding with the zero point; the other modes repeat what is there.
bool pads_with_zero(const Node& node) {
  if (node.attr_string("mode", "constant") != "constant") return node.input(2) == nullptr;
  return node.input(2) != nullptr ? scalar_constant(node.input(2)) == 0.0 : node.attr_float("value", 0) == 0;
}
bool picks_nearest(const Node& node) {
  return node.attr_string("mode", "nearest") == "nearest" && node.attr_int("antialias", 0) == 0 &&
         node.attr_string("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
}

// Ops for which f(q(x)) = q(f(x)), element for element: they move elements, or take the largest of several.
struct Mover {
  const char* op;
  bool (*when)(const Node&);
  bool backward;  // also for Quantize: it then has no more elements to quantize, or meets the step that makes them
};
constexpr Mover kMovers[] = {
    {"Transpose", always, true},    {"Reshape", always, true},         {"Flatten", always, true},
    {"Squeeze", always, true},      {"Unsqueeze", always, true},       {"Concat", always, true},
    {"DepthToSpace", always, true}, {"SpaceToDepth", always, true},    {"Expand", always, true},
    {"Tile", always, true},         {"Pool", takes_maximum, true},     {"Resize", picks_nearest, true},
    {"Pad", pads_with_zero, true},  {"Slice", always, false},          {"Split", always, false},
    {"Gather", always, false},      {"GatherElements", always, false}, {"GatherND", always, false},
};

const Mover* mover_of(const Node& node) {
  if (node.has_attr("epilogue")) return nullptr;
  for (const Mover& m : kMovers)
    if (node.is(m.op)) return m.when(node) ? &m : nullptr;
  return nullptr;
}

int data_inputs(const Node& node) { return node.is("Concat") ? node.num_inputs() : 1; }

std::vector<int64_t> permuted(const Node& transpose, const Dims& dims) {
  std::vector<int64_t> out;
  for (int64_t axis : transpose.attr_ints("perm"))
    out.push_back(dims[static_cast<size_t>(axis < 0 ? axis + dims.rank() : axis)]);
  return out;
}

// Scale or zero point per channel, for data that `transpose` has permuted. Null: several of its axes vary.
Result<Value*> permuted(Graph& graph, const Node& transpose, Value* v) {
  if (v == nullptr || v->constant().volume() == 1) return v;
  const HostTensor& old = v->constant();
  const int rank = transpose.input(0)->rank();
  Dims whole = Dims::filled(rank - old.rank(), 1);
  int varying = 0;
  for (int64_t d : old.dims()) {
    whole.push_back(d);
    varying += d != 1;
  }
  if (varying > 1) return static_cast<Value*>(nullptr);
  Dims dims;
  for (int64_t d : permuted(transpose, whole)) dims.push_back(d);
  return graph.add_constant(graph.unique_name(v->name()), old.reshaped(dims));
}

// Operands of a Quantize or Dequantize of one scale, which may be written with axes of extent 1: without any, they fit
// data of every rank.
std::vector<Value*> for_any_rank(Graph& graph, std::vector<Value*> operands) {
  for (size_t i = 1; i < operands.size(); ++i)
    if (operands[i] != nullptr && operands[i]->rank() > 0)
      operands[i] =
          graph.add_constant(graph.unique_name(operands[i]->name()), operands[i]->constant().reshaped(Dims{}));
  return operands;
}

// The inputs of `op` with `data` (the 8-bit values) for what it moved. Nothing: its padding has no 8-bit form.
std::optional<std::vector<Value*>> byte_inputs(Graph& graph, const Node& op, std::vector<Value*> data,
                                               const QuantGrid& grid) {
  std::vector<Value*> inputs = op.inputs();
  std::copy(data.begin(), data.end(), inputs.begin());
  if (op.is("Pad") && op.input(2) != nullptr) {
    Result<HostTensor> zero = HostTensor::allocate(grid.type, op.input(2)->constant().dims());
    if (!zero.ok()) return std::nullopt;
    zero->set_f64(0, grid.z);
    inputs[2] = graph.add_constant(graph.unique_name(op.name() + "_value"), std::move(zero).value());
  }
  return inputs;
}

Result<Node*> move_op(Graph& graph, Node* op, std::vector<Value*> data, const QuantGrid& grid, Node* before) {
  std::optional<std::vector<Value*>> inputs = byte_inputs(graph, *op, std::move(data), grid);
  if (!inputs) return static_cast<Node*>(nullptr);
  const bool zero_by_attribute =
      op->is("Pad") && op->input(2) == nullptr && op->attr_string("mode", "constant") == "constant";
  WOOTZ_ASSIGN_OR_RETURN(Node * made, clone_on(graph, *op, std::move(*inputs), before));
  if (zero_by_attribute && grid.z != 0) made->set_attr("value", grid.z);
  return made;
}

// op(Dequantize(x)) becomes Dequantize(op(x)).
Result<bool> move_forward(Graph& graph, Node* op, ReadGrid read) {
  if (mover_of(*op) == nullptr) return false;
  std::vector<Value*> data;
  std::optional<QuantGrid> grid;
  Node* first = nullptr;
  for (int i = 0; i < data_inputs(*op); ++i) {
    Node* dequantize = op->input(i) == nullptr ? nullptr : op->input(i)->producer();
    if (dequantize == nullptr || !dequantize->is("Dequantize")) return false;
    const std::optional<QuantGrid> mine = read(*dequantize);
    if (!mine || (grid && !same_grid(*grid, *mine)) || (!mine->per_tensor && !op->is("Transpose"))) return false;
    if (first == nullptr) first = dequantize, grid = mine;
    data.push_back(dequantize->input(0));
  }
  if (first == nullptr) return false;
  std::vector<Value*> operands = grid->per_tensor ? for_any_rank(graph, first->inputs()) : first->inputs();
  if (!grid->per_tensor) {
    for (size_t i = 1; i < operands.size(); ++i) {
      if (operands[i] == nullptr) continue;
      WOOTZ_ASSIGN_OR_RETURN(operands[i], permuted(graph, *op, operands[i]));
      if (operands[i] == nullptr) return false;
    }
  }
  WOOTZ_ASSIGN_OR_RETURN(Node * made, move_op(graph, op, data, *grid, op));
  if (made == nullptr) return false;
  std::vector<Value*> results;
  for (Value* out : op->outputs())
    if (!out->uses().empty() || graph.is_output(out)) results.push_back(out);
  for (Value* out : results) {  // `op` goes with the last of them
    operands[0] = made->output(out->producer_index());
    WOOTZ_ASSIGN_OR_RETURN(Node * dequantize, clone_on(graph, *first, operands, op));
    for (int i = 1; i < data_inputs(*op); ++i) dequantize->add_provenance(*op->input(i)->producer());
    take_place(graph, out, dequantize->output());
  }
  return true;
}

// Quantize(op(x)) becomes op(Quantize(x)).
Result<bool> move_backward(Graph& graph, Node* quantize, ReadGrid read) {
  Node* op = quantize->input(0)->producer();
  if (op == nullptr || op->num_outputs() != 1 || only_user(op->output()) != quantize) return false;
  const Mover* mover = mover_of(*op);
  const std::optional<QuantGrid> grid = read(*quantize);
  if (mover == nullptr || !mover->backward || !grid || !grid->per_tensor) return false;
  std::vector<Value*> data;
  std::vector<Value*> operands = for_any_rank(graph, quantize->inputs());
  for (int i = 0; i < data_inputs(*op); ++i) {
    if (op->input(i) == nullptr) return false;
    operands[0] = op->input(i);
    const auto twin = std::find(op->inputs().begin(), op->inputs().begin() + i, op->input(i));
    if (twin != op->inputs().begin() + i) {
      data.push_back(data[static_cast<size_t>(twin - op->inputs().begin())]);
      continue;
    }
    WOOTZ_ASSIGN_OR_RETURN(Node * made, clone_on(graph, *quantize, operands, op));
    data.push_back(made->output());
  }
  WOOTZ_ASSIGN_OR_RETURN(Node * made, move_op(graph, op, data, *grid, op));
  if (made == nullptr) return false;
  take_place(graph, quantize->output(), made->output());
  return true;
}

// Whether every value of a float of 8 bits lies in the other type so near that it is rounded to itself again.
bool comes_back(const Node& dequantize, const QuantGrid& grid) {
  if (!is_fp8(grid.type)) return true;
  if (grid.type != DType::kF8E4M3) return false;  // infinities would become the largest number
  return dequantize.output()->dtype() == DType::kF16 ? grid.s >= 0x1p-12 && grid.s <= 0x1p7
                                                     : grid.s >= 0x1p-60 && grid.s <= 0x1p60;
}

// Quantize(Dequantize(x)) of one grid is x: the value lies on the grid.
Result<bool> cancel(Graph& graph, Node* quantize, ReadGrid read) {
  const Node* dequantize = quantize->input(0)->producer();
  if (dequantize == nullptr || !dequantize->is("Dequantize")) return false;
  const std::optional<QuantGrid> a = read(*dequantize), b = read(*quantize);
  if (!a || !b || !same_grid(*a, *b) || !comes_back(*dequantize, *a)) return false;
  Value* x = dequantize->input(0);
  // A network output that would become an input, a constant or another output keeps its step.
  if (graph.is_output(quantize->output()) && (x->kind() != ValueKind::kNodeOutput || graph.is_output(x))) return false;
  replace_and_erase(graph, quantize->output(), x);
  return true;
}

// Every pointwise reader gets a Dequantize of its own, which it can take in; the others share the old one.
Result<bool> split_readers(Graph& graph, Node* dequantize) {
  if (dequantize->input(0)->is_constant()) return false;
  Value* y = dequantize->output();
  std::vector<Node*> readers, pointwise;
  for (const Use& use : y->uses())
    if (std::find(readers.begin(), readers.end(), use.node) == readers.end()) readers.push_back(use.node);
  if (readers.size() + (graph.is_output(y) ? 1 : 0) < 2) return false;
  // In the order of the graph, so that the result does not depend on the order of uses.
  for (Node* n = dequantize->next(); n != nullptr && pointwise.size() < readers.size(); n = n->next())
    if (n->op().lowering == Lowering::kPointwise && std::find(readers.begin(), readers.end(), n) != readers.end())
      pointwise.push_back(n);
  if (pointwise.size() == readers.size() && !graph.is_output(y)) pointwise.erase(pointwise.begin());
  for (Node* reader : pointwise) {
    WOOTZ_ASSIGN_OR_RETURN(Node * made, clone_on(graph, *dequantize, dequantize->inputs(), reader));
    for (int i = 0; i < reader->num_inputs(); ++i)
      if (reader->input(i) == y) reader->set_input(i, made->output());
  }
  return !pointwise.empty();
}

}  // namespace

Result<bool> propagate(Graph& graph, ReadGrid read) {
  bool changed = false;
  const auto note = [&](bool did) {
    changed = changed || did;
    return did;
  };
  // Producers come first, so one walk takes a Dequantize as far as it goes.
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    WOOTZ_ASSIGN_OR_RETURN(const bool moved, move_forward(graph, node, read));
    note(moved);
  }
  // Readers first for Quantize. A new one stands before the op that it passed, so the walk meets it again.
  for (Node *node = graph.last(), *prev = nullptr; node != nullptr; node = prev) {
    prev = node->prev();
    if (!node->is("Quantize")) continue;
    Node* next = node->next();
    WOOTZ_ASSIGN_OR_RETURN(bool moved, cancel(graph, node, read));
    if (!note(moved)) {
      WOOTZ_ASSIGN_OR_RETURN(moved, move_backward(graph, node, read));
      note(moved);
    }
    if (moved) prev = next != nullptr ? next->prev() : graph.last();
  }
  return changed;
}

Result<bool> propagate_qdq(Graph& graph) {
  WOOTZ_ASSIGN_OR_RETURN(bool changed, propagate(graph, [](const Node& node) { return read_grid(node); }));
  for (Node* node : graph.nodes()) {
    if (!node->is("Dequantize")) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool split, split_readers(graph, node));
    changed = changed || split;
  }
  return changed;
}

}  // namespace wootz
