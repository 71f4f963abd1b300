// The largest of windows, channels last: of bytes as they are, of f32, and of f16 and bf16 in 16 bits.
#include <algorithm>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/physical.h"
#include "backends/cpu/pool/max_windows.h"
#include "backends/cpu/pool/window.h"
#include "backends/cpu/row_reader.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kTile = 1024;         // results that are kept for an epilogue
constexpr int64_t kGrainBytes = 65536;  // of taps: what is worth a thread

class MaxCall final : public Call {
 public:
  PoolPlan plan;
  MaxWindowsFn windows = nullptr;
  Epilogue::Bound end;
  RowReader widen;             // narrow floats, for their epilogue
  bool direct = false;         // results are what is stored
  int64_t bytes = 1;           // of an element
  std::vector<int64_t> alike;  // by position in a row: how many from there on have as many taps, evenly apart

  Status run(const RunArgs& args) const override {
    const int64_t window = std::max<int64_t>(1, plan.in_volume() / std::max<int64_t>(1, plan.out_volume()));
    const int64_t each = std::max<int64_t>(1, window * plan.channels * bytes);
    parallel_for(plan.batch * plan.out_volume(), std::max<int64_t>(1, kGrainBytes / each),
                 [&](int64_t begin, int64_t last) {
                   while (begin < last) begin += neighbours(args, begin, last);
                 });
    return {};
  }

 private:
  // As many positions from `at` on as are alike; gives their number.
  int64_t neighbours(const RunArgs& args, int64_t at, int64_t last) const {
    const int64_t volume = plan.out_volume(), o2 = at % plan.out[2], rest = at / plan.out[2];
    const PoolSpan& s0 = plan.spans[0][static_cast<size_t>(rest / plan.out[1] % plan.out[0])];
    const PoolSpan& s1 = plan.spans[1][static_cast<size_t>(rest % plan.out[1])];
    const PoolSpan& s2 = plan.spans[2][static_cast<size_t>(o2)];
    const int64_t from = ((at / volume * plan.in[0] + s0.first) * plan.in[1] + s1.first) * plan.in[2] + s2.first;
    MaxWindows m;
    m.taps = {s0.taps, s1.taps, s2.taps};
    m.step[2] = plan.dilation[2] * plan.channels;
    m.step[1] = plan.dilation[1] * plan.in[2] * plan.channels;
    m.step[0] = plan.dilation[0] * plan.in[1] * plan.in[2] * plan.channels;
    m.apart = plan.stride[2] * plan.channels;
    m.count = std::min(alike[static_cast<size_t>(o2)], last - at);
    const char* x = static_cast<const char*>(args.inputs[0]) + from * plan.channels * bytes;
    if (!direct) return tiles(args, m, x, at);
    m.x = x;
    m.y = static_cast<char*>(args.outputs[0]) + at * plan.channels * bytes;
    m.y_apart = m.channels = plan.channels;
    windows(m);
    return m.count;
  }

  // Results that go through the epilogue.
  int64_t tiles(const RunArgs& args, MaxWindows m, const char* x, int64_t at) const {
    alignas(64) char found[kTile * sizeof(float)];
    alignas(64) float wide[kTile];
    m.count = std::min(m.count, std::max<int64_t>(1, kTile / plan.channels));
    m.y = found;
    for (int64_t c = 0; c < plan.channels; c += kTile) {
      m.channels = m.y_apart = std::min(kTile, plan.channels - c);
      m.x = x + c * bytes;
      windows(m);
      const int64_t n = m.count * m.channels;
      end.store(at * plan.channels + c, n, bytes == 2 ? widen.read(found, 0, n, wide) : static_cast<void*>(found),
                args);
    }
    return m.count;
  }
};

std::vector<int64_t> alike_from(const PoolPlan& plan) {
  const std::vector<PoolSpan>& spans = plan.spans[2];
  std::vector<int64_t> alike(spans.size(), 1);
  for (size_t o = spans.size(); o-- > 1;)
    if (spans[o - 1].taps == spans[o].taps && spans[o].first - spans[o - 1].first == plan.stride[2])
      alike[o - 1] = alike[o] + 1;
  return alike;
}

Result<std::unique_ptr<Call>> bind_pool_max(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<MaxCall>();
  const DType type = p.inputs[0].dtype;
  call->direct = p.epilogue.empty() && p.outputs[0].dtype == type;
  if (!call->direct) {
    WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, tile_type(type), options.isa));
    WOOTZ_ASSIGN_OR_RETURN(call->end, e.bind(p, args));
    if (dtype_bits(type) == 16) call->widen = RowReader(type, options.isa);
  }
  WOOTZ_ASSIGN_OR_RETURN(call->plan, plan_pool(p, args.inputs[0], args.outputs[0]));
  call->windows = find_max_windows(options.isa, type);
  call->bytes = dtype_bits(type) / 8;
  call->alike = alike_from(call->plan);
  return std::unique_ptr<Call>(std::move(call));
}

Status pool_max_applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 1, 1));
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  const PoolKind kind = p.as<PoolParams>().kind;
  if (kind != PoolKind::kMax || find_max_windows(Isa::kAvx2, x.dtype) == nullptr)
    return unsupported("pool {} of {}", name_of(kind), dtype_name(x.dtype));
  if (x.layout != Layout::kChannelsLast || y.layout != Layout::kChannelsLast)
    return unsupported("pool from layout {} to {}", layout_name(x.layout), layout_name(y.layout));
  return try_bind(bind_pool_max, p);
}

}  // namespace

const KernelEntry pool_max_vectors{Family::kPool, kSchemeChannelsLast, pool_max_applies,
                                   make_function_kernel<bind_pool_max>};

}  // namespace wootz::cpu
