// The generator's state, and a function for each kind of thing it may add.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"
#include "random_graphs/generate.h"

namespace wootz::random_graphs {

using Ints = std::vector<int64_t>;

inline constexpr int64_t kMostElements = 3000;
inline constexpr double kLargest = 100;

struct Made {
  Value* value = nullptr;
  HostTensor data;
  bool exact = false;  // equal bits whatever computes it
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed), graph_(std::make_shared<Graph>("g")) {}

  Sample make(int size) {
    add_inputs();
    for (int tries = 0; graph_->num_nodes() < size && tries < 20 * size; ++tries) step();
    mark_outputs();
    Sample sample;
    sample.graph = graph_;
    for (const Value* v : graph_->inputs()) sample.inputs.push_back(find(v)->data);
    sample.symbols = symbols_;
    return sample;
  }

 private:
  // Randomness

  int pick(int low, int high) { return low + static_cast<int>(rng_() % static_cast<uint64_t>(high - low + 1)); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <typename T>
  const T& any(const std::vector<T>& list) {
    return list[static_cast<size_t>(pick(0, static_cast<int>(list.size()) - 1))];
  }
  HostTensor random(DType dtype, const Dims& dims, double scale = 1) {
    Result<HostTensor> made = HostTensor::allocate(dtype, dims);
    HostTensor t = std::move(made).value();
    std::normal_distribution<double> normal(0, scale);
    for (int64_t i = 0; i < t.volume(); ++i) {
      if (is_float(dtype))
        t.set_f64(i, normal(rng_));
      else
        t.set_i64(i, dtype == DType::kBool ? pick(0, 1) : pick(-3, 5));
    }
    return t;
  }

  // Values

  const Made* find(const Value* v) const {
    for (const Made& m : values_)
      if (m.value == v) return &m;
    return nullptr;
  }
  Made constant(HostTensor data) {
    Value* v = graph_->add_constant("", data);
    values_.push_back({v, std::move(data), true});
    constants_.push_back(values_.back());
    return values_.back();
  }
  Made weight(const Dims& dims, double scale = 0.5) { return constant(random(DType::kF32, dims, scale)); }
  Made scalar(double value, DType dtype = DType::kF32) {
    if (chance(50))  // shared
      for (const Made& m : constants_)
        if (m.data.volume() == 1 && m.data.rank() == 0 && m.data.dtype() == dtype &&
            m.data.get_f64(0) == static_cast<double>(static_cast<float>(value)))
          return m;
    HostTensor t = std::move(HostTensor::allocate(dtype, Dims{})).value();
    if (is_float(dtype))
      t.set_f64(0, value);
    else
      t.set_i64(0, static_cast<int64_t>(value));
    return constant(std::move(t));
  }
  Made ints(const Ints& values) {
    return constant(HostTensor::from<int64_t>(values, Dims{static_cast<int64_t>(values.size())}));
  }

  // The node's results, or nothing when the op refuses or the numbers get out of hand; then the graph is as it was.
  std::vector<Made> try_node(const char* name, const std::vector<Made>& inputs, AttrMap attrs = {}, int outputs = 1,
                             bool keeps_exact = false) {
    std::vector<Value*> operands;
    std::vector<const HostTensor*> data;
    bool exact = true;
    for (const Made& m : inputs) {
      if (m.value == nullptr) return {};
      operands.push_back(m.value);
      data.push_back(&m.data);
      exact = exact && m.exact;
    }
    Node* node = graph_->add_node(op(name), "", std::move(operands), std::move(attrs), outputs);
    const auto give_up = [&]() -> std::vector<Made> {
      graph_->erase(node);
      return {};
    };
    if (!infer_node(*node).ok()) return give_up();
    const auto results = run_node(*node, data);
    if (!results.ok()) return give_up();
    std::vector<Made> made;
    for (int o = 0; o < outputs; ++o) {
      const HostTensor& t = (*results)[static_cast<size_t>(o)];
      if (t.volume() > kMostElements || t.rank() > 5 || !sane(t) || !agrees(node->output(o)->shape(), t.dims()))
        return give_up();
      made.push_back({node->output(o), t, exact && keeps_exact});
    }
    for (const Made& m : made) values_.push_back(m);
    return made;
  }
  Made add(const char* name, const std::vector<Made>& inputs, AttrMap attrs = {}, bool keeps_exact = false) {
    const std::vector<Made> made = try_node(name, inputs, std::move(attrs), 1, keeps_exact);
    return made.empty() ? Made{} : made[0];
  }
  static bool sane(const HostTensor& t) {
    for (int64_t i = 0; i < t.volume(); ++i)
      if (!std::isfinite(t.get_f64(i)) || std::fabs(t.get_f64(i)) > kLargest) return false;
    return true;
  }
  // Symbols that inference took to be equal are.
  bool agrees(const Shape& shape, const Dims& dims) const {
    if (shape.size() != dims.size()) return false;
    for (size_t a = 0; a < shape.size(); ++a) {
      const auto value = shape[a].evaluate([&](SymbolId id) -> std::optional<int64_t> {
        const auto s = static_cast<size_t>(id);
        return s < symbols_.size() ? std::optional<int64_t>(symbols_[s]) : std::nullopt;
      });
      if (value && *value != dims[a]) return false;
      if (!value) return false;  // data-dependent: not here
    }
    return true;
  }

  Made random_value(DType dtype = DType::kF32, int rank = -1, bool exact = false) {
    for (int tries = 0; tries < 30; ++tries) {
      const auto n = static_cast<int>(values_.size());
      // Mostly what was made last: deep graphs. Sometimes anything: shared values.
      const int at = chance(60) ? std::max(0, n - 1 - pick(0, 5)) : pick(0, n - 1);
      const Made& m = values_[static_cast<size_t>(at)];
      if (m.value->is_constant() || m.data.dtype() != dtype || (rank >= 0 && m.data.rank() != rank)) continue;
      if (m.data.volume() == 0 || (exact && !m.exact)) continue;
      return m;
    }
    return {};
  }

  void add_inputs() {
    if (chance(50)) {
      graph_->add_symbol({"N", SymbolKind::kInputDim, 0, 0});
      symbols_.push_back(pick(1, 3));
    }
    for (int i = 0, n = pick(1, 3); i < n; ++i) {
      const bool image = chance(60), integer = i > 0 && chance(25);
      Dims dims = image ? Dims{pick(1, 2), pick(1, 3) * 4, pick(4, 8), pick(4, 8)} : Dims{};
      if (!image)
        for (int a = 0, rank = pick(1, 3); a < rank; ++a) dims.push_back(pick(2, 12));
      Shape shape = to_shape(dims);
      if (!symbols_.empty() && (i == 0 || chance(50))) {
        shape[0] = Dim::symbol(0);
        dims[0] = symbols_[0];
      }
      const DType dtype = integer ? DType::kI64 : DType::kF32;
      Value* v = graph_->add_input("x" + std::to_string(i), dtype, std::move(shape));
      values_.push_back({v, random(dtype, dims), true});
    }
  }

  void mark_outputs() {
    for (Node* node : graph_->nodes())
      for (Value* v : node->outputs())
        if (v->uses().empty() || chance(4)) {
          graph_->mark_output(v);
          if (chance(50)) v->set_name("y" + std::to_string(v->id()));
        }
    if (graph_->outputs().empty() && graph_->last() != nullptr) graph_->mark_output(graph_->last()->output());
    for (const Made& c : constants_)
      if (c.value->uses().empty()) graph_->erase_value(c.value);
  }

  // Steps

  void step() {
    using Step = void (Generator::*)();
    static constexpr struct {
      Step make;
      int weight;
    } kSteps[] = {{&Generator::unary, 14},     {&Generator::binary, 20},      {&Generator::conv, 10},
                  {&Generator::gemm, 8},       {&Generator::reduce, 6},       {&Generator::normalize, 6},
                  {&Generator::softmax, 3},    {&Generator::pool, 4},         {&Generator::transpose, 5},
                  {&Generator::reshape, 6},    {&Generator::concat, 4},       {&Generator::split, 3},
                  {&Generator::slice, 4},      {&Generator::pad, 3},          {&Generator::expand, 3},
                  {&Generator::gather, 3},     {&Generator::resize, 2},       {&Generator::blocks, 2},
                  {&Generator::compare, 4},    {&Generator::indices, 3},      {&Generator::integer, 4},
                  {&Generator::cast, 3},       {&Generator::spelled_gate, 4}, {&Generator::spelled_norm, 3},
                  {&Generator::batch_norm, 4}, {&Generator::attention, 2},    {&Generator::residual, 4},
                  {&Generator::shapes, 4},     {&Generator::twice, 3},        {&Generator::identities, 4},
                  {&Generator::cumulate, 1},   {&Generator::quantized, 6}};
    int total = 0;
    for (const auto& s : kSteps) total += s.weight;
    int at = pick(0, total - 1);
    for (const auto& s : kSteps) {
      if (at < s.weight) return (this->*s.make)();
      at -= s.weight;
    }
  }

  void unary();
  Made partner(const Made& x);
  static bool is_open(const Dim& d);
  void binary();
  void conv();
  Made activate(const Made& x);
  void gemm();
  Ints some_axes(int rank);
  void reduce();
  void normalize();
  void softmax();
  void pool();
  Ints permutation(int rank);
  void transpose();
  void reshape();
  void concat();
  void split();
  void slice();
  void pad();
  void expand();
  void gather();
  void resize();
  void blocks();
  void compare();
  void indices();
  void integer();
  void cast();
  void spelled_gate();
  void spelled_norm();
  void batch_norm();
  void attention();
  void residual();
  void shapes();
  void twice();
  void identities();
  void cumulate();
  Made on_grid(const Made& x);
  Made weights_on_grid(const Dims& dims, size_t axis);
  void quantized();

  std::mt19937_64 rng_;
  std::shared_ptr<Graph> graph_;
  std::vector<Made> values_, constants_;
  std::vector<int64_t> symbols_;
};

}  // namespace wootz::random_graphs
