// GEMMs with constant weights over one input become one GEMM, the weights side by side, where the readers take
// their part of the wide result as it lies: query, key and value of an attention. One GEMM of 3n columns keeps more
// of the machine busy than three of n, and reads the input once.
#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr const char* kViews[] = {"q_view", "k_view", "v_view"};

int64_t columns_of(const Node& gemm) {
  const Dims& w = gemm.input(1)->constant().dims();
  return w[gemm.attr_int("trans_b") != 0 ? 0 : 1];
}

// Of int8 GEMMs, biases are floats.
DType type_of(const Node& gemm, int input) {
  return input == 2 && gemm.has_attr("x_scale") ? DType::kF32 : gemm.input(1)->dtype();
}

bool takes_part(const Node& gemm) {
  if (!gemm.is("MatMul") || gemm.num_outputs() != 1 || gemm.has_attr("epilogue") || gemm.has_attr("w_zero") ||
      gemm.attr_int("trans_a") != 0)
    return false;
  const Value *w = gemm.input(1), *bias = gemm.input(2);
  if (w == nullptr || !w->is_constant() || w->rank() != 2 || w->constant().bytes() == 0) return false;
  if (bias != nullptr && (!bias->is_constant() || bias->constant().volume() != columns_of(gemm) || bias->rank() > 1 ||
                          bias->dtype() != type_of(gemm, 2)))
    return false;
  const Value* y = gemm.output();
  if (y->uses().empty() || gemm.graph()->is_output(y) || y->rank() != 3) return false;
  return std::all_of(y->uses().begin(), y->uses().end(), [](const Use& use) {
    return use.node->is("Attention") && use.index < 3 && use.node->attr_ints(kViews[use.index]).size() == 5;
  });
}

bool alike(const Node& a, const Node& b) {
  const HostTensor &wa = a.input(1)->constant(), &wb = b.input(1)->constant();
  const size_t inner = a.attr_int("trans_b") != 0 ? 1 : 0;
  return wa.dtype() == wb.dtype() && a.attr_int("trans_b") == b.attr_int("trans_b") &&
         a.attr_float("alpha", 1) == b.attr_float("alpha", 1) && a.attr_floats("x_scale") == b.attr_floats("x_scale") &&
         a.attr_floats("x_zero", {0}) == b.attr_floats("x_zero", {0}) && a.input(3) == b.input(3) &&
         wa.dims()[inner] == wb.dims()[inner];
}

// The weights (or biases, as one row each) side by side. Wide tensors are made once for each list of parts.
class Wide {
 public:
  explicit Wide(Graph& graph) : graph_(graph) {}

  Result<Value*> weights(const std::vector<Node*>& parts) {
    const bool by_rows = parts[0]->attr_int("trans_b") != 0;
    const Dims& first = parts[0]->input(1)->constant().dims();
    int64_t total = 0;
    std::vector<int> key{by_rows};
    for (const Node* p : parts) {
      total += columns_of(*p);
      key.push_back(p->input(1)->id());
    }
    const int64_t inner = first[by_rows ? 1 : 0];
    return join(std::move(key), parts, 1, by_rows ? 1 : inner, by_rows ? inner : 1,
                by_rows ? Dims{total, inner} : Dims{inner, total});
  }
  // Null when no part has one.
  Result<Value*> bias(const std::vector<Node*>& parts) {
    int64_t total = 0;
    std::vector<int> key{2};
    bool some = false;
    for (const Node* p : parts) {
      total += columns_of(*p);
      some = some || p->input(2) != nullptr;
      key.push_back(p->input(2) != nullptr ? p->input(2)->id() : -static_cast<int>(columns_of(*p)));
    }
    if (!some) return static_cast<Value*>(nullptr);
    return join(std::move(key), parts, 2, 1, 1, Dims{total});
  }

 private:
  // `rows` rows, to each of which part p gives columns * width elements of input `index` (zeros where it has none).
  Result<Value*> join(std::vector<int> key, const std::vector<Node*>& parts, int index, int64_t rows, int64_t width,
                      const Dims& dims) {
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
    const DType type = type_of(*parts[0], index);
    WOOTZ_ASSIGN_OR_RETURN(HostTensor wide, HostTensor::allocate(type, dims));
    auto* to = static_cast<char*>(wide.mutable_data());
    for (int64_t r = 0; r < rows; ++r)
      for (const Node* p : parts) {
        const Value* part = p->input(index);
        const auto bytes = static_cast<size_t>(wide.bytes() / static_cast<size_t>(dims.volume())) *
                           static_cast<size_t>(columns_of(*p) * width);
        if (part == nullptr)
          std::memset(to, 0, bytes);
        else
          std::memcpy(to, static_cast<const char*>(part->constant().data()) + static_cast<size_t>(r) * bytes, bytes);
        to += bytes;
      }
    Value* value = graph_.add_constant(graph_.unique_name(parts[0]->name() + "_merged"), std::move(wide));
    made_.emplace(std::move(key), value);
    return value;
  }

  Graph& graph_;
  std::map<std::vector<int>, Value*> made_;
};

Status merge(Graph& graph, Wide& wide, const std::vector<Node*>& parts) {
  WOOTZ_ASSIGN_OR_RETURN(Value * weights, wide.weights(parts));
  WOOTZ_ASSIGN_OR_RETURN(Value * bias, wide.bias(parts));
  std::vector<Value*> inputs{parts[0]->input(0), weights};
  Value* const row_scales = parts[0]->input(3);
  if (bias != nullptr || row_scales != nullptr) inputs.push_back(bias);
  if (row_scales != nullptr) inputs.push_back(row_scales);
  Node* made = graph.add_node(parts[0]->op(), graph.unique_name(parts[0]->name()), std::move(inputs), parts[0]->attrs(),
                              1, parts[0]);
  if (made->has_attr("x_scale")) {
    std::vector<double> scales;  // of each column
    for (const Node* part : parts) {
      const std::vector<double> own = part->attr_floats("w_scale");
      const auto columns = static_cast<size_t>(columns_of(*part));
      for (size_t c = 0; c < columns; ++c) scales.push_back(own.size() == 1 ? own[0] : own[c]);
    }
    made->set_attr("w_scale", std::move(scales));
  }
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  int64_t offset = 0;
  for (Node* part : parts) {
    made->add_provenance(*part);
    const std::vector<Use> uses = part->output()->uses();
    for (const Use& use : uses) {
      std::vector<int64_t> view = use.node->attr_ints(kViews[use.index]);
      view[0] += offset;
      use.node->set_attr(kViews[use.index], view);
      use.node->set_input(use.index, made->output());
    }
    offset += columns_of(*part);
  }
  for (Node* part : parts) erase_if_dead(graph, part);
  return {};
}

}  // namespace

Result<bool> merge_siblings(Graph& graph) {
  bool changed = false;
  Wide wide(graph);
  std::vector<int> sources;  // ids: merging erases values
  for (const Value* v : graph.inputs()) sources.push_back(v->id());
  std::unordered_map<const Node*, int> order;
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    order[node] = static_cast<int>(order.size());
    for (const Value* v : node->outputs()) sources.push_back(v->id());
  }
  for (const int id : sources) {
    const Value* source = graph.value_by_id(id);
    if (source == nullptr) continue;
    std::vector<Node*> readers;
    for (const Use& use : source->uses())
      if (use.index == 0 && takes_part(*use.node)) readers.push_back(use.node);
    if (readers.size() < 2) continue;
    // Uses are in no particular order; a plan must not depend on that. The wide GEMM stands where the first stood.
    std::sort(readers.begin(), readers.end(), [&](const Node* a, const Node* b) { return order.at(a) < order.at(b); });
    while (readers.size() > 1) {
      std::vector<Node*> parts, rest;
      for (Node* reader : readers) (alike(*readers[0], *reader) ? parts : rest).push_back(reader);
      if (parts.size() > 1) {
        WOOTZ_RETURN_IF_ERROR(merge(graph, wide, parts));
        changed = true;
      }
      readers = std::move(rest);
    }
  }
  return changed;
}

}  // namespace wootz
