// Family reformat: the same logical tensor in another layout or type.
#include "backends/cpu/kernel_entry.h"
#include "backends/cpu/move/strided_copy.h"
#include "backends/cpu/pointwise/engine.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

// A layout's channels: where they begin, and how far apart groups, positions and batch entries are.
struct Walk {
  int64_t groups, lanes, batch, group_step, position;
  int64_t channel(int64_t c) const { return c / lanes * group_step + c % lanes; }
  bool even() const { return groups <= 1 || lanes == 1; }  // all channels lie `step()` apart
  int64_t step() const { return lanes == 1 ? group_step : 1; }
};
Walk walk_of(Layout layout, const Dims& d, int64_t positions) {
  const ChannelOrder order = channel_order(layout, d[1]);
  return {order.groups, order.lanes, order.groups * order.lanes * positions, order.lanes * positions, order.lanes};
}

Status check(const Problem& p) {
  if (p.num_main != 1 || p.inputs.size() != 1 || p.outputs.size() != 1 || !p.epilogue.empty())
    return invalid_argument("reformat: {} inputs, {} outputs", p.inputs.size(), p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  if (!(x.dims == y.dims)) return invalid_argument("reformat of {} gives {}", x.dims.to_string(), y.dims.to_string());
  if (x.layout == Layout::kOpaque || y.layout == Layout::kOpaque) return unsupported("reformat of packed tensors");
  return {};
}

class CopyCall final : public Call {
 public:
  std::vector<StridedCopy> copies;
  std::vector<StridedCopy> zeros;
  Status run(const RunArgs& args) const override {
    const uint64_t zero = 0;
    for (const StridedCopy& c : copies) c.run(args.inputs[0], args.outputs[0]);
    for (const StridedCopy& c : zeros) c.run(&zero, args.outputs[0]);
    return {};
  }
};

class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(const Problem& p) : problem_(p) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != 1 || args.outputs.size() != 1 || !(args.inputs[0] == args.outputs[0]))
      return invalid_argument("reformat: unequal extents to bind");
    auto call = std::make_unique<CopyCall>();
    const Layout from = problem_.inputs[0].layout, to = problem_.outputs[0].layout;
    const Dims& d = args.inputs[0];
    const int bytes = dtype_bits(problem_.inputs[0].dtype) / 8;
    if (from == to || d.rank() < 3) {
      StridedCopy copy(bytes);
      copy.add(static_cast<int64_t>(layout_bytes(from, problem_.inputs[0].dtype, d)) / bytes, 1, 1);
      call->copies.push_back(copy);
    } else if (d.volume() > 0) {
      between(call.get(), from, to, d, bytes);
    }
    for (StridedCopy& c : call->copies) c.prepare();
    for (StridedCopy& c : call->zeros) c.prepare();
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  static void between(CopyCall* call, Layout from, Layout to, const Dims& d, int bytes) {
    int64_t positions = 1;
    for (int i = 2; i < d.rank(); ++i) positions *= d[static_cast<size_t>(i)];
    const Walk a = walk_of(from, d, positions), b = walk_of(to, d, positions);
    const int64_t channels = d[1];
    // `count` times `lanes` channels from channel c, each `apart` after the ones before.
    const auto box = [&](int64_t c, int64_t count, int64_t apart, int64_t lanes) {
      StridedCopy copy(bytes);
      copy.offset(a.channel(c), b.channel(c));
      copy.add(d[0], a.batch, b.batch);
      copy.add(count, a.channel(c + apart) - a.channel(c), b.channel(c + apart) - b.channel(c));
      copy.add(lanes, a.step(), b.step());
      copy.add(positions, a.position, b.position);
      call->copies.push_back(copy);
    };
    // Both go on evenly for so many channels; the larger groups are made of whole smaller ones.
    const int64_t small = std::min(a.even() ? channels : a.lanes, b.even() ? channels : b.lanes);
    const int64_t large = std::max(a.even() ? small : a.lanes, b.even() ? small : b.lanes);
    const int64_t whole = channels / large, rest = whole * large;
    for (int64_t c = 0; whole > 0 && c < large; c += small) box(c, whole, large, small);
    for (int64_t c = rest; c < channels; c += small) box(c, 1, 0, std::min(small, channels - c));
    if (const int64_t padding = b.groups * b.lanes - channels; padding > 0) {
      StridedCopy zero(bytes);
      zero.offset(0, b.channel(channels));
      zero.add(d[0], 0, b.batch);
      zero.add(padding, 0, 1);
      zero.add(positions, 0, b.position);
      call->zeros.push_back(zero);
    }
  }
  Problem problem_;
};

Status applies_copy(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check(p));
  const DType type = p.inputs[0].dtype;
  if (type != p.outputs[0].dtype) return unsupported("{} to {}", dtype_name(type), dtype_name(p.outputs[0].dtype));
  if (dtype_bits(type) % 8 != 0) return unsupported("reformat of {}", dtype_name(type));
  return {};
}
Result<std::unique_ptr<Kernel>> create_copy(const Problem& p, const KernelOptions&) {
  return std::unique_ptr<Kernel>(std::make_unique<CopyKernel>(p));
}

PointwiseExpr cast_expr(DType from, DType to) {
  PointwiseExpr e;
  e.outputs = {e.push(PwOp::kCast, to, e.input(0, from))};
  return e;
}

class CastCall final : public Call {
 public:
  explicit CastCall(BoundPointwise bound) : bound_(std::move(bound)) {}
  Status run(const RunArgs& args) const override {
    parallel_for(bound_.size(), bound_.grain(),
                 [&](int64_t begin, int64_t end) { bound_.run(begin, end, args.inputs, args.outputs); });
    bound_.clear_padding(args.outputs);
    return {};
  }

 private:
  BoundPointwise bound_;
};

class CastKernel final : public Kernel {
 public:
  CastKernel(const Problem& p, std::shared_ptr<const PointwiseCode> code) : problem_(p), code_(std::move(code)) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != 1 || args.outputs.size() != 1 || !(args.inputs[0] == args.outputs[0]))
      return invalid_argument("reformat: unequal extents to bind");
    const PwView in{problem_.inputs[0].dtype, problem_.inputs[0].layout, args.inputs[0]};
    WOOTZ_ASSIGN_OR_RETURN(BoundPointwise bound, BoundPointwise::bind(code_, std::span(&in, 1),
                                                                      {problem_.outputs[0].dtype,
                                                                       problem_.outputs[0].layout, args.outputs[0]}));
    return std::unique_ptr<Call>(std::make_unique<CastCall>(std::move(bound)));
  }

 private:
  Problem problem_;
  std::shared_ptr<const PointwiseCode> code_;
};

Status applies_cast(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check(p));
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  if (x.dtype == y.dtype) return unsupported("the type stays {}", dtype_name(x.dtype));
  if (at_border_only(x.layout) || at_border_only(y.layout))
    return unsupported("{} {} to {} {}", dtype_name(x.dtype), layout_name(x.layout), dtype_name(y.dtype),
                       layout_name(y.layout));
  WOOTZ_ASSIGN_OR_RETURN(auto code, PointwiseCode::compile(cast_expr(x.dtype, y.dtype), Isa::kAvx2));
  const PwView in{x.dtype, x.layout, x.dims};
  return BoundPointwise::bind(code, std::span(&in, 1), {y.dtype, y.layout, y.dims}).status();
}
Result<std::unique_ptr<Kernel>> create_cast(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(auto code,
                         PointwiseCode::compile(cast_expr(p.inputs[0].dtype, p.outputs[0].dtype), options.isa));
  return std::unique_ptr<Kernel>(std::make_unique<CastKernel>(p, std::move(code)));
}

}  // namespace

const KernelEntry reformat_any_strided{Family::kReformat, kSchemeGiven, applies_copy, create_copy};
const KernelEntry reformat_any_cast{Family::kReformat, kSchemeGiven, applies_cast, create_cast};

}  // namespace wootz::cpu
