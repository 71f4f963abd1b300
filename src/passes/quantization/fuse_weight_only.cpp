// GEMMs of floats by dequantized constants of 4 or 8 bits read the constants as they are (op WeightOnlyMatMul): such a
// product takes as long as its weights take to come from memory. After what computes in 8 bits, which wants both
// operands; before fold_dequantize.
#include <cmath>
#include <numeric>

#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/support/ref_math.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int64_t kLeastBlock = 16;     // with fewer elements for a scale, little is saved
constexpr int64_t kMultiple = 8;        // of blocks: what kernels unpack together
constexpr int64_t kLeastWeights = 512;  // a few weights are no work

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
  static std::optional<Grid> read(const Value* operand, const Dims& data, const Chain& chain, bool along_rows) {
    if (operand == nullptr || !operand->is_constant()) return std::nullopt;
    std::optional<Places> places = places_of(operand->constant().dims(), data, chain);
    if (!places) return std::nullopt;
    Grid grid;
    grid.values_ = load_f64(operand->constant());
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

struct WeightOnly {
  Chain chain;
  bool trans_b = false;
  int64_t depth = 0, block = 0;
  std::optional<Grid> scale, zero;  // no zero: they are all 0
};

bool is_narrow(DType type) { return is_integer(type) && (dtype_bits(type) == 4 || dtype_bits(type) == 8); }

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
  if (!data->is_constant() || !is_narrow(data->dtype()) || data->constant().volume() < kLeastWeights)
    return std::nullopt;
  WeightOnly w{*chain, (node.attr_int("trans_b", 0) != 0) != chain->transposed};
  w.depth = w.trans_b ? chain->columns : chain->rows;
  const Dims& dims = data->constant().dims();
  w.scale = Grid::read(made.input(1), dims, *chain, !w.trans_b);
  if (!w.scale || !is_model_float(made.input(1)->dtype()) || !w.scale->all([](double s) { return std::isfinite(s); }))
    return std::nullopt;
  if (made.input(2) != nullptr) {
    w.zero = Grid::read(made.input(2), dims, *chain, !w.trans_b);
    if (!w.zero) return std::nullopt;
    if (w.zero->all([](double z) { return z == 0; })) w.zero.reset();
  }
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
    WOOTZ_RETURN_IF_ERROR(infer_node(*n));
    return n->output();
  };
  const auto constant = [&](const Value& like, HostTensor tensor) {
    return graph.add_constant(graph.unique_name(like.name()), std::move(tensor));
  };
  Value* weights = made.input(0);
  const Dims matrix{w.chain.rows, w.chain.columns};
  if (!(weights->constant().dims() == matrix)) weights = constant(*weights, weights->constant().reshaped(matrix));
  WOOTZ_ASSIGN_OR_RETURN(HostTensor scale, w.scale->by_block(made.input(1)->dtype(), w.depth, w.block));
  std::vector<Value*> inputs{node->input(0), weights, constant(*made.input(1), std::move(scale))};
  if (w.zero) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor zero, w.zero->by_block(weights->dtype(), w.depth, w.block));
    inputs.push_back(constant(*made.input(2), std::move(zero)));
  }
  AttrMap attrs{{"block", w.block}};
  if (w.trans_b) attrs["trans_b"] = int64_t{1};
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
