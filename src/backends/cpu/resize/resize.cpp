// Family resize: nearest for every type, linear for f32. Antialiasing, cubic and cropping are left to the reference.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/kernel_entry.h"
#include "backends/cpu/physical.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

// Coordinate in the input of output element `o` of an axis (ONNX Resize, "coordinate_transformation_mode").
double source(ResizeCoordinate mode, int64_t o, double scale, int64_t in, int64_t out) {
  const auto at = static_cast<double>(o);
  if (mode == ResizeCoordinate::kAsymmetric) return at / scale;
  // The extent before it was rounded down: ONNX divides by that.
  const double exact = scale * static_cast<double>(in);
  if (mode == ResizeCoordinate::kAlignCorners)
    return std::fabs(exact - 1) < 1e-9 ? 0 : at * static_cast<double>(in - 1) / (exact - 1);
  if (mode == ResizeCoordinate::kPytorchHalfPixel && out <= 1) return 0;
  const double half = (at + 0.5) / scale - 0.5;
  if (mode != ResizeCoordinate::kHalfPixelSymmetric) return half;
  return static_cast<double>(in) / 2 * (1 - static_cast<double>(out) / exact) + half;
}

bool known_mode(ResizeCoordinate mode) {
  return mode != ResizeCoordinate::kCrop && mode != ResizeCoordinate::kTfHalfPixelForNn;
}

double scale_of(const Problem& p, size_t axis, int64_t in, int64_t out) {
  const Floats& scales = p.as<ResizeParams>().scales;
  if (axis < scales.size() && scales[axis] > 0) return scales[axis];
  return static_cast<double>(out) / static_cast<double>(std::max<int64_t>(1, in));
}

int64_t nearest(ResizeNearest mode, double x, int64_t extent) {
  const double r = mode == ResizeNearest::kFloor             ? std::floor(x)
                   : mode == ResizeNearest::kCeil            ? std::ceil(x)
                   : mode == ResizeNearest::kRoundPreferCeil ? std::floor(x + 0.5)
                                                             : std::ceil(x - 0.5);
  return static_cast<int64_t>(std::clamp(r, 0.0, static_cast<double>(extent - 1)));
}

Status check_operands(const Problem& p, ResizeMode mode) {
  if (p.as<ResizeParams>().mode != mode) return unsupported("this resizes by '{}'", name_of(mode));
  if (p.inputs.size() != 1 || p.num_main != 1 || p.outputs.size() != 1)
    return invalid_argument("resize: {} inputs, {} outputs", p.inputs.size(), p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  if (!p.epilogue.empty()) return unsupported("resize with an epilogue");
  if (!is_plain(x.layout) || x.layout != y.layout) return unsupported("resize in layout {}", layout_name(x.layout));
  if (x.dtype != y.dtype || x.dims.rank() != y.dims.rank() || x.dims.empty())
    return invalid_argument("resize of {} gives {}", x.dims.to_string(), y.dims.to_string());
  if (!known_mode(p.as<ResizeParams>().coordinate))
    return unsupported("coordinates by '{}'", name_of(p.as<ResizeParams>().coordinate));
  if (p.as<ResizeParams>().antialias || p.as<ResizeParams>().exclude_outside) return unsupported("antialiasing");
  return {};
}

// ---- nearest

class NearestCall final : public Call {
 public:
  std::vector<std::vector<int64_t>> maps;  // by physical axis, up to `axes`: offsets in bytes in the input
  std::vector<int64_t> extents;            // of the output on those axes
  int64_t rows = 1;
  size_t row = 0;  // bytes that lie together in both
  Status run(const RunArgs& args) const override {
    const auto* from = static_cast<const std::byte*>(args.inputs[0]);
    auto* to = static_cast<std::byte*>(args.outputs[0]);
    if (rows == 0 || row == 0) return {};
    const int64_t grain = std::max<int64_t>(1, 16384 / static_cast<int64_t>(row));
    parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        int64_t rest = r, at = 0;
        for (size_t d = maps.size(); d-- > 0;) {
          at += maps[d][static_cast<size_t>(rest % extents[d])];
          rest /= extents[d];
        }
        copy(to + static_cast<size_t>(r) * row, from + at);
      }
    });
    return {};
  }

 private:
  void copy(std::byte* to, const std::byte* from) const {
    if (row == 4)
      std::memcpy(to, from, 4);  // the common single element, without a call
    else
      std::memcpy(to, from, row);
  }
};

Result<std::unique_ptr<Call>> bind_nearest(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const Layout layout = p.inputs[0].layout;
  const int rank = x.rank();
  const size_t size = dtype_bytes(p.inputs[0].dtype, 1);
  std::vector<std::vector<int64_t>> maps(static_cast<size_t>(rank));
  const Dims in = physical_dims(layout, x), out = physical_dims(layout, y), strides = in.strides();
  for (int d = 0; d < rank; ++d) {
    const auto k = static_cast<size_t>(d);
    const auto physical = static_cast<size_t>(physical_axis(layout, rank, d));
    if (x[k] == 0 && y[k] != 0) return invalid_argument("resize of the empty {} to {}", x.to_string(), y.to_string());
    const double scale = scale_of(p, k, x[k], y[k]);
    for (int64_t o = 0; o < y[k]; ++o) {
      const int64_t i = x[k] == y[k] && scale == 1
                            ? o
                            : nearest(p.as<ResizeParams>().nearest,
                                      source(p.as<ResizeParams>().coordinate, o, scale, x[k], y[k]), x[k]);
      maps[physical].push_back(i * strides[physical] * static_cast<int64_t>(size));
    }
  }
  // Trailing axes on which nothing changes are copied together.
  auto call = std::make_unique<NearestCall>();
  size_t axes = static_cast<size_t>(rank);
  call->row = size;
  while (axes > 0 && in[axes - 1] == out[axes - 1]) {
    bool same = true;
    for (size_t o = 0; o < maps[axes - 1].size(); ++o)
      same = same && maps[axes - 1][o] == static_cast<int64_t>(o) * strides[axes - 1] * static_cast<int64_t>(size);
    if (!same) break;
    call->row *= static_cast<size_t>(out[axes - 1]);
    --axes;
  }
  maps.resize(axes);
  for (size_t d = 0; d < axes; ++d) {
    call->extents.push_back(out[d]);
    call->rows *= out[d];
  }
  call->maps = std::move(maps);
  return std::unique_ptr<Call>(std::move(call));
}

// ---- linear

struct Tap {
  int64_t low, high;
  float weight;  // of high
};

class LinearCall final : public Call {
 public:
  std::vector<Tap> rows, columns;
  int64_t planes = 1, in_rows = 1, in_columns = 1, channels = 1;  // channels > 1: channels-last
  Status run(const RunArgs& args) const override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const auto height = static_cast<int64_t>(rows.size()), width = static_cast<int64_t>(columns.size());
    if (planes * height * width * channels == 0) return {};
    parallel_for(planes * height, std::max<int64_t>(1, 4096 / (width * channels)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const Tap& v = rows[static_cast<size_t>(r % height)];
        const float* plane = x + r / height * in_rows * in_columns * channels;
        const float* top = plane + v.low * in_columns * channels;
        const float* bottom = plane + v.high * in_columns * channels;
        float* to = y + r * width * channels;
        for (const Tap& h : columns) {
          const float* a = top + h.low * channels;
          const float* b = top + h.high * channels;
          const float* c = bottom + h.low * channels;
          const float* d = bottom + h.high * channels;
          for (int64_t k = 0; k < channels; ++k) {
            const float upper = a[k] + (b[k] - a[k]) * h.weight;
            const float lower = c[k] + (d[k] - c[k]) * h.weight;
            to[k] = upper + (lower - upper) * v.weight;
          }
          to += channels;
        }
      }
    });
    return {};
  }
};

std::vector<Tap> taps(const Problem& p, size_t axis, int64_t in, int64_t out) {
  std::vector<Tap> all;
  const double scale = scale_of(p, axis, in, out);
  for (int64_t o = 0; o < out; ++o) {
    const double x =
        std::clamp(source(p.as<ResizeParams>().coordinate, o, scale, in, out), 0.0, static_cast<double>(in - 1));
    const auto low = static_cast<int64_t>(std::floor(x));
    all.push_back({low, std::min(low + 1, in - 1), static_cast<float>(x - static_cast<double>(low))});
  }
  return all;
}

Result<std::unique_ptr<Call>> bind_linear(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const int rank = x.rank();
  if (rank < 3 || rank > 4) return unsupported("linear resize of rank {}", rank);
  for (size_t d = 0; d < 2; ++d)
    if (x[d] != y[d] || scale_of(p, d, x[d], y[d]) != 1) return unsupported("linear resize of batch or channels");
  if (x.volume() == 0 && y.volume() != 0)
    return invalid_argument("resize of the empty {} to {}", x.to_string(), y.to_string());
  auto call = std::make_unique<LinearCall>();
  const bool last = p.inputs[0].layout == Layout::kChannelsLast;
  call->channels = last ? x[1] : 1;
  call->planes = last ? x[0] : x[0] * x[1];
  const auto column = static_cast<size_t>(rank - 1);
  call->in_columns = x[column];
  call->columns = taps(p, column, x[column], y[column]);
  call->rows = {{0, 0, 0}};
  if (rank == 4) {
    call->in_rows = x[2];
    call->rows = taps(p, 2, x[2], y[2]);
  }
  return std::unique_ptr<Call>(std::move(call));
}

// ---- entries

using Bind = Result<std::unique_ptr<Call>> (*)(const Problem&, const BindArgs&);

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(Problem p, Bind bind) : problem_(std::move(p)), bind_(bind) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs[0].rank() != args.outputs[0].rank() || args.inputs[0].rank() != problem_.inputs[0].dims.rank())
      return invalid_argument("resize of {} to {}", args.inputs[0].to_string(), args.outputs[0].to_string());
    return bind_(problem_, args);
  }

 private:
  Problem problem_;
  Bind bind_;
};

Status try_bind(const Problem& p, Bind bind) {
  const std::vector<Dims> in{p.inputs[0].dims}, out{p.outputs[0].dims};
  return bind(p, {in, out, {}}).status();
}

Status applies_nearest(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, ResizeMode::kNearest));
  if (dtype_bits(p.inputs[0].dtype) < 8) return unsupported("resize of {}", dtype_name(p.inputs[0].dtype));
  return try_bind(p, bind_nearest);
}

Status applies_linear(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, ResizeMode::kLinear));
  if (p.inputs[0].dtype != DType::kF32) return unsupported("linear resize of {}", dtype_name(p.inputs[0].dtype));
  return try_bind(p, bind_linear);
}

template <Bind bind>
Result<std::unique_ptr<Kernel>> create_resize(const Problem& p, const KernelOptions&) {
  return std::unique_ptr<Kernel>(std::make_unique<ResizeKernel>(p, bind));
}

}  // namespace

const KernelEntry resize_any_nearest{Family::kResize, kSchemeLinear | kSchemeChannelsLast, applies_nearest,
                                     create_resize<bind_nearest>};
const KernelEntry resize_f32_linear{Family::kResize, kSchemeLinear | kSchemeChannelsLast, applies_linear,
                                    create_resize<bind_linear>};

}  // namespace wootz::cpu
