#include "backends/cpu/pool/window.h"

#include <algorithm>

namespace wootz::cpu {
namespace {

constexpr int64_t kLargest = (int64_t{1} << 31) - 1;

// Taps first..last-1 of [0, taps) with start + t * step inside [low, high).
void inside(int64_t start, int64_t step, int64_t taps, int64_t low, int64_t high, int64_t* first, int64_t* last) {
  *first = start >= low ? 0 : (low - start + step - 1) / step;
  *last = start >= high ? 0 : std::min(taps, (high - start + step - 1) / step);
  if (*last < *first) *last = *first;
}

}  // namespace

Result<PoolPlan> plan_pool(const Problem& p, const Dims& in, const Dims& out) {
  PoolPlan plan;
  const int spatial = in.rank() - 2;
  if (spatial < 1 || spatial > 3 || out.rank() != in.rank() || out[0] != in[0] || out[1] != in[1])
    return unsupported("pool of {} to {}", in.to_string(), out.to_string());
  plan.kind = p.as<PoolParams>().kind;
  plan.include_pad = p.as<PoolParams>().count_include_pad;
  plan.p = static_cast<double>(p.as<PoolParams>().p);
  plan.batch = in[0];
  plan.channels = in[1];
  const bool global = p.as<PoolParams>().global;
  const auto n = static_cast<size_t>(spatial);
  const Ints &kernel = p.as<PoolParams>().kernel, strides = p.as<PoolParams>().strides,
             dilations = p.as<PoolParams>().dilations, pads = p.as<PoolParams>().pads;
  if (!global && (kernel.size() != n || strides.size() != n || dilations.size() != n || pads.size() != 2 * n))
    return invalid_argument("pool: a window of {} axes for {}", kernel.size(), in.to_string());
  for (size_t i = 0; i < n; ++i) {
    const size_t a = i + 3 - n;
    const int64_t extent = in[i + 2], count = out[i + 2];
    const int64_t taps = global ? extent : kernel[i], stride = global ? 1 : strides[i],
                  step = global ? 1 : dilations[i];
    const int64_t begin = global ? 0 : pads[i], end = global ? 0 : pads[i + n];
    const auto sane = [](int64_t v, int64_t least) { return v >= least && v <= kLargest; };
    if ((!global && !sane(taps, 1)) || !sane(stride, 1) || !sane(step, 1) || !sane(begin, 0) || !sane(end, 0) ||
        !sane(count, 0) || !sane(extent, 0))
      return invalid_argument("pool: axis {} of {}: kernel {}, stride {}, dilation {}, pads {} and {}", i,
                              in.to_string(), taps, stride, step, begin, end);
    if (global && count != 1) return invalid_argument("global pool of {} gives {}", in.to_string(), out.to_string());
    plan.in[a] = extent;
    plan.out[a] = count;
    plan.stride[a] = stride;
    plan.dilation[a] = step;
    for (int64_t o = 0; o < count; ++o) {
      const int64_t start = o * stride - begin;
      int64_t first = 0, last = 0;
      PoolSpan span;
      inside(start, step, taps, -begin, extent + end, &first, &last);
      span.padded = last - first;
      inside(start, step, taps, 0, extent, &first, &last);
      span.first = start + first * step;
      span.taps = last - first;
      plan.spans[a].push_back(span);
    }
  }
  for (size_t a = 0; a < 3 - n; ++a) plan.spans[a].push_back({0, 1, 1});
  return plan;
}

}  // namespace wootz::cpu
