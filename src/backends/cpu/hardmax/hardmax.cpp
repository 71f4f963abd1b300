// Hardmax in FP32: the first of the largest of each line is one, the others are zero.
#include <algorithm>

#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

class HardmaxCall final : public Call {
 public:
  int64_t outer = 1, extent = 1, inner = 1;

  Status run(const RunArgs& args) const override {
    parallel_for(outer * inner, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, extent)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) line(args, i / inner * extent * inner + i % inner);
                 });
    return {};
  }

 private:
  void line(const RunArgs& args, int64_t at) const {
    const auto* x = static_cast<const float*>(args.inputs[0]) + at;
    auto* y = static_cast<float*>(args.outputs[0]) + at;
    int64_t best = 0;
    for (int64_t e = 1; e < extent; ++e)
      if (x[e * inner] > x[best * inner]) best = e;
    for (int64_t e = 0; e < extent; ++e) y[e * inner] = e == best ? 1.0F : 0.0F;
  }
};

Result<std::unique_ptr<Call>> bind(const Problem& p, const KernelOptions&, const BindArgs& args) {
  auto call = std::make_unique<HardmaxCall>();
  const Dims& x = args.inputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(p.as<HardmaxParams>().axis, x.rank()));
  if (!(x == args.outputs[0])) return invalid_argument("{} gives {}", x.to_string(), args.outputs[0].to_string());
  for (int a = 0; a < x.rank(); ++a)
    (a < axis ? call->outer : a == axis ? call->extent : call->inner) *= x[static_cast<size_t>(a)];
  return std::unique_ptr<Call>(std::move(call));
}

Status applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 1, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  if (p.inputs[0].dtype != DType::kF32 || p.outputs[0].dtype != DType::kF32)
    return unsupported("hardmax of {}", dtype_name(p.inputs[0].dtype));
  return try_bind(bind, p);
}

}  // namespace

const KernelEntry hardmax_float_lines{Family::kHardmax, kSchemeLinear, applies, make_function_kernel<bind>};

}  // namespace wootz::cpu
