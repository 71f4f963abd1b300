#include "backends/cpu/dense/blocks.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kPartDepth = 256;  // elements of a column summed at once: 16 KiB of weights a panel
constexpr int64_t kUnitRows = 96;    // their part of the input stays in the second-level cache
constexpr int64_t kUnitColumns = 256;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

class DenseCall final : public Call {
 public:
  const DenseOps* ops = nullptr;
  DenseShape shape;
  DenseBlocks blocks;
  DenseEnd end;
  Epilogue::Bound epilogue;
  std::unique_ptr<DenseRows<float>> rows;
  int bias = -1;
  int slots = 1;

  size_t workspace() const override { return static_cast<size_t>(slots) * slot_bytes(); }

  Status run(const RunArgs& args) const override {
    if (shape.rows * shape.columns == 0) return {};
    parallel_slots(blocks.units(), 1, slots, [&](int slot, int64_t begin, int64_t last) {
      char* scratch = static_cast<char*>(args.workspace) + static_cast<size_t>(slot) * slot_bytes();
      for (int64_t u = begin; u < last; ++u) unit(args, scratch, u / blocks.column_units, u % blocks.column_units);
    });
    return {};
  }

 private:
  size_t table_bytes() const {
    return (static_cast<size_t>(shape.taps * blocks.unit_rows) * sizeof(float*) + 63) & ~size_t{63};
  }
  size_t slot_bytes() const {
    const int64_t tile = end.direct ? 0 : blocks.unit_rows * blocks.unit_columns;
    return table_bytes() + ((static_cast<size_t>(tile) * sizeof(float) + 63) & ~size_t{63});
  }

  void unit(const RunArgs& args, char* scratch, int64_t row_unit, int64_t column_unit) const {
    const int64_t row = row_unit * blocks.unit_rows, count = std::min(blocks.unit_rows, shape.rows - row);
    const int64_t column = column_unit * blocks.unit_columns;
    const int64_t width = std::min(blocks.unit_columns, shape.columns - column);
    auto** table = reinterpret_cast<const float**>(scratch);
    rows->find(static_cast<const float*>(args.inputs[0]), row, count, table);
    DenseTile t;
    t.tap_stride = count;
    t.stride = end.direct ? shape.columns : width;
    float* out = end.direct ? static_cast<float*>(args.outputs[0]) + row * shape.columns + column
                            : reinterpret_cast<float*>(scratch + table_bytes());
    const auto* weights = static_cast<const float*>(args.inputs[1]);
    const auto* first = bias < 0 ? nullptr : static_cast<const float*>(args.inputs[bias]) + column;
    const float* added =
        end.added < 0 ? nullptr : static_cast<const float*>(args.inputs[end.added]) + (out - result(args));
    t.bounded = end.bounded;
    t.low = end.low;
    t.high = end.high;
    for (const DenseBlocks::Part& part : blocks.parts) {
      t.accumulate = part.offset != 0;
      t.finish = end.direct && &part == &blocks.parts.back();
      t.taps = table + part.tap * count;
      t.num_taps = part.taps;
      t.first = part.first;
      t.length = part.length;
      for (int64_t c = 0; c < width; c += ops->panel) {
        t.columns = std::min(ops->panel, width - c);
        t.weights = weights + (column + c) * shape.taps * shape.depth + part.offset * ops->panel;
        t.out = out + c;
        t.bias = first == nullptr ? nullptr : first + c;
        t.added = added == nullptr ? nullptr : added + c;
        ops->tile(t, count);
      }
    }
    if (end.direct) return;
    if (width == shape.columns) return epilogue.store(row * shape.columns, count * width, out, args);
    for (int64_t r = 0; r < count; ++r)
      epilogue.store((row + r) * shape.columns + column, width, out + r * width, args);
  }

  static const float* result(const RunArgs& args) { return static_cast<const float*>(args.outputs[0]); }
};

}  // namespace

DenseBlocks divide(const DenseShape& s, const DenseGrain& grain, int threads) {
  DenseBlocks b;
  if (s.depth > kPartDepth) {
    const int64_t pieces = ceil_div(s.depth, kPartDepth), length = ceil_div(s.depth, pieces);
    for (int64_t tap = 0; tap < s.taps; ++tap)
      for (int64_t first = 0; first < s.depth; first += length)
        b.parts.push_back({tap, 1, first, std::min(length, s.depth - first), tap * s.depth + first});
  } else {
    const int64_t together = std::max<int64_t>(1, kPartDepth / std::max<int64_t>(s.depth, 1));
    for (int64_t tap = 0; tap < s.taps; tap += together)
      b.parts.push_back({tap, std::min(together, s.taps - tap), 0, s.depth, tap * s.depth});
  }
  // Row units of about equal size, each a multiple of what a tile computes at once.
  b.row_units = std::max<int64_t>(1, ceil_div(s.rows, kUnitRows));
  b.unit_rows =
      std::max<int64_t>(1, std::min(s.rows, ceil_div(ceil_div(s.rows, b.row_units), grain.rows) * grain.rows));
  b.row_units = std::max<int64_t>(1, ceil_div(s.rows, b.unit_rows));
  // Enough units for all threads; where there are few, as many for each.
  const int64_t panels = std::max<int64_t>(1, ceil_div(s.columns, grain.panel));
  b.column_units = ceil_div(panels * grain.panel, kUnitColumns);
  while (b.column_units < panels && b.row_units * b.column_units < 8 * threads &&
         (b.row_units * b.column_units) % threads != 0)
    ++b.column_units;
  b.unit_columns = ceil_div(panels, b.column_units) * grain.panel;
  b.column_units = ceil_div(panels * grain.panel, b.unit_columns);
  return b;
}

DenseEnd read_end(const Problem& p) {
  DenseEnd e;
  if (p.outputs[0].dtype != DType::kF32) return e;
  const PointwiseExpr& x = p.epilogue;
  if (x.empty()) {
    e.direct = true;
    return e;
  }
  if (x.outputs.size() != 1) return e;
  // From the result backwards: bounds, then a residual, then the sums.
  const PwInstr* at = &x.code[x.outputs[0]];
  const auto is_f32 = [](const PwInstr& i) { return i.type == DType::kF32; };
  if ((at->op == PwOp::kRelu || at->op == PwOp::kClip) && is_f32(*at)) {
    e.bounded = true;
    e.low = at->op == PwOp::kRelu ? 0.0f : static_cast<float>(at->imm0);
    e.high = at->op == PwOp::kRelu ? std::numeric_limits<float>::infinity() : static_cast<float>(at->imm1);
    at = &x.code[at->a];
  }
  const auto is_sum = [&](const PwInstr& i) { return i.op == PwOp::kInput && i.a == 0 && is_f32(i); };
  if (at->op == PwOp::kAdd && is_f32(*at)) {
    const PwInstr *a = &x.code[at->a], *b = &x.code[at->b];
    if (is_sum(*b)) std::swap(a, b);
    if (!is_sum(*a) || b->op != PwOp::kInput || b->a == 0 || !is_f32(*b)) return e;
    const size_t input = static_cast<size_t>(p.num_main) + b->a - 1;
    if (input >= p.inputs.size()) return e;
    const TensorDesc &t = p.inputs[input], &y = p.outputs[0];
    if (t.dtype != DType::kF32 || t.layout != y.layout || !(t.dims == y.dims) || !(t.max_dims == y.max_dims)) return e;
    e.added = static_cast<int>(input);
    at = a;
  }
  e.direct = is_sum(*at);
  return e;
}

size_t packed_bytes(const DenseShape& s, const DenseOps& ops) {
  return static_cast<size_t>(ceil_div(s.columns, ops.panel) * ops.panel * s.taps * s.depth) * sizeof(float);
}

Result<std::unique_ptr<Call>> make_dense_call(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                              const DenseShape& shape, std::unique_ptr<DenseRows<float>> rows,
                                              const BindArgs& args) {
  auto call = std::make_unique<DenseCall>();
  call->ops = &dense_ops(options.isa);
  call->shape = shape;
  call->end = read_end(p);
  // The tile finishes all or nothing; a residual may broadcast at these extents.
  if (!call->end.direct ||
      (call->end.added >= 0 && !(args.inputs[static_cast<size_t>(call->end.added)] == args.outputs[0])))
    call->end = DenseEnd();
  const size_t want = packed_bytes(shape, *call->ops);
  if (args.constant_bytes.size() > 1 && args.constant_bytes[1] != want)
    return invalid_argument("{}: {} bytes of packed weights, {} are needed", family_name(p.family),
                            args.constant_bytes[1], want);
  call->slots = std::max(1, options.threads);
  call->blocks = divide(shape, *call->ops, call->slots);
  call->rows = std::move(rows);
  call->bias = p.num_main > 2 ? 2 : -1;
  if (!call->end.direct) {
    WOOTZ_ASSIGN_OR_RETURN(call->epilogue, epilogue.bind(p, args));
  }
  return std::unique_ptr<Call>(std::move(call));
}

Status check_dense_form(const Problem& p) {
  if (p.num_main < 2 || p.num_main > 3 || p.outputs.size() != 1)
    return invalid_argument("{}: {} inputs, {} outputs", family_name(p.family), p.num_main, p.outputs.size());
  if ((p.get_int("has_bias") != 0) != (p.num_main > 2))
    return invalid_argument("{}: has_bias with {} inputs", family_name(p.family), p.num_main);
  const TensorDesc& w = p.inputs[1];
  if (!w.constant || !(w.dims == w.max_dims)) return unsupported("weights that are not constant");
  if (w.layout != Layout::kLinear && w.layout != Layout::kOpaque) return unsupported("weights in another layout");
  if (p.num_main > 2 && p.inputs[2].dtype != DType::kF32)
    return unsupported("{} with a bias of {}", family_name(p.family), dtype_name(p.inputs[2].dtype));
  for (size_t i = 2; i < p.inputs.size(); ++i)
    if (p.inputs[i].layout == Layout::kOpaque) return invalid_argument("{}: a packed operand", family_name(p.family));
  return Epilogue::make(p, DType::kF32, Isa::kAvx2).status();
}

Status check_dense_operands(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p));
  for (size_t i = 0; i < 2; ++i)
    if (p.inputs[i].dtype != DType::kF32)
      return unsupported("{} of {}", family_name(p.family), dtype_name(p.inputs[i].dtype));
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
