// What a node says of itself, its op included, which a graph need not know.
#include <algorithm>

#include "ir/graph.h"
#include "ir/op_def.h"

namespace wootz {

void Node::set_name(std::string name) {
  name_ = std::move(name);
  if (graph_ != nullptr) graph_->note_name(name_);
}

std::string_view Node::op_name() const { return op_->name; }
bool Node::is(std::string_view op_name) const { return op_name == op_->name; }

void Node::set_input(int i, Value* value) {
  if (i < 0 || i >= num_inputs()) return;
  if (value != nullptr && value->graph_ != graph_) value = nullptr;
  if (inputs_[static_cast<size_t>(i)] == value) return;
  Graph::remove_use(this, i);
  inputs_[static_cast<size_t>(i)] = value;
  Graph::add_use(value, this, i);
}

void Node::add_input(Value* value) {
  if (value != nullptr && value->graph_ != graph_) value = nullptr;
  inputs_.push_back(value);
  use_slots_.push_back(0);
  Graph::add_use(value, this, num_inputs() - 1);
}

void Node::remove_inputs_from(int first) {
  if (first < 0) first = 0;
  while (num_inputs() > first) {
    Graph::remove_use(this, num_inputs() - 1);
    inputs_.pop_back();
    use_slots_.pop_back();
  }
}

void Node::remove_attr(std::string_view name) {
  const auto it = attrs_.find(name);
  if (it != attrs_.end()) attrs_.erase(it);
}

namespace {

template <typename T>
const T* attr_of(const AttrMap& attrs, std::string_view name) {
  const auto it = attrs.find(name);
  return it == attrs.end() ? nullptr : std::get_if<T>(&it->second);
}

}  // namespace

int64_t Node::attr_int(std::string_view name, int64_t fallback) const {
  const auto* found = attr_of<int64_t>(attrs_, name);
  return found ? *found : fallback;
}

double Node::attr_float(std::string_view name, double fallback) const {
  const auto* found = attr_of<double>(attrs_, name);
  return found ? *found : fallback;
}

std::string Node::attr_string(std::string_view name, std::string_view fallback) const {
  const auto* found = attr_of<std::string>(attrs_, name);
  return found ? *found : std::string(fallback);
}

std::vector<int64_t> Node::attr_ints(std::string_view name, std::vector<int64_t> fallback) const {
  const auto* found = attr_of<std::vector<int64_t>>(attrs_, name);
  return found ? *found : std::move(fallback);
}

std::vector<double> Node::attr_floats(std::string_view name, std::vector<double> fallback) const {
  const auto* found = attr_of<std::vector<double>>(attrs_, name);
  return found ? *found : std::move(fallback);
}

DType Node::attr_dtype(std::string_view name, DType fallback) const {
  const auto* found = attr_of<std::string>(attrs_, name);
  if (found == nullptr) return fallback;
  const DType dtype = dtype_from_name(*found);
  return dtype == DType::kInvalid ? fallback : dtype;
}

const HostTensor* Node::attr_tensor(std::string_view name) const { return attr_of<HostTensor>(attrs_, name); }

std::shared_ptr<Graph> Node::attr_graph(std::string_view name) const {
  const auto* found = attr_of<std::shared_ptr<Graph>>(attrs_, name);
  return found ? *found : nullptr;
}

const PointwiseExpr* Node::attr_expr(std::string_view name) const { return attr_of<PointwiseExpr>(attrs_, name); }
std::shared_ptr<const CustomOp> Node::attr_custom(std::string_view name) const {
  const auto* custom = attr_of<std::shared_ptr<const CustomOp>>(attrs_, name);
  return custom == nullptr ? nullptr : *custom;
}

void Node::add_provenance(const Node& other) {
  if (&other == this) return;
  for (const std::string& name : other.provenance_) add_provenance(name);
}

void Node::add_provenance(std::string name) {
  if (std::find(provenance_.begin(), provenance_.end(), name) == provenance_.end())
    provenance_.push_back(std::move(name));
}

}  // namespace wootz
