#include "backends/cpu/dense/int8.h"

#include <algorithm>

#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kPartDepth = 512;       // values summed at once: 16 KiB of weights a panel with AVX2
constexpr int64_t kMostProducts = 33000;  // of two values within 255: their sum is an int32

int64_t even(int64_t n) { return (n + 1) / 2 * 2; }
size_t aligned(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

class Int8Call final : public UnitsCall {
 public:
  static Result<std::unique_ptr<Call>> make(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                            const DenseShape& shape, const GemmScales& scales,
                                            std::unique_ptr<DenseRows<uint8_t>> rows, const BindArgs& args) {
    auto call = std::make_unique<Int8Call>();
    call->ops_ = &int8_ops(options.isa);
    WOOTZ_RETURN_IF_ERROR(call->set_up(p, options, shape, *call->ops_, packed_int8_weights(shape, *call->ops_), args));
    call->rows_ = std::move(rows);
    call->zero_ = scales.x_zero;
    call->is_signed_ = p.inputs[0].dtype == DType::kI8;
    call->scale_.resize(static_cast<size_t>(ceil_div(shape.columns, call->ops_->panel) * call->ops_->panel));
    for (int64_t c = 0; c < shape.columns; ++c) call->scale_[static_cast<size_t>(c)] = static_cast<float>(scales.of(c));
    WOOTZ_ASSIGN_OR_RETURN(call->epilogue_, epilogue.bind(p, args));
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  int64_t depth() const { return shape_.taps * shape_.depth; }
  int64_t part_depth() const { return even(std::min(depth(), kPartDepth)); }
  size_t table_bytes() const {
    return aligned(static_cast<size_t>(shape_.taps * blocks_.unit_rows) * sizeof(uint8_t*));
  }
  size_t values_bytes() const {
    return aligned(static_cast<size_t>(blocks_.unit_rows * part_depth()) * sizeof(int16_t));
  }
  size_t slot_bytes() const override {
    return table_bytes() + values_bytes() +
           aligned(static_cast<size_t>(blocks_.unit_rows * blocks_.unit_columns) * sizeof(int32_t));
  }

  // Values [first, first + length) of each row's taps, one after the other. Taps that are neighbours in memory, as
  // those along an image's line are, are widened together.
  void widen(const uint8_t* const* table, int64_t count, int64_t first, int64_t length, int16_t* to) const {
    for (int64_t i = 0; i < count; ++i) {
      int16_t* out = to + i * part_depth();
      for (int64_t k = first; k < first + length;) {
        int64_t tap = k / shape_.depth, end = (tap + 1) * shape_.depth;
        const uint8_t* from = table[tap * count + i] + k % shape_.depth;
        while (end < first + length && table[(tap + 1) * count + i] == table[tap * count + i] + shape_.depth)
          ++tap, end += shape_.depth;
        const int64_t n = std::min(end, first + length) - k;
        ops_->widen(from, is_signed_, zero_, n, out + (k - first));
        k += n;
      }
      if (length % 2 != 0) out[length] = 0;
    }
  }

  void compute(const RunArgs& args, char* scratch, const DenseUnit& u) const override {
    auto** table = reinterpret_cast<const uint8_t**>(scratch);
    auto* values = reinterpret_cast<int16_t*>(scratch + table_bytes());
    auto* sums = reinterpret_cast<int32_t*>(scratch + table_bytes() + values_bytes());
    rows_->find(static_cast<const uint8_t*>(args.inputs[0]), u.row, u.rows, table);
    Int8Tile t;
    t.values = values;
    t.value_stride = part_depth();
    t.stride = ceil_div(u.columns, ops_->panel) * ops_->panel;
    const auto* weights = static_cast<const int16_t*>(args.inputs[1]);
    for (int64_t first = 0; first < depth(); first += kPartDepth) {
      const int64_t length = std::min(kPartDepth, depth() - first);
      widen(table, u.rows, first, length, values);
      t.accumulate = first != 0;
      t.pairs = even(length) / 2;
      for (int64_t c = 0; c < u.columns; c += ops_->panel) {
        t.weights = weights + (u.column + c) * even(depth()) + first * ops_->panel;
        t.sums = sums + c;
        ops_->tile(t, u.rows);
      }
    }
    const float* added = bias(args, u);
    for (int64_t r = 0; r < u.rows; ++r) ops_->scale(sums + r * t.stride, u.columns, scale_.data() + u.column, added);
    store(args, u, sums, t.stride);
  }

  const Int8Ops* ops_ = nullptr;
  std::unique_ptr<DenseRows<uint8_t>> rows_;
  int32_t zero_ = 0;
  bool is_signed_ = false;
  std::vector<float> scale_;  // to the end of the last panel
};

}  // namespace

Result<GemmScales> dense_int8_scales(const Problem& p, const DenseShape& s) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p));
  if (!is_int8(p.inputs[0].dtype) || p.inputs[1].dtype != DType::kI8)
    return unsupported("{} of {} and {}", family_name(p.family()), dtype_name(p.inputs[0].dtype),
                       dtype_name(p.inputs[1].dtype));
  if (p.acc_dtype != DType::kF32) return unsupported("sums in {}", dtype_name(p.acc_dtype));
  if (s.taps * s.depth > kMostProducts)
    return unsupported("sums of {} products: an int32 holds those of {}", s.taps * s.depth, kMostProducts);
  return read_gemm_scales(p, s.columns);
}

Result<GemmScales> unshifted_int8_scales(const Problem& p, const DenseShape& s) {
  WOOTZ_ASSIGN_OR_RETURN(GemmScales scales, dense_int8_scales(p, s));
  if (scales.w_zero != 0) return unsupported("weights with a zero point of {}", scales.w_zero);
  return scales;
}

size_t packed_int8_weights(const DenseShape& s, const Int8Ops& ops) {
  return static_cast<size_t>(ceil_div(s.columns, ops.panel) * ops.panel * even(s.taps * s.depth)) * sizeof(int16_t);
}

Result<std::unique_ptr<Call>> make_int8_call(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                             const DenseShape& shape, const GemmScales& scales,
                                             std::unique_ptr<DenseRows<uint8_t>> rows, const BindArgs& args) {
  return Int8Call::make(p, options, epilogue, shape, scales, std::move(rows), args);
}

double int8_cost_us(const Problem& p, const DenseShape& s, const KernelOptions& options) {
  // Billions of multiplications and additions a second of one core.
  const double rate = options.isa == Isa::kAvx512 ? 220 : 130, threads = std::max(1, options.threads);
  const double results = static_cast<double>(s.rows) * static_cast<double>(s.columns);
  const auto padded = [](int64_t n, int64_t step) { return static_cast<double>(ceil_div(n, step) * step); };
  const int64_t panel = int8_ops(options.isa).panel;
  const double waste = s.columns == 0 ? 1 : padded(s.columns, panel) / static_cast<double>(s.columns);
  return 1.5 + s.flops() * waste / (rate * threads * 1e3) + results / (1.5e3 * threads);
}

}  // namespace wootz::cpu
