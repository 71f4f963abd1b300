#include "backends/cpu/dense/amx.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/dense/int8.h"
#include "backends/cpu/dense/sums_finish.h"
#include "backends/cpu/dense/vnni_pack.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

// Rows of i8 are read as u8, 128 higher.
bool is_flipped(Dots dots, const Problem& p) {
  return line_tiles(dots).unsigned_rows && p.inputs[0].dtype == DType::kI8;
}

size_t aligned(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) & ~size_t{63}; }

template <class T>
class AmxCall final : public UnitsCall {
 public:
  static Result<std::unique_ptr<Call>> make(const Problem& p, const KernelOptions& options, const Epilogue& epilogue,
                                            const DenseShape& shape, const SumRuns& sum, const GemmScales* scales,
                                            std::unique_ptr<DenseRows<T>> rows, const BindArgs& args, Dots dots) {
    const bool flipped = is_flipped(dots, p);
    auto call = std::make_unique<AmxCall>(shape, sum, std::move(rows), dots, flipped);
    const AmxUnits units = divide_for_amx(call->rows_.work(), options.threads);
    call->rows_.set_units(units);
    DenseBlocks blocks;
    blocks.unit_rows = units.rows;
    blocks.unit_columns = units.columns;
    blocks.row_units = units.row_units;
    blocks.column_units = units.column_units;
    WOOTZ_RETURN_IF_ERROR(call->set_up(p, options, shape, std::move(blocks),
                                       packed_amx_weights(shape, sum, p.inputs[1].dtype, dots), args));
    call->type_ = p.inputs[0].dtype == DType::kBF16            ? AmxSums::kBf16
                  : p.inputs[0].dtype == DType::kU8 || flipped ? AmxSums::kU8
                                                               : AmxSums::kI8;
    call->bias_is_bf16_ = p.num_main > 2 && p.inputs[2].dtype == DType::kBF16;
    call->has_start_ = scales != nullptr && line_zero(dots, p, *scales) != 0;
    call->find_finish(p, args);
    AmxUnit form;
    call->set_ends(&form);
    static constexpr float kSome = 1;
    if (call->finish_.rows >= 0) form.row_scales = &kSome;
    call->in_places_ = dots == Dots::kVnni && vnni_in_places(form);
    if (!call->direct_) {
      WOOTZ_ASSIGN_OR_RETURN(call->epilogue_, epilogue.bind(p, args));
    }
    call->scale_.assign(aligned(ceil_div(shape.columns, call->tiles_.panel) * call->tiles_.panel), 0);
    for (int64_t c = 0; c < shape.columns; ++c)
      call->scale_[static_cast<size_t>(call->place(c))] =
          call->finish_.factor * (scales == nullptr ? 1.0f : static_cast<float>(scales->of(c)));
    call->most_ = largest_result(call->finish_, shape.taps * shape.depth, call->scale_);
    return std::unique_ptr<Call>(std::move(call));
  }

  AmxCall(const DenseShape& shape, const SumRuns& sum, std::unique_ptr<DenseRows<T>> rows, Dots dots, bool flipped)
      : tiles_(line_tiles(dots)),
        rows_(shape, sum, std::move(rows), tiles_, flipped),
        steps_(amx_steps(sum, sizeof(T))),
        unit_(dots == Dots::kVnni ? vnni_unit : amx_unit) {}

 private:
  void set_ends(AmxUnit* to) const {
    to->ends = finish_.ends.data();
    to->num_ends = static_cast<int>(finish_.ends.size());
    to->out_type = finish_.type;
    to->table = finish_.table == nullptr ? nullptr : finish_.table->data();
  }
  void find_finish(const Problem& p, const BindArgs& args) {
    const Tables tables = cpu_info().avx512_vbmi ? Tables::kYes : Tables::kNo;
    std::optional<SumsFinish> finish = read_sums_finish(p, args, tables);
    direct_ = finish.has_value();
    if (direct_) finish_ = std::move(*finish);
  }

  int64_t padded_columns() const { return ceil_div(blocks_.unit_columns, tiles_.panel) * tiles_.panel; }
  int64_t place(int64_t column) const { return in_places_ ? vnni_place(column) : column; }
  size_t rows_bytes() const { return aligned(static_cast<int64_t>(rows_.scratch_bytes())); }
  size_t bias_bytes() const { return aligned(padded_columns() * static_cast<int64_t>(sizeof(float))); }
  size_t slot_bytes() const override {
    const int64_t results = direct_ ? 0 : blocks_.unit_rows * blocks_.unit_columns;
    return rows_bytes() + bias_bytes() + aligned(results * static_cast<int64_t>(sizeof(float)));
  }

  void set_bias(const RunArgs& args, const DenseUnit& u, float* to) const {
    for (int64_t c = 0; c < padded_columns(); ++c) to[c] = finish_.shift;
    if (finish_.bias >= 0) {
      const auto* const after = static_cast<const float*>(args.inputs[finish_.bias]) + u.column;
      for (int64_t c = 0; c < u.columns; ++c) to[place(c)] += finish_.factor * after[c];
    }
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
      to[place(c)] += finish_.factor * value;
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
      t.start = reinterpret_cast<const int32_t*>(weights + ceil_div(shape_.columns, tiles_.columns) * tiles_.columns *
                                                               steps_ * kAmxLine) +
                u.column;
    set_ends(&t);
    if (finish_.rows >= 0) t.row_scales = static_cast<const float*>(args.inputs[finish_.rows]) + u.row;
    t.inputs = args.inputs;
    t.zero = finish_.zero;
    t.guarded = finish_.may_be_nan || !(most_.with(most_bias(bias)) < kFitsInteger);
    auto* results = reinterpret_cast<float*>(scratch + rows_bytes() + bias_bytes());
    if (direct_) {
      t.first = u.row * shape_.columns + u.column;
      t.out = static_cast<char*>(args.outputs[0]) + t.first * bytes_of(finish_.type);
      t.out_stride = shape_.columns;
    } else {
      t.out = reinterpret_cast<char*>(results);
      t.out_stride = u.columns;
    }
    unit_(t);
    if (!direct_) store(args, u, results, u.columns);
  }

  LineTiles tiles_;
  AmxRows<T> rows_;
  int64_t steps_;
  void (*unit_)(const AmxUnit& unit);
  SumsFinish finish_;
  std::vector<float> scale_;  // to the end of the last panel
  LargestResult most_;        // what sums and operands in bytes come to, without the bias
  AmxSums type_ = AmxSums::kU8;
  bool direct_ = false, bias_is_bf16_ = false, has_start_ = false, in_places_ = false;
};

}  // namespace

const LineTiles& line_tiles(Dots dots) { return dots == Dots::kVnni ? kVnniTiles : kAmxTiles; }
int32_t line_zero(Dots dots, const Problem& p, const GemmScales& scales) {
  return scales.x_zero + (is_flipped(dots, p) ? 128 : 0);
}

size_t packed_amx_weights(const DenseShape& s, const SumRuns& sum, DType weights, Dots dots) {
  const int64_t size = weights == DType::kBF16 ? 2 : 1, multiple = line_tiles(dots).columns,
                columns = ceil_div(s.columns, multiple) * multiple;
  const int64_t starts = size == 1 ? columns * static_cast<int64_t>(sizeof(int32_t)) : 0;
  return static_cast<size_t>(columns * amx_steps(sum, size) * kAmxLine + starts);
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
                                            std::unique_ptr<DenseRows<T>> rows, const BindArgs& args, Dots dots) {
  return AmxCall<T>::make(p, options, epilogue, shape, sum, scales, std::move(rows), args, dots);
}
template Result<std::unique_ptr<Call>> make_amx_call(const Problem&, const KernelOptions&, const Epilogue&,
                                                     const DenseShape&, const SumRuns&, const GemmScales*,
                                                     std::unique_ptr<DenseRows<uint8_t>>, const BindArgs&, Dots);
template Result<std::unique_ptr<Call>> make_amx_call(const Problem&, const KernelOptions&, const Epilogue&,
                                                     const DenseShape&, const SumRuns&, const GemmScales*,
                                                     std::unique_ptr<DenseRows<uint16_t>>, const BindArgs&, Dots);

double amx_cost_us(const AmxWork& work, const KernelOptions& options) {
  constexpr double kCyclesPerUs = 2600;
  return 1.5 + divide_for_amx(work, options.threads).cycles / kCyclesPerUs;
}

}  // namespace wootz::cpu
