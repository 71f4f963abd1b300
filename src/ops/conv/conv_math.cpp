#include "ops/conv/conv_math.h"

#include <algorithm>

#include "ops/support/ref_math.h"

namespace wootz {
namespace {

// Position of output element `index` in three spatial axes.
std::array<int64_t, 3> unflatten(int64_t index, const std::array<int64_t, 3>& extents) {
  return {index / (extents[1] * extents[2]), index / extents[2] % extents[1], index % extents[2]};
}

// Steps to the next position in row-major order.
void advance(std::array<int64_t, 3>& at, const std::array<int64_t, 3>& extents) {
  if (++at[2] < extents[2]) return;
  at[2] = 0;
  if (++at[1] < extents[1]) return;
  at[1] = 0;
  ++at[0];
}

// columns[(c, kernel position), output position - first] for one group of one image.
void gather_columns(const WindowExtents& e, const double* x, int64_t channels, int64_t first, int64_t count,
                    double* columns) {
  for (int64_t c = 0; c < channels; ++c) {
    const double* plane = x + c * e.in_volume();
    for (int64_t k = 0; k < e.kernel_volume(); ++k) {
      const auto tap = unflatten(k, e.kernel);
      std::array<int64_t, 3> out = unflatten(first, e.out);
      for (int64_t j = 0; j < count; ++j, advance(out, e.out)) {
        int64_t offset = 0;
        bool inside = true;
        for (size_t a = 0; a < 3; ++a) {
          const int64_t at = out[a] * e.strides[a] - e.begins[a] + tap[a] * e.dilations[a];
          inside = inside && at >= 0 && at < e.in[a];
          offset = offset * e.in[a] + at;
        }
        *columns++ = inside ? plane[offset] : 0;
      }
    }
  }
}

// Adds columns back to the positions that gather_columns would read them from.
void scatter_columns(const WindowExtents& e, const double* columns, int64_t channels, double* y) {
  for (int64_t c = 0; c < channels; ++c) {
    double* plane = y + c * e.out_volume();
    for (int64_t k = 0; k < e.kernel_volume(); ++k) {
      const auto tap = unflatten(k, e.kernel);
      std::array<int64_t, 3> in{0, 0, 0};
      for (int64_t j = 0; j < e.in_volume(); ++j, ++columns, advance(in, e.in)) {
        int64_t offset = 0;
        bool inside = true;
        for (size_t a = 0; a < 3; ++a) {
          const int64_t at = in[a] * e.strides[a] - e.begins[a] + tap[a] * e.dilations[a];
          inside = inside && at >= 0 && at < e.out[a];
          offset = offset * e.out[a] + at;
        }
        if (inside) plane[offset] += *columns;
      }
    }
  }
}

}  // namespace

void convolve(const ConvSizes& s, const std::vector<double>& x, const std::vector<double>& w, const ConvRow& row) {
  const WindowExtents& e = s.window;
  const int64_t channels = s.in_channels / s.groups, outputs = s.out_channels / s.groups;
  const int64_t depth = channels * e.kernel_volume();
  const int64_t tile = std::clamp<int64_t>((int64_t{1} << 18) / std::max<int64_t>(depth, 1), 16, 512);
  std::vector<double> columns(static_cast<size_t>(depth * std::min(tile, e.out_volume())));
  std::vector<double> sums(static_cast<size_t>(outputs * std::min(tile, e.out_volume())));
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t g = 0; g < s.groups; ++g) {
      const double* xg = x.data() + (n * s.in_channels + g * channels) * e.in_volume();
      const double* wg = w.data() + g * outputs * depth;
      for (int64_t first = 0; first < e.out_volume(); first += tile) {
        const int64_t count = std::min(tile, e.out_volume() - first);
        gather_columns(e, xg, channels, first, count, columns.data());
        std::fill(sums.begin(), sums.end(), 0.0);
        matmul_accumulate(outputs, count, depth, wg, columns.data(), sums.data());
        for (int64_t m = 0; m < outputs; ++m)
          row(n, g * outputs + m, first, {sums.data() + m * count, static_cast<size_t>(count)});
      }
    }
  }
}

void convolve_transposed(const ConvSizes& s, const std::vector<double>& x, const std::vector<double>& w,
                         const ConvRow& row) {
  const WindowExtents& e = s.window;
  const int64_t channels = s.in_channels / s.groups, outputs = s.out_channels / s.groups;
  const int64_t depth = outputs * e.kernel_volume();
  std::vector<double> transposed(static_cast<size_t>(depth * channels));
  std::vector<double> columns(static_cast<size_t>(depth * e.in_volume()));
  std::vector<double> sums(static_cast<size_t>(outputs * e.out_volume()));
  for (int64_t g = 0; g < s.groups; ++g) {
    const double* wg = w.data() + g * channels * depth;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t d = 0; d < depth; ++d) transposed[static_cast<size_t>(d * channels + c)] = wg[c * depth + d];
    for (int64_t n = 0; n < s.batch; ++n) {
      const double* xg = x.data() + (n * s.in_channels + g * channels) * e.in_volume();
      std::fill(columns.begin(), columns.end(), 0.0);
      std::fill(sums.begin(), sums.end(), 0.0);
      matmul_accumulate(depth, e.in_volume(), channels, transposed.data(), xg, columns.data());
      scatter_columns(e, columns.data(), outputs, sums.data());
      for (int64_t m = 0; m < outputs; ++m)
        row(n, g * outputs + m, 0, {sums.data() + m * e.out_volume(), static_cast<size_t>(e.out_volume())});
    }
  }
}

}  // namespace wootz
