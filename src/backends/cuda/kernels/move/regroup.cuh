// A tensor with its channels in other groups. Memory is [N][groups][points][lanes], channel c lane c % lanes of group
// c / lanes; a thread an element of the result, those that fill its last group up included: they are zeros.
// The problem: kThreads; T: the element's bits; Index: of elements;
//   Constants {count: elements in the result's memory, channels, points, x_groups, x_lanes, y_groups, y_lanes}
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 wide = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (wide >= c.count) return;
  const Index i = (Index)wide;
  const Index row = i / c.y_lanes, plane = row / c.points, image = plane / c.y_groups;
  const Index channel = plane % c.y_groups * c.y_lanes + i % c.y_lanes;
  T value = 0;
  if (channel < c.channels) {
    const Index group = image * c.x_groups + channel / c.x_lanes;
    value = p.x[(group * c.points + row % c.points) * c.x_lanes + channel % c.x_lanes];
  }
  p.y[i] = value;
}
