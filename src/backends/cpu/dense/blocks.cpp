#include "backends/cpu/dense/blocks.h"

#include <algorithm>
#include <limits>

#include "backend/quantized.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

class DenseCall final : public UnitsCall {
 public:
  static Result<std::unique_ptr<Call>> make(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                            const DenseShape& shape, std::unique_ptr<DenseRows<float>> rows,
                                            const BindArgs& args) {
    auto call = std::make_unique<DenseCall>();
    call->ops_ = &dense_ops(options.isa);
    call->end_ = read_end(p);
    // The tile finishes all or nothing; a residual may broadcast at these extents.
    if (!call->end_.direct ||
        (call->end_.added >= 0 && !(args.inputs[static_cast<size_t>(call->end_.added)] == args.outputs[0])))
      call->end_ = DenseEnd();
    WOOTZ_RETURN_IF_ERROR(call->set_up(p, options, shape, *call->ops_, packed_bytes(shape, *call->ops_), args));
    call->rows_ = std::move(rows);
    if (!call->end_.direct) {
      WOOTZ_ASSIGN_OR_RETURN(call->epilogue_, epilogue.bind(p, args));
    }
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  size_t table_bytes() const {
    return (static_cast<size_t>(shape_.taps * blocks_.unit_rows) * sizeof(float*) + 63) & ~size_t{63};
  }
  size_t slot_bytes() const override {
    const int64_t tile = end_.direct ? 0 : blocks_.unit_rows * blocks_.unit_columns;
    return table_bytes() + ((static_cast<size_t>(tile) * sizeof(float) + 63) & ~size_t{63});
  }

  void compute(const RunArgs& args, char* scratch, const DenseUnit& u) const override {
    auto** table = reinterpret_cast<const float**>(scratch);
    rows_->find(static_cast<const float*>(args.inputs[0]), u.row, u.rows, table);
    DenseTile t;
    t.tap_stride = u.rows;
    t.stride = end_.direct ? shape_.columns : u.columns;
    float* out = end_.direct ? static_cast<float*>(args.outputs[0]) + u.row * shape_.columns + u.column
                             : reinterpret_cast<float*>(scratch + table_bytes());
    const auto* weights = static_cast<const float*>(args.inputs[1]);
    const float* first = bias(args, u);
    const float* added =
        end_.added < 0 ? nullptr : static_cast<const float*>(args.inputs[end_.added]) + (out - result(args));
    t.bounded = end_.bounded;
    t.low = end_.low;
    t.high = end_.high;
    for (const DenseBlocks::Part& part : blocks_.parts) {
      t.accumulate = part.offset != 0;
      t.finish = end_.direct && &part == &blocks_.parts.back();
      t.taps = table + part.tap * u.rows;
      t.num_taps = part.taps;
      t.first = part.first;
      t.length = part.length;
      for (int64_t c = 0; c < u.columns; c += ops_->panel) {
        t.columns = std::min(ops_->panel, u.columns - c);
        t.weights = weights + (u.column + c) * shape_.taps * shape_.depth + part.offset * ops_->panel;
        t.out = out + c;
        t.bias = first == nullptr ? nullptr : first + c;
        t.added = added == nullptr ? nullptr : added + c;
        ops_->tile(t, u.rows);
      }
    }
    if (!end_.direct) store(args, u, out, u.columns);
  }

  static const float* result(const RunArgs& args) { return static_cast<const float*>(args.outputs[0]); }

  const DenseOps* ops_ = nullptr;
  DenseEnd end_;
  std::unique_ptr<DenseRows<float>> rows_;
};

struct ActivationRow {
  PwOp op;
  Activation activation;
  bool fixed;  // alpha and beta are these, not the instruction's
  float alpha = 0, beta = 0;
};
constexpr ActivationRow kActivations[] = {
    {PwOp::kSilu, Activation::kSilu, false},
    {PwOp::kSigmoid, Activation::kSigmoid, true, 1},
    {PwOp::kGeluErf, Activation::kGeluErf, true},
    {PwOp::kGeluTanh, Activation::kGeluTanh, true},
    {PwOp::kHardSigmoid, Activation::kHardSigmoid, false},
    {PwOp::kHardSwish, Activation::kHardSwish, true, 1.0f / 6, 0.5f},
};
const ActivationRow* activation_of(const PwInstr& instr) {
  for (const ActivationRow& row : kActivations)
    if (row.op == instr.op) return &row;
  return nullptr;
}

}  // namespace

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

DenseUnit DenseBlocks::unit(const DenseShape& shape, int64_t index) const {
  DenseUnit u;
  u.row = index / column_units * unit_rows;
  u.rows = std::min(unit_rows, shape.rows - u.row);
  u.column = index % column_units * unit_columns;
  u.columns = std::min(unit_columns, shape.columns - u.column);
  return u;
}

Status UnitsCall::set_up(const Problem& p, const KernelOptions& options, const DenseShape& shape, DenseBlocks blocks,
                         size_t weights_bytes, const BindArgs& args) {
  if (args.constant_bytes.size() > 1 && args.constant_bytes[1] != weights_bytes)
    return invalid_argument("{}: {} bytes of packed weights, {} are needed", family_name(p.family()),
                            args.constant_bytes[1], weights_bytes);
  shape_ = shape;
  slots_ = std::max(1, options.threads);
  blocks_ = std::move(blocks);
  bias_ = p.num_main > 2 ? 2 : -1;
  return {};
}

Status UnitsCall::run(const RunArgs& args) const {
  if (shape_.rows * shape_.columns == 0) return {};
  parallel_slots(blocks_.units(), 1, slots_, [&](int slot, int64_t begin, int64_t last) {
    char* scratch = static_cast<char*>(args.workspace) + static_cast<size_t>(slot) * slot_bytes();
    for (int64_t u = begin; u < last; ++u) compute(args, scratch, blocks_.unit(shape_, u));
  });
  return {};
}

const float* UnitsCall::bias(const RunArgs& args, const DenseUnit& u) const {
  return bias_ < 0 ? nullptr : static_cast<const float*>(args.inputs[bias_]) + u.column;
}

void UnitsCall::store(const RunArgs& args, const DenseUnit& u, const void* values, int64_t stride) const {
  const auto* from = static_cast<const float*>(values);
  if (u.columns == shape_.columns && u.columns == stride)
    return epilogue_.store(u.row * shape_.columns, u.rows * u.columns, from, args);
  for (int64_t r = 0; r < u.rows; ++r)
    epilogue_.store((u.row + r) * shape_.columns + u.column, u.columns, from + r * stride, args);
}

DenseBlocks divide(const DenseShape& s, const DenseGrain& grain, int threads) {
  threads = std::max(1, threads);
  DenseBlocks b;
  if (s.depth > grain.part) {
    const int64_t pieces = ceil_div(s.depth, grain.part);
    const int64_t length = ceil_div(ceil_div(s.depth, pieces), grain.step) * grain.step;
    for (int64_t tap = 0; tap < s.taps; ++tap)
      for (int64_t first = 0; first < s.depth; first += length)
        b.parts.push_back({tap, 1, first, std::min(length, s.depth - first), tap * s.depth + first});
  } else {
    const int64_t together = std::max<int64_t>(1, grain.part / std::max<int64_t>(s.depth, 1));
    for (int64_t tap = 0; tap < s.taps; tap += together)
      b.parts.push_back({tap, std::min(together, s.taps - tap), 0, s.depth, tap * s.depth});
  }
  // Row units of about equal size, each a multiple of what a tile computes at once.
  b.row_units = std::max<int64_t>(1, ceil_div(s.rows, grain.unit_rows));
  b.unit_rows =
      std::max<int64_t>(1, std::min(s.rows, ceil_div(ceil_div(s.rows, b.row_units), grain.rows) * grain.rows));
  b.row_units = std::max<int64_t>(1, ceil_div(s.rows, b.unit_rows));
  // Enough units for all threads; where there are few, as many for each.
  const int64_t panels = std::max<int64_t>(1, ceil_div(s.columns, grain.panel));
  b.column_units = ceil_div(panels * grain.panel, grain.unit_columns);
  while (b.column_units < panels && b.row_units * b.column_units < 8 * threads &&
         (b.row_units * b.column_units) % threads != 0)
    ++b.column_units;
  b.unit_columns = ceil_div(panels, b.column_units) * grain.panel;
  b.column_units = ceil_div(panels * grain.panel, b.unit_columns);
  return b;
}

DenseEnd read_end(const Problem& p) {
  DenseEnd e;
  // In BF16 the expression's own types say no more than what is read and stored: all between is f32.
  const bool narrow = p.inputs[0].dtype == DType::kBF16;
  const auto is_ours = [narrow](DType type) { return type == DType::kF32 || (narrow && type == DType::kBF16); };
  if (!is_ours(p.outputs[0].dtype)) return e;
  const PointwiseExpr& x = p.epilogue;
  if (x.empty()) {
    e.direct = true;
    return e;
  }
  if (x.outputs.size() != 1) return e;
  // From the result backwards: a residual after an activation; bounds or an activation; a residual; the sums.
  const PwInstr* at = &x.code[x.outputs[0]];
  if (narrow && at->op == PwOp::kCast && at->type == p.outputs[0].dtype) at = &x.code[at->a];  // storing does that
  const auto is_residual = [&](const PwInstr& i) { return i.op == PwOp::kInput && i.a != 0 && is_ours(i.type); };
  const auto is_float = [&](const PwInstr& i) { return is_ours(i.type); };
  // Takes the addition of a residual at `at` in; false: there is none that the tile can add.
  const auto take_residual = [&](auto wanted) {
    if (at->op != PwOp::kAdd || !is_float(*at)) return false;
    const PwInstr *a = &x.code[at->a], *b = &x.code[at->b];
    if (!is_residual(*b)) std::swap(a, b);
    if (!is_residual(*b) || !wanted(*a)) return false;
    const size_t input = static_cast<size_t>(p.num_main) + b->a - 1;
    if (input >= p.inputs.size()) return false;
    const TensorDesc &t = p.inputs[input], &y = p.outputs[0];
    if (!is_ours(t.dtype) || t.layout != y.layout || !(t.dims == y.dims) || !(t.max_dims == y.max_dims)) return false;
    e.added = static_cast<int>(input);
    at = a;
    return true;
  };
  const auto is_sum = [&](const PwInstr& i) { return i.op == PwOp::kInput && i.a == 0 && is_float(i); };
  const auto is_active = [&](const PwInstr& i) { return narrow && is_float(i) && activation_of(i) != nullptr; };
  e.added_last = take_residual(is_active);
  if (is_active(*at)) {
    const ActivationRow& row = *activation_of(*at);
    e.activation = row.activation;
    e.alpha = row.fixed ? row.alpha : static_cast<float>(at->imm0);
    e.beta = row.fixed ? row.beta : static_cast<float>(at->imm1);
    at = &x.code[at->a];
  } else if ((at->op == PwOp::kRelu || at->op == PwOp::kClip) && is_float(*at)) {
    e.bounded = true;
    e.low = at->op == PwOp::kRelu ? 0.0f : static_cast<float>(at->imm0);
    e.high = at->op == PwOp::kRelu ? std::numeric_limits<float>::infinity() : static_cast<float>(at->imm1);
    at = &x.code[at->a];
  }
  if (!e.added_last) take_residual(is_sum);
  e.direct = is_sum(*at);
  return e;
}

void DenseEnd::set(Bf16End* tile) const {
  tile->added_last = added_last;
  tile->bounded = bounded;
  tile->low = low;
  tile->high = high;
  tile->activation = activation;
  tile->alpha = alpha;
  tile->beta = beta;
}

size_t packed_bytes(const DenseShape& s, const DenseOps& ops) {
  return static_cast<size_t>(ceil_div(s.columns, ops.panel) * ops.panel * s.taps * s.depth) * sizeof(float);
}

Result<std::unique_ptr<Call>> make_dense_call(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                              const DenseShape& shape, std::unique_ptr<DenseRows<float>> rows,
                                              const BindArgs& args) {
  return DenseCall::make(p, options, epilogue, shape, std::move(rows), args);
}

Status check_dense_form(const Problem& p, DType bias) {
  if (p.num_main < 2 || p.num_main > 3 || p.outputs.size() != 1)
    return invalid_argument("{}: {} inputs, {} outputs", family_name(p.family()), p.num_main, p.outputs.size());
  if (has_bias(p) != (p.num_main > 2))
    return invalid_argument("{}: has_bias with {} inputs", family_name(p.family()), p.num_main);
  const TensorDesc& w = p.inputs[1];
  if (!w.constant || !(w.dims == w.max_dims)) return unsupported("weights that are not constant");
  if (w.layout != Layout::kLinear && w.layout != Layout::kOpaque) return unsupported("weights in another layout");
  if (p.num_main > 2 && p.inputs[2].dtype != DType::kF32 && p.inputs[2].dtype != bias)
    return unsupported("{} with a bias of {}", family_name(p.family()), dtype_name(p.inputs[2].dtype));
  for (size_t i = 2; i < p.inputs.size(); ++i)
    if (p.inputs[i].layout == Layout::kOpaque) return invalid_argument("{}: a packed operand", family_name(p.family()));
  return Epilogue::make(p, DType::kF32, Isa::kAvx2).status();
}

Status check_dense_operands(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p));
  for (size_t i = 0; i < 2; ++i)
    if (p.inputs[i].dtype != DType::kF32)
      return unsupported("{} of {}", family_name(p.family()), dtype_name(p.inputs[i].dtype));
  return {};
}

double dense_cost_us(const Problem& p, const DenseShape& s, const KernelOptions& options) {
  // Billions of operations a second of one core, as seen: most of what AVX2 has, half of what AVX-512 has.
  const double rate = options.isa == Isa::kAvx512 ? 95 : 78, threads = std::max(1, options.threads);
  const auto padded = [](int64_t n, int64_t step) { return static_cast<double>(ceil_div(n, step) * step); };
  const DenseOps& ops = dense_ops(options.isa);
  const double waste = s.columns == 0 ? 1 : padded(s.columns, ops.panel / 2) / static_cast<double>(s.columns);
  double bytes = static_cast<double>(packed_bytes(s, ops));
  for (const TensorDesc& t : p.outputs) bytes += static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
  return 1.5 + std::max(s.flops() * waste / (rate * threads * 1e3), bytes / (20e3 * std::min(threads, 4.0)));
}

}  // namespace wootz::cpu
