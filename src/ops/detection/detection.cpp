// RoiAlign, MaxRoiPool and NonMaxSuppression.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/module_table.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

constexpr int64_t kMostPooled = 1 << 16;  // extent of a pooled region, samples of one bin

Status check_regions(InferContext& ctx, int64_t columns) {
  if (ctx.rank(0) != 4 || ctx.rank(1) != 2 || (ctx.shape(1)[1].is_const() && ctx.shape(1)[1].value() != columns))
    return ctx.fail("input {} with regions {}", shape_to_string(ctx.shape(0)), shape_to_string(ctx.shape(1)));
  if (!is_float(ctx.dtype(0)) || !is_float(ctx.dtype(1)))
    return ctx.fail("inputs of type {} and {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(1)));
  for (const char* name : {"output_height", "output_width"})
    if (const int64_t v = ctx.node().attr_int(name, 1); v < 1 || v > kMostPooled) return ctx.fail("{} is {}", name, v);
  ctx.set_output(0, ctx.dtype(0),
                 {ctx.shape(1)[0], ctx.shape(0)[1], Dim(ctx.node().attr_int("output_height", 1)),
                  Dim(ctx.node().attr_int("output_width", 1))});
  return {};
}

// Inputs x [N,C,H,W], rois [R,4] as x1 y1 x2 y2, batch indices [R]. Attributes mode (avg, max), output_height,
// output_width, sampling_ratio (0: adaptive), spatial_scale, half_pixel (regions are shifted by half an element).
Status infer_roi_align(InferContext& ctx) {
  const std::string mode = ctx.node().attr_string("mode", "avg");
  if (mode != "avg" && mode != "max") return ctx.fail("unknown mode '{}'", mode);
  if (const int64_t r = ctx.node().attr_int("sampling_ratio"); r < 0 || r > kMostPooled)
    return ctx.fail("sampling_ratio is {}", r);
  const Shape& batch = ctx.shape(2);
  if (batch.size() != 1 || !is_integer(ctx.dtype(2)) ||
      (batch[0].is_const() && ctx.rank(1) == 2 && ctx.shape(1)[0].is_const() &&
       batch[0].value() != ctx.shape(1)[0].value()))
    return ctx.fail("batch indices {} for regions {}", shape_to_string(batch), shape_to_string(ctx.shape(1)));
  return check_regions(ctx, 4);
}

// The four elements around a point and their weights; none when the point is outside.
struct Corners {
  int64_t offset[4] = {};
  double weight[4] = {};
  Corners(double y, double x, int64_t height, int64_t width) {
    if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return;
    const auto place = [](double v, int64_t extent, int64_t* low, int64_t* high) {
      v = std::max(v, 0.0);
      *low = static_cast<int64_t>(v);
      if (*low >= extent - 1) {
        *low = *high = extent - 1;
        return 0.0;
      }
      *high = *low + 1;
      return v - static_cast<double>(*low);
    };
    int64_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
    const double fy = place(y, height, &y0, &y1), fx = place(x, width, &x0, &x1);
    const int64_t at[4] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
    const double by[4] = {(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx};
    std::copy(at, at + 4, offset);
    std::copy(by, by + 4, weight);
  }
};

Status reference_roi_align(EvalContext& ctx) {
  const Node& node = ctx.node;
  HostTensor& y = ctx.outputs[0];
  const Dims& dims = ctx.in(0).dims();
  const int64_t channels = dims[1], height = dims[2], width = dims[3], rows = y.dims()[2], columns = y.dims()[3];
  const bool max = node.attr_string("mode", "avg") == "max", half = node.attr_int("half_pixel") != 0;
  const double scale = node.attr_float("spatial_scale", 1), shift = half ? 0.5 : 0;
  const int64_t ratio = node.attr_int("sampling_ratio");
  const std::vector<double> x = load_f64(ctx.in(0)), rois = load_f64(ctx.in(1));
  if (y.volume() > 0 && height * width == 0) return invalid_argument("input {} has nothing to pool", dims.to_string());
  for (int64_t r = 0; r < y.dims()[0]; ++r) {
    const int64_t image = ctx.in(2).get_i64(r);
    if (image < 0 || image >= dims[0]) return invalid_argument("batch index {} with a batch of {}", image, dims[0]);
    const double* roi = rois.data() + r * 4;
    const double x1 = roi[0] * scale - shift, y1 = roi[1] * scale - shift;
    double w = roi[2] * scale - shift - x1, h = roi[3] * scale - shift - y1;
    if (!half) {
      w = std::max(w, 1.0);
      h = std::max(h, 1.0);
    }
    const double bin_h = h / static_cast<double>(rows), bin_w = w / static_cast<double>(columns);
    if (!(std::abs(bin_h) < 1e4 && std::abs(bin_w) < 1e4))
      return invalid_argument("region {} has an extent of {} by {}", r, h, w);
    const int64_t grid_h = ratio > 0 ? ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(bin_h)));
    const int64_t grid_w = ratio > 0 ? ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(bin_w)));
    if (grid_h * grid_w > kMostPooled)
      return unsupported("region {} takes {} by {} samples per bin", r, grid_h, grid_w);
    const auto count = static_cast<double>(std::max<int64_t>(grid_h * grid_w, 1));
    for (int64_t p = 0; p < rows * columns; ++p) {
      std::vector<Corners> corners;
      for (int64_t s = 0; s < grid_h * grid_w; ++s) {
        const double sy = (static_cast<double>(s / grid_w) + 0.5) / static_cast<double>(grid_h);
        const double sx = (static_cast<double>(s % grid_w) + 0.5) / static_cast<double>(grid_w);
        corners.emplace_back(y1 + (static_cast<double>(p / columns) + sy) * bin_h,
                             x1 + (static_cast<double>(p % columns) + sx) * bin_w, height, width);
      }
      for (int64_t c = 0; c < channels; ++c) {
        const double* plane = x.data() + (image * channels + c) * height * width;
        double value = 0;
        bool first = true;
        for (const Corners& at : corners) {
          double sum = 0, best = at.weight[0] * plane[at.offset[0]];
          for (int i = 0; i < 4; ++i) {
            sum += at.weight[i] * plane[at.offset[i]];
            best = std::max(best, at.weight[i] * plane[at.offset[i]]);
          }
          value = !max ? value + sum : first ? best : std::max(value, best);
          first = false;
        }
        y.set_f64((r * channels + c) * rows * columns + p, max ? value : value / count);
      }
    }
  }
  return {};
}

// Inputs x [N,C,H,W], rois [R,5] as batch x1 y1 x2 y2.
Status infer_max_roi_pool(InferContext& ctx) { return check_regions(ctx, 5); }

Status reference_max_roi_pool(EvalContext& ctx) {
  HostTensor& y = ctx.outputs[0];
  const Dims& dims = ctx.in(0).dims();
  const int64_t channels = dims[1], height = dims[2], width = dims[3], rows = y.dims()[2], columns = y.dims()[3];
  const double scale = ctx.node.attr_float("spatial_scale", 1);
  const std::vector<double> x = load_f64(ctx.in(0)), rois = load_f64(ctx.in(1));
  const auto whole = [&](double v) { return static_cast<int64_t>(std::round(std::clamp(v * scale, -1e9, 1e9))); };
  for (int64_t r = 0; r < y.dims()[0]; ++r) {
    const double* roi = rois.data() + r * 5;
    if (!(roi[0] >= 0 && roi[0] < static_cast<double>(dims[0])))
      return invalid_argument("region {} is of image {} of {}", r, roi[0], dims[0]);
    const auto image = static_cast<int64_t>(roi[0]);
    const int64_t x1 = whole(roi[1]), y1 = whole(roi[2]);
    const double bin_h = static_cast<double>(std::max<int64_t>(whole(roi[4]) - y1 + 1, 1)) / static_cast<double>(rows);
    const double bin_w =
        static_cast<double>(std::max<int64_t>(whole(roi[3]) - x1 + 1, 1)) / static_cast<double>(columns);
    const auto edge = [](double v, int64_t start, int64_t extent) {
      return std::clamp<int64_t>(static_cast<int64_t>(v) + start, 0, extent);
    };
    for (int64_t c = 0; c < channels; ++c) {
      const double* plane = x.data() + (image * channels + c) * height * width;
      for (int64_t p = 0; p < rows * columns; ++p) {
        const auto i = static_cast<double>(p / columns), j = static_cast<double>(p % columns);
        const int64_t top = edge(std::floor(i * bin_h), y1, height),
                      bottom = edge(std::ceil((i + 1) * bin_h), y1, height);
        const int64_t left = edge(std::floor(j * bin_w), x1, width),
                      right = edge(std::ceil((j + 1) * bin_w), x1, width);
        double best = top >= bottom || left >= right ? 0 : -INFINITY;
        for (int64_t a = top; a < bottom; ++a)
          for (int64_t b = left; b < right; ++b) best = std::max(best, plane[a * width + b]);
        y.set_f64((r * channels + c) * rows * columns + p, best);
      }
    }
  }
  return {};
}

// Inputs boxes [N,B,4], scores [N,C,B], [most per class], [iou threshold], [score threshold]. Output i64 [selected,3].
Status infer_nms(InferContext& ctx) {
  const Shape &boxes = ctx.shape(0), &scores = ctx.shape(1);
  const auto differ = [](const Dim& a, const Dim& b) { return a.is_const() && b.is_const() && a.value() != b.value(); };
  if (boxes.size() != 3 || scores.size() != 3 || differ(boxes[2], Dim(4)) || differ(boxes[0], scores[0]) ||
      differ(boxes[1], scores[2]))
    return ctx.fail("boxes {} with scores {}", shape_to_string(boxes), shape_to_string(scores));
  if (!is_float(ctx.dtype(0)) || !is_float(ctx.dtype(1)))
    return ctx.fail("boxes of type {}, scores of type {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(1)));
  for (int i = 2; i < ctx.num_inputs(); ++i)
    if (ctx.has(i) && !(volume(ctx.shape(i)) == Dim(1)))
      return ctx.fail("input {} of shape {}", i, shape_to_string(ctx.shape(i)));
  int64_t bound = -1;
  const auto most = ctx.ints_value(2);
  if (const auto dims = to_dims(scores)) {
    bound = dims->volume();
    if (most && most->size() == 1)
      bound = std::min(bound, (*dims)[0] * (*dims)[1] * std::clamp<int64_t>((*most)[0], 0, (*dims)[2]));
  }
  ctx.set_output(0, DType::kI64, {ctx.data_dependent(0, 0, bound), Dim(3)});
  return {};
}

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};

Box read_box(const double* v, bool center) {
  if (center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

double overlap(const Box& a, const Box& b) {
  const double h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1), w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (h <= 0 || w <= 0) return 0;
  const double common = h * w, both = a.area() + b.area() - common;
  return both <= 0 ? 0 : common / both;
}

Status reference_nms(EvalContext& ctx) {
  const std::vector<double> boxes = load_f64(ctx.in(0)), scores = load_f64(ctx.in(1));
  const Dims& dims = ctx.in(1).dims();
  const int64_t batch = dims[0], classes = dims[1], count = dims[2];
  const int64_t most = ctx.has(2) ? ctx.in(2).get_i64(0) : 0;
  const double iou = ctx.has(3) ? ctx.in(3).get_f64(0) : 0;
  const bool center = ctx.node.attr_int("center_point_box") != 0;
  std::vector<int64_t> selected, order(static_cast<size_t>(count));
  for (int64_t n = 0; n < batch; ++n) {
    std::vector<Box> all;
    for (int64_t b = 0; b < count; ++b) all.push_back(read_box(boxes.data() + (n * count + b) * 4, center));
    for (int64_t c = 0; c < classes; ++c) {
      const double* score = scores.data() + (n * classes + c) * count;
      order.resize(static_cast<size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      std::erase_if(
          order, [&](int64_t b) { return std::isnan(score[b]) || (ctx.has(4) && !(score[b] > ctx.in(4).get_f64(0))); });
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
      std::vector<int64_t> kept;
      for (int64_t b : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        const auto hides = [&](int64_t k) {
          return overlap(all[static_cast<size_t>(k)], all[static_cast<size_t>(b)]) > iou;
        };
        if (std::none_of(kept.begin(), kept.end(), hides)) kept.push_back(b);
      }
      for (int64_t b : kept) selected.insert(selected.end(), {n, c, b});
    }
  }
  WOOTZ_RETURN_IF_ERROR(ctx.allocate(0, {static_cast<int64_t>(selected.size() / 3), 3}));
  std::copy(selected.begin(), selected.end(), ctx.outputs[0].as_mutable<int64_t>().begin());
  return {};
}

const OpDef kRoiAlign{.name = "RoiAlign",
                      .min_inputs = 3,
                      .max_inputs = 3,
                      .attributes = {{"mode", AttrKind::kString},
                                     {"output_height", AttrKind::kInt},
                                     {"output_width", AttrKind::kInt},
                                     {"sampling_ratio", AttrKind::kInt},
                                     {"spatial_scale", AttrKind::kFloat},
                                     {"half_pixel", AttrKind::kInt}},
                      .infer = infer_roi_align,
                      .reference = reference_roi_align};
const OpDef kMaxRoiPool{.name = "MaxRoiPool",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .attributes = {{"output_height", AttrKind::kInt},
                                       {"output_width", AttrKind::kInt},
                                       {"spatial_scale", AttrKind::kFloat}},
                        .infer = infer_max_roi_pool,
                        .reference = reference_max_roi_pool};
const OpDef kNonMaxSuppression{.name = "NonMaxSuppression",
                               .min_inputs = 2,
                               .max_inputs = 5,
                               .attributes = {{"center_point_box", AttrKind::kInt}},
                               .infer = infer_nms,
                               .reference = reference_nms,
                               .traits = {.data_dependent = true}};

}  // namespace

std::span<const OpDef* const> detection_ops() {
  static const OpDef* const kDetectionDefs[] = {&kRoiAlign, &kMaxRoiPool, &kNonMaxSuppression};
  return kDetectionDefs;
}

}  // namespace wootz::ops
