// Family resize: nearest, linear and cubic along any axes, one thread a result.
#include <algorithm>
#include <functional>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

// Source coordinate of output element `o` (ONNX Resize), as an expression in double.
Result<std::string> coordinate(ResizeCoordinate mode, double scale, int64_t in, int64_t out, double begin, double end) {
  const double exact = scale * static_cast<double>(in);
  if (mode == ResizeCoordinate::kCrop) {
    const double first = begin * static_cast<double>(in - 1), span = (end - begin) * static_cast<double>(in - 1);
    if (exact - 1 < 1e-9 && exact - 1 > -1e-9) return fmt::format("({:.17g} + {:.17g})", first, span / 2);
    return fmt::format("({:.17g} + (double)o * {:.17g} / {:.17g})", first, span, exact - 1);
  }
  const std::string half = fmt::format("(((double)o + 0.5) / {:.17g} - 0.5)", scale);
  if (mode == ResizeCoordinate::kAsymmetric) return fmt::format("((double)o / {:.17g})", scale);
  if (mode == ResizeCoordinate::kAlignCorners) {
    if (exact - 1 < 1e-9 && exact - 1 > -1e-9) return std::string("0.0");
    return fmt::format("((double)o * {:.17g} / {:.17g})", static_cast<double>(in - 1), exact - 1);
  }
  if (mode == ResizeCoordinate::kPytorchHalfPixel && out <= 1) return std::string("-0.5");
  if (mode == ResizeCoordinate::kTfHalfPixelForNn) return fmt::format("(((double)o + 0.5) / {:.17g})", scale);
  if (mode == ResizeCoordinate::kHalfPixel || mode == ResizeCoordinate::kPytorchHalfPixel) return half;
  if (mode == ResizeCoordinate::kHalfPixelSymmetric)
    return fmt::format("({:.17g} + {})", static_cast<double>(in) / 2 * (1 - static_cast<double>(out) / exact), half);
  return unsupported("coordinates by '{}'", name_of(mode));
}

// How results are made, and from what.
struct Resize {
  const ResizeParams& params;
  Layout layout;
  Dims x, y;
  DType type;
  std::string element;  // as it is moved
  bool linear() const { return params.mode != ResizeMode::kNearest; }
  bool cubic() const { return params.mode == ResizeMode::kCubic; }
  bool crop() const { return params.coordinate == ResizeCoordinate::kCrop; }
  bool whole() const { return !is_float(type); }
  // By windows of any width.
  bool wide() const { return linear() && (cubic() || params.antialias || params.exclude_outside || whole()); }
  double begin(size_t a) const { return crop() && !params.roi.empty() ? params.roi[a] : 0.0; }
  double end(size_t a) const { return crop() && !params.roi.empty() ? params.roi[a + params.roi.size() / 2] : 1.0; }
  double scale(size_t a) const {
    const Floats& scales = params.scales;
    return a < scales.size() && scales[a] > 0 ? scales[a] : static_cast<double>(y[a]) / static_cast<double>(x[a]);
  }
  bool moves(size_t a) const { return x[a] != y[a] || scale(a) != 1 || begin(a) != 0 || end(a) != 1; }
};

Status check_resize(const Problem& p, const Dims& x, const Dims& y) {
  if (p.inputs.size() != 1 || p.num_main != 1 || p.outputs.size() != 1 || !p.epilogue.empty())
    return unsupported("resize of {} inputs", p.inputs.size());
  const TensorDesc &dx = p.inputs[0], &dy = p.outputs[0];
  WOOTZ_RETURN_IF_ERROR(check_type(dx.dtype));
  if (dx.dtype != dy.dtype || x.rank() != y.rank() || x.empty() || dx.layout != dy.layout || !is_plain(dx.layout))
    return unsupported("resize of {} to {}", x.to_string(), y.to_string());
  const ResizeParams& params = p.as<ResizeParams>();
  if (params.mode != ResizeMode::kNearest && !is_float(dx.dtype) &&
      (!is_integer(dx.dtype) || dtype_bits(dx.dtype) > 32))
    return unsupported("linear resize of {}", dtype_name(dx.dtype));
  if (y.volume() != 0 && x.volume() == 0)
    return invalid_argument("resize of the empty {} to {}", x.to_string(), y.to_string());
  if (!params.roi.empty() && params.roi.size() != 2 * x.size())
    return invalid_argument("a region of {} numbers", params.roi.size());
  return check_count(y.volume());
}

// Channels that lie together and are only copied go 16 bytes at a time.
void move_together(Resize* r) {
  const Floats& scales = r->params.scales;
  if (r->linear() || r->crop() || r->layout != Layout::kChannelsLast || r->x.rank() < 3 || r->x[1] != r->y[1] ||
      (scales.size() >= 2 && scales[1] > 0 && scales[1] != 1))
    return;
  int64_t together = std::max(1, 128 / dtype_bits(r->type));
  while (r->x[1] % together != 0) together /= 2;
  r->x[1] /= together;
  r->y[1] /= together;
  if (together > 1) r->element = fmt::format("Pack<{}, {}>", r->element, together);
}

// Axes that change, in the order in which the kernels sum: windows by the axes' numbers, else as they lie in memory.
std::vector<size_t> moving_axes(const Resize& r) {
  std::vector<size_t> moving;
  for (const int a : memory_order(r.y.rank() < 3 ? Layout::kLinear : r.layout, r.y.rank()))
    if (r.moves(static_cast<size_t>(a))) moving.push_back(static_cast<size_t>(a));
  if (r.wide()) std::sort(moving.begin(), moving.end(), std::greater<>());
  return moving;
}

// Offsets of results, and their places along the axes that change.
void add_places(const Resize& r, const std::vector<size_t>& moving, const Dims& strides, KernelSource* source) {
  std::vector<Axis> axes;
  for (const int axis : memory_order(r.y.rank() < 3 ? Layout::kLinear : r.layout, r.y.rank())) {
    const auto a = static_cast<size_t>(axis);
    axes.push_back({r.y[a], {r.moves(a) ? 0 : strides[a]}});
    for (const size_t m : moving) axes.back().strides.push_back(m == a ? 1 : 0);
  }
  std::vector<std::string> names{"from"};
  std::vector<std::string> places;
  for (size_t k = 0; k < moving.size(); ++k) {
    names.push_back(fmt::format("o{}", k));
    places.push_back(fmt::format("at.o{}", k));
  }
  source->walk("Place", "place", merge_axes(std::move(axes)), names);
  source->pick("s64 moved(const Place& at, int k)", places);
}

Status add_coordinates(const Resize& r, const std::vector<size_t>& moving, KernelSource* source) {
  std::vector<std::string> coordinates;
  for (const size_t a : moving) {
    WOOTZ_ASSIGN_OR_RETURN(std::string at,
                           coordinate(r.params.coordinate, r.scale(a), r.x[a], r.y[a], r.begin(a), r.end(a)));
    coordinates.push_back(std::move(at));
  }
  source->pick("double coordinate(int k, s64 o)", coordinates);
  return Status();
}

// What resize/windows.cuh asks for.
Status add_windows(const Resize& r, const std::vector<size_t>& moving, KernelSource* source) {
  std::vector<std::string> stretches;
  for (const size_t a : moving) {
    if (!(r.scale(a) > 1e-4)) return unsupported("a scale of {} with wide windows", r.scale(a));
    stretches.push_back(fmt::format("{:.17g}", r.params.antialias ? std::min(r.scale(a), 1.0) : 1.0));
  }
  source->fixed("kCubic", r.cubic());
  source->fixed_real("kCubicA", r.params.cubic_a);
  source->fixed("kExclude", r.params.exclude_outside);
  source->pick("double stretch(int k)", stretches);
  return Status();
}

const char* rounding(ResizeNearest nearest) {
  switch (nearest) {
    case ResizeNearest::kFloor: return "Down";
    case ResizeNearest::kCeil: return "Up";
    case ResizeNearest::kRoundPreferCeil: return "HalfUp";
    default: return "HalfDown";
  }
}

// What resize/places.cuh asks for.
Status add_problem(const Resize& r, const std::vector<size_t>& moving, KernelSource* source) {
  const Dims strides = layout_strides(r.layout, r.x);
  std::vector<int64_t> last, steps;
  for (const size_t a : moving) {
    last.push_back(r.x[a] - 1);
    steps.push_back(strides[a]);
  }
  source->type("X", r.element);
  source->fixed("kThreads", kBlock);
  source->fixed("kMoving", static_cast<int64_t>(moving.size()));
  source->fixed("kCrop", r.crop());
  source->fixed("kWhole", is_integer(r.type));
  source->fixed_real("kBeyond", r.params.extrapolation);
  source->operand("X* __restrict__", "y", {true, 0});
  source->operand("const X*", "x", {false, 0});
  source->number("count", r.y.volume());
  source->list("last", last);
  source->list("stride", steps);
  add_places(r, moving, strides, source);
  return add_coordinates(r, moving, source);
}

}  // namespace

Status generate_resize(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_resize(p, args.inputs[0], args.outputs[0]));
  if (args.outputs[0].volume() == 0) return Status();
  const DType type = p.inputs[0].dtype;
  Resize r{p.as<ResizeParams>(), p.inputs[0].layout, args.inputs[0], args.outputs[0], type, storage_type(type)};
  move_together(&r);
  const std::vector<size_t> moving = moving_axes(r);
  if (r.linear() && !r.wide() && moving.size() > 3) return unsupported("linear resize of {} axes", moving.size());
  KernelSource source(r.wide()     ? "resize/windows.cuh"
                      : r.linear() ? "resize/linear.cuh"
                                   : "resize/nearest.cuh",
                      transient(p, args));
  WOOTZ_RETURN_IF_ERROR(add_problem(r, moving, &source));
  if (r.wide())
    WOOTZ_RETURN_IF_ERROR(add_windows(r, moving, &source));
  else if (r.linear())
    source.type("A", type == DType::kF64 ? "double" : "float");
  else
    source.choice("Round", rounding(r.params.nearest));
  return source.finish(kBlock, blocks_for(r.y.volume(), kBlock), launches);
}

}  // namespace wootz::cuda
