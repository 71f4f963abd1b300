#include "ir/copy.h"

#include <algorithm>
#include <unordered_set>

#include "ir/op_def.h"

namespace wootz {

namespace {

class GraphCopier {
 public:
  explicit GraphCopier(const Graph& from) : from_(from), copy_(std::make_shared<Graph>(from.name())) {}

  void want(const Value* v) {
    const auto id = static_cast<size_t>(v->id());
    if (id >= wanted_.size()) wanted_.resize(id + 1, nullptr);
    wanted_[id] = v;
  }
  // A node whose operands' producers were wanted before.
  void want(const Node* node) {
    for (const Value* v : node->inputs())
      if (v != nullptr) want(v);
    for (const Value* v : node->outputs()) want(v);
    order_.push_back(node);
  }
  void want_all() {
    for (const Value* v : from_.inputs()) want(v);
    for (const Value* v : from_.constants()) want(v);
    for (const Node* node = from_.first(); node != nullptr; node = node->next()) want(node);
  }
  // With everything that it depends on, depth first; without recursion, as networks may be deep.
  void want_with_operands(const Value* root) {
    want(root);
    if (root->producer() == nullptr) return;
    std::vector<const Node*> stack{root->producer()};
    while (!stack.empty()) {
      const Node* node = stack.back();
      const size_t open = stack.size();
      for (const Value* v : node->inputs())
        if (v != nullptr && v->producer() != nullptr && done_.count(v->producer()) == 0) stack.push_back(v->producer());
      if (stack.size() != open) continue;
      stack.pop_back();
      if (done_.insert(node).second) want(node);
    }
  }

  // `outer`: the copy whose symbols this one shares; null: symbols of its own.
  std::shared_ptr<Graph> make(const Graph* outer) {
    size_t ids = wanted_.size();
    if (outer != nullptr) {
      copy_->share_symbols(*outer);
    } else {
      for (const Symbol& symbol : from_.symbols()) {
        ids = std::max(ids, static_cast<size_t>(symbol.value_id + 1));
        copy_->add_symbol(symbol);
      }
    }
    wanted_.resize(ids, nullptr);
    make_values();
    for (const Node* node : order_) connect(*node);
    for (const Value* v : from_.outputs())
      if (outer != nullptr) copy_->mark_output(copy_of(*copy_, v));
    return copy_;
  }

 private:
  // In the order of their ids, which are thereby the same: what is left out is made and erased.
  void make_values() {
    for (size_t id = 0; id < wanted_.size(); ++id) {
      const Value* v = wanted_[id];
      if (v == nullptr) {
        copy_->erase_value(copy_->add_constant("left out", HostTensor()));
      } else if (v->is_constant()) {
        take_type(*v, copy_->add_constant(v->name(), v->constant()));
      } else if (v->kind() == ValueKind::kInput) {
        take_type(*v, copy_->add_input(v->name(), v->dtype(), v->shape()));
      } else if (v->producer_index() == 0) {
        make_node(*v->producer());
      }
    }
  }

  static void take_type(const Value& from, Value* to) {
    to->set_type(from.dtype(), from.shape());
    to->set_shape_values(from.shape_values());
    for (const std::string& alias : from.aliases()) to->add_alias(alias);
  }

  // Without its operands, some of which may be made later.
  void make_node(const Node& node) {
    AttrMap attrs = node.attrs();
    for (auto& [name, attr] : attrs) {
      auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr);
      if (inner == nullptr || *inner == nullptr) continue;
      GraphCopier copier(**inner);
      copier.want_all();
      *inner = copier.make(copy_.get());
    }
    Node* made = copy_->add_node(node.op(), node.name(), {}, std::move(attrs), node.num_outputs());
    for (const std::string& name : node.provenance()) made->add_provenance(name);
    for (int o = 0; o < node.num_outputs(); ++o) {
      made->output(o)->set_name(node.output(o)->name());
      take_type(*node.output(o), made->output(o));
    }
  }

  void connect(const Node& node) {
    Node* made = copy_of(*copy_, node.output())->producer();
    for (const Value* v : node.inputs()) made->add_input(v == nullptr ? nullptr : copy_of(*copy_, v));
    copy_->move_before(made, nullptr);
  }

  const Graph& from_;
  std::shared_ptr<Graph> copy_;
  std::vector<const Value*> wanted_;  // by id
  std::vector<const Node*> order_;
  std::unordered_set<const Node*> done_;
};

}  // namespace

std::shared_ptr<Graph> copy_part(const Graph& from, const std::vector<Value*>& roots) {
  GraphCopier copier(from);
  for (const Value* input : from.inputs()) copier.want(input);
  for (const Value* root : roots) copier.want_with_operands(root);
  return copier.make(nullptr);
}

}  // namespace wootz
