// Op DynamicQuantize: the range of a tensor, by all threads, then its values in u8 by all of them.
#include <algorithm>
#include <cmath>

#include "backend/op_kernels.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kGrain = 16384;

struct Range {
  float low = 0, high = 0;
};

class DynamicQuantizeCall final : public Call {
 public:
  DynamicQuantizeCall(const KernelOptions& options, int64_t count)
      : ops_(row_ops(options.isa)), count_(count), slots_(std::max(1, options.threads)) {}

  size_t workspace() const override { return static_cast<size_t>(slots_) * kLine; }

  Status run(const RunArgs& args) const override {
    const auto* const x = static_cast<const float*>(args.inputs[0]);
    auto* const ranges = static_cast<char*>(args.workspace);
    const auto range = [&](int slot) -> Range& { return *reinterpret_cast<Range*>(ranges + slot * kLine); };
    for (int s = 0; s < slots_; ++s) range(s) = {};
    parallel_slots(count_, kGrain, slots_, [&](int slot, int64_t begin, int64_t end) {
      Range& own = range(slot);
      for (int64_t i = begin; i < end; i += kRowChunk) {
        const int64_t n = std::min(kRowChunk, end - i);
        const float low = ops_.reduce(RowOp::kMin, x + i, n, 0), high = ops_.reduce(RowOp::kMax, x + i, n, 0);
        if (!(low >= own.low) && !std::isnan(own.low)) own.low = low;
        if (!(high <= own.high) && !std::isnan(own.high)) own.high = high;
      }
    });
    Range all;
    for (int s = 0; s < slots_; ++s) {
      if (!(range(s).low >= all.low)) all.low = range(s).low;
      if (!(range(s).high <= all.high)) all.high = range(s).high;
    }
    const float scale = (all.high - all.low) / 255, divisor = scale == 0 ? 1 : scale;
    const auto zero = static_cast<float>(byte(std::nearbyint(-all.low / divisor)));
    *static_cast<float*>(args.outputs[1]) = scale;
    *static_cast<uint8_t*>(args.outputs[2]) = static_cast<uint8_t>(zero);
    round(x, static_cast<uint8_t*>(args.outputs[0]), divisor, zero);
    return {};
  }

 private:
  static constexpr int64_t kLine = 64;  // of memory: threads write none together

  static uint8_t byte(float v) { return static_cast<uint8_t>(std::isnan(v) ? 0 : std::min(255.0F, std::max(0.0F, v))); }

  void round(const float* x, uint8_t* y, float divisor, float zero) const {
    const bool plain = divisor >= kLeastPlainScale && divisor <= kMostPlainScale;
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      if (plain) return ops_.quantize_from(y + begin, x + begin, end - begin, divisor, zero);
      for (int64_t i = begin; i < end; ++i) y[i] = byte(std::nearbyint(x[i] / divisor) + zero);
    });
  }

  const RowOps& ops_;
  int64_t count_;
  int slots_;
};

Result<std::unique_ptr<Call>> bind_dynamic_quantize(const Problem& p, const KernelOptions& options,
                                                    const BindArgs& args) {
  if (op_params<DynamicQuantizeOpParams>(p) == nullptr) return unsupported("op {}", p.as<OpParams>().op);
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 1, 3));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  if (p.inputs[0].dtype != DType::kF32 || p.outputs[0].dtype != DType::kU8 || p.outputs[1].dtype != DType::kF32 ||
      p.outputs[2].dtype != DType::kU8)
    return unsupported("dynamic quantization of {} to {}", dtype_name(p.inputs[0].dtype),
                       dtype_name(p.outputs[0].dtype));
  if (!(args.inputs[0] == args.outputs[0]) || args.outputs[1].volume() != 1 || args.outputs[2].volume() != 1)
    return invalid_argument("{} gives {}", args.inputs[0].to_string(), args.outputs[0].to_string());
  return std::unique_ptr<Call>(std::make_unique<DynamicQuantizeCall>(options, args.inputs[0].volume()));
}

Status dynamic_quantize_applies(const Problem& p) {
  if (op_params<DynamicQuantizeOpParams>(p) == nullptr) return unsupported("op {}", p.as<OpParams>().op);
  return try_bind(bind_dynamic_quantize, p);
}

}  // namespace

const KernelEntry dynamic_quantize_linear{Family::kOp, kSchemeLinear, dynamic_quantize_applies,
                                          make_function_kernel<bind_dynamic_quantize>, true};

}  // namespace wootz::cpu
