// Family quantize_rows: each row is made, as the family norm does it or by an expression, in memory that stays in the
// cache; then its largest value is known, and it is rounded.
#include "backend/quantize_rows.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/function_kernel.h"
#include "backends/cpu/pointwise/engine.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"

namespace wootz::cpu {
namespace {

size_t aligned(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

class RowsCall final : public Call {
 public:
  static Result<std::unique_ptr<Call>> make(const Problem& p, const KernelOptions& options, const BindArgs& args) {
    WOOTZ_RETURN_IF_ERROR(check_row_extents(p, args.inputs, args.outputs));
    auto call = std::make_unique<RowsCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->operands_, row_operands(p));
    call->params_ = p.as<QuantizeRowsParams>();
    call->to_ = p.outputs[0].dtype;
    call->keeps_ = p.outputs.size() > 2;
    call->length_ = args.outputs[0].back();
    call->rows_ = args.outputs[1].volume();
    call->slots_ = std::max(1, options.threads);
    call->ops_ = &row_ops(options.isa);
    call->narrow_ = call->to_ == DType::kI8 ? nullptr : find_store(options.isa, call->to_);
    if (call->to_ != DType::kI8 && call->narrow_ == nullptr) return unsupported("rows in {}", dtype_name(call->to_));
    WOOTZ_RETURN_IF_ERROR(call->set_readers(p, options));
    WOOTZ_RETURN_IF_ERROR(call->set_value(p, options, args));
    return std::unique_ptr<Call>(std::move(call));
  }

  // A row as it is normalized, as it is rounded, and as floats.
  size_t workspace() const override { return static_cast<size_t>(slots_) * 3 * row_bytes(); }

  Status run(const RunArgs& args) const override {
    if (rows_ == 0) return {};
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length_));
    parallel_slots(rows_, grain, slots_, [&](int slot, int64_t begin, int64_t end) {
      char* const own = static_cast<char*>(args.workspace) + static_cast<size_t>(slot) * 3 * row_bytes();
      for (int64_t r = begin; r < end; ++r) round_row(args, r, row(args, r, own));
    });
    return {};
  }

 private:
  size_t row_bytes() const { return aligned(static_cast<size_t>(std::max<int64_t>(1, length_)) * sizeof(float)); }

  Status set_readers(const Problem& p, const KernelOptions& options) {
    read_ = RowReader(operands_.type, options.isa);
    if (params_.normalizes) x_ = RowReader(p.inputs[0].dtype, options.isa);
    if (operands_.scale > 0) scale_ = RowReader(p.inputs[static_cast<size_t>(operands_.scale)].dtype, options.isa);
    if (operands_.bias > 0) bias_ = RowReader(p.inputs[static_cast<size_t>(operands_.bias)].dtype, options.isa);
    return {};
  }

  // What makes the rows of what is normalized, or of the operands; nothing where they are that.
  Status set_value(const Problem& p, const KernelOptions& options, const BindArgs& args) {
    PointwiseExpr expr = params_.value;
    if (expr.empty() && (!params_.normalizes || operands_.type == DType::kF32)) return {};
    if (expr.empty()) expr.outputs = {expr.input(0, operands_.type)};
    const int tile = params_.normalizes ? 0 : -1;
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const PointwiseCode> code, PointwiseCode::compile(expr, options.isa, tile));
    std::vector<PwView> views;
    for (auto i = static_cast<size_t>(operands_.first); i < p.inputs.size(); ++i)
      views.push_back({p.inputs[i].dtype, p.inputs[i].layout, args.inputs[i]});
    if (params_.normalizes) views[0] = {};
    const PwView y{operands_.type, Layout::kLinear, args.outputs[0]};
    WOOTZ_ASSIGN_OR_RETURN(value_, BoundPointwise::bind(std::move(code), views, y, tile));
    computes_ = true;
    return {};
  }

  // Row r as floats.
  const float* row(const RunArgs& args, int64_t r, char* own) const {
    auto* const normalized = reinterpret_cast<float*>(own);
    auto* const floats = reinterpret_cast<float*>(own + 2 * row_bytes());
    const int64_t at = r * length_;
    if (!params_.normalizes && !computes_) return widened(read_, args.inputs[0], at, floats);
    const size_t size = static_cast<size_t>(dtype_bits(operands_.type)) / 8;
    char* const to = keeps_ ? static_cast<char*>(args.outputs[2]) + static_cast<size_t>(at) * size : own + row_bytes();
    if (params_.normalizes) normalize(args, at, computes_ ? normalized : reinterpret_cast<float*>(to), floats);
    if (computes_) {
      // Where the tensor began if its row were here.
      void* const start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(to) - static_cast<uintptr_t>(at) * size);
      value_.run(at, at + length_, args.inputs + operands_.first, &start, normalized);
    }
    return widened(read_, to, 0, floats);
  }

  // Elements [at, at + length) of a tensor as floats.
  const float* widened(const RowReader& from, const void* base, int64_t at, float* to) const {
    if (from.direct()) return static_cast<const float*>(base) + at;
    for (int64_t i = 0; i < length_; i += kRowChunk) from.read(base, at + i, std::min(kRowChunk, length_ - i), to + i);
    return to;
  }

  void normalize(const RunArgs& args, int64_t at, float* to, float* floats) const {
    const float* const x = widened(x_, args.inputs[0], at, floats);
    const auto count = static_cast<double>(length_);
    double sum = 0, square = 0;
    const auto each = [&](auto f) {
      for (int64_t i = 0; i < length_; i += kRowChunk) f(i, std::min(kRowChunk, length_ - i));
    };
    if (params_.centered) each([&](int64_t i, int64_t n) { sum += ops_->reduce(RowOp::kSum, x + i, n, 0); });
    const auto mean = static_cast<float>(sum / count);
    each([&](int64_t i, int64_t n) { square += ops_->sum_centered(x + i, n, mean); });
    const auto factor = static_cast<float>(1 / std::sqrt(square / count + params_.epsilon));
    alignas(64) float scale[kRowChunk], bias[kRowChunk];
    each([&](int64_t i, int64_t n) {
      const float* const by = operands_.scale > 0 ? scale_.read(args.inputs[operands_.scale], i, n, scale) : nullptr;
      const float* const plus = operands_.bias > 0 ? bias_.read(args.inputs[operands_.bias], i, n, bias) : nullptr;
      ops_->normalize(to + i, x + i, n, mean, factor, by, plus);
    });
  }

  void round_row(const RunArgs& args, int64_t r, const float* x) const {
    const float scale = row_scale(params_, ops_->max_abs(x, length_));
    static_cast<float*>(args.outputs[1])[r] = scale == 0 ? static_cast<float>(params_.empty) : scale;
    auto* const to = static_cast<int8_t*>(args.outputs[0]) + r * length_;
    if (narrow_ != nullptr) return round_to_floats(x, scale, to);
    if (scale >= kLeastPlainScale && scale <= kMostPlainScale) return ops_->quantize(to, x, length_, scale);
    for (int64_t i = 0; i < length_; ++i) {
      const float q = std::nearbyint(x[i] / scale);
      to[i] = std::isnan(q) ? int8_t{0} : static_cast<int8_t>(std::min(127.0F, std::max(-128.0F, q)));
    }
  }

  void round_to_floats(const float* x, float scale, int8_t* to) const {
    constexpr float kLargest = 448;
    alignas(64) float part[kRowChunk];
    for (int64_t i = 0; i < length_; i += kRowChunk) {
      const int64_t n = std::min(kRowChunk, length_ - i);
      for (int64_t e = 0; e < n; ++e)
        part[e] = scale == 0 ? 0 : std::min(kLargest, std::max(-kLargest, x[i + e] / scale));
      narrow_({to + i, part, nullptr, nullptr, n, 0, 0});
    }
  }

  QuantizeRowsParams params_;
  RowOperands operands_;
  DType to_ = DType::kI8;
  int64_t rows_ = 0, length_ = 0;
  int slots_ = 1;
  bool keeps_ = false, computes_ = false;
  const RowOps* ops_ = nullptr;
  OpFn narrow_ = nullptr;  // to floats of 8 bits
  RowReader x_, scale_, bias_, read_;
  BoundPointwise value_;
};

Status rows_apply(const Problem& p) { return try_bind(RowsCall::make, p); }

}  // namespace

const KernelEntry quantize_rows_linear{Family::kQuantizeRows, kSchemeLinear, rows_apply,
                                       make_function_kernel<RowsCall::make>, true};

}  // namespace wootz::cpu
