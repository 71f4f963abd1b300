// What an op makes or takes at places that numbers say: ranges, filled tensors, slices and padding whose numbers are
// not known before running (those that are become the family move).
#include <algorithm>
#include <cstdint>

#include "backends/cuda/generate/copies.h"
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
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/range.cuh", p, args, y.volume()));
  source.type("A", is_float(type) ? "double" : "u64");
  return finish_each(y.volume(), &source, launches);
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
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/fill.cuh", p, args, y.volume()));
  source.code(fmt::format("W_FN {0} value() {{\n  return ({0})({1});\n}}\n", register_type(type), value));
  return finish_each(y.volume(), &source, launches);
}

Status generate_eye(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& y = args.outputs[0];
  if (y.rank() != 2) return unsupported("the identity as {}", y.to_string());
  if (y.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/eye.cuh", p, args, y.volume()));
  source.number("columns", y[1]);
  source.number("diagonal", std::clamp<int64_t>(op_params<EyeLikeOpParams>(p)->k, -y[0], y[1]));
  return finish_each(y.volume(), &source, launches);
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

// What special/places.cuh asks for, but `place`.
void add_axes(const Dims& x, const Dims& y, KernelSource* source) {
  const Dims strides = x.strides();
  source->fixed("kRank", x.rank());
  source->list("extent", {x.begin(), x.end()});
  source->list("stride", {strides.begin(), strides.end()});
  source->list("result", {y.begin(), y.end()});
}

// The numbers of each axis of `rank`; `otherwise` where none is given.
std::vector<std::string> by_axis(const Numbers& numbers, const std::vector<int64_t>& axes, int rank,
                                 const char* otherwise) {
  std::vector<std::string> values(static_cast<size_t>(rank), otherwise);
  for (size_t k = 0; k < axes.size(); ++k) values[static_cast<size_t>(axes[k])] = numbers.at(k);
  return values;
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
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/slice.cuh", p, args, y.volume()));
  source.type("E", element_type(p));
  add_axes(x, y, &source);
  source.pick("s64 start(const Operands& p, int k)", by_axis(starts, axes, x.rank(), "0"));
  source.pick("s64 step(const Operands& p, int k)",
              steps.present() ? by_axis(steps, axes, x.rank(), "1") : std::vector<std::string>(x.size(), "1"));
  return finish_each(y.volume(), &source, launches);
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
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/pad.cuh", p, args, y.volume()));
  source.choice("Mode", pad_mode(mode));
  source.fixed("kGiven", has_operand(p, 2));
  source.fixed_real("kValue", op.value);
  add_axes(x, y, &source);
  source.pick("s64 before(const Operands& p, int k)", by_axis(pads, axes, x.rank(), "0"));
  return finish_each(y.volume(), &source, launches);
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
