// Ops CumSum and CumProd: lines along the axis, neighbours in memory at the same time. Floats are kept in double, as
// the reference keeps them, so that results are the same.
#include <algorithm>
#include <array>

#include "backend/op_kernels.h"
#include "backends/cpu/function_kernel.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

struct Axis {
  int64_t outer = 1, extent = 1, inner = 1;
  bool product = false, exclusive = false, reverse = false;
};

constexpr int64_t kLines = 64;  // at the same time

// Of an element type T in memory: what a line is kept in, and the way there and back.
template <class T>
struct Plain {
  using Stored = T;
  using Kept = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;  // integers wrap
  static Kept get(T v) { return static_cast<Kept>(v); }
  static T put(Kept v) { return static_cast<T>(v); }
};
struct F16 {
  using Stored = uint16_t;
  using Kept = double;
  static Kept get(uint16_t v) { return f16_to_f32(v); }
  static uint16_t put(Kept v) { return f32_to_f16(static_cast<float>(v)); }
};
struct Bf16 : F16 {
  static Kept get(uint16_t v) { return bf16_to_f32(v); }
  static uint16_t put(Kept v) { return f32_to_bf16(static_cast<float>(v)); }
};

template <class Type, bool kProduct>
void run_lines(const Axis& a, const void* in, void* out, int64_t first, int64_t count) {
  const auto* x = static_cast<const typename Type::Stored*>(in) + first;
  auto* y = static_cast<typename Type::Stored*>(out) + first;
  std::array<typename Type::Kept, kLines> kept;
  kept.fill(kProduct ? 1 : 0);
  for (int64_t e = 0; e < a.extent; ++e) {
    const int64_t at = (a.reverse ? a.extent - 1 - e : e) * a.inner;
    for (int64_t i = 0; i < count; ++i) {
      const auto before = kept[static_cast<size_t>(i)], v = Type::get(x[at + i]);
      const auto after = kProduct ? before * v : before + v;
      kept[static_cast<size_t>(i)] = after;
      y[at + i] = Type::put(a.exclusive ? before : after);
    }
  }
}

using Run = void (*)(const Axis& axis, const void* in, void* out, int64_t first, int64_t count);
template <class Type>
Run run_of(bool product) {
  return product ? run_lines<Type, true> : run_lines<Type, false>;
}
Run find_run(DType type, bool product) {
  switch (type) {
    case DType::kF32: return run_of<Plain<float>>(product);
    case DType::kF64: return run_of<Plain<double>>(product);
    case DType::kF16: return run_of<F16>(product);
    case DType::kBF16: return run_of<Bf16>(product);
    case DType::kI32: return run_of<Plain<int32_t>>(product);
    case DType::kI64: return run_of<Plain<int64_t>>(product);
    default: return nullptr;
  }
}

class CumulativeCall final : public Call {
 public:
  Axis axis;
  Run run_lines = nullptr;

  Status run(const RunArgs& args) const override {
    const int64_t groups = (axis.inner + kLines - 1) / kLines, work = std::max<int64_t>(1, axis.extent * axis.inner);
    parallel_for(axis.outer * groups, std::max<int64_t>(1, 16384 * groups / work), [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t at = piece % groups * kLines, first = piece / groups * axis.extent * axis.inner + at;
        run_lines(axis, args.inputs[0], args.outputs[0], first, std::min(kLines, axis.inner - at));
      }
    });
    return {};
  }
};

template <class Params>
bool read_axis(const Problem& p, Axis* axis, MaybeInt* along) {
  const auto* params = op_params<Params>(p);
  if (params == nullptr) return false;
  axis->exclusive = params->exclusive;
  axis->reverse = params->reverse;
  *along = params->axis;
  return true;
}

Result<std::unique_ptr<Call>> bind_cumulative(const Problem& p, const KernelOptions&, const BindArgs& args) {
  auto call = std::make_unique<CumulativeCall>();
  MaybeInt along;
  call->axis.product = !read_axis<CumSumOpParams>(p, &call->axis, &along);
  if (call->axis.product && !read_axis<CumProdOpParams>(p, &call->axis, &along))
    return unsupported("op {}", p.as<OpParams>().op);
  if (!along) return unsupported("an axis that is an operand");
  const Dims& x = args.inputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(*along, x.rank()));
  if (!(x == args.outputs[0])) return invalid_argument("{} gives {}", x.to_string(), args.outputs[0].to_string());
  for (int a = 0; a < x.rank(); ++a) {
    const int64_t extent = x[static_cast<size_t>(a)];
    (a < axis ? call->axis.outer : a == axis ? call->axis.extent : call->axis.inner) *= extent;
  }
  call->run_lines = find_run(p.inputs[0].dtype, call->axis.product);
  if (call->run_lines == nullptr) return unsupported("elements of {}", dtype_name(p.inputs[0].dtype));
  return std::unique_ptr<Call>(std::move(call));
}

Status cumulative_applies(const Problem& p) {
  if (op_params<CumSumOpParams>(p) == nullptr && op_params<CumProdOpParams>(p) == nullptr)
    return unsupported("op {}", p.as<OpParams>().op);
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 1, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  if (p.outputs[0].dtype != p.inputs[0].dtype)
    return invalid_argument("{} gives {}", dtype_name(p.inputs[0].dtype), dtype_name(p.outputs[0].dtype));
  return try_bind(bind_cumulative, p);
}

}  // namespace

const KernelEntry op_any_cumulative{Family::kOp, kSchemeLinear, cumulative_applies,
                                    make_function_kernel<bind_cumulative>};

}  // namespace wootz::cpu
