// Pad: more (or, where a pad is negative, fewer) elements at the beginning and end of axes. pads is an attribute with
// two numbers per axis of the data (all begins, then all ends), or input 1 with two per axis of input 3 (default: all
// axes). The filling value is attribute "value" or input 2.
#include <algorithm>
#include <string_view>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

enum class Mode : uint8_t { kConstant, kEdge, kReflect, kWrap };
constexpr std::pair<std::string_view, Mode> kModes[] = {
    {"constant", Mode::kConstant}, {"edge", Mode::kEdge}, {"reflect", Mode::kReflect}, {"wrap", Mode::kWrap}};

std::optional<Mode> mode_of(const Node& node) {
  const std::string name = node.attr_string("mode", "constant");
  for (const auto& [text, mode] : kModes)
    if (text == name) return mode;
  return std::nullopt;
}

// Pads of the listed axes spread over all axes: begins, then ends.
template <typename T>
Result<std::vector<T>> spread(const std::vector<T>& pads, const std::vector<int64_t>& given_axes, int rank) {
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, normalize_axes(given_axes, rank));
  if (pads.size() != 2 * axes.size()) return invalid_argument("{} pads for {} axes", pads.size(), axes.size());
  std::vector<T> all(static_cast<size_t>(2 * rank), T(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    all[static_cast<size_t>(axes[i])] = pads[i];
    all[static_cast<size_t>(axes[i] + rank)] = pads[axes.size() + i];
  }
  return all;
}

std::vector<int64_t> every_axis(int rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  for (int a = 0; a < rank; ++a) axes[static_cast<size_t>(a)] = a;
  return axes;
}

Status infer_pad(InferContext& ctx) {
  const int rank = ctx.rank(0);
  if (!mode_of(ctx.node())) return ctx.fail("mode '{}' is not known", ctx.node().attr_string("mode"));
  if (ctx.has(2) && ctx.dtype(2) != ctx.dtype(0))
    return ctx.fail("the value is {} and the data is {}", dtype_name(ctx.dtype(2)), dtype_name(ctx.dtype(0)));
  if (!has_list(ctx, "pads", 1)) return ctx.fail("pads are required");
  const std::optional<std::vector<Dim>> pads = dims_list(ctx, "pads", 1);
  std::optional<std::vector<int64_t>> axes = every_axis(rank);
  if (ctx.has(3)) axes = ctx.ints_value(3);
  Shape shape = ctx.shape(0);
  if (!pads || !axes) {
    for (int a = 0; a < rank; ++a) shape[static_cast<size_t>(a)] = ctx.data_dependent(0, a);
    ctx.set_output(0, ctx.dtype(0), std::move(shape));
    return Status();
  }
  const Result<std::vector<Dim>> all = spread(*pads, *axes, rank);
  if (!all.ok()) return ctx.fail("{} (input is {})", all.status().message(), shape_to_string(shape));
  const bool constant = mode_of(ctx.node()) == Mode::kConstant;
  for (size_t a = 0; a < shape.size(); ++a) {
    const Dim &begin = (*all)[a], &end = (*all)[a + shape.size()];
    if (!constant && shape[a] == Dim(0) && !(begin == Dim(0) && end == Dim(0)))
      return ctx.fail("axis {} of {} is empty: there is nothing to repeat", a, shape_to_string(ctx.shape(0)));
    shape[a] = shape[a] + begin + end;
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  return Status();
}

// Where element `o` along an axis comes from; -1: the filling value.
int64_t source(int64_t o, int64_t begin, int64_t extent, Mode mode) {
  const int64_t i = o - begin;
  if (i >= 0 && i < extent) return i;
  if (mode == Mode::kConstant || extent == 0) return -1;
  if (mode == Mode::kEdge) return i < 0 ? 0 : extent - 1;
  const int64_t period = mode == Mode::kWrap ? extent : std::max<int64_t>(1, 2 * (extent - 1));
  const int64_t m = ((i % period) + period) % period;
  return m < extent ? m : period - m;
}

Result<HostTensor> fill_value(const EvalContext& ctx) {
  if (ctx.has(2)) {
    if (ctx.in(2).volume() != 1) return invalid_argument("the value has shape {}", ctx.in(2).dims().to_string());
    return ctx.in(2);
  }
  WOOTZ_ASSIGN_OR_RETURN(HostTensor value, HostTensor::allocate(ctx.in(0).dtype(), Dims{}));
  value.set_f64(0, ctx.node.attr_float("value", 0));
  return value;
}

Status pad_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  HostTensor& y = ctx.outputs[0];
  const int rank = x.rank();
  const std::vector<int64_t> axes = ctx.has(3) ? tensor_ints(ctx.in(3)) : every_axis(rank);
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, spread(ints_list(ctx, "pads", 1), axes, rank));
  const Mode mode = mode_of(ctx.node).value_or(Mode::kConstant);
  const Dims strides = x.dims().strides();
  if (mode == Mode::kConstant) {
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor value, fill_value(ctx));
    fill_elements(value, 0, y, 0, y.volume());
    StridedCopy walk;
    for (size_t a = 0; a < x.dims().size(); ++a) {
      const int64_t first = std::max<int64_t>(0, pads[a]);  // in the output
      const int64_t last = std::min(y.dims()[a], pads[a] + x.dims()[a]);
      walk.from_offset += (first - pads[a]) * strides[a];
      walk.to_offset += first * y.dims().strides()[a];
      walk.axis(std::max<int64_t>(0, last - first), strides[a], y.dims().strides()[a]);
    }
    strided_copy(x, y, walk);
    return Status();
  }
  Dims index = Dims::filled(rank, 0);
  for (int64_t o = 0, n = y.volume(); o < n; ++o) {
    int64_t from = 0;
    for (size_t a = 0; a < index.size(); ++a) from += source(index[a], pads[a], x.dims()[a], mode) * strides[a];
    copy_elements(x, from, y, o, 1);
    for (size_t a = index.size(); a-- > 0;) {
      if (++index[a] < y.dims()[a]) break;
      index[a] = 0;
    }
  }
  return Status();
}

const OpDef kPad{.name = "Pad",
                 .max_inputs = 4,
                 .attributes = {{"pads", AttrKind::kInts}, {"mode", AttrKind::kString}, {"value", AttrKind::kFloat}},
                 .infer = infer_pad,
                 .reference = pad_reference,
                 .lowering = Lowering::kMove,
                 .traits = {}};
const OpDef* const kPadDefs[] = {&kPad};

}  // namespace

std::span<const OpDef* const> pad_ops() { return kPadDefs; }

}  // namespace wootz::ops
