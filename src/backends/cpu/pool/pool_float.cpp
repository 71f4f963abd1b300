// Max and average pooling of f32, f16 and bf16: vectors along rows (row-major) or across channels (channels-last).
#include <algorithm>
#include <limits>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/physical.h"
#include "backends/cpu/pool/window.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kTile = 1024;  // results at a time
constexpr float kLow = -std::numeric_limits<float>::infinity();

class PoolCall final : public Call {
 public:
  PoolPlan plan;
  Epilogue::Bound end;
  RowReader reader;
  const RowOps* ops = nullptr;
  bool channels_last = false;

  Status run(const RunArgs& args) const override {
    const int64_t work =
        std::max<int64_t>(1, plan.in_volume() / std::max<int64_t>(1, plan.out_volume()));  // reads per result
    if (channels_last) {
      parallel_for(plan.batch * plan.out_volume(),
                   std::max<int64_t>(1, 8192 / std::max<int64_t>(1, plan.channels * work)),
                   [&](int64_t begin, int64_t last) {
                     for (int64_t i = begin; i < last; ++i) position(args, i);
                   });
      return {};
    }
    if (plan.out_volume() == 1) {
      parallel_for(plan.batch * plan.channels, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, plan.in_volume())),
                   [&](int64_t begin, int64_t last) { single(args, begin, last); });
      return {};
    }
    const int64_t rows = plan.batch * plan.channels * plan.out[0] * plan.out[1];
    parallel_for(rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, plan.out[2] * work)),
                 [&](int64_t begin, int64_t last) {
                   for (int64_t r = begin; r < last; ++r) row(args, r);
                 });
    return {};
  }

 private:
  RowOp op() const { return plan.kind == PoolKind::kMax ? RowOp::kMax : RowOp::kSum; }
  float start() const { return plan.kind == PoolKind::kMax ? kLow : 0; }
  // Averages are divided last; a window that holds nothing gives 0.
  void divide(float* v, int64_t n, double divisor) const {
    if (plan.kind == PoolKind::kAvg) ops->scale(v, v, n, divisor == 0 ? 0 : static_cast<float>(1 / divisor));
  }

  // All channels of one output position.
  void position(const RunArgs& args, int64_t i) const {
    alignas(64) float tile[kTile], in[kTile];
    const int64_t b = i / plan.out_volume(), at = i % plan.out_volume();
    const PoolSpan& s0 = plan.spans[0][static_cast<size_t>(at / (plan.out[1] * plan.out[2]))];
    const PoolSpan& s1 = plan.spans[1][static_cast<size_t>(at / plan.out[2] % plan.out[1])];
    const PoolSpan& s2 = plan.spans[2][static_cast<size_t>(at % plan.out[2])];
    for (int64_t c = 0; c < plan.channels; c += kTile) {
      const int64_t n = std::min(kTile, plan.channels - c);
      std::fill_n(tile, n, start());
      for (int64_t t0 = 0; t0 < s0.taps; ++t0)
        for (int64_t t1 = 0; t1 < s1.taps; ++t1)
          for (int64_t t2 = 0; t2 < s2.taps; ++t2) {
            const int64_t from =
                ((b * plan.in[0] + s0.first + t0 * plan.dilation[0]) * plan.in[1] + s1.first + t1 * plan.dilation[1]) *
                    plan.in[2] +
                s2.first + t2 * plan.dilation[2];
            ops->accumulate(op(), tile, reader.read(args.inputs[0], from * plan.channels + c, n, in), nullptr, n);
          }
      divide(tile, n, plan.divisor(s0, s1, s2));
      end.store(i * plan.channels + c, n, tile, args);
    }
  }

  // One result for each plane (global pooling and the like): whole rows of taps.
  void single(const RunArgs& args, int64_t begin, int64_t last) const {
    alignas(64) float tile[kTile], in[kRowChunk];
    const PoolSpan &s0 = plan.spans[0][0], &s1 = plan.spans[1][0], &s2 = plan.spans[2][0];
    while (begin < last) {
      const int64_t n = std::min(kTile, last - begin);
      for (int64_t i = 0; i < n; ++i) {
        double acc = start();
        const auto rows = [&](int64_t from, int64_t length) {
          for (int64_t x = 0; x < length; x += kRowChunk) {
            const int64_t m = std::min(kRowChunk, length - x);
            const float v = ops->reduce(op(), reader.read(args.inputs[0], from + x, m, in), m, 0);
            if (plan.kind == PoolKind::kAvg)
              acc += v;
            else
              acc = acc != acc || acc > v ? acc : v;
          }
        };
        const int64_t plane = (begin + i) * plan.in_volume();
        if (s0.taps == plan.in[0] && s1.taps == plan.in[1] && s2.taps == plan.in[2]) {
          rows(plane, plan.in_volume());
        } else {
          for (int64_t t0 = 0; t0 < s0.taps; ++t0)
            for (int64_t t1 = 0; t1 < s1.taps; ++t1)
              for (int64_t t2 = 0; t2 < s2.taps; t2 += plan.dilation[2] == 1 ? s2.taps : 1)
                rows(plane +
                         ((s0.first + t0 * plan.dilation[0]) * plan.in[1] + s1.first + t1 * plan.dilation[1]) *
                             plan.in[2] +
                         s2.first + t2 * plan.dilation[2],
                     plan.dilation[2] == 1 ? s2.taps : 1);
        }
        const double divisor = plan.divisor(s0, s1, s2);
        tile[i] = static_cast<float>(plan.kind == PoolKind::kMax ? acc : divisor == 0 ? 0 : acc / divisor);
      }
      end.store(begin, n, tile, args);
      begin += n;
    }
  }

  // One row of results: rows of the input are combined first, then taps along the row.
  void row(const RunArgs& args, int64_t r) const {
    alignas(64) float column[kTile], in[kTile], tile[kTile];
    const int64_t plane = r / (plan.out[0] * plan.out[1]);
    const PoolSpan& s0 = plan.spans[0][static_cast<size_t>(r / plan.out[1] % plan.out[0])];
    const PoolSpan& s1 = plan.spans[1][static_cast<size_t>(r % plan.out[1])];
    int64_t o = 0;
    while (o < plan.out[2]) {
      // As many results as read at most kTile input elements.
      const auto& spans = plan.spans[2];
      const auto reach = [&](int64_t i) {
        const PoolSpan& s = spans[static_cast<size_t>(i)];
        return s.taps == 0 ? INT64_MIN : s.first + (s.taps - 1) * plan.dilation[2] + 1;
      };
      const int64_t low = std::max<int64_t>(0, std::min(spans[static_cast<size_t>(o)].first, plan.in[2]));
      int64_t n = 0, high = low;
      while (o + n < plan.out[2] && n < kTile && std::max(high, reach(o + n)) - low <= kTile)
        high = std::max(high, reach(o + n++));
      if (n == 0) {  // one window is longer than the buffer
        tile[0] = long_window(args, plane, s0, s1, spans[static_cast<size_t>(o)]);
        end.store(r * plan.out[2] + o, 1, tile, args);
        ++o;
        continue;
      }
      const int64_t width = high - low;
      std::fill_n(column, width, start());
      for (int64_t t0 = 0; t0 < s0.taps; ++t0)
        for (int64_t t1 = 0; t1 < s1.taps; ++t1) {
          const int64_t from = ((plane * plan.in[0] + s0.first + t0 * plan.dilation[0]) * plan.in[1] + s1.first +
                                t1 * plan.dilation[1]) *
                                   plan.in[2] +
                               low;
          ops->accumulate(op(), column, reader.read(args.inputs[0], from, width, in), nullptr, width);
        }
      along_row(column, low, o, n, tile);
      if (plan.kind == PoolKind::kAvg)
        for (int64_t i = 0; i < n; ++i) {
          const double divisor = plan.divisor(s0, s1, spans[static_cast<size_t>(o + i)]);
          tile[i] = divisor == 0 ? 0 : static_cast<float>(tile[i] / divisor);
        }
      end.store(r * plan.out[2] + o, n, tile, args);
      o += n;
    }
  }

  void along_row(const float* column, int64_t low, int64_t o, int64_t n, float* tile) const {
    const auto& spans = plan.spans[2];
    const int64_t step = plan.dilation[2];
    for (int64_t i = 0; i < n; ++i) {
      const PoolSpan& s = spans[static_cast<size_t>(o + i)];
      const float* x = column + (s.first - low);
      float acc = start();
      if (plan.kind == PoolKind::kMax)
        for (int64_t t = 0; t < s.taps; ++t) acc = acc != acc || acc > x[t * step] ? acc : x[t * step];
      else
        for (int64_t t = 0; t < s.taps; ++t) acc += x[t * step];
      tile[i] = acc;
    }
  }

  float long_window(const RunArgs& args, int64_t plane, const PoolSpan& s0, const PoolSpan& s1,
                    const PoolSpan& s2) const {
    double acc = start();
    float in[1];
    for (int64_t t0 = 0; t0 < s0.taps; ++t0)
      for (int64_t t1 = 0; t1 < s1.taps; ++t1)
        for (int64_t t2 = 0; t2 < s2.taps; ++t2) {
          const int64_t from = ((plane * plan.in[0] + s0.first + t0 * plan.dilation[0]) * plan.in[1] + s1.first +
                                t1 * plan.dilation[1]) *
                                   plan.in[2] +
                               s2.first + t2 * plan.dilation[2];
          const float v = *reader.read(args.inputs[0], from, 1, in);
          if (plan.kind == PoolKind::kAvg)
            acc += v;
          else
            acc = acc != acc || acc > v ? acc : v;
        }
    const double divisor = plan.divisor(s0, s1, s2);
    return static_cast<float>(plan.kind == PoolKind::kMax ? acc : divisor == 0 ? 0 : acc / divisor);
  }
};

Result<std::unique_ptr<Call>> bind_pool_float(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<PoolCall>();
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  WOOTZ_ASSIGN_OR_RETURN(call->end, e.bind(p, args));
  WOOTZ_ASSIGN_OR_RETURN(call->plan, plan_pool(p, args.inputs[0], args.outputs[0]));
  call->reader = RowReader(p.inputs[0].dtype, options.isa);
  call->ops = &row_ops(options.isa);
  call->channels_last = p.inputs[0].layout == Layout::kChannelsLast;
  return std::unique_ptr<Call>(std::move(call));
}

Status pool_float_applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 1, 1));
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  if (!is_row_type(x.dtype)) return unsupported("pool of {}", dtype_name(x.dtype));
  if (p.as<PoolParams>().kind == PoolKind::kLp) return unsupported("pool of kind 'lp'");
  if (!is_plain(x.layout) || x.layout != y.layout)
    return unsupported("pool from layout {} to {}", layout_name(x.layout), layout_name(y.layout));
  return try_bind(bind_pool_float, p);
}

}  // namespace

const KernelEntry pool_float_rows{Family::kPool, kSchemeLinear | kSchemeChannelsLast, pool_float_applies,
                                  make_function_kernel<bind_pool_float>};

}  // namespace wootz::cpu
