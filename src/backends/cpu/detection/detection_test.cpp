#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/op_kernels.h"
#include "backends/cpu/testing/found_results.h"

namespace wootz::cpu {
namespace {

// One bin by the definition: samples at the middles of equal parts, each by its four neighbours.
double bin(const HostTensor& x, const double* roi, int64_t image, int64_t c, int64_t row, int64_t column, int64_t rows,
           int64_t columns, int64_t ratio, double scale, bool half, bool max) {
  const int64_t height = x.dims()[2], width = x.dims()[3];
  const double shift = half ? 0.5 : 0, x1 = roi[0] * scale - shift, y1 = roi[1] * scale - shift;
  double w = roi[2] * scale - shift - x1, h = roi[3] * scale - shift - y1;
  if (!half) w = std::max(w, 1.0), h = std::max(h, 1.0);
  const double bin_h = h / static_cast<double>(rows), bin_w = w / static_cast<double>(columns);
  const int64_t grid_h = ratio > 0 ? ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(bin_h)));
  const int64_t grid_w = ratio > 0 ? ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(bin_w)));
  double total = 0;
  bool first = true;
  for (int64_t a = 0; a < grid_h; ++a)
    for (int64_t b = 0; b < grid_w; ++b) {
      double y = y1 + (static_cast<double>(row) + (static_cast<double>(a) + 0.5) / static_cast<double>(grid_h)) * bin_h;
      double z =
          x1 + (static_cast<double>(column) + (static_cast<double>(b) + 0.5) / static_cast<double>(grid_w)) * bin_w;
      double sum = 0, best = 0;
      if (y >= -1 && y <= static_cast<double>(height) && z >= -1 && z <= static_cast<double>(width)) {
        y = std::clamp(y, 0.0, static_cast<double>(height - 1));
        z = std::clamp(z, 0.0, static_cast<double>(width - 1));
        const auto r = static_cast<int64_t>(y), s = static_cast<int64_t>(z);
        bool started = false;
        for (int64_t i = 0; i < 2; ++i)
          for (int64_t j = 0; j < 2; ++j) {
            const double wy = i == 0 ? 1 - (y - static_cast<double>(r)) : y - static_cast<double>(r);
            const double wz = j == 0 ? 1 - (z - static_cast<double>(s)) : z - static_cast<double>(s);
            const int64_t p = std::min(r + i, height - 1), q = std::min(s + j, width - 1);
            const double v = wy * wz * x.get_f64(((image * x.dims()[1] + c) * height + p) * width + q);
            sum += v;
            best = started ? std::max(best, v) : v;
            started = true;
          }
      }
      total = !max ? total + sum : first ? best : std::max(total, best);
      first = false;
    }
  return max ? total : total / static_cast<double>(std::max<int64_t>(1, grid_h * grid_w));
}

void check_roi_align(std::mt19937_64& rng, const Dims& dims, int64_t regions, int64_t ratio, bool half, bool max,
                     DType index) {
  const HostTensor x = rig::random_tensor(rng, DType::kF32, dims);
  HostTensor rois = rig::random_tensor(rng, DType::kF32, {regions, 4}, -4, 20);
  HostTensor images = HostTensor::allocate(index, {regions}).value();
  for (int64_t r = 0; r < regions; ++r) {
    for (const int64_t i : {0, 1}) rois.set_f64(r * 4 + i, std::abs(rois.get_f64(r * 4 + i)) * 4 - 2);
    for (const int64_t i : {2, 3})
      rois.set_f64(r * 4 + i, rois.get_f64(r * 4 + i - 2) + std::abs(rois.get_f64(r * 4 + i)) * 5);
    images.set_i64(r, static_cast<int64_t>(rng() % static_cast<uint64_t>(dims[0])));
  }
  const int64_t rows = 3, columns = 4;
  const double scale = 0.75;
  HostTensor y = HostTensor::allocate(DType::kF32, {regions, dims[1], rows, columns}).value();
  for (int64_t i = 0; i < y.volume(); ++i) {
    const int64_t r = i / (rows * columns) / dims[1];
    double roi[4];
    for (int64_t k = 0; k < 4; ++k) roi[k] = rois.get_f64(r * 4 + k);
    y.set_f64(i, bin(x, roi, images.get_i64(r), i / (rows * columns) % dims[1], i / columns % rows, i % columns, rows,
                     columns, ratio, scale, half, max));
  }
  Problem p;
  p.set_family(Family::kOp);
  p.params = OpParams{.op = "RoiAlign",
                      .kernel = box_params(RoiAlignOpParams{.mode = max ? RoiMode::kMax : RoiMode::kAvg,
                                                            .sampling_ratio = ratio,
                                                            .spatial_scale = scale,
                                                            .half_pixel = half})};
  p.num_main = 3;
  p.inputs = {rig::desc_of(x), rig::desc_of(rois), rig::desc_of(images)};
  p.outputs = {rig::desc_of(y)};
  SCOPED_TRACE(p.key());
  rig::check(p, {x, rois, images}, {y}, {.tolerance = 1e-5});
}

TEST(RoiAlign, ModesGridsAndImages) {
  std::mt19937_64 rng(rig::seed());
  for (const bool max : {false, true})
    for (const bool half : {false, true})
      for (const int64_t ratio : {0, 1, 2, 3})
        for (const int64_t regions : {1, 2, 17})
          check_roi_align(rng, {3, 10, 12, 9}, regions, ratio, half, max, regions == 2 ? DType::kI32 : DType::kI64);
}

HostTensor none() { return HostTensor(); }

// By the definition, class by class.
std::vector<int64_t> selected(const HostTensor& boxes, const HostTensor& scores, int64_t most, double iou, double least,
                              bool center) {
  const int64_t batch = scores.dims()[0], classes = scores.dims()[1], count = scores.dims()[2];
  std::vector<int64_t> all;
  const auto corner = [&](int64_t n, int64_t b, int64_t k) {
    const auto v = [&](int64_t i) { return boxes.get_f64((n * count + b) * 4 + i); };
    if (center) return k < 2 ? v(1 - k) - v(3 - k) / 2 : v(3 - k) + v(5 - k) / 2;
    return k < 2 ? std::min(v(k), v(k + 2)) : std::max(v(k - 2), v(k));
  };
  for (int64_t i = 0; i < batch * classes; ++i) {
    std::vector<int64_t> order(static_cast<size_t>(count)), kept;
    std::iota(order.begin(), order.end(), 0);
    const auto score = [&](int64_t b) { return scores.get_f64(i * count + b); };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score(a) > score(b); });
    for (const int64_t b : order) {
      if (!(score(b) > least) || static_cast<int64_t>(kept.size()) >= most) continue;
      const bool hidden = std::any_of(kept.begin(), kept.end(), [&](int64_t k) {
        const int64_t n = i / classes;
        const double h = std::min(corner(n, k, 2), corner(n, b, 2)) - std::max(corner(n, k, 0), corner(n, b, 0));
        const double w = std::min(corner(n, k, 3), corner(n, b, 3)) - std::max(corner(n, k, 1), corner(n, b, 1));
        const auto area = [&](int64_t o) {
          return (corner(n, o, 2) - corner(n, o, 0)) * (corner(n, o, 3) - corner(n, o, 1));
        };
        return h > 0 && w > 0 && h * w / (area(k) + area(b) - h * w) > iou;
      });
      if (!hidden) kept.push_back(b);
    }
    for (const int64_t b : kept) all.insert(all.end(), {i / classes, i % classes, b});
  }
  return all;
}

TEST(NonMaxSuppression, BoxesThatNoBetterOneHides) {
  std::mt19937_64 rng(rig::seed());
  for (const bool center : {false, true})
    for (const int64_t count : {0, 1, 7, 200})
      for (const int64_t most : {0, 3, 500}) {
        HostTensor boxes = rig::random_tensor(rng, DType::kF32, {2, count, 4});
        for (int64_t i = 0; center && i < boxes.volume(); ++i) boxes.set_f64(i, std::abs(boxes.get_f64(i)));
        const HostTensor scores = rig::random_tensor(rng, DType::kF32, {2, 3, count});
        const HostTensor said = HostTensor::scalar<int64_t>(most), iou = HostTensor::scalar<float>(0.25f),
                         least = HostTensor::scalar<float>(-1.f);
        Problem p;
        p.set_family(Family::kOp);
        p.params = OpParams{.op = "NonMaxSuppression",
                            .kernel = box_params(NonMaxSuppressionOpParams{.center_point_box = center}),
                            .own_sizes = true};
        p.num_main = 5;
        p.inputs = {rig::desc_of(boxes), rig::desc_of(scores), rig::desc_of(said), rig::desc_of(iou),
                    rig::desc_of(least)};
        p.outputs = {rig::desc(DType::kI64, {16, 3})};
        for (const int threads : {1, 3}) {
          const Result<HostTensor> y = rig::run_found(p, {boxes, scores, said, iou, least}, threads);
          ASSERT_TRUE(y.ok()) << y.status().to_string();
          const std::vector<int64_t> want = selected(boxes, scores, most, 0.25f, -1, center);
          ASSERT_EQ(y->volume(), static_cast<int64_t>(want.size()));
          for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(y->get_i64(static_cast<int64_t>(i)), want[i]) << i;
        }
        // Without a number of boxes there are none.
        p.num_main = 3;
        p.inputs.resize(3);
        p.inputs[2] = {};
        const Result<HostTensor> nothing = rig::run_found(p, {boxes, scores, none()}, 1);
        ASSERT_TRUE(nothing.ok()) << nothing.status().to_string();
        EXPECT_EQ(nothing->volume(), 0);
      }
}

}  // namespace
}  // namespace wootz::cpu
