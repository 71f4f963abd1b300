// MaxRoiPool: a thread a result. Corners are in double, as in the reference: an edge next to a whole number goes to the
// same side. A region of no image has no value.
// The problem: kThreads, kScale; Constants {count: results; rows, columns: bins; channels, images; height, width: of an
// image}
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN s64 w_whole(double v) {
  v = w_clip<double>(v, -1e9, 1e9);
  return (s64)(v < 0 ? ceil(v - 0.5) : floor(v + 0.5));
}

W_FN s64 w_edge(double v, s64 start, s64 extent) {
  const s64 at = (s64)v + start;
  return at < 0 ? 0 : at > extent ? extent : at;
}

// The elements of bin k along an axis.
struct Bin {
  s64 first, end;
};

W_FN Bin bin_of(s64 k, s64 first, s64 last, int bins, s64 extent) {
  const double size = (double)(last - first + 1 < 1 ? 1 : last - first + 1) / (double)bins;
  return {w_edge(floor((double)k * size), first, extent), w_edge(ceil((double)(k + 1) * size), first, extent)};
}

W_FN void kernel(const Operands& p, const Constants& c) {
  typedef Reg<Y0>::t R;
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 column = i % c.columns, rows = i / c.columns, row = rows % c.rows, planes = rows / c.rows;
  const s64 channel = planes % c.channels, r = planes / c.channels;
  const double image = (double)w_get(p.x1[r * 5]);
  if (!(image >= 0 && image < c.images)) {
    p.y0[i] = Put<Y0>::to((R)W_NAN);
    return;
  }
  s64 edge[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) edge[k] = w_whole((double)w_get(p.x1[r * 5 + 1 + k]) * kScale);
  const Bin down = bin_of(row, edge[1], edge[3], c.rows, c.height);
  const Bin along = bin_of(column, edge[0], edge[2], c.columns, c.width);
  R best = down.first >= down.end || along.first >= along.end ? (R)0 : -(R)W_INF;
  for (s64 a = down.first; a < down.end; ++a)
    for (s64 b = along.first; b < along.end; ++b) {
      const R v = w_get(p.x0[(((s64)image * c.channels + channel) * c.height + a) * c.width + b]);
      if (best < v) best = v;
    }
  p.y0[i] = Put<Y0>::to(best);
}
