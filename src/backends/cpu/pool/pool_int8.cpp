// Averages of quantized data: whole sums of the window, then scale and zero point.
#include <algorithm>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/physical.h"
#include "backends/cpu/pool/window.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kTile = 256;
constexpr int64_t kMaxTaps = int64_t{1} << 23;  // sums of this many bytes fit an int32

// One output position: its windows' sums and what becomes of them.
struct Place {
  const PoolSpan &s0, &s1, &s2;
  Place(const PoolPlan& plan, int64_t at)
      : s0(plan.spans[0][static_cast<size_t>(at / (plan.out[1] * plan.out[2]))]),
        s1(plan.spans[1][static_cast<size_t>(at / plan.out[2] % plan.out[1])]),
        s2(plan.spans[2][static_cast<size_t>(at % plan.out[2])]) {}
  int64_t taps() const { return s0.taps * s1.taps * s2.taps; }
  // Calls f(input position of a row of taps, how many) for each row of the window.
  template <class F>
  void rows(const PoolPlan& plan, F f) const {
    for (int64_t t0 = 0; t0 < s0.taps; ++t0)
      for (int64_t t1 = 0; t1 < s1.taps; ++t1)
        f(((s0.first + t0 * plan.dilation[0]) * plan.in[1] + s1.first + t1 * plan.dilation[1]) * plan.in[2] + s2.first,
          s2.taps);
  }
};

class AverageCall final : public Call {
 public:
  PoolPlan plan;
  Epilogue::Bound end;
  DType type = DType::kU8;
  bool channels_last = false;
  float scale = 1;
  int32_t zero = 0;

  Status run(const RunArgs& args) const override {
    if (type == DType::kU8)
      run_all<uint8_t>(args);
    else
      run_all<int8_t>(args);
    return {};
  }

 private:
  float finish(int32_t sum, const Place& place) const {
    const double divisor = plan.divisor(place.s0, place.s1, place.s2);
    if (divisor == 0) return 0;
    return static_cast<float>(static_cast<double>(sum - static_cast<int64_t>(zero) * place.taps()) * scale / divisor);
  }

  template <class T>
  void run_all(const RunArgs& args) const {
    const T* x = static_cast<const T*>(args.inputs[0]);
    const int64_t volume = plan.out_volume(), channels = plan.channels;
    const int64_t window = std::max<int64_t>(1, plan.in_volume() / std::max<int64_t>(1, volume));
    if (!channels_last) {
      parallel_for(plan.batch * channels * volume, std::max<int64_t>(1, 32768 / window),
                   [&](int64_t begin, int64_t last) {
                     alignas(64) float tile[kTile];
                     for (; begin < last; begin += kTile) {
                       const int64_t n = std::min(kTile, last - begin);
                       for (int64_t i = 0; i < n; ++i) tile[i] = of_plane(x, begin + i);
                       end.store(begin, n, tile, args);
                     }
                   });
      return;
    }
    const int64_t chunks = (channels + kTile - 1) / kTile;
    parallel_for(plan.batch * volume * chunks, std::max<int64_t>(1, 32768 / (window * std::min(kTile, channels))),
                 [&](int64_t begin, int64_t last) {
                   alignas(64) float tile[kTile];
                   for (; begin < last; ++begin) {
                     const int64_t c = begin % chunks * kTile, n = std::min(kTile, channels - c), at = begin / chunks;
                     of_channels(x, at, c, n, tile);
                     end.store(at * channels + c, n, tile, args);
                   }
                 });
  }

  // Element `e` of the row-major result.
  template <class T>
  float of_plane(const T* x, int64_t e) const {
    const Place place(plan, e % plan.out_volume());
    const T* plane = x + e / plan.out_volume() * plan.in_volume();
    const int64_t step = plan.dilation[2];
    int32_t sum = 0;
    place.rows(plan, [&](int64_t first, int64_t taps) {
      for (int64_t t = 0; t < taps; ++t) sum += plane[first + t * step];
    });
    return finish(sum, place);
  }

  // Channels [c, c + n) of output position `at` (images included).
  template <class T>
  void of_channels(const T* x, int64_t at, int64_t c, int64_t n, float* tile) const {
    const Place place(plan, at % plan.out_volume());
    const T* image = x + at / plan.out_volume() * plan.in_volume() * plan.channels + c;
    alignas(64) int32_t sums[kTile];
    std::fill(sums, sums + n, 0);
    place.rows(plan, [&](int64_t first, int64_t taps) {
      for (int64_t t = 0; t < taps; ++t) {
        const T* row = image + (first + t * plan.dilation[2]) * plan.channels;
        for (int64_t i = 0; i < n; ++i) sums[i] += row[i];
      }
    });
    for (int64_t i = 0; i < n; ++i) tile[i] = finish(sums[i], place);
  }
};

Result<std::unique_ptr<Call>> bind_pool_int8(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<AverageCall>();
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  WOOTZ_ASSIGN_OR_RETURN(call->end, e.bind(p, args));
  WOOTZ_ASSIGN_OR_RETURN(call->plan, plan_pool(p, args.inputs[0], args.outputs[0]));
  if (call->plan.in_volume() > kMaxTaps)
    return unsupported("pool: sums over {} elements of 8 bits", call->plan.in_volume());
  call->type = p.inputs[0].dtype;
  call->channels_last = p.inputs[0].layout == Layout::kChannelsLast;
  call->scale = static_cast<float>(p.as<PoolParams>().x_scale[0]);
  const Floats& zero = p.as<PoolParams>().x_zero;
  call->zero = zero.empty() ? 0 : static_cast<int32_t>(zero[0]);
  return std::unique_ptr<Call>(std::move(call));
}

Status pool_int8_applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 1, 1));
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  const Floats &scale = p.as<PoolParams>().x_scale, zero = p.as<PoolParams>().x_zero;
  if ((x.dtype != DType::kU8 && x.dtype != DType::kI8) || p.as<PoolParams>().kind != PoolKind::kAvg || scale.empty())
    return unsupported("pool {} of {}: only quantized averages", name_of(p.as<PoolParams>().kind), dtype_name(x.dtype));
  if (scale.size() != 1 || zero.size() > 1 || (zero.size() == 1 && !(zero[0] >= -128 && zero[0] <= 255)))
    return invalid_argument("pool: {} scales and {} zero points", scale.size(), zero.size());
  if (!is_plain(x.layout) || x.layout != y.layout)
    return unsupported("pool from layout {} to {}", layout_name(x.layout), layout_name(y.layout));
  return try_bind(bind_pool_int8, p);
}

}  // namespace

const KernelEntry pool_int8_average{Family::kPool, kSchemeLinear | kSchemeChannelsLast, pool_int8_applies,
                                    make_function_kernel<bind_pool_int8>};

}  // namespace wootz::cpu
