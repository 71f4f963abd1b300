// Pooling by plain loops: max of the integers and f64, average of f64, Lp of every float.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/physical.h"
#include "backends/cpu/pool/window.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

// T: in memory; A: in which it is computed and handed to the epilogue.
template <class T, class A, class Get>
A pool_one(const PoolPlan& plan, const T* x, int64_t step, const PoolSpan& s0, const PoolSpan& s1, const PoolSpan& s2,
           Get get) {
  A best =
      std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
  double sum = 0;
  for (int64_t t0 = 0; t0 < s0.taps; ++t0)
    for (int64_t t1 = 0; t1 < s1.taps; ++t1)
      for (int64_t t2 = 0; t2 < s2.taps; ++t2) {
        const int64_t at =
            ((s0.first + t0 * plan.dilation[0]) * plan.in[1] + s1.first + t1 * plan.dilation[1]) * plan.in[2] +
            s2.first + t2 * plan.dilation[2];
        const A v = get(x[at * step]);
        if (plan.kind == PoolKind::kMax)
          best = best != best || best > v ? best : v;
        else if (plan.kind == PoolKind::kAvg)
          sum += static_cast<double>(v);
        else
          sum += plan.p == 1   ? std::fabs(static_cast<double>(v))
                 : plan.p == 2 ? static_cast<double>(v) * static_cast<double>(v)
                               : std::pow(std::fabs(static_cast<double>(v)), plan.p);
      }
  if (plan.kind == PoolKind::kMax) return best;
  if (plan.kind == PoolKind::kLp)
    return static_cast<A>(plan.p == 1 ? sum : plan.p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / plan.p));
  const double divisor = plan.divisor(s0, s1, s2);
  return static_cast<A>(divisor == 0 ? 0 : sum / divisor);
}

using Fn = void (*)(const PoolPlan&, const void* x, bool channels_last, int64_t begin, int64_t n, void* tile);
template <class T, class A, class Get>
void pool_range(const PoolPlan& plan, const void* x, bool channels_last, int64_t begin, int64_t n, void* tile,
                Get get) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t e = begin + i, volume = plan.out_volume(), channels = plan.channels;
    const int64_t b = e / (volume * channels), rest = e % (volume * channels);
    const int64_t c = channels_last ? rest % channels : rest / volume,
                  at = channels_last ? rest / channels : rest % volume;
    const T* plane = static_cast<const T*>(x) +
                     (channels_last ? b * plan.in_volume() * channels + c : (b * channels + c) * plan.in_volume());
    static_cast<A*>(tile)[i] = pool_one<T, A>(plan, plane, channels_last ? channels : 1,
                                              plan.spans[0][static_cast<size_t>(at / (plan.out[1] * plan.out[2]))],
                                              plan.spans[1][static_cast<size_t>(at / plan.out[2] % plan.out[1])],
                                              plan.spans[2][static_cast<size_t>(at % plan.out[2])], get);
  }
}
template <class T>
Fn plain() {
  return [](const PoolPlan& plan, const void* x, bool cl, int64_t begin, int64_t n, void* tile) {
    pool_range<T, T>(plan, x, cl, begin, n, tile, [](T v) { return v; });
  };
}
Fn find_range(DType type) {
  switch (type) {
    case DType::kF32: return plain<float>();
    case DType::kF64: return plain<double>();
    case DType::kF16:
      return [](const PoolPlan& plan, const void* x, bool cl, int64_t begin, int64_t n, void* tile) {
        pool_range<uint16_t, float>(plan, x, cl, begin, n, tile, f16_to_f32);
      };
    case DType::kBF16:
      return [](const PoolPlan& plan, const void* x, bool cl, int64_t begin, int64_t n, void* tile) {
        pool_range<uint16_t, float>(plan, x, cl, begin, n, tile, bf16_to_f32);
      };
    case DType::kI8: return plain<int8_t>();
    case DType::kU8: return plain<uint8_t>();
    case DType::kI32: return plain<int32_t>();
    case DType::kI64: return plain<int64_t>();
    default: return nullptr;
  }
}

class PoolCall final : public Call {
 public:
  PoolPlan plan;
  Epilogue::Bound end;
  Fn fn = nullptr;
  bool channels_last = false;
  Status run(const RunArgs& args) const override {
    constexpr int64_t kTile = 256;
    const int64_t work = std::max<int64_t>(1, plan.in_volume() / std::max<int64_t>(1, plan.out_volume()));
    parallel_for(plan.batch * plan.channels * plan.out_volume(), std::max<int64_t>(1, 4096 / work),
                 [&](int64_t begin, int64_t last) {
                   alignas(64) double tile[kTile];
                   for (; begin < last; begin += kTile) {
                     const int64_t n = std::min(kTile, last - begin);
                     fn(plan, args.inputs[0], channels_last, begin, n, tile);
                     end.store(begin, n, tile, args);
                   }
                 });
    return {};
  }
};

Result<std::unique_ptr<Call>> bind_pool_plain(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<PoolCall>();
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, tile_type(p.inputs[0].dtype), options.isa));
  WOOTZ_ASSIGN_OR_RETURN(call->end, e.bind(p, args));
  WOOTZ_ASSIGN_OR_RETURN(call->plan, plan_pool(p, args.inputs[0], args.outputs[0]));
  call->fn = find_range(p.inputs[0].dtype);
  call->channels_last = p.inputs[0].layout == Layout::kChannelsLast;
  return std::unique_ptr<Call>(std::move(call));
}

Status pool_plain_applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 1, 1));
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  if (find_range(x.dtype) == nullptr) return unsupported("pool of {}", dtype_name(x.dtype));
  const PoolKind kind = p.as<PoolParams>().kind;
  if (!is_float(x.dtype) && kind != PoolKind::kMax)
    return unsupported("pool {} of {}", name_of(kind), dtype_name(x.dtype));
  if (is_float(x.dtype) && x.dtype != DType::kF64 && kind != PoolKind::kLp)
    return unsupported("the vector kernel does it");
  if (kind == PoolKind::kLp && p.as<PoolParams>().p < 1) return invalid_argument("pool: p is {}", p.as<PoolParams>().p);
  if (!is_plain(x.layout) || x.layout != y.layout)
    return unsupported("pool from layout {} to {}", layout_name(x.layout), layout_name(y.layout));
  return try_bind(bind_pool_plain, p);
}

}  // namespace

const KernelEntry pool_other_plain{Family::kPool, kSchemeLinear | kSchemeChannelsLast, pool_plain_applies,
                                   make_function_kernel<bind_pool_plain>};

}  // namespace wootz::cpu
