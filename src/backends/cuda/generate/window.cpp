// Family pool, one thread a result: the general form; and what it shares with convolutions of that form. Neighbouring
// threads make neighbours in the output's memory.
#include "backends/cuda/generate/window.h"

#include <algorithm>

#include "backends/cuda/generate/columns.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/support/int8_weights.h"
#include "base/expressions.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

// The window is the whole image, and nothing else is in it.
bool is_whole(const Window& w, const Dims& x, const Dims& y) {
  bool whole = true;
  for (size_t k = 0; k < w.kernel.size(); ++k)
    whole = whole && y[k + 2] == 1 && w.kernel[k] == x[k + 2] && (x[k + 2] == 1 || w.dilations[k] == 1);
  for (const int64_t pad : w.pads) whole = whole && pad == 0;
  return whole;
}

// Kind in pool/taps.cuh; null: none.
const char* pool_kind(PoolKind kind, bool scaled) {
  if (kind == PoolKind::kMax) return "PoolMax";
  if (kind == PoolKind::kAvg) return scaled ? "PoolScaledMean" : "PoolMean";
  return kind == PoolKind::kLp ? "PoolPower" : nullptr;
}

// What a step along each spatial axis adds to the number of an element in its image.
std::vector<int64_t> index_steps(const Dims& x, bool first_fastest) {
  std::vector<int64_t> steps;
  for (size_t a = 2; a < x.size(); ++a)
    steps.push_back(first_fastest ? volume_of(x, 2, a) : volume_of(x, a + 1, x.size()));
  return steps;
}

// Whether an int holds the offset and the number of any tap of a window, padding included.
bool offsets_fit(const Window& w, const Dims& x, const Dims& strides, const std::vector<int64_t>& steps) {
  double largest = static_cast<double>(x.volume());
  for (size_t k = 0; k < w.kernel.size(); ++k) {
    const int64_t reach = x[k + 2] + 2 * (w.pads[k] + w.pads[k + w.kernel.size()]) + w.kernel[k] * w.dilations[k];
    largest += static_cast<double>(reach) * static_cast<double>(std::max(strides[k + 2], steps[k]));
  }
  return largest < 0x1p31;
}

// What pool/windows.cuh and pool/places.cuh ask for.
Status add_pool(const Problem& p, const BindArgs& args, const Window& window, bool indices,
                std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const PoolParams& params = p.as<PoolParams>();
  const DType type = p.inputs[0].dtype;
  const bool scaled = has_scales(p);
  const char* kind = pool_kind(params.kind, scaled);
  if (kind == nullptr) return unsupported("pool of kind '{}'", name_of(params.kind));
  if (params.kind == PoolKind::kLp && params.p < 1) return invalid_argument("pool: p is {}", params.p);
  KernelSource source(indices ? "pool/places.cuh" : "pool/windows.cuh", transient(p, args));
  source.type("A", scaled ? "int" : register_type(type));
  source.type("R", scaled ? "float" : register_type(type));
  source.choice("Kind", kind);
  source.fixed("kWithPadding", params.count_include_pad);
  source.fixed("kPower", params.p);
  source.fixed("kZero", params.x_zero.empty() ? 0 : static_cast<int>(params.x_zero[0]));
  source.fixed_real("kScale", params.x_scale.empty() ? 1 : double{params.x_scale[0]});
  source.operand(fmt::format("{}* __restrict__", storage_type(p.outputs[0].dtype)), "y", {true, 0});
  source.operand(fmt::format("const {}*", storage_type(type)), "x", {false, 0});
  source.epilogue_operands(p);
  if (indices) source.operand("s64* __restrict__", "place", {true, 1});
  const Dims xs = layout_strides(p.inputs[0].layout, x);
  source.number("x_image", xs[0]);
  source.number("x_channel", xs[1]);
  const std::vector<int64_t> steps = index_steps(x, params.storage_order != 0);
  source.type("Offset", offsets_fit(window, x, xs, steps) ? "int" : "s64");
  for (size_t k = 0; k < 3; ++k) {
    const bool there = k + 2 < x.size();
    const int64_t extent = there ? x[k + 2] : 1;
    source.number(fmt::format("x_stride{}", k), there ? xs[k + 2] : 0);
    source.number(fmt::format("end{}", k), extent + (there ? window.pads[k + x.size() - 2] : 0));
    source.number(fmt::format("index{}", k), there ? steps[k] : 1);
  }
  source.number("plane", volume_of(x, 2, x.size()));
  WOOTZ_RETURN_IF_ERROR(add_window(p, args, window, &source));
  WOOTZ_RETURN_IF_ERROR(source.epilogue(p, scaled ? DType::kF32 : type, "const Place& at", place_offsets(p)));
  return source.finish(kBlock, blocks_for(y.volume(), kBlock), launches);
}

}  // namespace

Status check_window(const Problem& p, const BindArgs& args, size_t inputs, size_t outputs) {
  if (static_cast<size_t>(p.num_main) < 1 || p.inputs.size() < inputs || p.outputs.size() != outputs)
    return invalid_argument("{} inputs, {} outputs", p.num_main, p.outputs.size());
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (x.rank() < 3 || x.rank() > 5 || y.rank() != x.rank() || x[0] != y[0])
    return unsupported("{} to {}", x.to_string(), y.to_string());
  if (!is_plain(p.inputs[0].layout) || !is_plain(p.outputs[0].layout)) return unsupported("layout");
  WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[0].dtype));
  // What 8 bits with a scale come to is a float.
  return check_epilogue(p, has_scales(p) ? DType::kF32 : p.inputs[0].dtype);
}

Status check_values(const std::vector<int64_t>& values, size_t count, int64_t least) {
  if (values.size() != count) return invalid_argument("{} values for {} axes", values.size(), count);
  for (const int64_t v : values)
    if (v < least || v > (1 << 24)) return invalid_argument("a window parameter of {}", v);
  return Status();
}

Result<Window> pool_window(const Problem& p, const Dims& x) {
  const size_t n = x.size() - 2;
  Window w{p.as<PoolParams>().kernel, p.as<PoolParams>().strides, p.as<PoolParams>().dilations,
           p.as<PoolParams>().pads};
  if (p.as<PoolParams>().global) {
    w.kernel.assign(x.begin() + 2, x.end());
    w.strides.assign(n, 1);
    w.dilations.assign(n, 1);
    w.pads.assign(2 * n, 0);
  }
  WOOTZ_RETURN_IF_ERROR(check_values(w.kernel, n, 0));
  WOOTZ_RETURN_IF_ERROR(check_values(w.strides, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(w.dilations, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(w.pads, 2 * n, 0));
  return w;
}

std::vector<std::string> place_offsets(const Problem& p) {
  std::vector<std::string> offsets;
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i)
    offsets.push_back(fmt::format("at.e{}", offsets.size() + 1));
  return offsets;
}

Status add_places(const Problem& p, const BindArgs& args, std::vector<std::string> names,
                  std::vector<std::vector<int64_t>> strides, KernelSource* source) {
  const Dims& y = args.outputs[0];
  WOOTZ_RETURN_IF_ERROR(check_count(y.volume()));
  if (y.volume() >= (int64_t{1} << 31)) return unsupported("{} results", y.volume());
  source->fixed("kThreads", kBlock);
  source->number("count", y.volume());
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], y));
    names.push_back(fmt::format("e{}", i - static_cast<size_t>(p.num_main) + 1));
    strides.push_back(std::move(s));
  }
  std::vector<Axis> axes;
  for (const int a : memory_order(y.rank() < 3 ? Layout::kLinear : p.outputs[0].layout, y.rank())) {
    Axis axis{y[static_cast<size_t>(a)], {}};
    for (const auto& s : strides) axis.strides.push_back(s[static_cast<size_t>(a)]);
    axes.push_back(std::move(axis));
  }
  source->walk("Place", "place", axes, names);
  return Status();
}

Status add_window(const Problem& p, const BindArgs& args, const Window& window, KernelSource* source) {
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  for (size_t k = 0; k < 3; ++k) {
    const bool there = k + 2 < x.size();
    source->number(fmt::format("kernel{}", k), there ? window.kernel[k] : 1);
    source->number(fmt::format("stride{}", k), there ? window.strides[k] : 1);
    source->number(fmt::format("dilation{}", k), there ? window.dilations[k] : 1);
    source->number(fmt::format("pad{}", k), there ? window.pads[k] : 0);
    source->number(fmt::format("in{}", k), there ? x[k + 2] : 1);
    source->number(fmt::format("out{}", k), there ? y[k + 2] : 1);
  }
  source->number("channels", y[1]);
  const std::vector<std::string> names{"n", "channel", "d0", "d1", "d2", "y"};
  std::vector<std::vector<int64_t>> strides(names.size(), std::vector<int64_t>(y.size(), 0));
  for (size_t a = 0; a < y.size(); ++a) strides[a][a] = 1;
  const Dims ys = layout_strides(p.outputs[0].layout, y);
  strides.back().assign(ys.begin(), ys.end());
  return add_places(p, args, names, strides, source);
}

// An average of floats of 8 bits by a scale: one of floats, whose expression begins with the scale.
Result<Problem> with_scale_behind(const Problem& p) {
  auto plain = p;
  auto& pool = plain.as<PoolParams>();
  if (pool.kind != PoolKind::kAvg || pool.x_scale.size() != 1 || (!pool.x_zero.empty() && pool.x_zero[0] != 0))
    return unsupported("pool {} of scaled {}", name_of(pool.kind), dtype_name(p.inputs[0].dtype));
  PointwiseExpr e;
  const uint16_t mean =
      e.push(PwOp::kMul, DType::kF32, e.input(0, DType::kF32), e.constant(pool.x_scale[0], DType::kF32));
  e.outputs = append_expression(&e, p.epilogue,
                                [&](const PwInstr& load) { return load.a == 0 ? mean : e.input(load.a, load.type); });
  if (e.outputs.empty()) e.outputs = {mean};
  e.num_inputs = std::max<uint16_t>(1, p.epilogue.num_inputs);
  plain.epilogue = std::move(e);
  drop_grids(&plain);
  return plain;
}

Status generate_pool(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (has_scales(p) && is_fp8(p.inputs[0].dtype)) {
    WOOTZ_ASSIGN_OR_RETURN(const Problem plain, with_scale_behind(p));
    return generate_pool(plain, args, launches);
  }
  const bool indices = p.outputs.size() == 2 && p.as<PoolParams>().kind == PoolKind::kMax;
  WOOTZ_RETURN_IF_ERROR(check_window(p, args, 1, indices ? 2 : 1));
  if (indices && (p.outputs[1].dtype != DType::kI64 || p.outputs[1].layout != p.outputs[0].layout ||
                  !(args.outputs[1] == args.outputs[0])))
    return unsupported("indices of {}", dtype_name(p.outputs[1].dtype));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const PoolKind kind = p.as<PoolParams>().kind;
  const DType type = p.inputs[0].dtype;
  if (p.num_main != 1 || x[1] != y[1]) return invalid_argument("pool of {} to {}", x.to_string(), y.to_string());
  const bool scaled = has_scales(p);
  if (scaled && (kind != PoolKind::kAvg || !is_int8(type) || p.as<PoolParams>().x_scale.size() != 1))
    return unsupported("pool {} of scaled {}", name_of(kind), dtype_name(type));
  if (!is_float(type) && kind != PoolKind::kMax && !scaled)
    return unsupported("pool {} of {}", name_of(kind), dtype_name(type));
  WOOTZ_ASSIGN_OR_RETURN(const Window window, pool_window(p, x));
  const bool whole = !indices && is_whole(window, x, y);  // one result a channel: a reduction
  if (whole && scaled && x.volume() > 0) return generate_scaled_mean(p, args, launches);
  if (whole && !scaled && (kind == PoolKind::kAvg || kind == PoolKind::kMax)) {
    Problem reduce = p;
    std::vector<int64_t> axes;
    for (size_t a = 2; a < x.size(); ++a) axes.push_back(static_cast<int64_t>(a));
    reduce.params =
        ReduceParams{.kind = kind == PoolKind::kAvg ? ReduceKind::kMean : ReduceKind::kMax, .axes = std::move(axes)};
    return generate_reduce(reduce, args, launches);
  }
  if (y.volume() == 0) return Status();
  return add_pool(p, args, window, indices, launches);
}

}  // namespace wootz::cuda
