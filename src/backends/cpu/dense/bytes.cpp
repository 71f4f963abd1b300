#include "backends/cpu/dense/bytes.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kPartDepth = 512;       // values summed at once: 16 KiB of weights a panel with AVX2
constexpr int64_t kMostProducts = 33000;  // of two values within 255: their sum is an int32

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t even(int64_t n) { return (n + 1) / 2 * 2; }
size_t aligned(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

class ByteCall final : public Call {
 public:
  const ByteOps* ops = nullptr;
  DenseShape shape;
  DenseBlocks blocks;
  Epilogue::Bound epilogue;
  std::unique_ptr<DenseRows<uint8_t>> rows;
  int32_t zero = 0;
  bool is_signed = false;
  std::vector<float> scale;  // to the end of the last panel
  int bias = -1;
  int slots = 1;

  size_t workspace() const override {
    return static_cast<size_t>(slots) * (table_bytes() + values_bytes() + sums_bytes());
  }

  Status run(const RunArgs& args) const override {
    if (shape.rows * shape.columns == 0) return {};
    parallel_slots(blocks.units(), 1, slots, [&](int slot, int64_t begin, int64_t last) {
      char* scratch = static_cast<char*>(args.workspace) +
                      static_cast<size_t>(slot) * (table_bytes() + values_bytes() + sums_bytes());
      for (int64_t u = begin; u < last; ++u) unit(args, scratch, u / blocks.column_units, u % blocks.column_units);
    });
    return {};
  }

 private:
  int64_t depth() const { return shape.taps * shape.depth; }
  int64_t part_depth() const { return even(std::min(depth(), kPartDepth)); }
  size_t table_bytes() const { return aligned(static_cast<size_t>(shape.taps * blocks.unit_rows) * sizeof(uint8_t*)); }
  size_t values_bytes() const {
    return aligned(static_cast<size_t>(blocks.unit_rows * part_depth()) * sizeof(int16_t));
  }
  size_t sums_bytes() const {
    return aligned(static_cast<size_t>(blocks.unit_rows * blocks.unit_columns) * sizeof(int32_t));
  }

  // Values [first, first + length) of each row's taps, one behind the other. Taps that are neighbours in memory, as
  // those along an image's line are, are widened together.
  void widen(const uint8_t* const* table, int64_t count, int64_t first, int64_t length, int16_t* to) const {
    for (int64_t i = 0; i < count; ++i) {
      int16_t* out = to + i * part_depth();
      for (int64_t k = first; k < first + length;) {
        int64_t tap = k / shape.depth, end = (tap + 1) * shape.depth;
        const uint8_t* from = table[tap * count + i] + k % shape.depth;
        while (end < first + length && table[(tap + 1) * count + i] == table[tap * count + i] + shape.depth)
          ++tap, end += shape.depth;
        const int64_t n = std::min(end, first + length) - k;
        ops->widen(from, is_signed, zero, n, out + (k - first));
        k += n;
      }
      if (length % 2 != 0) out[length] = 0;
    }
  }

  void unit(const RunArgs& args, char* scratch, int64_t row_unit, int64_t column_unit) const {
    const int64_t row = row_unit * blocks.unit_rows, count = std::min(blocks.unit_rows, shape.rows - row);
    const int64_t column = column_unit * blocks.unit_columns;
    const int64_t width = std::min(blocks.unit_columns, shape.columns - column);
    auto** table = reinterpret_cast<const uint8_t**>(scratch);
    auto* values = reinterpret_cast<int16_t*>(scratch + table_bytes());
    auto* sums = reinterpret_cast<int32_t*>(scratch + table_bytes() + values_bytes());
    rows->find(static_cast<const uint8_t*>(args.inputs[0]), row, count, table);
    ByteTile t;
    t.values = values;
    t.value_stride = part_depth();
    t.stride = ceil_div(width, ops->panel) * ops->panel;
    const auto* weights = static_cast<const int16_t*>(args.inputs[1]);
    for (int64_t first = 0; first < depth(); first += kPartDepth) {
      const int64_t length = std::min(kPartDepth, depth() - first);
      widen(table, count, first, length, values);
      t.accumulate = first != 0;
      t.pairs = even(length) / 2;
      for (int64_t c = 0; c < width; c += ops->panel) {
        t.weights = weights + (column + c) * even(depth()) + first * ops->panel;
        t.sums = sums + c;
        ops->tile(t, count);
      }
    }
    const float* added = bias < 0 ? nullptr : static_cast<const float*>(args.inputs[bias]) + column;
    for (int64_t r = 0; r < count; ++r) ops->scale(sums + r * t.stride, width, scale.data() + column, added);
    if (width == shape.columns && width == t.stride)
      return epilogue.store(row * shape.columns, count * width, sums, args);
    for (int64_t r = 0; r < count; ++r)
      epilogue.store((row + r) * shape.columns + column, width, sums + r * t.stride, args);
  }
};

bool whole(double z, double low, double high) { return z == std::floor(z) && z >= low && z <= high; }

}  // namespace

Result<ByteScales> read_byte_scales(const Problem& p, const char* x, const char* w, const DenseShape& s) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p));
  const DType type = p.inputs[0].dtype;
  if ((type != DType::kU8 && type != DType::kI8) || p.inputs[1].dtype != DType::kI8)
    return unsupported("{} of {} and {}", family_name(p.family), dtype_name(type), dtype_name(p.inputs[1].dtype));
  if (p.acc_dtype != DType::kF32) return unsupported("sums in {}", dtype_name(p.acc_dtype));
  const std::string xs = x, ws = w;
  const std::vector<double> x_scale = p.get_floats(xs + "_scale"), x_zero = p.get_floats(xs + "_zero");
  const std::vector<double> w_scale = p.get_floats(ws + "_scale"), w_zero = p.get_floats(ws + "_zero");
  if (x_scale.size() > 1 || x_zero.size() > 1) return unsupported("several scales or zero points of one operand");
  if (w_scale.size() > 1 && static_cast<int64_t>(w_scale.size()) != s.columns)
    return invalid_argument("{}: {} weight scales for {} columns", family_name(p.family), w_scale.size(), s.columns);
  ByteScales out;
  if (!x_zero.empty()) {
    const bool is_signed = type == DType::kI8;
    if (!whole(x_zero[0], is_signed ? -128 : 0, is_signed ? 127 : 255))
      return invalid_argument("{}: zero point {}", family_name(p.family), x_zero[0]);
    out.x_zero = static_cast<int32_t>(x_zero[0]);
  }
  for (const double z : w_zero)
    if (z != w_zero[0] || !whole(z, -128, 127)) return unsupported("weights with zero point {}", z);
  if (!w_zero.empty()) out.w_zero = static_cast<int32_t>(w_zero[0]);
  if (s.taps * s.depth > kMostProducts)
    return unsupported("sums of {} products: an int32 holds those of {}", s.taps * s.depth, kMostProducts);
  out.scale.resize(static_cast<size_t>(s.columns));
  for (size_t c = 0; c < out.scale.size(); ++c)
    out.scale[c] = static_cast<float>((x_scale.empty() ? 1 : x_scale[0]) *
                                      (w_scale.empty() ? 1 : w_scale[w_scale.size() > 1 ? c : 0]));
  return out;
}

size_t packed_byte_weights(const DenseShape& s, const ByteOps& ops) {
  return static_cast<size_t>(ceil_div(s.columns, ops.panel) * ops.panel * even(s.taps * s.depth)) * sizeof(int16_t);
}

Result<std::unique_ptr<Call>> make_byte_call(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                             const DenseShape& shape, ByteScales scales,
                                             std::unique_ptr<DenseRows<uint8_t>> rows, const BindArgs& args) {
  auto call = std::make_unique<ByteCall>();
  call->ops = &byte_ops(options.isa);
  const size_t want = packed_byte_weights(shape, *call->ops);
  if (args.constant_bytes.size() > 1 && args.constant_bytes[1] != want)
    return invalid_argument("{}: {} bytes of packed weights, {} are needed", family_name(p.family),
                            args.constant_bytes[1], want);
  call->shape = shape;
  call->slots = std::max(1, options.threads);
  call->blocks = divide(shape, *call->ops, call->slots);
  call->rows = std::move(rows);
  call->zero = scales.x_zero;
  call->is_signed = p.inputs[0].dtype == DType::kI8;
  call->scale = std::move(scales.scale);
  call->scale.resize(static_cast<size_t>(ceil_div(shape.columns, call->ops->panel) * call->ops->panel));
  call->bias = p.num_main > 2 ? 2 : -1;
  WOOTZ_ASSIGN_OR_RETURN(call->epilogue, epilogue.bind(p, args));
  return std::unique_ptr<Call>(std::move(call));
}

double byte_cost_us(const Problem& p, const DenseShape& s, const KernelOptions& options) {
  // Billions of multiplications and additions a second of one core.
  const double rate = options.isa == Isa::kAvx512 ? 220 : 130, threads = std::max(1, options.threads);
  const double results = static_cast<double>(s.rows) * static_cast<double>(s.columns);
  const auto padded = [](int64_t n, int64_t step) { return static_cast<double>(ceil_div(n, step) * step); };
  const int64_t panel = byte_ops(options.isa).panel;
  const double waste = s.columns == 0 ? 1 : padded(s.columns, panel) / static_cast<double>(s.columns);
  return 1.5 + s.flops() * waste / (rate * threads * 1e3) + results / (1.5e3 * threads);
}

}  // namespace wootz::cpu
