// What an op makes or takes at places that numbers say: ranges, filled tensors, slices and padding whose numbers are
// not known before running (those that are become the family move).
#include <algorithm>
#include <cstdint>

#include "backends/cuda/generate/special/numbers.h"

namespace wootz::cuda {

Result<Numbers> Numbers::read(const Problem& p, const BindArgs& args, const MaybeInts& attribute, size_t input) {
  Numbers n;
  if (attribute) {
    n.known_ = attribute;
  } else if (const Ints* known = known_operand(p, input)) {
    n.known_ = *known;
  } else if (has_operand(p, input)) {
    if (!is_integer(p.inputs[input].dtype))
      return invalid_argument("operand {} of {}: no integers", input, dtype_name(p.inputs[input].dtype));
    n.input_ = static_cast<int>(input);
    n.count_ = static_cast<size_t>(args.inputs[input].volume());
    return n;
  }
  if (n.known_)
    for (int64_t& v : *n.known_) v = std::clamp<int64_t>(v, -(INT64_MAX / 4), INT64_MAX / 4);  // far beyond any extent
  n.count_ = n.known_ ? n.known_->size() : 0;
  return n;
}

Status generate_range(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 3));
  const DType type = p.outputs[0].dtype;
  const Dims& y = args.outputs[0];
  if (y.rank() != 1 || p.inputs[0].dtype != type || p.inputs[2].dtype != type || type == DType::kBool ||
      args.inputs[0].volume() != 1 || args.inputs[2].volume() != 1)
    return invalid_argument("a range as {}", y.to_string());
  if (y.volume() == 0) return Status();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  w.line("  typedef {} A; y0[i] = Put<{}>::to(({})((A)w_get(x0[0]) + (A)i * (A)w_get(x2[0])));",
         is_float(type) ? "double" : "u64", storage_type(type), register_type(type));
  end_special(&w, std::move(launch), launches);
  return Status();
}

Status generate_filled(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& y = args.outputs[0];
  const DType type = p.outputs[0].dtype;
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  if (y.volume() == 0) return Status();
  const bool real = is_float(type);
  const auto& op = *op_params<ConstantOfShapeOpParams>(p);
  std::string value =
      real ? fmt::format("(double){:.17g}", op.real) : fmt::format("(s64)0x{:x}ull", static_cast<uint64_t>(op.whole));
  if (const double v = op.real; real && !(v - v == 0)) value = v != v ? "W_NAN" : v > 0 ? "W_INF" : "-W_INF";
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  w.line("  y0[i] = Put<{}>::to(({})({}));", storage_type(type), register_type(type), value);
  end_special(&w, std::move(launch), launches);
  return Status();
}

Status generate_eye(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& y = args.outputs[0];
  if (y.rank() != 2) return unsupported("the identity as {}", y.to_string());
  if (y.volume() == 0) return Status();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  w.line("  y0[i] = Put<{0}>::to(i % {1} == i / {1} + ({2}ll) ? 1 : 0);", storage_type(p.outputs[0].dtype), y[1],
         std::clamp<int64_t>(op_params<EyeLikeOpParams>(p)->k, -y[0], y[1]));
  end_special(&w, std::move(launch), launches);
  return Status();
}

namespace {

// Axis of each number: all in order where none are named.
Result<std::vector<int64_t>> axes_of(const Problem& p, const BindArgs& args, const MaybeInts& attribute, size_t count,
                                     int rank) {
  WOOTZ_ASSIGN_OR_RETURN(const Numbers named, Numbers::read(p, args, attribute, 3));
  if (named.present() && !named.known()) return unsupported("axes that only running tells");
  std::vector<int64_t> axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int64_t>(i);
  if (named.known() && !named.known()->empty()) axes = *named.known();
  if (axes.size() != count) return invalid_argument("{} axes for {} numbers", axes.size(), count);
  for (int64_t& a : axes) {
    if (a < 0) a += rank;
    if (a < 0 || a >= rank) return invalid_argument("axis {} of {}", a, rank);
  }
  return axes;
}

// Source that finds `from`, the place in x of result i, axis by axis: coordinate c of the result becomes one of x by
// what `move` writes. `in` says whether that lies in x.
template <class Move>
void write_walk(const Dims& x, const Dims& y, Writer* w, Move move) {
  const Dims s = x.strides();
  w->line("  s64 rest = i, from = 0; bool in = true;");
  for (size_t a = x.size(); a-- > 0;) {
    w->line("  {{ s64 c = rest % {0}; rest /= {0};", y[a]);
    move(a);
    w->line("    if (c < 0 || c >= {}) in = false;\n    from += c * {}; }}", x[a], s[a]);
  }
}

const char* element_type(const Problem& p) {
  return p.inputs[0].dtype == p.outputs[0].dtype ? bits_type(dtype_bits(p.inputs[0].dtype)) : nullptr;
}

}  // namespace

Status generate_slice(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (x.rank() != y.rank() || element_type(p) == nullptr)
    return unsupported("a slice {} of {}", y.to_string(), x.to_string());
  const auto& op = *op_params<SliceOpParams>(p);
  WOOTZ_ASSIGN_OR_RETURN(const Numbers starts, Numbers::read(p, args, op.starts, 1));
  WOOTZ_ASSIGN_OR_RETURN(const Numbers steps, Numbers::read(p, args, op.steps, 4));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, axes_of(p, args, op.axes, starts.count(), x.rank()));
  if (steps.present() && steps.count() != starts.count())
    return invalid_argument("{} steps for {} starts", steps.count(), starts.count());
  if (y.volume() == 0) return Status();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  write_walk(x, y, &w, [&](size_t a) {
    for (size_t k = 0; k < axes.size(); ++k) {
      if (axes[k] != static_cast<int64_t>(a)) continue;
      w.line("    const s64 step = {}; s64 start = {}; if (start < 0) start += {};",
             steps.present() ? steps.at(k) : std::string("1"), starts.at(k), x[a]);
      w.line(
          "    const s64 top = step > 0 ? {0} : {0} - 1; c = (start < 0 ? 0 : start > top ? top : start) + c * step;",
          x[a]);
    }
  });
  w.line("  typedef {} E; ((E*)y0)[i] = in ? ((const E*)x0)[from] : (E)0;", element_type(p));
  end_special(&w, std::move(launch), launches);
  return Status();
}

Status generate_padded(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const auto& op = *op_params<PadOpParams>(p);
  const PadMode mode = op.mode;
  const DType type = p.inputs[0].dtype;
  WOOTZ_ASSIGN_OR_RETURN(const Numbers pads, Numbers::read(p, args, op.pads, 1));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, axes_of(p, args, op.axes, pads.count() / 2, x.rank()));
  if (x.rank() != y.rank() || pads.count() % 2 != 0 || type != p.outputs[0].dtype ||
      (has_operand(p, 2) && (p.inputs[2].dtype != type || args.inputs[2].volume() != 1)))
    return invalid_argument("{} padded to {}", x.to_string(), y.to_string());
  if (y.volume() == 0) return Status();
  if (x.volume() == 0 && mode != PadMode::kConstant) return invalid_argument("nothing to repeat in {}", x.to_string());
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  write_walk(x, y, &w, [&](size_t a) {
    for (size_t k = 0; k < axes.size(); ++k)
      if (axes[k] == static_cast<int64_t>(a)) w.line("    c -= {};", pads.at(k));
    if (mode == PadMode::kEdge) w.line("    c = c < 0 ? 0 : c >= {0} ? {0} - 1 : c;", x[a]);
    if (mode == PadMode::kWrap) w.line("    c %= {0}; if (c < 0) c += {0};", x[a]);
    if (mode == PadMode::kReflect)
      w.line("    c %= {0}; if (c < 0) c += {0}; if (c >= {1}) c = {0} - c;", std::max<int64_t>(1, 2 * (x[a] - 1)),
             x[a]);
  });
  w.line("  y0[i] = in ? x0[from] : {};",
         has_operand(p, 2)
             ? std::string("x2[0]")
             : fmt::format("Put<{}>::to(w_cast<{}>({:.17g}))", storage_type(type), register_type(type), op.value));
  end_special(&w, std::move(launch), launches);
  return Status();
}

// As the family, with as many as the result has room for.
Status generate_counted_topk(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 2 || p.outputs.size() != 2 || args.outputs[0].rank() != args.inputs[0].rank())
    return invalid_argument("TopK of {} operands", p.inputs.size());
  const auto& op = *op_params<CountedTopKOpParams>(p);
  int64_t axis = op.axis;
  if (axis < 0) axis += args.inputs[0].rank();
  if (axis < 0 || axis >= args.inputs[0].rank()) return invalid_argument("TopK along axis {}", axis);
  Problem topk = p;
  topk.num_main = 1;
  topk.inputs.resize(1);
  topk.params = TopKParams{.axis = axis,
                           .k = args.outputs[0][static_cast<size_t>(axis)],
                           .largest = op.largest,
                           .sorted = op.sorted,
                           .softmax = op.softmax};
  return generate_topk(topk, {args.inputs.first(1), args.outputs, {}}, launches);
}

// The channels of a block in the other order: as a move.
Status generate_space_to_depth(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  Problem move = p;
  move.num_main = 1;
  const auto& op = *op_params<SpaceToDepthOpParams>(p);
  move.params = MoveParams{.kind = MoveKind::kSpaceToDepth, .block = op.blocksize, .order = op.mode};
  return generate_move(move, args, launches);
}

}  // namespace wootz::cuda
