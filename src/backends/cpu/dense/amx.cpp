#include "backends/cpu/dense/amx.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/dense/int8.h"
#include "backends/cpu/dense/sums_finish.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

size_t aligned(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) & ~size_t{63}; }

template <class T>
class AmxCall final : public UnitsCall {
 public:
  static Result<std::unique_ptr<Call>> make(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                            const DenseShape& shape, const SumRuns& sum, const GemmScales* scales,
                                            std::unique_ptr<DenseRows<T>> rows, const BindArgs& args) {
    auto call = std::make_unique<AmxCall>(shape, sum, std::move(rows));
    const AmxUnits units = divide_for_amx(call->rows_.work(), options.threads);
    call->rows_.set_units(units);
    DenseBlocks blocks;
    blocks.unit_rows = units.rows;
    blocks.unit_columns = units.columns;
    blocks.row_units = units.row_units;
    blocks.column_units = units.column_units;
    WOOTZ_RETURN_IF_ERROR(
        call->set_up(p, options, shape, std::move(blocks), packed_amx_weights(shape, sum, p.inputs[1].dtype), args));
    call->type_ = p.inputs[0].dtype == DType::kBF16 ? AmxSums::kBf16
                  : p.inputs[0].dtype == DType::kU8 ? AmxSums::kU8
                                                    : AmxSums::kI8;
    call->bias_is_bf16_ = p.num_main > 2 && p.inputs[2].dtype == DType::kBF16;
    call->has_start_ = scales != nullptr && scales->x_zero != 0;
    call->find_finish(p, args);
    if (!call->direct_) {
      WOOTZ_ASSIGN_OR_RETURN(call->epilogue_, epilogue.bind(p, args));
    }
    call->scale_.assign(aligned(ceil_div(shape.columns, kAmxPanel) * kAmxPanel), 0);
    for (int64_t c = 0; c < shape.columns; ++c)
      call->scale_[static_cast<size_t>(c)] =
          call->finish_.factor * (scales == nullptr ? 1.0f : static_cast<float>(scales->of(c)));
    call->most_ = largest_result(call->finish_, shape.taps * shape.depth, call->scale_);
    return std::unique_ptr<Call>(std::move(call));
  }

  AmxCall(const DenseShape& shape, const SumRuns& sum, std::unique_ptr<DenseRows<T>> rows)
      : rows_(shape, sum, std::move(rows)), steps_(amx_steps(sum, sizeof(T))) {}

 private:
  void find_finish(const Problem& p, const BindArgs& args) {
    std::optional<SumsFinish> finish = read_sums_finish(p, args);
    direct_ = finish.has_value();
    if (direct_) finish_ = std::move(*finish);
  }

  int64_t padded_columns() const { return ceil_div(blocks_.unit_columns, kAmxPanel) * kAmxPanel; }
  size_t rows_bytes() const { return aligned(static_cast<int64_t>(rows_.scratch_bytes())); }
  size_t bias_bytes() const { return aligned(padded_columns() * static_cast<int64_t>(sizeof(float))); }
  size_t slot_bytes() const override {
    const int64_t results = direct_ ? 0 : blocks_.unit_rows * blocks_.unit_columns;
    return rows_bytes() + bias_bytes() + aligned(results * static_cast<int64_t>(sizeof(float)));
  }

  void set_bias(const RunArgs& args, const DenseUnit& u, float* to) const {
    for (int64_t c = 0; c < padded_columns(); ++c) to[c] = finish_.shift;
    if (!has_bias()) return;
    const void* from = args.inputs[2];
    for (int64_t c = 0; c < u.columns; ++c) {
      float value;
      if (bias_is_bf16_) {
        const uint32_t bits = uint32_t{static_cast<const uint16_t*>(from)[u.column + c]} << 16;
        std::memcpy(&value, &bits, sizeof value);
      } else {
        value = static_cast<const float*>(from)[u.column + c];
      }
      to[c] += finish_.factor * value;
    }
  }

  float most_bias(const float* bias) const {
    float most = 0;
    for (int64_t c = 0; c < padded_columns(); ++c) most = std::max(most, std::fabs(bias[c]));
    return most;
  }

  void compute(const RunArgs& args, char* scratch, const DenseUnit& u) const override {
    AmxUnit t;
    t.type = type_;
    t.columns = u.columns;
    rows_.set(static_cast<const T*>(args.inputs[0]), u, scratch, &t);
    auto* bias = reinterpret_cast<float*>(scratch + rows_bytes());
    set_bias(args, u, bias);
    t.bias = bias;
    t.scale = scale_.data() + u.column;
    const auto* weights = static_cast<const char*>(args.inputs[1]);
    t.weights = weights + u.column * steps_ * kAmxLine;
    if (has_start_)
      t.start =
          reinterpret_cast<const int32_t*>(weights + ceil_div(shape_.columns, kAmxColumns) * steps_ * kAmxTileBytes) +
          u.column;
    t.ends = finish_.ends.data();
    t.num_ends = static_cast<int>(finish_.ends.size());
    t.inputs = args.inputs;
    t.out_type = finish_.type;
    t.zero = finish_.zero;
    t.guarded = finish_.may_be_nan || !(most_ + most_bias(bias) < kFitsInteger);
    auto* results = reinterpret_cast<float*>(scratch + rows_bytes() + bias_bytes());
    if (direct_) {
      t.first = u.row * shape_.columns + u.column;
      t.out = static_cast<char*>(args.outputs[0]) + t.first * bytes_of(finish_.type);
      t.out_stride = shape_.columns;
    } else {
      t.out = reinterpret_cast<char*>(results);
      t.out_stride = u.columns;
    }
    amx_unit(t);
    if (!direct_) store(args, u, results, u.columns);
  }

  AmxRows<T> rows_;
  int64_t steps_;
  SumsFinish finish_;
  std::vector<float> scale_;  // to the end of the last panel
  float most_ = 0;            // what sums and operands in bytes come to, without the bias
  AmxSums type_ = AmxSums::kU8;
  bool direct_ = false, bias_is_bf16_ = false, has_start_ = false;
};

}  // namespace

size_t packed_amx_weights(const DenseShape& s, const SumRuns& sum, DType weights) {
  const int64_t size = weights == DType::kBF16 ? 2 : 1, tiles = ceil_div(s.columns, kAmxColumns);
  const int64_t starts = size == 1 ? tiles * kAmxColumns * static_cast<int64_t>(sizeof(int32_t)) : 0;
  return static_cast<size_t>(tiles * amx_steps(sum, size) * kAmxTileBytes + starts);
}

int amx_in_place(const Problem& p) {
  const std::optional<SumsFinish> finish = read_sums_finish(p);
  if (!finish) return -1;
  for (const SumsEnd& e : finish->ends)
    if (e.input >= 0 && p.inputs[static_cast<size_t>(e.input)].dtype == p.outputs[0].dtype) return e.input;
  return -1;
}

template <class T>
Result<std::unique_ptr<Call>> make_amx_call(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                            const DenseShape& shape, const SumRuns& sum, const GemmScales* scales,
                                            std::unique_ptr<DenseRows<T>> rows, const BindArgs& args) {
  return AmxCall<T>::make(p, options, epilogue, shape, sum, scales, std::move(rows), args);
}
template Result<std::unique_ptr<Call>> make_amx_call(const Problem&, const KernelOptions&, const Epilogue&,
                                                     const DenseShape&, const SumRuns&, const GemmScales*,
                                                     std::unique_ptr<DenseRows<uint8_t>>, const BindArgs&);
template Result<std::unique_ptr<Call>> make_amx_call(const Problem&, const KernelOptions&, const Epilogue&,
                                                     const DenseShape&, const SumRuns&, const GemmScales*,
                                                     std::unique_ptr<DenseRows<uint16_t>>, const BindArgs&);

double amx_cost_us(const AmxWork& work, const KernelOptions& options) {
  constexpr double kCyclesPerUs = 2600;
  return 1.5 + divide_for_amx(work, options.threads).cycles / kCyclesPerUs;
}

}  // namespace wootz::cpu
