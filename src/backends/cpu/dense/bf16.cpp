#include "backends/cpu/dense/bf16.h"

#include <algorithm>

#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kLanes = 16;  // widths of panels are multiples of it

size_t aligned(size_t bytes) { return (bytes + 63) & ~size_t{63}; }
int64_t even(int64_t n) { return (n + 1) / 2 * 2; }

class Bf16Call final : public UnitsCall {
 public:
  static Result<std::unique_ptr<Call>> make(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                            const DenseShape& shape, std::unique_ptr<DenseRows<uint16_t>> rows,
                                            const BindArgs& args) {
    auto call = std::make_unique<Bf16Call>();
    call->ops_ = &bf16_ops(options.isa);
    call->end_ = read_end(p);
    const auto added = static_cast<size_t>(std::max(call->end_.added, 0));
    // The tile finishes all or nothing; a residual may broadcast at these extents.
    if (call->end_.added >= 0 && !(args.inputs[added] == args.outputs[0])) call->end_ = DenseEnd();
    call->out_is_bf16_ = p.outputs[0].dtype == DType::kBF16;
    call->added_is_bf16_ = p.inputs[added].dtype == DType::kBF16;
    call->bias_is_bf16_ = p.num_main > 2 && p.inputs[2].dtype == DType::kBF16;
    WOOTZ_RETURN_IF_ERROR(call->set_up(p, options, shape, *call->ops_, packed_bf16_weights(shape), args));
    call->rows_ = std::move(rows);
    if (!call->end_.direct) {
      WOOTZ_ASSIGN_OR_RETURN(call->epilogue_, epilogue.bind(p, args));
    }
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  size_t table_bytes() const {
    return aligned(static_cast<size_t>(shape_.taps * blocks_.unit_rows) * sizeof(uint16_t*));
  }
  size_t bias_bytes() const {
    return bias_is_bf16_ ? aligned(static_cast<size_t>(blocks_.unit_columns) * sizeof(float)) : 0;
  }
  size_t slot_bytes() const override {
    const bool sums = !end_.direct || blocks_.parts.size() > 1;
    const int64_t tile = sums ? blocks_.unit_rows * blocks_.unit_columns : 0;
    return table_bytes() + bias_bytes() + aligned(static_cast<size_t>(tile) * sizeof(float));
  }

  // The bias of a unit's columns as f32.
  const float* bias_of(const RunArgs& args, const DenseUnit& u, char* scratch) const {
    if (!bias_is_bf16_) return bias(args, u);
    auto* to = reinterpret_cast<float*>(scratch + table_bytes());
    ops_->widen(static_cast<const uint16_t*>(args.inputs[2]) + u.column, u.columns, to);
    return to;
  }

  static const void* element(const void* base, bool is_bf16, int64_t at) {
    if (base == nullptr) return nullptr;
    return is_bf16 ? static_cast<const void*>(static_cast<const uint16_t*>(base) + at)
                   : static_cast<const void*>(static_cast<const float*>(base) + at);
  }

  void compute(const RunArgs& args, char* scratch, const DenseUnit& u) const override {
    auto** table = reinterpret_cast<const uint16_t**>(scratch);
    rows_->find(static_cast<const uint16_t*>(args.inputs[0]), u.row, u.rows, table);
    auto* sums = reinterpret_cast<float*>(scratch + table_bytes() + bias_bytes());
    const float* first = bias_of(args, u, scratch);
    const void* added = end_.added < 0 ? nullptr : args.inputs[end_.added];
    Bf16Tile t;
    t.tap_stride = u.rows;
    t.stride = ceil_div(u.columns, kLanes) * kLanes;
    t.out_stride = shape_.columns;
    t.out_is_bf16 = out_is_bf16_;
    t.added_is_bf16 = added_is_bf16_;
    end_.set(&t);
    for (int64_t c = 0; c < u.columns; c += kBf16Panel) {
      const int64_t column = u.column + c, at = u.row * shape_.columns + column;
      t.wide = bf16_panel_width(shape_, column);
      t.columns = std::min(kBf16Panel, u.columns - c);
      t.sums = sums + c;
      t.bias = first == nullptr ? nullptr : first + c;
      t.out = const_cast<void*>(element(args.outputs[0], out_is_bf16_, at));
      t.added = element(added, added_is_bf16_, at);
      const auto* weights = static_cast<const uint16_t*>(args.inputs[1]) + bf16_panel_start(shape_, column);
      for (const DenseBlocks::Part& part : blocks_.parts) {
        t.accumulate = &part != &blocks_.parts.front();
        t.finish = end_.direct && &part == &blocks_.parts.back();
        t.taps = table + part.tap * u.rows;
        t.num_taps = part.taps;
        t.first = part.first;
        t.length = part.length;
        t.weights = weights + (part.tap * even(shape_.depth) + part.first) * t.wide;
        ops_->tile(t, u.rows);
      }
    }
    if (!end_.direct) store(args, u, sums, t.stride);
  }

  const Bf16Ops* ops_ = nullptr;
  DenseEnd end_;
  bool out_is_bf16_ = false, added_is_bf16_ = false, bias_is_bf16_ = false;
  std::unique_ptr<DenseRows<uint16_t>> rows_;
};

}  // namespace

int64_t bf16_panel_width(const DenseShape& s, int64_t first) {
  return std::min(kBf16Panel, ceil_div(s.columns - first, kLanes) * kLanes);
}
int64_t bf16_panel_start(const DenseShape& s, int64_t first) { return first * s.taps * even(s.depth); }
size_t packed_bf16_weights(const DenseShape& s) {
  return static_cast<size_t>(ceil_div(s.columns, kLanes) * kLanes * s.taps * even(s.depth)) * sizeof(uint16_t);
}

Status check_bf16_operands(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p, DType::kBF16));
  for (size_t i = 0; i < 2; ++i)
    if (p.inputs[i].dtype != DType::kBF16)
      return unsupported("{} of {}", family_name(p.family()), dtype_name(p.inputs[i].dtype));
  return {};
}

Result<std::unique_ptr<Call>> make_bf16_call(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                             const DenseShape& shape, std::unique_ptr<DenseRows<uint16_t>> rows,
                                             const BindArgs& args) {
  return Bf16Call::make(p, options, epilogue, shape, std::move(rows), args);
}

double bf16_cost_us(const Problem& p, const DenseShape& s, const KernelOptions& options) {
  // Billions of operations a second of one core, as seen: four fifths of the peak by instructions for them.
  const bool dots = &bf16_ops(options.isa) == &kBf16DotOps;
  const double rate = dots ? 190 : options.isa == Isa::kAvx512 ? 80 : 65, threads = std::max(1, options.threads);
  const double padded = static_cast<double>(ceil_div(s.columns, kLanes) * kLanes);
  const double waste = s.columns == 0 ? 1 : padded / static_cast<double>(s.columns);
  double bytes = static_cast<double>(packed_bf16_weights(s));
  for (const TensorDesc& t : p.outputs) bytes += static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
  return 1.5 + std::max(s.flops() * waste / (rate * threads * 1e3), bytes / (20e3 * std::min(threads, 4.0)));
}

}  // namespace wootz::cpu
