#include "onnx/scope.h"

#include <utility>

namespace wootz::importer {

const Slot* Scope::own(std::string_view name) const {
  const auto it = slots_.find(name);
  return it == slots_.end() ? nullptr : &it->second;
}

bool Scope::sees(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_)
    if (scope->own(name) != nullptr) return true;
  return false;
}

const Slot* Scope::find(std::string_view name) {
  std::vector<Scope*> path;
  Scope* scope = this;
  while (scope != nullptr && scope->own(name) == nullptr) {
    path.push_back(scope);
    scope = scope->outer_;
  }
  if (scope == nullptr) return nullptr;
  for (size_t i = path.size(); i-- > 0; scope = path[i]) path[i]->capture(name, *scope->own(name));
  Slot& slot = slots_[name];
  if (slot.value == nullptr && slot.pending.valid())
    slot.value = graph_->add_constant(std::string(name), std::exchange(slot.pending, HostTensor()));
  return &slot;
}

void Scope::capture(std::string_view name, const Slot& from) {
  Slot slot = from;
  if (from.value != nullptr && from.value->graph() != graph_) {
    if (from.value->is_constant()) {
      slot.value = nullptr;
      slot.pending = from.value->constant();
    } else {
      Value*& inner = inner_[from.value];
      if (inner == nullptr) {
        inner = graph_->add_input(graph_->unique_name(from.value->name()), from.value->dtype(), from.value->shape());
        inner->set_shape_values(from.value->shape_values());
        captured_->push_back(from.value);
      }
      slot.value = inner;
    }
  }
  slots_.emplace(name, std::move(slot));
}

}  // namespace wootz::importer
