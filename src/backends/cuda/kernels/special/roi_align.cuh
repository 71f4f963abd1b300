// RoiAlign: a thread a result. A region of an image that is not there, or with more samples than kMost, gives no
// number. The problem: kThreads, kMost, kScale, kShift; kMax: of the samples, otherwise their mean; kRatio: samples
// along a bin, 0: by its size; kAtLeastOne: regions have at least extent 1; Constants {count: results; rows, columns:
// bins; channels, images; height, width: of an image}
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// The elements around a coordinate, and the weight of the higher one.
struct Between {
  s64 low, high;
  double share;
};

W_FN Between between(double v, s64 extent) {
  v = v < 0 ? 0 : v;
  const s64 low = (s64)v;
  if (low >= extent - 1) return {extent - 1, extent - 1, 0};
  return {low, low + 1, v - (double)low};
}

// What the four elements around a point count for.
struct Corners {
  double v00, v01, v10, v11;
};

W_FN Corners corners(const X0* x, const Constants& c, s64 plane, double y, double x_at) {
  Between a = {0, 0, 0}, b = {0, 0, 0};
  double w00 = 0, w01 = 0, w10 = 0, w11 = 0;
  if (y >= -1 && y <= c.height && x_at >= -1 && x_at <= c.width) {
    a = between(y, c.height);
    b = between(x_at, c.width);
    w00 = (1 - a.share) * (1 - b.share);
    w01 = (1 - a.share) * b.share;
    w10 = a.share * (1 - b.share);
    w11 = a.share * b.share;
  }
  const X0 *low = x + plane + a.low * c.width, *high = x + plane + a.high * c.width;
  return {w00 * (double)w_get(low[b.low]), w01 * (double)w_get(low[b.high]), w10 * (double)w_get(high[b.low]),
          w11 * (double)w_get(high[b.high])};
}

W_FN s64 samples(double bin) { return kRatio > 0 ? kRatio : bin > 0 ? (s64)w_clip<double>(ceil(bin), 0, 70000) : 0; }

W_FN void kernel(const Operands& p, const Constants& c) {
  typedef Reg<Y0>::t R;
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 px = i % c.columns, rows = i / c.columns, py = rows % c.rows, planes = rows / c.rows;
  const s64 channel = planes % c.channels, r = planes / c.channels, image = (s64)w_get(p.x2[r]);
  const double left = (double)w_get(p.x1[r * 4]) * kScale - kShift,
               top = (double)w_get(p.x1[r * 4 + 1]) * kScale - kShift;
  double width = (double)w_get(p.x1[r * 4 + 2]) * kScale - kShift - left;
  double height = (double)w_get(p.x1[r * 4 + 3]) * kScale - kShift - top;
  if (kAtLeastOne) {
    width = width > 1 ? width : 1;
    height = height > 1 ? height : 1;
  }
  const double bh = height / c.rows, bw = width / c.columns;
  const s64 gh = samples(bh), gw = samples(bw);
  if (image < 0 || image >= c.images || !(fabs(bh) < 1e4 && fabs(bw) < 1e4) || gh * gw > kMost) {
    p.y0[i] = Put<Y0>::to((R)W_NAN);
    return;
  }
  const s64 plane = (image * c.channels + channel) * ((s64)c.height * c.width);
  double value = 0;
  bool first = true;
  for (s64 iy = 0; iy < gh; ++iy)
    for (s64 ix = 0; ix < gw; ++ix) {
      const double y = top + ((double)py + ((double)iy + 0.5) / (double)gh) * bh;
      const double x = left + ((double)px + ((double)ix + 0.5) / (double)gw) * bw;
      const Corners v = corners(p.x0, c, plane, y, x);
      if (kMax) {
        const double best = fmax(fmax(v.v00, v.v01), fmax(v.v10, v.v11));
        value = first ? best : fmax(value, best);
        first = false;
      } else {
        value += v.v00 + v.v01 + v.v10 + v.v11;
      }
    }
  if (!kMax) value /= (double)(gh * gw > 1 ? gh * gw : 1);
  p.y0[i] = Put<Y0>::to((R)value);
}
