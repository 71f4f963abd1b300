// Op RoiAlign: where a region's samples are is worked out once, in double as the reference does, and used for all
// channels.
#include <algorithm>
#include <cmath>

#include "backend/op_kernels.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kMostSamples = 1 << 16;  // of one bin
constexpr int64_t kTableSamples = 16384;   // of one region, kept in a table; more are worked out bin by bin

// The four elements around a sample and their weights; weights of zero where it is outside.
struct Sample {
  int32_t at[4] = {};
  float weight[4] = {};
};

// Along one axis: the elements around a point and how far it is after the first; false: the point is outside.
bool place(double v, int64_t extent, int64_t* low, int64_t* high, double* after) {
  if (!(v >= -1 && v <= static_cast<double>(extent))) return false;
  v = std::max(v, 0.0);
  *low = std::min(static_cast<int64_t>(v), extent - 1);
  *high = std::min(*low + 1, extent - 1);
  *after = *low == extent - 1 ? 0 : v - static_cast<double>(*low);
  return true;
}

struct Region {
  const float* image = nullptr;
  double x1 = 0, y1 = 0, bin_h = 0, bin_w = 0;
  int64_t grid_h = 0, grid_w = 0;
  int64_t samples() const { return grid_h * grid_w; }
};

class RoiAlignCall final : public Call {
 public:
  int64_t images = 0, channels = 0, height = 0, width = 0, regions = 0, rows = 0, columns = 0, ratio = 0;
  double scale = 1;
  bool max = false, half = false, wide_index = false;
  int slots = 1;

  size_t workspace() const override { return static_cast<size_t>(slots * table_samples()) * sizeof(Sample); }
  Status run(const RunArgs& args) const override {
    for (int64_t r = 0; r < regions; ++r) {
      Region region;
      WOOTZ_RETURN_IF_ERROR(read_region(args, r, &region));
    }
    // Pieces of channels too: few regions with many channels are as much work.
    const int64_t parts = regions * 4 < slots * int64_t{4} ? std::min<int64_t>(channels, 8) : 1;
    parallel_slots(regions * parts, 1, slots, [&](int slot, int64_t begin, int64_t end) {
      Sample* const table = static_cast<Sample*>(args.workspace) + slot * table_samples();
      for (int64_t i = begin; i < end; ++i) {
        Region region;
        if (!read_region(args, i / parts, &region).ok()) return;
        const auto piece = static_cast<int>(i % parts);
        pool(region, static_cast<float*>(args.outputs[0]) + i / parts * channels * rows * columns, table,
             piece_begin(channels, static_cast<int>(parts), piece),
             piece_begin(channels, static_cast<int>(parts), piece + 1));
      }
    });
    return {};
  }

 private:
  int64_t table_samples() const {
    const int64_t all = rows * columns * std::max<int64_t>(1, ratio * ratio);
    return ratio > 0 && all <= kTableSamples ? all : kTableSamples;
  }

  Status read_region(const RunArgs& args, int64_t r, Region* to) const {
    const int64_t image =
        wide_index ? static_cast<const int64_t*>(args.inputs[2])[r] : static_cast<const int32_t*>(args.inputs[2])[r];
    if (image < 0 || image >= images) return invalid_argument("batch index {} with a batch of {}", image, images);
    const float* const roi = static_cast<const float*>(args.inputs[1]) + r * 4;
    const double shift = half ? 0.5 : 0;
    to->image = static_cast<const float*>(args.inputs[0]) + image * channels * height * width;
    to->x1 = roi[0] * scale - shift;
    to->y1 = roi[1] * scale - shift;
    double w = roi[2] * scale - shift - to->x1, h = roi[3] * scale - shift - to->y1;
    if (!half) {
      w = std::max(w, 1.0);
      h = std::max(h, 1.0);
    }
    to->bin_h = h / static_cast<double>(rows);
    to->bin_w = w / static_cast<double>(columns);
    if (!(std::abs(to->bin_h) < 1e4 && std::abs(to->bin_w) < 1e4))
      return invalid_argument("region {} has an extent of {} by {}", r, h, w);
    to->grid_h = ratio > 0 ? ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(to->bin_h)));
    to->grid_w = ratio > 0 ? ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(to->bin_w)));
    if (to->samples() > kMostSamples)
      return unsupported("region {} takes {} by {} samples per bin", r, to->grid_h, to->grid_w);
    return {};
  }

  // Sample `s` of a bin.
  Sample sample(const Region& g, int64_t row, int64_t column, int64_t s) const {
    const double y =
        g.y1 + (static_cast<double>(row) + (static_cast<double>(s / g.grid_w) + 0.5) / static_cast<double>(g.grid_h)) *
                   g.bin_h;
    const double x = g.x1 + (static_cast<double>(column) +
                             (static_cast<double>(s % g.grid_w) + 0.5) / static_cast<double>(g.grid_w)) *
                                g.bin_w;
    Sample made;
    int64_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
    double fy = 0, fx = 0;
    if (!place(y, height, &y0, &y1, &fy) || !place(x, width, &x0, &x1, &fx)) return made;
    const int64_t at[4] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
    const double by[4] = {(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx};
    for (size_t i = 0; i < 4; ++i) {
      made.at[i] = static_cast<int32_t>(at[i]);
      made.weight[i] = static_cast<float>(by[i]);
    }
    return made;
  }

  // Bins [first, end) whose samples are in the table, of the channels given.
  void pool_bins(const Region& g, const Sample* table, int64_t first, int64_t end, int64_t channel,
                 int64_t channels_end, float* y) const {
    const int64_t n = g.samples(), bins = rows * columns;
    const float count = static_cast<float>(std::max<int64_t>(n, 1));
    for (int64_t c = channel; c < channels_end; ++c) {
      const float* const plane = g.image + c * height * width;
      for (int64_t b = first; b < end; ++b) {
        const Sample* const at = table + (b - first) * n;
        y[c * bins + b] = max ? largest(plane, at, n) : sum(plane, at, n) / count;
      }
    }
  }
  static float sum(const float* plane, const Sample* at, int64_t n) {
    float total = 0;
    for (int64_t s = 0; s < n; ++s)
      total += at[s].weight[0] * plane[at[s].at[0]] + at[s].weight[1] * plane[at[s].at[1]] +
               (at[s].weight[2] * plane[at[s].at[2]] + at[s].weight[3] * plane[at[s].at[3]]);
    return total;
  }
  static float largest(const float* plane, const Sample* at, int64_t n) {
    float best = 0;
    for (int64_t s = 0; s < n; ++s) {
      float own = at[s].weight[0] * plane[at[s].at[0]];
      for (size_t i = 1; i < 4; ++i) own = std::max(own, at[s].weight[i] * plane[at[s].at[i]]);
      best = s == 0 ? own : std::max(best, own);
    }
    return best;
  }

  void pool(const Region& g, float* y, Sample* table, int64_t channel, int64_t channels_end) const {
    const int64_t bins = rows * columns, n = g.samples();
    if (n > table_samples()) {  // a bin's samples do not fit: each is worked out for every channel
      for (int64_t c = channel; c < channels_end; ++c)
        for (int64_t b = 0; b < bins; ++b) y[c * bins + b] = whole_bin(g, g.image + c * height * width, b);
      return;
    }
    const int64_t at_once = n == 0 ? bins : std::min(bins, table_samples() / n);
    for (int64_t first = 0; first < bins; first += at_once) {
      const int64_t end = std::min(bins, first + at_once);
      for (int64_t b = first; b < end; ++b)
        for (int64_t s = 0; s < n; ++s) table[(b - first) * n + s] = sample(g, b / columns, b % columns, s);
      pool_bins(g, table, first, end, channel, channels_end, y);
    }
  }
  float whole_bin(const Region& g, const float* plane, int64_t b) const {
    const int64_t n = g.samples();
    float total = 0;
    for (int64_t s = 0; s < n; ++s) {
      const Sample one = sample(g, b / columns, b % columns, s);
      const float own = max ? largest(plane, &one, 1) : sum(plane, &one, 1);
      total = !max ? total + own : s == 0 ? own : std::max(total, own);
    }
    return max ? total : total / static_cast<float>(std::max<int64_t>(n, 1));
  }
};

Result<std::unique_ptr<Call>> bind_roi_align(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<RoiAlignCall>();
  const Dims &x = args.inputs[0], &rois = args.inputs[1], &y = args.outputs[0];
  if (x.rank() != 4 || rois.rank() != 2 || rois[1] != 4 || y.rank() != 4 || y[0] != rois[0] || y[1] != x[1] ||
      args.inputs[2].volume() != rois[0])
    return invalid_argument("regions {} of {} give {}", rois.to_string(), x.to_string(), y.to_string());
  if (y.volume() > 0 && (x[2] * x[3] == 0 || x[2] * x[3] > INT32_MAX))
    return unsupported("regions of {}", x.to_string());
  call->images = x[0];
  call->channels = x[1];
  call->height = x[2];
  call->width = x[3];
  call->regions = y.volume() == 0 ? 0 : rois[0];
  call->rows = y[2];
  call->columns = y[3];
  const auto& op = *op_params<RoiAlignOpParams>(p);
  call->ratio = op.sampling_ratio;
  call->scale = op.spatial_scale;
  call->max = op.mode == RoiMode::kMax;
  call->half = op.half_pixel;
  call->wide_index = p.inputs[2].dtype == DType::kI64;
  call->slots = options.threads;
  return std::unique_ptr<Call>(std::move(call));
}

Status roi_align_applies(const Problem& p) {
  const auto* op = op_params<RoiAlignOpParams>(p);
  if (op == nullptr) return unsupported("op {}", p.as<OpParams>().op);
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 3, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  const int64_t ratio = op->sampling_ratio;
  if (ratio < 0 || ratio > kMostSamples || ratio * ratio > kMostSamples)
    return unsupported("{} samples along a bin", ratio);
  const DType index = p.inputs[2].dtype;
  if (p.inputs[0].dtype != DType::kF32 || p.inputs[1].dtype != DType::kF32 || p.outputs[0].dtype != DType::kF32 ||
      (index != DType::kI64 && index != DType::kI32))
    return unsupported("elements of {}, regions of {}, batch indices of {}", dtype_name(p.inputs[0].dtype),
                       dtype_name(p.inputs[1].dtype), dtype_name(index));
  return try_bind(bind_roi_align, p);
}

double roi_align_cost_us(const Problem& p, const KernelOptions&) {
  return 1.0 + static_cast<double>(p.outputs[0].dims.volume()) * 0.02;
}

}  // namespace

const KernelEntry op_f32_roi_align{
    Family::kOp, kSchemeLinear, roi_align_applies, make_function_kernel<bind_roi_align>, true, roi_align_cost_us};

}  // namespace wootz::cpu
