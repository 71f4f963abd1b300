// The one IR: a graph of nodes in topological order over SSA values. INetworkDefinition is a facade over it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/pointwise.h"
#include "base/tensor.h"
#include "ir/dim.h"

namespace wootz {

class CustomOp;  // custom_op.h
class Graph;
class Node;
struct OpDef;

using Attr = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, HostTensor,
                          std::shared_ptr<Graph>, PointwiseExpr, std::shared_ptr<const CustomOp>>;
using AttrMap = std::map<std::string, Attr, std::less<>>;

enum class ValueKind : uint8_t { kInput, kConstant, kNodeOutput };

struct Use {
  Node* node;
  int index;  // input number; the same node appears once per input
};

class Value {
 public:
  const std::string& name() const { return name_; }
  void set_name(std::string name);  // unique_name() will not give this name out afterwards
  int id() const { return id_; }    // unique within the graph, never reused
  // Names of the values whose elements this one holds too, since replace_all_uses() put it in their place.
  const std::vector<std::string>& aliases() const { return aliases_; }
  void add_alias(std::string name) { aliases_.push_back(std::move(name)); }
  // The elements are others from now on (a factor went into the producer's weights, say): the value takes this name and
  // stands for no other any more.
  void set_new_meaning(std::string name) {
    aliases_.clear();
    set_name(std::move(name));
  }
  ValueKind kind() const { return kind_; }
  Graph* graph() const { return graph_; }
  Node* producer() const { return producer_; }  // null for inputs and constants
  int producer_index() const { return producer_index_; }
  const std::vector<Use>& uses() const { return uses_; }  // in no particular order; copy it before changing inputs
  bool is_constant() const { return kind_ == ValueKind::kConstant; }
  const HostTensor& constant() const { return constant_; }  // valid only for constants

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  void set_type(DType dtype, Shape shape) {
    dtype_ = dtype;
    shape_ = std::move(shape);
  }
  // Elements of a small integer tensor (rank 0 or 1) known as expressions; absent when unknown.
  const std::optional<std::vector<Dim>>& shape_values() const { return shape_values_; }
  void set_shape_values(std::optional<std::vector<Dim>> values) { shape_values_ = std::move(values); }

 private:
  friend class Graph;
  friend class Node;
  std::string name_;
  std::vector<std::string> aliases_;
  int id_ = 0;
  ValueKind kind_ = ValueKind::kInput;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  int producer_index_ = 0;
  std::vector<Use> uses_;
  HostTensor constant_;
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  std::optional<std::vector<Dim>> shape_values_;
};

class Node {
 public:
  const OpDef& op() const { return *op_; }
  std::string_view op_name() const;
  bool is(std::string_view op_name) const;
  const std::string& name() const { return name_; }
  void set_name(std::string name);
  Graph* graph() const { return graph_; }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  Value* input(int i) const { return i < num_inputs() ? inputs_[static_cast<size_t>(i)] : nullptr; }  // null: omitted
  const std::vector<Value*>& inputs() const { return inputs_; }
  void set_input(int i, Value* value);  // keeps uses right; value may be null
  void add_input(Value* value);
  void remove_inputs_from(int first);  // drops the tail
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  Value* output(int i = 0) const { return i < num_outputs() ? outputs_[static_cast<size_t>(i)] : nullptr; }
  const std::vector<Value*>& outputs() const { return outputs_; }

  const AttrMap& attrs() const { return attrs_; }
  bool has_attr(std::string_view name) const { return attrs_.find(name) != attrs_.end(); }
  void set_attr(std::string name, Attr value) { attrs_[std::move(name)] = std::move(value); }
  void remove_attr(std::string_view name);
  // The attribute, or the fallback when it is absent or of another kind (the verifier has checked kinds).
  int64_t attr_int(std::string_view name, int64_t fallback = 0) const;
  double attr_float(std::string_view name, double fallback = 0) const;
  std::string attr_string(std::string_view name, std::string_view fallback = "") const;
  std::vector<int64_t> attr_ints(std::string_view name, std::vector<int64_t> fallback = {}) const;
  std::vector<double> attr_floats(std::string_view name, std::vector<double> fallback = {}) const;
  DType attr_dtype(std::string_view name, DType fallback = DType::kInvalid) const;  // stored as the type's name
  const HostTensor* attr_tensor(std::string_view name) const;
  std::shared_ptr<Graph> attr_graph(std::string_view name) const;
  const PointwiseExpr* attr_expr(std::string_view name) const;
  std::shared_ptr<const CustomOp> attr_custom(std::string_view name) const;  // null: absent

  // Names of the model's nodes (ONNX node or layer names) that this node stands for.
  const std::vector<std::string>& provenance() const { return provenance_; }
  void add_provenance(const Node& other);
  void add_provenance(std::string name);

  Node* next() const { return next_; }
  Node* prev() const { return prev_; }

 private:
  friend class Graph;
  const OpDef* op_ = nullptr;
  std::string name_;
  Graph* graph_ = nullptr;
  std::vector<Value*> inputs_, outputs_;
  std::vector<size_t> use_slots_;  // where in inputs_[i]->uses_ this node's use stands: removal takes constant time
  AttrMap attrs_;
  std::vector<std::string> provenance_;
  Node* prev_ = nullptr;
  Node* next_ = nullptr;
};

enum class SymbolKind : uint8_t { kInputDim, kInputValue, kDataDependent };

// A symbol of the graph: dimension `index` of input `value`, element `index` of the input shape tensor `value`, or
// (kDataDependent) dimension `index` of a node output whose size is data-dependent.
struct Symbol {
  std::string name;
  SymbolKind kind = SymbolKind::kInputDim;
  int value_id = -1;
  int index = 0;
  int64_t upper_bound = -1;  // of a data-dependent size, when it is known without the profile; -1 unknown
};

// Values of another graph handed in by mistake are treated as null, and calls whose condition does not hold change
// nothing: verify_graph() (ir/verify.h) then says what is wrong. A subgraph reads no value of the graph around it: what
// the body of an If or Loop captures is an input of the node and of the body.
class Graph {
 public:
  explicit Graph(std::string name = "");
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  Value* add_input(std::string name, DType dtype, Shape shape);
  Value* add_constant(std::string name, HostTensor tensor);
  // Appends (or inserts before `before`) a node with `num_outputs` fresh outputs of unknown type. Call infer afterwards
  // (ops/infer.h), or set the types. Empty name: made unique from the op's name.
  Node* add_node(const OpDef& op, std::string name, std::vector<Value*> inputs, AttrMap attrs, int num_outputs = 1,
                 Node* before = nullptr);
  void mark_output(Value* value);
  void unmark_output(Value* value);
  void set_output(int index, Value* value);
  bool is_output(const Value* value) const;

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  Node* first() const { return first_; }
  Node* last() const { return last_; }
  int num_nodes() const { return num_nodes_; }
  std::vector<Node*> nodes() const;  // snapshot in order: safe to walk while rewriting
  std::vector<Value*> constants() const;
  Value* value_by_id(int id) const;  // null when it is gone

  void replace_all_uses(Value* from, Value* to);  // graph outputs included
  void move_before(Node* node, Node* before);
  void erase(Node* node);          // its outputs must have no uses and not be graph outputs
  void erase_value(Value* value);  // an unused constant or input
  std::string unique_name(std::string_view base);

  SymbolId add_symbol(Symbol symbol);
  const std::vector<Symbol>& symbols() const { return *symbols_; }
  // Subgraphs share the symbols of the graph they are in.
  void share_symbols(const Graph& outer) { symbols_ = outer.symbols_; }

 private:
  friend class Node;
  friend class Value;
  Value* new_value(std::string name, ValueKind kind);
  void link(Node* node, Node* before);
  void unlink(Node* node);
  void note_name(const std::string& name) { name_counts_.try_emplace(name, 0); }
  static void add_use(Value* value, Node* node, int index);
  static void remove_use(Node* node, int index);  // of node->inputs_[index]; that input is then null

  std::string name_;
  std::vector<Value*> inputs_, outputs_;
  std::vector<std::unique_ptr<Value>> values_;  // by id; null where erased
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  int num_nodes_ = 0;
  std::unordered_map<std::string, int> name_counts_;
  std::shared_ptr<std::vector<Symbol>> symbols_;
};

}  // namespace wootz
