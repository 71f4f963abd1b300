#include "random_graphs/generate.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"

namespace wootz::random_graphs {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMostElements = 3000;
constexpr double kLargest = 100;

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
                  {&Generator::cumulate, 1}};
    int total = 0;
    for (const auto& s : kSteps) total += s.weight;
    int at = pick(0, total - 1);
    for (const auto& s : kSteps) {
      if (at < s.weight) return (this->*s.make)();
      at -= s.weight;
    }
  }

  void unary() {
    static const std::vector<const char*> kSmooth{
        "Relu",     "Sigmoid", "Tanh",  "Gelu",      "Erf", "HardSigmoid", "HardSwish",
        "Softplus", "Mish",    "Swish", "LeakyRelu", "Elu", "Selu",        "Celu",
        "Softsign", "Sin",     "Cos",   "Abs",       "Neg", "Exp",         "Atan"};
    static const std::vector<const char*> kExact{"Floor", "Ceil", "Round", "Sign"};
    if (chance(10)) {
      add(any(kExact), {random_value(DType::kF32, -1, true)}, {}, true);
    } else if (chance(15)) {
      const double low = 0.1 * pick(-20, 0), high = low + 0.1 * pick(5, 60);
      AttrMap attrs;
      if (chance(80)) attrs["min"] = low;
      if (chance(80)) attrs["max"] = high;
      add("Clip", {random_value()}, std::move(attrs));
    } else if (chance(15)) {
      add(chance(50) ? "Sqrt" : "Log", {add("Add", {add("Abs", {random_value()}), scalar(0.5)})});
    } else {
      add(any(kSmooth), {random_value()});
    }
  }

  // What broadcasts with x: a scalar, a row, a plane, channels, the whole.
  Made partner(const Made& x) {
    const Dims& dims = x.data.dims();
    if (chance(35)) return scalar(0.25 * pick(-8, 8));
    if (chance(15)) return random_value();
    if (x.data.rank() == 0) return scalar(2);
    Dims small;
    for (size_t a = 0; a < dims.size(); ++a)
      small.push_back(chance(40) && !is_open(x.value->shape()[a]) ? dims[a] : int64_t{1});
    if (chance(40)) {  // leading ones may be missing
      Dims shorter;
      bool begun = false;
      for (const int64_t d : small) {
        begun = begun || d != 1;
        if (begun) shorter.push_back(d);
      }
      small = shorter;
    }
    return weight(small, 1);
  }
  static bool is_open(const Dim& d) { return !d.is_const(); }

  void binary() {
    const Made x = random_value();
    if (x.value == nullptr) return;
    static const std::vector<const char*> kPlain{"Add", "Sub", "Mul", "Add", "Mul", "Min", "Max"};
    if (chance(12)) {
      const Made safe = chance(50) ? scalar(0.5 * pick(1, 6)) : add("Add", {add("Sigmoid", {partner(x)}), scalar(0.5)});
      add("Div", {x, safe});
    } else if (chance(8)) {
      add("Pow", {chance(50) ? x : add("Abs", {x}), scalar(chance(60) ? 2 : 3)});
    } else {
      const Made other = partner(x);
      if (chance(30))
        add(any(kPlain), {other, x});
      else
        add(any(kPlain), {x, other});
    }
  }

  void conv() {
    const Made x = random_value(DType::kF32, chance(85) ? 4 : 3);
    if (x.value == nullptr || is_open(x.value->shape()[1])) return;
    const int64_t channels = x.data.dims()[1];
    const int form = pick(0, 5);
    const int64_t groups = form == 0 ? channels : form == 1 && channels % 2 == 0 ? 2 : 1;
    const int64_t out = groups * pick(1, form == 0 ? 1 : 8), kernel = chance(50) ? 1 : 3, spatial = x.data.rank() - 2;
    Dims w{out, channels / groups};
    Ints pads, strides, dilations;
    for (int64_t a = 0; a < spatial; ++a) {
      w.push_back(kernel);
      pads.push_back(kernel / 2);
      strides.push_back(chance(20) ? 2 : 1);
      dilations.push_back(kernel == 3 && chance(10) ? 2 : 1);
    }
    pads.insert(pads.end(), pads.begin(), pads.end());
    const bool transposed = chance(10) && groups == 1;
    if (transposed) std::swap(w[0], w[1]);
    const double scale = 1 / std::sqrt(static_cast<double>(channels / groups * (kernel == 3 ? 9 : 1)));
    std::vector<Made> inputs{x, weight(w, scale)};
    if (chance(50)) inputs.push_back(weight({out}));
    const Made y = add(transposed ? "ConvTranspose" : "Conv", inputs,
                       {{"pads", pads}, {"strides", strides}, {"dilations", dilations}, {"groups", groups}});
    if (chance(60)) activate(y);
  }
  Made activate(const Made& x) {
    static const std::vector<const char*> kNames{"Relu", "Sigmoid", "HardSwish", "Swish", "Gelu", "LeakyRelu"};
    return add(any(kNames), {x});
  }

  void gemm() {
    const Made x = random_value(DType::kF32, pick(2, 4));
    if (x.value == nullptr) return;
    const size_t last = x.data.dims().size() - 1;
    if (is_open(x.value->shape()[last])) return;
    const int64_t k = x.data.dims()[last], n = pick(1, 10);
    const bool flip = chance(30);
    const Made w = weight(flip ? Dims{n, k} : Dims{k, n}, 1 / std::sqrt(static_cast<double>(k)));
    Made y = add("MatMul", {x, w}, flip ? AttrMap{{"trans_b", int64_t{1}}} : AttrMap{});
    if (chance(60)) y = add("Add", {y, weight({n})});
    if (chance(30)) activate(y);
    if (chance(20)) {  // siblings over one input
      const Made other = add("MatMul", {x, weight({k, n}, 1 / std::sqrt(static_cast<double>(k)))});
      if (chance(50)) add("Add", {other, y});
    }
  }

  Ints some_axes(int rank) {
    Ints axes;
    for (int a = 0; a < rank; ++a)
      if (chance(40)) axes.push_back(chance(30) ? a - rank : a);
    if (axes.empty()) axes.push_back(rank - 1);
    return axes;
  }

  void reduce() {
    static const std::vector<std::string> kKinds{"mean", "sum", "max", "min", "l2", "l1", "sumsq", "logsumexp"};
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() == 0) return;
    const Made y = add("Reduce", {x},
                       {{"kind", any(kKinds)}, {"axes", some_axes(x.data.rank())}, {"keepdims", int64_t{chance(60)}}});
    if (chance(30) && y.value != nullptr && y.data.rank() == x.data.rank()) add("Sub", {x, y});
  }

  void normalize() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() < 2) return;
    const size_t last = x.data.dims().size() - 1;
    const int form = pick(0, 3);
    if (form < 2) {
      if (is_open(x.value->shape()[last]) || x.data.dims()[last] < 3) return;
      const Dims d{x.data.dims()[last]};
      std::vector<Made> inputs{x, weight(d)};
      if (form == 0 && chance(70)) inputs.push_back(weight(d));
      add(form == 0 ? "LayerNorm" : "RMSNorm", inputs, {{"axis", int64_t{-1}}, {"epsilon", 1e-2}});
      return;
    }
    if (x.data.rank() < 3 || is_open(x.value->shape()[1])) return;
    const Dims d{x.data.dims()[1]};
    if (form == 2)
      add("InstanceNorm", {x, weight(d), weight(d)}, {{"epsilon", 1e-2}});
    else
      add("GroupNorm", {x, weight(d), weight(d)}, {{"groups", int64_t{d[0] % 2 == 0 ? 2 : 1}}, {"epsilon", 1e-2}});
  }

  void softmax() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() == 0) return;
    add(chance(75) ? "Softmax" : "LogSoftmax", {x}, {{"axis", int64_t{pick(-1, x.data.rank() - 1)}}});
  }

  void pool() {
    const Made x = random_value(DType::kF32, 4);
    if (chance(30)) {
      add("Pool", {x}, {{"kind", std::string("average")}, {"global", int64_t{1}}});
      return;
    }
    const int64_t k = pick(2, 3), pad = k == 3 && chance(50) ? 1 : 0;
    add("Pool", {x},
        {{"kind", std::string(chance(50) ? "max" : "average")},
         {"kernel", Ints{k, k}},
         {"strides", chance(50) ? Ints{2, 2} : Ints{1, 1}},
         {"pads", Ints{pad, pad, pad, pad}},
         {"count_include_pad", int64_t{chance(50)}}});
  }

  Ints permutation(int rank) {
    Ints perm;
    for (int a = 0; a < rank; ++a) perm.push_back(a);
    std::shuffle(perm.begin(), perm.end(), rng_);
    return perm;
  }
  void transpose() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() < 2) return;
    const Made y = add("Transpose", {x}, {{"perm", permutation(x.data.rank())}}, true);
    if (chance(40) && y.value != nullptr)
      add("Transpose", {chance(50) ? y : add("Relu", {y})}, {{"perm", permutation(x.data.rank())}}, true);
  }

  void reshape() {
    const Made x = random_value();
    if (x.value == nullptr) return;
    const int form = pick(0, 4);
    if (form == 0) {
      add("Flatten", {x}, {{"axis", int64_t{pick(0, x.data.rank())}}}, true);
    } else if (form == 1) {
      add("Unsqueeze", {x}, {{"axes", Ints{pick(0, x.data.rank())}}}, true);
    } else if (form == 2) {
      for (size_t a = 0; a < x.data.dims().size(); ++a)
        if (x.data.dims()[a] == 1 && !is_open(x.value->shape()[a]) && chance(70)) {
          add("Squeeze", {x}, {{"axes", Ints{static_cast<int64_t>(a)}}}, true);
          return;
        }
    } else if (x.data.rank() > 0) {  // two axes into one, or one into two
      Ints target;
      const int at = pick(0, x.data.rank() - 1);
      for (int a = 0; a < x.data.rank(); ++a) {
        const int64_t d = x.data.dims()[static_cast<size_t>(a)];
        if (a == at && d % 2 == 0 && form == 3) {
          target.push_back(2);
          target.push_back(-1);
        } else if (a == at && a + 1 < x.data.rank() && form == 4) {
          target.push_back(-1);
          ++a;
        } else {
          target.push_back(is_open(x.value->shape()[static_cast<size_t>(a)]) ? 0 : d);
        }
      }
      add("Reshape", {x, ints(target)}, {}, true);
    }
  }

  void concat() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() == 0) return;
    const int64_t axis = pick(0, x.data.rank() - 1);
    std::vector<Made> inputs{x};
    for (int i = 0, n = pick(1, 3); i < n; ++i) {
      Made other = chance(50) ? activate(x) : random_value(DType::kF32, x.data.rank());
      if (chance(20)) other = x;
      if (other.value != nullptr) inputs.push_back(other);
    }
    add("Concat", inputs, {{"axis", axis}}, true);
  }

  void split() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() == 0) return;
    const auto axis = static_cast<size_t>(pick(0, x.data.rank() - 1));
    const int64_t d = x.data.dims()[axis];
    if (d < 2 || is_open(x.value->shape()[axis])) return;
    const int64_t first = pick(1, static_cast<int>(d) - 1);
    const auto parts =
        try_node("Split", {x}, {{"axis", static_cast<int64_t>(axis)}, {"split", Ints{first, d - first}}}, 2, true);
    if (parts.size() == 2 && chance(50)) add("Mul", {parts[0], add("Sigmoid", {parts[1]})});
    if (parts.size() == 2 && chance(30))
      add("Concat", {parts[0], parts[1]}, {{"axis", static_cast<int64_t>(axis)}}, true);
  }

  void slice() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() == 0) return;
    const int64_t axis = pick(0, x.data.rank() - 1), step = chance(20) ? 2 : chance(10) ? -1 : 1;
    Ints starts{step < 0 ? -1 : pick(0, 3)}, ends{step < 0 ? -1000 : chance(30) ? 1000 : pick(1, 8)};
    add("Slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", Ints{axis}}, {"steps", Ints{step}}}, true);
  }

  void pad() {
    static const std::vector<std::string> kModes{"constant", "constant", "edge", "reflect"};
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() == 0) return;
    Ints pads;
    for (int i = 0; i < 2 * x.data.rank(); ++i) pads.push_back(chance(35) && i % x.data.rank() > 1 ? pick(0, 2) : 0);
    const Made y = add("Pad", {x}, {{"pads", pads}, {"mode", any(kModes)}, {"value", chance(70) ? 0.0 : 0.5}});
    if (chance(50) && y.value != nullptr && y.data.rank() == 4 && !is_open(y.value->shape()[1]))
      add("Conv", {y, weight({4, y.data.dims()[1], 3, 3}, 0.2)});
  }

  void expand() {
    const Made x = random_value();
    if (x.value == nullptr) return;
    if (chance(30) && x.data.rank() > 0) {
      Ints repeats;
      for (int a = 0; a < x.data.rank(); ++a) repeats.push_back(chance(30) ? 2 : 1);
      add("Tile", {x}, {{"repeats", repeats}}, true);
      return;
    }
    Ints target;
    for (int a = 0; a < x.data.rank(); ++a)
      target.push_back(x.data.dims()[static_cast<size_t>(a)] == 1 && chance(60) ? pick(1, 3) : 1);
    if (chance(30)) target.insert(target.begin(), pick(1, 2));
    add("Expand", {x, ints(target)}, {}, true);
  }

  void gather() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() == 0) return;
    const auto axis = static_cast<size_t>(pick(0, x.data.rank() - 1));
    if (is_open(x.value->shape()[axis])) return;
    const int64_t d = x.data.dims()[axis];
    Ints indices;
    for (int i = 0, n = pick(1, 4); i < n; ++i) indices.push_back(pick(static_cast<int>(-d), static_cast<int>(d) - 1));
    const Made at = chance(30) ? scalar(static_cast<double>(indices[0]), DType::kI64) : ints(indices);
    add("Gather", {x, at}, {{"axis", static_cast<int64_t>(axis)}}, true);
  }

  void resize() {
    const Made x = random_value(DType::kF32, 4);
    const bool linear = chance(40);
    add("Resize", {x},
        {{"mode", std::string(linear ? "linear" : "nearest")},
         {"coordinate_transformation_mode", std::string(linear ? "half_pixel" : "asymmetric")},
         {"nearest_mode", std::string("floor")},
         {"scales", std::vector<double>{1, 1, 2, chance(50) ? 2.0 : 1.0}}});
  }

  void blocks() {
    const Made x = random_value(DType::kF32, 4);
    add(chance(50) ? "DepthToSpace" : "SpaceToDepth", {x}, {{"blocksize", int64_t{2}}}, true);
  }

  void compare() {
    static const std::vector<const char*> kNames{"Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"};
    const Made x = random_value(DType::kF32, -1, true);
    if (x.value == nullptr) return;
    const Made mask = add(any(kNames), {x, scalar(0.25 * pick(-4, 4))}, {}, true);
    if (mask.value == nullptr) return;
    const Made used = chance(30) ? add("Not", {mask}, {}, true) : mask;
    add("Where", {used, chance(60) ? activate(x) : scalar(1), chance(60) ? x : scalar(-1)});
  }

  void indices() {
    const Made x = random_value(DType::kF32, -1, true);
    if (x.value == nullptr || x.data.rank() == 0) return;
    const int64_t axis = pick(0, x.data.rank() - 1);
    if (chance(50)) {
      add("ArgReduce", {x},
          {{"kind", std::string(chance(50) ? "argmax" : "argmin")}, {"axis", axis}, {"keepdims", int64_t{chance(50)}}},
          true);
    } else {
      try_node("TopK", {x}, {{"axis", axis}, {"k", int64_t{1}}, {"largest", int64_t{chance(50)}}}, 2, true);
    }
  }

  void integer() {
    static const std::vector<const char*> kNames{"Add", "Sub", "Mul", "Min", "Max"};
    const Made x = random_value(DType::kI64);
    if (x.value == nullptr) return;
    const Made y = chance(80) ? add(any(kNames), {x, scalar(pick(-2, 3), DType::kI64)}, {}, true)
                              : add("Div", {x, scalar(pick(1, 3), DType::kI64)}, {}, true);
    if (chance(40)) add("Cast", {y}, {{"to", std::string("f32")}}, true);
  }

  void cast() {
    static const std::vector<std::string> kTypes{"f64", "f16", "i32", "i64", "bool"};
    const Made x = random_value(DType::kF32, -1, true);
    add("Cast", {add("Cast", {x}, {{"to", any(kTypes)}}, true)}, {{"to", std::string("f32")}}, true);
  }

  void spelled_gate() {
    const Made x = random_value();
    switch (pick(0, 4)) {
      case 0: {
        const Made e = add(
            "Erf", {chance(50) ? add("Div", {x, scalar(std::sqrt(2.0))}) : add("Mul", {x, scalar(std::sqrt(0.5))})});
        const Made g = add("Add", {e, scalar(1)});
        if (chance(50))
          add("Mul", {add("Mul", {x, g}), scalar(0.5)});
        else
          add("Mul", {add("Mul", {x, scalar(0.5)}), g});
        return;
      }
      case 1: add("Mul", {x, add("Sigmoid", {x})}); return;
      case 2: add("Mul", {x, add("Tanh", {add("Softplus", {x})})}); return;
      case 3:
        add("Div",
            {add("Mul", {x, add("Clip", {add("Add", {x, scalar(3)})}, {{"min", 0.0}, {"max", 6.0}})}), scalar(6)});
        return;
      default: {
        const Made cube = add("Mul", {add("Mul", {x, x}), x});
        const Made t =
            add("Tanh", {add("Mul", {add("Add", {x, add("Mul", {cube, scalar(0.044715)})}), scalar(0.7978845608)})});
        add("Mul", {add("Mul", {x, scalar(0.5)}), add("Add", {t, scalar(1)})});
      }
    }
  }

  void spelled_norm() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() < 2) return;
    const size_t last = x.data.dims().size() - 1;
    if (x.data.dims()[last] < 3 || is_open(x.value->shape()[last])) return;
    const auto mean = [&](const Made& v) {
      return add("Reduce", {v}, {{"kind", std::string("mean")}, {"axes", Ints{-1}}});
    };
    const bool rms = chance(30);
    const Made centred = rms ? x : add("Sub", {x, mean(x)});
    const Made square = chance(50) ? add("Mul", {centred, centred}) : add("Pow", {centred, scalar(2)});
    const Made deviation = add("Sqrt", {add("Add", {mean(square), scalar(0.01)})});
    Made y = add("Div", {centred, deviation});
    const Dims d{x.data.dims()[last]};
    if (chance(80)) y = add("Mul", {y, weight(d)});
    if (chance(70)) add("Add", {y, weight(d)});
  }

  void batch_norm() {
    const Made x = random_value(DType::kF32, 4);
    if (x.value == nullptr || is_open(x.value->shape()[1])) return;
    const Dims d{x.data.dims()[1], 1, 1};
    if (chance(50)) {
      HostTensor variance = random(DType::kF32, d);
      for (int64_t i = 0; i < variance.volume(); ++i) variance.set_f64(i, 0.5 + std::fabs(variance.get_f64(i)));
      const Made v = constant(std::move(variance));
      const Made y = add("BatchNorm", {x, weight(d), weight(d), weight(d), v}, {{"epsilon", 1e-3}});
      if (chance(50)) activate(y);
    } else {
      add("Add", {add("Mul", {x, weight(d)}), weight(d)});
    }
  }

  void attention() {
    const Made x = random_value(DType::kF32, 3);
    if (x.value == nullptr || is_open(x.value->shape()[2]) || is_open(x.value->shape()[1])) return;
    const int64_t tokens = x.data.dims()[1], width = x.data.dims()[2], heads = 2, head = 4;
    const auto project = [&](Ints perm) {
      const Made y = add("MatMul", {x, weight({width, heads * head}, 1 / std::sqrt(static_cast<double>(width)))});
      return add("Transpose", {add("Reshape", {y, ints({0, tokens, heads, head})})}, {{"perm", std::move(perm)}});
    };
    const Made q = project({0, 2, 1, 3}), k = project({0, 2, 3, 1}), v = project({0, 2, 1, 3});
    Made score = add("MatMul", {q, k});
    score = chance(50) ? add("Div", {score, scalar(2)}) : add("Mul", {score, scalar(0.5)});
    if (chance(40)) score = add("Add", {score, weight({1, 1, tokens, tokens}, 1)});
    const Made seen = add("MatMul", {add("Softmax", {score}, {{"axis", int64_t{-1}}}), v});
    add("Reshape", {add("Transpose", {seen}, {{"perm", Ints{0, 2, 1, 3}}}), ints({0, tokens, heads * head})});
  }

  void residual() {
    const Made x = random_value(DType::kF32, 4);
    if (x.value == nullptr || is_open(x.value->shape()[1])) return;
    const int64_t c = x.data.dims()[1];
    Made y = add("Conv", {x, weight({c, c, 3, 3}, 0.3 / std::sqrt(9.0 * static_cast<double>(c)))},
                 {{"pads", Ints{1, 1, 1, 1}}});
    if (chance(40)) y = activate(y);
    y = chance(50) ? add("Add", {x, y}) : add("Add", {y, x});
    if (chance(60)) activate(y);
    if (chance(25) && y.value != nullptr) {  // squeeze and excite
      const Made s = add("Pool", {y}, {{"kind", std::string("average")}, {"global", int64_t{1}}});
      add("Mul", {y, add("Sigmoid", {add("Conv", {s, weight({c, c, 1, 1}, 0.3)})})});
    }
  }

  // Shapes read, computed with, and used.
  void shapes() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() < 2) return;
    const Made shape = add("Shape", {x}, {}, true);
    const auto extent = [&](int64_t a) { return add("Gather", {shape, ints({a})}, {}, true); };
    const int form = pick(0, 2);
    if (form == 0) {
      const Made target = add("Concat", {extent(0), ints({-1})}, {{"axis", int64_t{0}}}, true);
      add("Reshape", {x, target}, {}, true);
    } else if (form == 1) {
      const Made product = add("Mul", {extent(0), extent(1)}, {}, true);
      std::vector<Made> parts{product};
      for (int a = 2; a < x.data.rank(); ++a) parts.push_back(extent(a));
      add("Reshape", {x, parts.size() == 1 ? product : add("Concat", parts, {{"axis", int64_t{0}}}, true)}, {}, true);
    } else {
      const Made row = weight({1, 1}, 1);
      add("Expand", {row, add("Concat", {extent(0), ints({pick(1, 4)})}, {{"axis", int64_t{0}}}, true)}, {}, true);
    }
  }

  // The same thing computed twice.
  void twice() {
    const Made x = random_value();
    const Made a = add("Sigmoid", {x}), b = add("Sigmoid", {x});
    if (a.value != nullptr && b.value != nullptr) add(chance(50) ? "Add" : "Mul", {a, b});
  }

  void identities() {
    const Made x = random_value();
    switch (pick(0, 5)) {
      case 0: add("Identity", {x}, {}, true); return;
      case 1: add("Mul", {x, scalar(1)}); return;
      case 2: add("Add", {x, scalar(0)}); return;
      case 3: add("Cast", {x}, {{"to", std::string("f32")}}, true); return;
      case 4: add("Add", {weight({3}), weight({3})}); return;  // of constants
      default: add("Sub", {x, x});
    }
  }

  void cumulate() {
    const Made x = random_value();
    if (x.value == nullptr || x.data.rank() == 0) return;
    add("CumSum", {x}, {{"axis", int64_t{pick(0, x.data.rank() - 1)}}, {"reverse", int64_t{chance(50)}}});
  }

  std::mt19937_64 rng_;
  std::shared_ptr<Graph> graph_;
  std::vector<Made> values_, constants_;
  std::vector<int64_t> symbols_;
};

}  // namespace

Sample generate(uint64_t seed, int size) { return Generator(seed).make(size); }

}  // namespace wootz::random_graphs
