// What depthwise convolutions of all types have in common: their extents, and the pixels that a strip of results reads.
#pragma once

#include <algorithm>

#include "backends/cpu/conv_params.h"
#include "backends/cpu/dense/depthwise_pixels.h"
#include "backends/cpu/kernel_entry.h"
#include "base/thread_pool.h"

namespace wootz::cpu {

inline constexpr int64_t kMostDepthwisePixels = 1024;  // that a strip reads: their addresses are on the stack

struct DepthwiseShape {
  int64_t batch = 0, channels = 0, in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;
  int64_t rows = 1, taps = 1, reach = 1;  // of the filter; the pixels along a row that a whole strip reads
};
Result<DepthwiseShape> depthwise_shape(const ConvForm& c, const Dims& x, const Dims& w, const Dims& y);

// A filter for each channel, channels last.
Status check_depthwise(const Problem& p, const ConvForm& c);
// The same at a run's extents, with weights packed in so many bytes.
Status check_depthwise(const Problem& p, const ConvForm& c, const BindArgs& args, size_t packed_bytes);

// f(image, row) for all rows of results, divided among the threads.
template <class F>
void each_depthwise_row(const DepthwiseShape& s, F f) {
  const int64_t cost = std::max<int64_t>(1, s.out_columns * s.channels * s.rows * s.taps);
  parallel_for(s.batch * s.out_rows, std::max<int64_t>(1, 100000 / cost), [&](int64_t begin, int64_t last) {
    for (int64_t r = begin; r < last; ++r) f(r / s.out_rows, r % s.out_rows);
  });
}

// Addresses of the pixels under a strip that begins at `column`: those under row k of the filter at to[k * reach].
// Positions in the padding are `outside`.
template <class T>
void find_depthwise_pixels(const DepthwiseShape& s, const ConvForm& conv, const T* image, const T* outside, int64_t row,
                           int64_t column, const T** to) {
  const int64_t x = column * conv.strides[1] - conv.pads[1];
  for (int64_t k = 0; k < s.rows; ++k, to += s.reach) {
    const int64_t y = row * conv.strides[0] - conv.pads[0] + k * conv.dilations[0];
    if (y < 0 || y >= s.in_rows) {
      std::fill_n(to, s.reach, outside);
      continue;
    }
    const T* const line = image + y * s.in_columns * s.channels;
    const int64_t first = std::clamp<int64_t>(-x, 0, s.reach),
                  last = std::clamp<int64_t>(s.in_columns - x, first, s.reach);
    std::fill_n(to, first, outside);
    for (int64_t j = first; j < last; ++j) to[j] = line + (x + j) * s.channels;
    std::fill(to + last, to + s.reach, outside);
  }
}

}  // namespace wootz::cpu
