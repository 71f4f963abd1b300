// Pool: max, average and Lp over sliding windows, or over all spatial axes (global). MaxUnpool.
#include <cmath>
#include <limits>

#include "ops/module_table.h"
#include "ops/support/quant_attrs.h"
#include "ops/support/ref_math.h"
#include "ops/support/window.h"

namespace wootz::ops {
namespace {

Status infer_pool(InferContext& ctx) {
  const Node& node = ctx.node();
  const std::string kind = node.attr_string("kind");
  if (kind != "max" && kind != "avg" && kind != "lp") return ctx.fail("unknown kind '{}'", kind);
  const DType type = ctx.dtype(0);
  // Quantized: x_scale * (average of (x - x_zero)) in f32.
  const bool quantized = node.has_attr("x_scale");
  if (quantized && (kind != "avg" || (!is_int8(type) && !is_fp8(type)) || node.attr_floats("x_scale").size() != 1 ||
                    node.attr_floats("x_zero", {0}).size() != 1))
    return ctx.fail("x_scale is for one scale and zero point of averages of 8 bits, this is {} of {}", kind,
                    dtype_name(type));
  if (kind == "max" ? !is_float(type) && !is_integer(type) : !is_float(type) && !quantized)
    return ctx.fail("input of type {}", dtype_name(type));
  if (node.num_outputs() > 1 && kind != "max") return ctx.fail("only max pooling gives indices");
  if (node.attr_int("p", 2) < 1) return ctx.fail("p is {}", node.attr_int("p", 2));
  const Shape& x = ctx.shape(0);
  const bool global = node.attr_int("global") != 0;
  if (x.size() < (global ? 2u : 3u)) return ctx.fail("input {} has no spatial axes", shape_to_string(x));
  Shape y{x[0], x[1]};
  if (global) {
    y.resize(x.size(), Dim(1));
  } else {
    WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(node, ctx.rank(0) - 2));
    const std::vector<int64_t> kernel = node.attr_ints("kernel");
    if (kernel.size() + 2 != x.size())
      return ctx.fail("a kernel of {} axes for input {}", kernel.size(), shape_to_string(x));
    for (size_t i = 0; i < kernel.size(); ++i) {
      if (kernel[i] < 1 || kernel[i] >= (int64_t{1} << 31)) return ctx.fail("kernel extent {}", kernel[i]);
      y.push_back(window_output(window, static_cast<int>(i), x[i + 2], Dim(kernel[i])));
      if (y.back().is_const() && y.back().value() < 1)
        return ctx.fail("input {} with its padding is smaller than the kernel", shape_to_string(x));
    }
  }
  ctx.set_output(0, quantized ? DType::kF32 : type, y);
  ctx.set_output(1, DType::kI64, y);
  return {};
}

enum class Kind { kMax, kAvg, kLp };

// What the reference reads from a node.
struct PoolSettings {
  explicit PoolSettings(const Node& node)
      : p(static_cast<double>(node.attr_int("p", 2))),
        include_pad(node.attr_int("count_include_pad") != 0),
        column_major(node.attr_int("storage_order") != 0) {
    const std::string name = node.attr_string("kind");
    kind = name == "max" ? Kind::kMax : name == "avg" ? Kind::kAvg : Kind::kLp;
    if (!node.has_attr("x_scale")) return;
    scale = node.attr_floats("x_scale")[0];
    zero = node.attr_floats("x_zero", {0})[0];
  }
  Kind kind = Kind::kMax;
  double p;
  bool include_pad, column_major;  // the second: of the indices
  double scale = 1, zero = 0;      // of quantized averages
};

// One window: what has been seen so far.
struct Pooled {
  double value = 0;
  int64_t best = -1, count = 0;
};

void accumulate(Kind kind, double p, double v, int64_t offset, Pooled* state) {
  ++state->count;
  if (kind == Kind::kAvg) {
    state->value += v;
  } else if (kind == Kind::kLp) {
    state->value += p == 1 ? std::abs(v) : p == 2 ? v * v : std::pow(std::abs(v), p);
  } else if (state->best < 0 || v > state->value || (std::isnan(v) && !std::isnan(state->value))) {
    state->value = v;
    state->best = offset;
  }
}

// Position of tap `k` of the window at output `o` on axis `a`.
int64_t source(const WindowExtents& e, size_t a, int64_t o, int64_t k) {
  return o * e.strides[a] - e.begins[a] + k * e.dilations[a];
}

// Taps [first, last) of the window at output `o` that read between `low` and `high`.
void taps_within(const WindowExtents& e, size_t a, int64_t o, int64_t low, int64_t high, int64_t* first,
                 int64_t* last) {
  const int64_t start = source(e, a, o, 0), step = e.dilations[a];
  *first = start >= low ? 0 : (low - start + step - 1) / step;
  *last = start >= high ? 0 : std::min(e.kernel[a], (high - start + step - 1) / step);
}

// Taps of a window that lie inside the padded extent: the divisor with count_include_pad.
double padded_taps(const WindowExtents& e, const std::array<int64_t, 3>& ends, const std::array<int64_t, 3>& out) {
  double count = 1;
  for (size_t a = 0; a < 3; ++a) {
    int64_t first = 0, last = 0;
    taps_within(e, a, out[a], -e.begins[a], e.in[a] + ends[a], &first, &last);
    count *= static_cast<double>(std::max<int64_t>(0, last - first));
  }
  return count;
}

WindowExtents global_extents(const HostTensor& x) {
  WindowExtents e;
  for (int i = 2; i < x.rank(); ++i) e.in[2] *= x.dims()[static_cast<size_t>(i)];
  e.kernel[2] = e.in[2];
  return e;
}

// The windows of a run and the padding at the end of each axis, which count_include_pad counts.
struct PaddedExtents {
  WindowExtents extents;
  std::array<int64_t, 3> ends{0, 0, 0};
};

Result<PaddedExtents> padded_extents(const Node& node, const HostTensor& x, const Dims& y) {
  PaddedExtents made{.extents = global_extents(x)};
  if (node.attr_int("global") != 0) return made;
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(node, x.rank() - 2));
  const std::vector<int64_t> kernel = node.attr_ints("kernel");
  made.extents = window_extents(window, x.dims(), y, Dims(kernel));
  const WindowExtents& e = made.extents;
  for (int a = 0; a < window.rank; ++a) {
    const auto to = static_cast<size_t>(a + 3 - window.rank);
    const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
    const int64_t reach = (e.out[to] - 1) * e.strides[to] + (e.kernel[to] - 1) * e.dilations[to] + 1;
    if (same)
      made.ends[to] = std::max<int64_t>(0, reach - e.in[to] - e.begins[to]);
    else if (window.auto_pad != AutoPad::kValid)
      made.ends[to] = window.ends[static_cast<size_t>(a)];
  }
  return made;
}

// The window at output `out` of one plane.
Pooled pool_window(const PoolSettings& settings, const WindowExtents& e, const std::array<int64_t, 3>& out,
                   const double* plane) {
  std::array<int64_t, 3> first{}, last{};
  for (size_t a = 0; a < 3; ++a) taps_within(e, a, out[a], 0, e.in[a], &first[a], &last[a]);
  Pooled state;
  for (int64_t k0 = first[0]; k0 < last[0]; ++k0)
    for (int64_t k1 = first[1]; k1 < last[1]; ++k1)
      for (int64_t k2 = first[2]; k2 < last[2]; ++k2) {
        const int64_t offset =
            (source(e, 0, out[0], k0) * e.in[1] + source(e, 1, out[1], k1)) * e.in[2] + source(e, 2, out[2], k2);
        accumulate(settings.kind, settings.p, plane[offset], offset, &state);
      }
  return state;
}

// An offset in a plane of `rank` - 2 spatial axes, with the first of them running fastest.
int64_t to_column_major(const WindowExtents& e, int64_t index, int rank) {
  const int64_t i0 = index / (e.in[1] * e.in[2]), i1 = index / e.in[2] % e.in[1], i2 = index % e.in[2];
  return rank == 5 ? i0 + i1 * e.in[0] + i2 * e.in[0] * e.in[1] : i1 + i2 * e.in[1];
}

double pooled_value(const PoolSettings& settings, const PaddedExtents& padded, const std::array<int64_t, 3>& out,
                    const Pooled& state, double lowest) {
  if (settings.kind == Kind::kMax) return state.best < 0 ? lowest : state.value;
  if (settings.kind == Kind::kLp) return settings.p == 1 ? state.value : std::pow(state.value, 1 / settings.p);
  const double count =
      settings.include_pad ? padded_taps(padded.extents, padded.ends, out) : static_cast<double>(state.count);
  return count == 0 ? 0 : settings.scale * state.value / count;
}

Status reference_pool(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  const PoolSettings settings(ctx.node);
  WOOTZ_ASSIGN_OR_RETURN(const PaddedExtents padded, padded_extents(ctx.node, x, ctx.outputs[0].dims()));
  const WindowExtents& e = padded.extents;
  std::vector<double> data = load_f64(x);
  for (double& v : data) v -= settings.zero;
  std::vector<double> result(static_cast<size_t>(ctx.outputs[0].volume()));
  const double lowest =
      is_float(x.dtype()) ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::lowest();
  const int64_t planes = x.dims()[0] * x.dims()[1];
  size_t at = 0;
  for (int64_t c = 0; c < planes; ++c)
    for (int64_t o0 = 0; o0 < e.out[0]; ++o0)
      for (int64_t o1 = 0; o1 < e.out[1]; ++o1)
        for (int64_t o2 = 0; o2 < e.out[2]; ++o2, ++at) {
          const std::array<int64_t, 3> out{o0, o1, o2};
          const Pooled state = pool_window(settings, e, out, data.data() + c * e.in_volume());
          result[at] = pooled_value(settings, padded, out, state, lowest);
          if (settings.kind != Kind::kMax || ctx.outputs.size() < 2) continue;
          const bool reordered = settings.column_major && state.best >= 0;
          const int64_t index = reordered ? to_column_major(e, state.best, x.rank()) : state.best;
          ctx.outputs[1].set_i64(static_cast<int64_t>(at), c * e.in_volume() + index);
        }
  store_f64(&ctx.outputs[0], 0, result);
  return {};
}

// Inputs x, indices into the flattened result, [output_shape].
Status infer_max_unpool(InferContext& ctx) {
  const Shape& x = ctx.shape(0);
  if (x.size() < 3 || ctx.shape(1).size() != x.size())
    return ctx.fail("input {} with indices {}", shape_to_string(x), shape_to_string(ctx.shape(1)));
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i].is_const() && ctx.shape(1)[i].is_const() && x[i].value() != ctx.shape(1)[i].value())
      return ctx.fail("input {} with indices {}", shape_to_string(x), shape_to_string(ctx.shape(1)));
  if (ctx.dtype(1) != DType::kI64) return ctx.fail("indices of type {}", dtype_name(ctx.dtype(1)));
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(ctx.node(), ctx.rank(0) - 2));
  const std::vector<int64_t> kernel = ctx.node().attr_ints("kernel");
  if (kernel.size() + 2 != x.size())
    return ctx.fail("a kernel of {} axes for input {}", kernel.size(), shape_to_string(x));
  Shape y{x[0], x[1]};
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (kernel[i] < 1 || kernel[i] >= (int64_t{1} << 31)) return ctx.fail("kernel extent {}", kernel[i]);
    y.push_back((x[i + 2] - Dim(1)) * Dim(window.strides[i]) + Dim(kernel[i] - window.begins[i] - window.ends[i]));
  }
  if (ctx.has(2)) {
    const auto wanted = ctx.dims_value(2);
    if (ctx.shape(2).size() != 1 || (ctx.shape(2)[0].is_const() && !(ctx.shape(2)[0] == Dim(ctx.rank(0)))))
      return ctx.fail("output_shape {} for input {}", shape_to_string(ctx.shape(2)), shape_to_string(x));
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = wanted && i < wanted->size() ? (*wanted)[i] : ctx.data_dependent(0, static_cast<int>(i));
  }
  ctx.set_output(0, ctx.dtype(0), y);
  return {};
}

Status reference_max_unpool(EvalContext& ctx) {
  const HostTensor &x = ctx.in(0), &indices = ctx.in(1);
  HostTensor& y = ctx.outputs[0];
  // Indices point into the shape that undoes the pooling; a larger output_shape holds that in its first corner.
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(ctx.node, x.rank() - 2));
  const std::vector<int64_t> kernel = ctx.node.attr_ints("kernel");
  Dims undone{x.dims()[0], x.dims()[1]};
  for (size_t i = 0; i < kernel.size(); ++i)
    undone.push_back((x.dims()[i + 2] - 1) * window.strides[i] + kernel[i] - window.begins[i] - window.ends[i]);
  const Dims strides = undone.strides(), out_strides = y.dims().strides();
  for (int64_t e = 0; e < x.volume(); ++e) {
    int64_t index = indices.get_i64(e), to = 0;
    if (index < 0 || index >= undone.volume())
      return invalid_argument("index {} is outside the unpooled shape {}", index, undone.to_string());
    for (size_t a = 0; a < undone.size(); ++a) {
      const int64_t position = index / strides[a];
      index %= strides[a];
      if (position >= y.dims()[a])
        return invalid_argument("an index points outside output_shape {}", y.dims().to_string());
      to += position * out_strides[a];
    }
    y.set_f64(to, x.get_f64(e));
  }
  return {};
}

const OpDef kPool{
    .name = "Pool",
    .max_outputs = 2,
    .attributes = {{"kind", AttrKind::kString, true},
                   {"kernel", AttrKind::kInts},
                   {"strides", AttrKind::kInts},
                   {"pads", AttrKind::kInts},
                   {"dilations", AttrKind::kInts},
                   {"ceil_mode", AttrKind::kInt},
                   {"count_include_pad", AttrKind::kInt},
                   {"p", AttrKind::kInt},
                   {"global", AttrKind::kInt},
                   {"auto_pad", AttrKind::kString},
                   {"storage_order", AttrKind::kInt},
                   kQuantAttrSpecs[0],
                   kQuantAttrSpecs[1]},
    .infer = infer_pool,
    .reference = reference_pool,
    .lowering = Lowering::kPool,
};
const OpDef kMaxUnpool{
    .name = "MaxUnpool",
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = {{"kernel", AttrKind::kInts, true}, {"strides", AttrKind::kInts}, {"pads", AttrKind::kInts}},
    .infer = infer_max_unpool,
    .reference = reference_max_unpool,
};

}  // namespace

std::span<const OpDef* const> pool_ops() {
  static const OpDef* const kPoolDefs[] = {&kPool, &kMaxUnpool};
  return kPoolDefs;
}

}  // namespace wootz::ops
