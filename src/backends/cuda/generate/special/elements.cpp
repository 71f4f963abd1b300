// Ops whose every result is a short formula of its place: one thread a result.
#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

Status generate_one_hot(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 3));
  const Dims &index = args.inputs[0], &y = args.outputs[0];
  int64_t axis = op_params<OneHotOpParams>(p)->axis;
  if (axis < 0) axis += y.rank();
  if (axis < 0 || axis >= y.rank() || y.rank() != index.rank() + 1 || args.inputs[2].volume() != 2 ||
      p.inputs[2].dtype != p.outputs[0].dtype)
    return invalid_argument("one-hot of {} gives {}", index.to_string(), y.to_string());
  const auto a = static_cast<size_t>(axis);
  const int64_t depth = y[a], inner = volume_of(y, a + 1, y.size());
  if (volume_of(y, 0, a) * inner != index.volume())
    return invalid_argument("one-hot of {} gives {}", index.to_string(), y.to_string());
  if (y.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/one_hot.cuh", p, args, y.volume()));
  source.number("inner", inner);
  source.number("depth", depth);
  return finish_each(y.volume(), &source, launches);
}

Status generate_trilu(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  if (x.rank() < 2 || !(x == args.outputs[0]) || p.inputs[0].dtype != p.outputs[0].dtype)
    return invalid_argument("triangle of {}", x.to_string());
  if (x.volume() == 0) return Status();
  const int64_t rows = x[x.size() - 2], columns = x.back();
  const auto& op = *op_params<TriluOpParams>(p);
  const std::optional<int64_t> k = special_int(p, op.k, 1);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/triangle.cuh", p, args, x.volume()));
  source.fixed("kUpper", op.upper);
  source.fixed("kGiven", !k && has_operand(p, 1));
  source.number("diagonal", std::clamp<int64_t>(k.value_or(0), -rows, columns));
  source.number("rows", rows);
  source.number("columns", columns);
  return finish_each(x.volume(), &source, launches);
}

Status generate_lrn(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  const auto& op = *op_params<LrnOpParams>(p);
  const int64_t size = op.size;
  if (x.rank() < 2 || !(x == args.outputs[0]) || size < 1 || !is_float(p.inputs[0].dtype) ||
      p.inputs[0].dtype != p.outputs[0].dtype)
    return invalid_argument("normalization of {} over {} channels", x.to_string(), size);
  if (x.volume() == 0) return Status();
  const int64_t channels = x[1], inner = volume_of(x, 2, x.size()), reach = std::min(size, 2 * channels + 1);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/lrn.cuh", p, args, x.volume()));
  source.type("A", p.inputs[0].dtype == DType::kF64 ? "double" : "float");
  source.fixed_real("kBias", op.bias);
  source.fixed_real("kAlpha", op.alpha / static_cast<double>(size));
  source.fixed_real("kBeta", op.beta);
  source.number("channels", channels);
  source.number("inner", inner);
  source.number("before", (reach - 1) / 2);
  source.number("after", reach / 2);
  return finish_each(x.volume(), &source, launches);
}

Status generate_reverse_sequence(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims& x = args.inputs[0];
  const int64_t time = op_params<ReverseSequenceOpParams>(p)->time_axis;
  if (x.rank() < 2 || !(x == args.outputs[0]) || time < 0 || time > 1 || p.inputs[0].dtype != p.outputs[0].dtype ||
      args.inputs[1].volume() != x[static_cast<size_t>(1 - time)] || !is_integer(p.inputs[1].dtype))
    return invalid_argument("sequences of {} by {} lengths", x.to_string(), args.inputs[1].to_string());
  if (x.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/reverse_sequence.cuh", p, args, x.volume()));
  source.fixed("kTimeFirst", time == 0);
  source.number("inner", volume_of(x, 2, x.size()));
  source.number("second", x[1]);
  source.number("steps", x[static_cast<size_t>(time)]);
  return finish_each(x.volume(), &source, launches);
}

// The run of positions that an update takes along one axis of a cache; a start outside a linear cache writes nothing.
Status generate_tensor_scatter(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &u = args.inputs[1];
  const auto& op = *op_params<TensorScatterOpParams>(p);
  int64_t axis = op.axis;
  if (axis < 0) axis += x.rank();
  const bool starts = has_operand(p, 2);
  if (axis < 1 || axis >= x.rank() || u.rank() != x.rank() || !(x == args.outputs[0]) ||
      p.inputs[0].dtype != p.outputs[0].dtype || p.inputs[1].dtype != p.outputs[0].dtype ||
      (starts && (args.inputs[2].volume() != x[0] || !is_integer(p.inputs[2].dtype))))
    return invalid_argument("update {} of cache {}", u.to_string(), x.to_string());
  const auto a = static_cast<size_t>(axis);
  for (size_t d = 0; d < x.size(); ++d)
    if (d == a ? u[d] > x[d] : u[d] != x[d])
      return invalid_argument("update {} of cache {}", u.to_string(), x.to_string());
  if (x.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/cache_update.cuh", p, args, x.volume()));
  // Enough to fill a device, and no more: in its place the cache is large and the update is small.
  const int64_t threads = std::min<int64_t>(x.volume(), int64_t{2048} * kSpecialBlock);
  source.fixed("kStarts", starts);
  source.fixed("kCircular", op.mode == CacheMode::kCircular);
  source.number("updates", u.volume());
  source.number("stride", int64_t{blocks_for(threads, kSpecialBlock)} * kSpecialBlock);
  source.number("inner", volume_of(x, a + 1, x.size()));
  source.number("extent", x[a]);
  source.number("length", u[a]);
  source.number("lines", volume_of(x, 1, a));
  return finish_each(threads, &source, launches);
}

// One thread a line.
Status generate_hardmax(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  int64_t axis = op_params<HardmaxOpParams>(p)->axis;
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank() || !(x == args.outputs[0]) || !is_float(p.inputs[0].dtype) ||
      p.inputs[0].dtype != p.outputs[0].dtype)
    return invalid_argument("hardmax of {} along axis {}", x.to_string(), axis);
  if (x.volume() == 0) return Status();
  const auto a = static_cast<size_t>(axis);
  const int64_t lines = x.volume() / x[a];
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/hardmax.cuh", p, args, lines));
  source.number("extent", x[a]);
  source.number("inner", volume_of(x, a + 1, x.size()));
  return finish_each(lines, &source, launches);
}

namespace {

struct Cumulative {
  MaybeInt axis;
  bool exclusive = false, reverse = false, product = false;
};
Cumulative read_cumulative(const Problem& p) {
  if (const auto* sum = op_params<CumSumOpParams>(p)) return {sum->axis, sum->exclusive, sum->reverse, false};
  const auto& product = *op_params<CumProdOpParams>(p);
  return {product.axis, product.exclusive, product.reverse, true};
}

void add_cumulative(const Cumulative& op, DType type, KernelSource* source) {
  source->type("A", is_float(type) ? "double" : "u64");
  source->fixed("kProduct", op.product);
  source->fixed("kExclusive", op.exclusive);
  source->fixed("kReverse", op.reverse);
}

// The axis is read where the kernel runs: a thread a line, as many as there are along the shortest axis.
Status cumulative_along_any(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  if (!has_operand(p, 1) || !is_integer(p.inputs[1].dtype) || !(x == y) || x.rank() == 0 || type == DType::kBool ||
      type != p.outputs[0].dtype)
    return invalid_argument("sums of {}", x.to_string());
  if (x.volume() == 0) return Status();
  const int64_t shortest = *std::min_element(x.begin(), x.end());
  std::vector<int64_t> inner;
  for (size_t k = 0; k < x.size(); ++k) inner.push_back(volume_of(x, k + 1, x.size()));
  const int64_t lines = x.volume() / shortest;
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/cumulative_any.cuh", p, args, lines));
  add_cumulative(read_cumulative(p), type, &source);
  source.fixed("kRank", x.rank());
  source.number("volume", x.volume());
  source.list("extent_of", {x.begin(), x.end()});
  source.list("inner_of", inner);
  return finish_each(lines, &source, launches);
}

}  // namespace

// A line along the axis: one thread, or a block whose threads take a stretch each.
Status generate_cumulative(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  const DType type = p.inputs[0].dtype;
  const Cumulative op = read_cumulative(p);
  std::optional<int64_t> axis = special_int(p, op.axis, 1);
  if (!axis) return cumulative_along_any(p, args, launches);
  if (*axis < 0) *axis += x.rank();
  if (*axis < 0 || *axis >= x.rank() || !(x == args.outputs[0]) || type != p.outputs[0].dtype || type == DType::kBool)
    return invalid_argument("sums of {} along axis {}", x.to_string(), *axis);
  if (x.volume() == 0) return Status();
  const auto a = static_cast<size_t>(*axis);
  const int64_t extent = x[a], lines = x.volume() / extent, threads = extent >= 512 ? 128 : 1;
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/cumulative.cuh", p, args, lines * threads));
  add_cumulative(op, type, &source);
  source.fixed("kLineThreads", threads);
  source.number("extent", extent);
  source.number("inner", volume_of(x, a + 1, x.size()));
  source.number("stretch", (extent + threads - 1) / threads);
  return finish_each(lines * threads, &source, launches);
}

}  // namespace wootz::cuda
