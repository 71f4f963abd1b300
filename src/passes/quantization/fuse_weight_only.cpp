// GEMMs of floats by dequantized constants of 4 or 8 bits read the constants as they are (op WeightOnlyMatMul): such a
// product takes as long as its weights take to come from memory. After what computes in 8 bits, which wants both
// operands; before fold_dequantize. Where the scales of small floats are small floats with one scale for all of them,
// they stay so, and that one is the product's alpha.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/two_of_four.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"
#include "ops/support/ref_math.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int64_t kLeastBlock = 16;     // with fewer elements for a scale, little is saved
constexpr int64_t kMultiple = 8;        // of blocks: what kernels unpack together
constexpr int64_t kLeastWeights = 512;  // a few weights are no work
constexpr double kLargestScale = 1e30;  // of small floats: kernels bring their exponents back by a factor

// The dequantized matrix as it lies in memory, [rows, columns].
struct Chain {
  Node* dequantize = nullptr;
  int64_t rows = 0, columns = 0;
  bool transposed = false;  // the product sees it transposed
};

std::optional<Chain> chain_of(const Value* v) {
  Chain chain;
  if (v == nullptr || v->rank() != 2) return std::nullopt;
  Node* node = v->producer();
  if (node != nullptr && node->is("Transpose")) {
    chain.transposed = true;  // of two axes: the only one that is no copy
    if (permutation(*node) != std::vector<int64_t>{1, 0}) return std::nullopt;
    v = node->input(0);
    node = v->producer();
  }
  const std::optional<Dims> dims = to_dims(v->shape());
  if (!dims || dims->rank() != 2) return std::nullopt;
  chain.rows = (*dims)[0];
  chain.columns = (*dims)[1];
  while (node != nullptr && is_reshape(*node)) node = node->input(0) == nullptr ? nullptr : node->input(0)->producer();
  if (node == nullptr || !node->is("Dequantize")) return std::nullopt;
  chain.dequantize = node;
  return chain;
}

// Where an element's scale is: the sum of what its row and its column add.
struct Places {
  std::vector<int64_t> row, column;
};

std::vector<int64_t> offsets(const Dims& dims, const Dims& strides, size_t first, size_t last) {
  std::vector<int64_t> all{0};
  for (size_t a = first; a < last; ++a) {
    std::vector<int64_t> next;
    next.reserve(all.size() * static_cast<size_t>(dims[a]));
    for (const int64_t base : all)
      for (int64_t i = 0; i < dims[a]; ++i) next.push_back(base + i * strides[a]);
    all = std::move(next);
  }
  return all;
}

// nullopt: the axes of the dequantized tensor do not make up rows and columns.
std::optional<Places> places_of(const Dims& operand, const Dims& data, const Chain& chain) {
  if (operand.rank() > data.rank()) return std::nullopt;
  size_t split = 0;
  int64_t rows = 1;
  while (split < data.size() && rows < chain.rows) rows *= data[split++];
  if (rows != chain.rows || data.volume() != chain.rows * chain.columns) return std::nullopt;
  const Dims strides = broadcast_strides(operand, data);
  return Places{offsets(data, strides, 0, split), offsets(data, strides, split, data.size())};
}

// A scale or zero point by element along the sum and column of the product.
class Grid {
 public:
  static std::optional<Grid> read(const HostTensor& values, const Dims& data, const Chain& chain, bool along_rows) {
    std::optional<Places> places = places_of(values.dims(), data, chain);
    if (!places) return std::nullopt;
    Grid grid;
    grid.values_ = load_f64(values);
    grid.along_ = along_rows ? std::move(places->row) : std::move(places->column);
    grid.across_ = along_rows ? std::move(places->column) : std::move(places->row);
    return grid;
  }
  double at(int64_t k, int64_t n) const {
    return values_[static_cast<size_t>(along_[static_cast<size_t>(k)] + across_[static_cast<size_t>(n)])];
  }
  bool same_as_before(int64_t k) const {
    if (along_[static_cast<size_t>(k)] == along_[static_cast<size_t>(k - 1)]) return true;
    for (int64_t n = 0; n < static_cast<int64_t>(across_.size()); ++n)
      if (at(k, n) != at(k - 1, n)) return false;
    return true;
  }
  template <class Test>
  bool all(Test test) const {
    for (const double v : values_)
      if (!test(v)) return false;
    return true;
  }
  Result<HostTensor> by_block(DType type, int64_t depth, int64_t block) const {
    const auto columns = static_cast<int64_t>(across_.size()), blocks = (depth + block - 1) / block;
    WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(type, Dims{blocks, columns}));
    for (int64_t b = 0; b < blocks; ++b)
      for (int64_t n = 0; n < columns; ++n) made.set_f64(b * columns + n, at(b * block, n));
    return made;
  }

 private:
  std::vector<double> values_;
  std::vector<int64_t> along_, across_;
};

// Scales as numbers that are known: those of a constant, or of constants that are dequantized themselves.
struct Scales {
  HostTensor values;
  double alpha = 1;                  // a factor of all of them
  const Node* dequantize = nullptr;  // of constants
};

struct WeightOnly {
  Chain chain;
  Scales scales;
  bool trans_b = false;
  int64_t depth = 0, block = 0;
  std::optional<Grid> scale, zero;  // no zero: they are all 0
};

// Kernels need not care for what is no number.
bool all_finite(const HostTensor& weights) {
  const DType type = weights.dtype();
  if (type != DType::kF8E4M3 && type != DType::kF8E5M2) return true;
  const uint8_t above = type == DType::kF8E4M3 ? 0x7e : 0x7b;
  const auto* const bytes = static_cast<const uint8_t*>(weights.data());
  return std::all_of(bytes, bytes + weights.volume(), [&](uint8_t v) { return (v & 0x7f) <= above; });
}

// What node makes of `first` in place of its own first input, where all others are constants.
std::optional<HostTensor> made_of(const Node& node, const HostTensor& first) {
  std::vector<const HostTensor*> inputs{&first};
  for (int i = 1; i < node.num_inputs(); ++i) {
    if (node.input(i) != nullptr && !node.input(i)->is_constant()) return std::nullopt;
    inputs.push_back(node.input(i) == nullptr ? nullptr : &node.input(i)->constant());
  }
  Result<std::vector<HostTensor>> made = run_node(node, inputs);
  return made.ok() && made->size() == 1 ? std::optional((*made)[0]) : std::nullopt;
}

std::optional<HostTensor> in_type(const HostTensor& from, DType type) {
  Result<HostTensor> made = HostTensor::allocate(type, from.dims());
  for (int64_t i = 0; made.ok() && i < from.volume(); ++i) made->set_f64(i, from.get_f64(i));
  return made.ok() ? std::optional(std::move(made).value()) : std::nullopt;
}

bool one_for_all(const Node& dequantize) {
  const Value *scale = dequantize.input(1), *zero = dequantize.input(2);
  return scale->is_constant() && scale->constant().volume() == 1 &&
         (zero == nullptr || (zero->is_constant() && all_zero(zero->constant())));
}

// Where the elements of a value come from: what moves them to the axes of blocks, or repeats them where blocks do not
// divide the sum, is taken off.
const Value* source_of(const Value* v, std::vector<const Node*>* moves) {
  for (const Node* node = v->producer(); node != nullptr && (is_reshape(*node) || node->is("Gather"));
       node = v->producer()) {
    moves->push_back(node);
    v = node->input(0);
  }
  return v;
}

std::optional<HostTensor> moved(std::optional<HostTensor> values, const std::vector<const Node*>& moves) {
  for (auto move = moves.rbegin(); values && move != moves.rend(); ++move) values = made_of(**move, *values);
  return values;
}

// A zero point; nullopt: it is computed while running.
std::optional<HostTensor> known(const Value* operand) {
  std::vector<const Node*> moves;
  const Value* const source = source_of(operand, &moves);
  return source->is_constant() ? moved(source->constant(), moves) : std::nullopt;
}

// Of an operand of Dequantize; nullopt: they are computed while running. `narrow`: scales of 8 bits may stay so.
std::optional<Scales> scales_of(const Value* operand, bool narrow) {
  if (!is_model_float(operand->dtype()) && !(narrow && is_packed_scale(operand->dtype()))) return std::nullopt;
  std::vector<const Node*> moves;
  const Value* const from = source_of(operand, &moves);
  const Node* const node = from->producer();
  const bool dequantized = node != nullptr && node->is("Dequantize") && node->input(0)->is_constant();
  if (!from->is_constant() && !dequantized) return std::nullopt;
  const HostTensor& source = dequantized ? node->input(0)->constant() : from->constant();
  const bool stays = dequantized && narrow && is_packed_scale(source.dtype()) && one_for_all(*node);
  // Those that stay are moved as wide numbers, which hold the narrow ones.
  std::optional<HostTensor> values = moved(stays         ? in_type(source, operand->dtype())
                                           : dequantized ? made_of(*node, source)
                                                         : source,
                                           moves);
  if (values && stays) values = in_type(*values, source.dtype());
  if (!values) return std::nullopt;
  return Scales{std::move(*values), stays ? node->input(1)->constant().get_f64(0) : 1, dequantized ? node : nullptr};
}

// How many elements along the sum share what they are brought back by; the last block may be shorter.
int64_t block_of(const WeightOnly& w) {
  int64_t block = 0;
  for (int64_t k = 1; k < w.depth && block != 1; ++k)
    if (!w.scale->same_as_before(k) || (w.zero && !w.zero->same_as_before(k))) block = std::gcd(block, k);
  return block == 0 ? w.depth : block;
}

std::optional<WeightOnly> read_form(const Node& node) {
  if (!node.is("MatMul") || node.has_attr("x_scale") || node.has_attr("epilogue")) return std::nullopt;
  if (node.attr_int("trans_a", 0) != 0 || node.attr_float("alpha", 1) != 1) return std::nullopt;
  const Value* const x = node.input(0);
  if (x->is_constant() || x->rank() < 2 || !is_model_float(x->dtype())) return std::nullopt;
  const std::optional<Chain> chain = chain_of(node.input(1));
  if (!chain) return std::nullopt;
  const Node& made = *chain->dequantize;
  const Value* const data = made.input(0);
  if (!data->is_constant() || !is_packed_weight(data->dtype()) || data->constant().volume() < kLeastWeights ||
      !is_model_float(made.output()->dtype()))
    return std::nullopt;
  const bool floats = is_float(data->dtype());
  std::optional<Scales> scales = scales_of(made.input(1), floats);
  if (!scales) return std::nullopt;
  WeightOnly w{*chain, std::move(*scales), (node.attr_int("trans_b", 0) != 0) != chain->transposed};
  w.depth = w.trans_b ? chain->columns : chain->rows;
  const Dims& dims = data->constant().dims();
  w.scale = Grid::read(w.scales.values, dims, *chain, !w.trans_b);
  const double most = floats ? kLargestScale : HUGE_VAL, alpha = std::fabs(w.scales.alpha);
  if (!w.scale || !std::isfinite(alpha) ||
      !w.scale->all([&](double s) { return std::isfinite(s) && std::fabs(s) * alpha <= most; }))
    return std::nullopt;
  if (made.input(2) != nullptr) {
    const std::optional<HostTensor> zero = known(made.input(2));
    if (!zero) return std::nullopt;
    w.zero = Grid::read(*zero, dims, *chain, !w.trans_b);
    if (!w.zero) return std::nullopt;
    if (w.zero->all([](double z) { return z == 0; })) w.zero.reset();
  }
  if (floats && (w.zero || !all_finite(data->constant()))) return std::nullopt;
  w.block = block_of(w);
  if (w.block < w.depth && (w.block < kLeastBlock || w.block % kMultiple != 0)) return std::nullopt;
  return w;
}

Status apply(Graph& graph, Node* node, const WeightOnly& w) {
  const Node& made = *w.chain.dequantize;
  const auto emit = [&](const char* name, std::vector<Value*> inputs, AttrMap attrs) -> Result<Value*> {
    Node* const n =
        graph.add_node(op(name), graph.unique_name(node->name()), std::move(inputs), std::move(attrs), 1, node);
    n->add_provenance(*node);
    n->add_provenance(made);
    if (w.scales.dequantize != nullptr) n->add_provenance(*w.scales.dequantize);
    WOOTZ_RETURN_IF_ERROR(infer_node(*n));
    return n->output();
  };
  const auto constant = [&](const Value& like, HostTensor tensor) {
    return graph.add_constant(graph.unique_name(like.name()), std::move(tensor));
  };
  Value* weights = made.input(0);
  const Dims matrix{w.chain.rows, w.chain.columns};
  if (!(weights->constant().dims() == matrix)) weights = constant(*weights, weights->constant().reshaped(matrix));
  WOOTZ_ASSIGN_OR_RETURN(HostTensor scale, w.scale->by_block(w.scales.values.dtype(), w.depth, w.block));
  std::vector<Value*> inputs{node->input(0), weights, constant(*made.input(1), std::move(scale))};
  if (w.zero) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor zero, w.zero->by_block(weights->dtype(), w.depth, w.block));
    inputs.push_back(constant(*made.input(2), std::move(zero)));
  }
  AttrMap attrs{{"block", w.block}};
  if (w.trans_b) attrs["trans_b"] = int64_t{1};
  if (w.scales.alpha != 1) attrs["alpha"] = w.scales.alpha;
  WOOTZ_ASSIGN_OR_RETURN(Value * y, emit("WeightOnlyMatMul", std::move(inputs), std::move(attrs)));
  if (Value* const added = node->input(2); added != nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(y, emit("Add", {y, added}, {}));
  }
  take_place(graph, node->output(), y);
  return Status();
}

}  // namespace

Result<bool> fuse_weight_only(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    const std::optional<WeightOnly> form = read_form(*node);
    if (!form) continue;
    WOOTZ_RETURN_IF_ERROR(apply(graph, node, *form));
    changed = true;
  }
  return changed;
}

}  // namespace wootz
