#include "ir/graph.h"

#include <algorithm>

namespace wootz {

void Value::set_name(std::string name) {
  name_ = std::move(name);
  if (graph_ != nullptr) graph_->note_name(name_);
}

Graph::Graph(std::string name) : name_(std::move(name)), symbols_(std::make_shared<std::vector<Symbol>>()) {}

Graph::~Graph() {
  while (first_ != nullptr) {
    Node* next = first_->next_;
    delete first_;
    first_ = next;
  }
}

Value* Graph::new_value(std::string name, ValueKind kind) {
  auto value = std::make_unique<Value>();
  value->graph_ = this;
  value->id_ = static_cast<int>(values_.size());
  value->kind_ = kind;
  value->name_ = std::move(name);
  note_name(value->name_);
  values_.push_back(std::move(value));
  return values_.back().get();
}

Value* Graph::add_input(std::string name, DType dtype, Shape shape) {
  if (name.empty()) name = unique_name("input");
  Value* value = new_value(std::move(name), ValueKind::kInput);
  value->set_type(dtype, std::move(shape));
  inputs_.push_back(value);
  return value;
}

Value* Graph::add_constant(std::string name, HostTensor tensor) {
  if (name.empty()) name = unique_name("const");
  Value* value = new_value(std::move(name), ValueKind::kConstant);
  value->set_type(tensor.dtype(), to_shape(tensor.dims()));
  value->constant_ = std::move(tensor);
  return value;
}

Node* Graph::add_node(const OpDef& op, std::string name, std::vector<Value*> inputs, AttrMap attrs, int num_outputs,
                      Node* before) {
  auto node = std::make_unique<Node>();
  node->op_ = &op;
  node->graph_ = this;
  node->name_ = name.empty() ? unique_name(node->op_name()) : std::move(name);
  note_name(node->name_);
  node->attrs_ = std::move(attrs);
  for (Value* value : inputs) node->add_input(value);
  for (int i = 0; i < num_outputs; ++i) {
    const std::string base = num_outputs == 1 ? node->name_ + "_out" : node->name_ + "_out" + std::to_string(i);
    Value* value = new_value(unique_name(base), ValueKind::kNodeOutput);
    value->producer_ = node.get();
    value->producer_index_ = i;
    node->outputs_.push_back(value);
  }
  if (before != nullptr && before->graph_ != this) before = nullptr;
  link(node.get(), before);
  return node.release();
}

void Graph::link(Node* node, Node* before) {
  node->next_ = before;
  node->prev_ = before != nullptr ? before->prev_ : last_;
  (node->prev_ != nullptr ? node->prev_->next_ : first_) = node;
  (before != nullptr ? before->prev_ : last_) = node;
  ++num_nodes_;
}

void Graph::unlink(Node* node) {
  (node->prev_ != nullptr ? node->prev_->next_ : first_) = node->next_;
  (node->next_ != nullptr ? node->next_->prev_ : last_) = node->prev_;
  node->prev_ = node->next_ = nullptr;
  --num_nodes_;
}

void Graph::add_use(Value* value, Node* node, int index) {
  if (value == nullptr) return;
  node->use_slots_[static_cast<size_t>(index)] = value->uses_.size();
  value->uses_.push_back({node, index});
}

void Graph::remove_use(Node* node, int index) {
  const auto i = static_cast<size_t>(index);
  Value* value = node->inputs_[i];
  if (value == nullptr) return;
  const size_t slot = node->use_slots_[i];
  const Use moved = value->uses_.back();
  value->uses_[slot] = moved;
  moved.node->use_slots_[static_cast<size_t>(moved.index)] = slot;
  value->uses_.pop_back();
  node->inputs_[i] = nullptr;
}

void Graph::mark_output(Value* value) {
  if (value != nullptr && value->graph_ == this) outputs_.push_back(value);
}

void Graph::unmark_output(Value* value) {
  outputs_.erase(std::remove(outputs_.begin(), outputs_.end(), value), outputs_.end());
}

void Graph::set_output(int index, Value* value) {
  if (index < 0 || static_cast<size_t>(index) >= outputs_.size()) return;
  if (value != nullptr && value->graph_ == this) outputs_[static_cast<size_t>(index)] = value;
}

bool Graph::is_output(const Value* value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

std::vector<Node*> Graph::nodes() const {
  std::vector<Node*> all;
  all.reserve(static_cast<size_t>(num_nodes_));
  for (Node* node = first_; node != nullptr; node = node->next_) all.push_back(node);
  return all;
}

std::vector<Value*> Graph::constants() const {
  std::vector<Value*> all;
  for (const auto& value : values_)
    if (value != nullptr && value->is_constant()) all.push_back(value.get());
  return all;
}

Value* Graph::value_by_id(int id) const {
  return id >= 0 && static_cast<size_t>(id) < values_.size() ? values_[static_cast<size_t>(id)].get() : nullptr;
}

void Graph::replace_all_uses(Value* from, Value* to) {
  if (from == nullptr || to == nullptr || from == to || from->graph_ != this || to->graph_ != this) return;
  for (const Use& use : from->uses_) {
    use.node->inputs_[static_cast<size_t>(use.index)] = to;
    add_use(to, use.node, use.index);
  }
  from->uses_.clear();
  to->aliases_.push_back(from->name_);
  to->aliases_.insert(to->aliases_.end(), from->aliases_.begin(), from->aliases_.end());
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::move_before(Node* node, Node* before) {
  if (node == nullptr || node->graph_ != this || node == before) return;
  if (before != nullptr && before->graph_ != this) return;
  unlink(node);
  link(node, before);
}

void Graph::erase(Node* node) {
  if (node == nullptr || node->graph_ != this) return;
  for (const Value* value : node->outputs_)
    if (!value->uses_.empty() || is_output(value)) return;
  node->remove_inputs_from(0);
  for (const Value* value : node->outputs_) values_[static_cast<size_t>(value->id_)].reset();
  unlink(node);
  delete node;
}

void Graph::erase_value(Value* value) {
  if (value == nullptr || value->graph_ != this || value->kind_ == ValueKind::kNodeOutput) return;
  if (!value->uses_.empty() || is_output(value)) return;
  inputs_.erase(std::remove(inputs_.begin(), inputs_.end(), value), inputs_.end());
  values_[static_cast<size_t>(value->id_)].reset();
}

std::string Graph::unique_name(std::string_view base) {
  std::string name(base);
  const auto [entry, fresh] = name_counts_.try_emplace(name, 0);
  if (fresh && !name.empty()) return name;
  int& count = entry->second;  // stays valid: unordered_map never moves its elements
  do {
    name = std::string(base) + '_' + std::to_string(++count);
  } while (!name_counts_.try_emplace(name, 0).second);
  return name;
}

SymbolId Graph::add_symbol(Symbol symbol) {
  symbols_->push_back(std::move(symbol));
  return static_cast<SymbolId>(symbols_->size() - 1);
}

}  // namespace wootz
