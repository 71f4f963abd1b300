// Inference with symbols must say what inference with numbers says: every module's cases are inferred once more with
// their extents (and the elements of their integer lists) as symbols, and the expressions are evaluated.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/testing.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/interpreter.h"

namespace wootz {
namespace {

struct Symbolic {
  std::unique_ptr<Graph> graph;
  std::map<SymbolId, int64_t> values;
  std::unordered_map<const Value*, Value*> twin;  // of a value of the case's graph

  Dim add(SymbolKind kind, int64_t value) {
    Symbol symbol;
    symbol.name = "s" + std::to_string(values.size());
    symbol.kind = kind;
    const SymbolId id = graph->add_symbol(std::move(symbol));
    values[id] = value;
    return Dim::symbol(id);
  }
};

// The case's graph with one symbol for each different extent above 1; null when the case holds subgraphs.
std::unique_ptr<Symbolic> make_symbolic(const OpCase& c, bool list_elements) {
  auto s = std::make_unique<Symbolic>();
  s->graph = std::make_unique<Graph>("symbolic");
  std::map<int64_t, Dim> extents;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const HostTensor& x = c.inputs[i];
    Shape shape;
    // The length of a list of integers may decide a rank: it stays a number.
    const bool list = is_integer(x.dtype()) && x.rank() <= 1;
    for (int64_t d : x.dims()) {
      if (list || d <= 1) {
        shape.emplace_back(d);
        continue;
      }
      if (extents.count(d) == 0) extents[d] = s->add(SymbolKind::kInputDim, d);
      shape.push_back(extents[d]);
    }
    Value* value = s->graph->add_input("x" + std::to_string(i), x.dtype(), std::move(shape));
    if (list && list_elements && x.volume() <= 8) {
      std::vector<Dim> elements;
      for (int64_t e = 0; e < x.volume(); ++e) elements.push_back(s->add(SymbolKind::kInputValue, x.get_i64(e)));
      value->set_shape_values(std::move(elements));
    }
    s->twin[c.graph->inputs()[i]] = value;
  }
  for (const Node* node = c.graph->first(); node != nullptr; node = node->next()) {
    for (const auto& [name, attr] : node->attrs())
      if (std::holds_alternative<std::shared_ptr<Graph>>(attr)) return nullptr;
    std::vector<Value*> inputs;
    for (const Value* in : node->inputs()) {
      if (in != nullptr && in->is_constant() && s->twin.count(in) == 0)
        s->twin[in] = s->graph->add_constant(in->name(), in->constant());
      inputs.push_back(in == nullptr ? nullptr : s->twin.at(in));
    }
    Node* copy = s->graph->add_node(node->op(), node->name(), std::move(inputs), node->attrs(), node->num_outputs());
    for (int o = 0; o < node->num_outputs(); ++o) s->twin[node->output(o)] = copy->output(o);
  }
  return s;
}

void check_case(const OpCase& c, bool list_elements, int* checked) {
  const std::unique_ptr<Symbolic> s = make_symbolic(c, list_elements);
  if (s == nullptr) return;
  if (!infer_graph(*s->graph).ok()) return;  // some rules want numbers, and say so
  const auto results = run_graph(*c.graph, c.inputs);
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  const auto binding = [&](SymbolId id) -> std::optional<int64_t> {
    const auto it = s->values.find(id);
    return it == s->values.end() ? std::nullopt : std::optional(it->second);
  };
  const auto known = [&](const Dim& d) {
    std::vector<SymbolId> symbols;
    d.collect_symbols(&symbols);
    return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId id) { return s->values.count(id) != 0; });
  };
  for (size_t o = 0; o < results->size(); ++o) {
    const HostTensor& actual = (*results)[o];
    const Value* out = s->twin.at(c.graph->outputs()[o]);
    EXPECT_EQ(actual.dtype(), out->dtype()) << "output " << o;
    ASSERT_EQ(actual.rank(), out->rank()) << "output " << o;
    for (int a = 0; a < actual.rank(); ++a) {
      const Dim& d = out->shape()[static_cast<size_t>(a)];
      if (!known(d)) continue;  // data-dependent
      EXPECT_EQ(d.evaluate(binding).value_or(-1), actual.dims()[static_cast<size_t>(a)])
          << "output " << o << " axis " << a << ": " << shape_to_string(out->shape()) << " against "
          << actual.dims().to_string();
      ++*checked;
    }
    if (!out->shape_values()) continue;
    ASSERT_EQ(static_cast<int64_t>(out->shape_values()->size()), actual.volume()) << "tracked values of output " << o;
    for (int64_t e = 0; e < actual.volume(); ++e) {
      const Dim& d = (*out->shape_values())[static_cast<size_t>(e)];
      if (!known(d)) continue;
      EXPECT_EQ(d.evaluate(binding).value_or(-1), actual.get_i64(e))
          << "tracked element " << e << " of output " << o << ": " << d.to_string();
      ++*checked;
    }
  }
}

TEST(Symbolic, CasesAgreeWithNumbers) {
  const uint64_t seed = test_seed();
  int checked = 0;
  for (const OpCase& c : all_cases(seed))
    for (bool list_elements : {false, true}) {
      SCOPED_TRACE(c.name + (list_elements ? " with symbolic lists" : ""));
      check_case(c, list_elements, &checked);
    }
  EXPECT_GT(checked, 1000);
}

}  // namespace
}  // namespace wootz
