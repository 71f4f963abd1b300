// DeformConv: what the moved taps see, as columns that the weights are multiplied with.
// The problem: A: type of sums; kThreads; kAxes: of an image; kMasked: x4 weighs the taps; Constants {count: elements
// of all columns; points: of a result; taps: of a filter; channels; parts, per_part: of which channels share their
// offsets, and channels of one; plane: elements of a channel of x0};
//   extent(c, a), result(c, a), tap(c, a)        extents of x0, of results and of filters along axis a of an image
//   stride(c, a), dilation(c, a), pad(c, a)      of the windows
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// A coordinate between elements `low` and low + 1.
struct Place {
  int low;
  A share;
};

W_FN A at_corner(const X0* x, const Constants& c, const Place* at, int corner) {
  bool inside = true;
  A weight = 1;
  s64 place = 0;
#pragma unroll
  for (int a = 0; a < kAxes; ++a) {
    const bool high = (corner >> (kAxes - 1 - a) & 1) != 0;
    const A part = high ? at[a].share : 1 - at[a].share;
    inside = inside && (high ? at[a].low + 1 < extent(c, a) : at[a].low >= 0);
    weight = a == 0 ? part : weight * part;
    place = place * extent(c, a) + (at[a].low + (high ? 1 : 0));
  }
  return inside ? weight * (A)w_get(x[place]) : 0;
}

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 point = i % c.points, rows = i / c.points, tap_number = rows % c.taps, planes = rows / c.taps;
  const s64 channel = planes % c.channels, n = planes / c.channels;
  const s64 first = (n * c.parts + channel / c.per_part) * c.taps + tap_number;
  s64 to = point, in_tap = tap_number;
  bool inside = true;
  Place at[kAxes];
#pragma unroll
  for (int a = kAxes - 1; a >= 0; --a) {
    const A moved = (A)w_get(p.x2[(first * kAxes + a) * c.points + point]);
    const A v = (A)(to % result(c, a) * stride(c, a) - pad(c, a) + in_tap % tap(c, a) * dilation(c, a)) + moved;
    to /= result(c, a);
    in_tap /= tap(c, a);
    inside = inside && v > -1 && v < extent(c, a);
    const A low = w_floor(v);
    at[a] = {inside ? (int)low : 0, v - low};
  }
  A sum = 0;
  if (inside) {
#pragma unroll
    for (int corner = 0; corner < 1 << kAxes; ++corner)
      sum += at_corner(p.x0 + (n * c.channels + channel) * c.plane, c, at, corner);
  }
  if constexpr (kMasked) sum = (A)w_get(p.x4[first * c.points + point]) * sum;
  p.columns[i] = sum;
}
