#include "backends/cuda/support/int8_weights.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "base/thread_pool.h"

namespace wootz::cuda {

Result<GemmScales> int8_scales(const Problem& p, int64_t columns) {
  WOOTZ_ASSIGN_OR_RETURN(GemmScales s, read_gemm_scales(p, columns));
  if (!s.given) return unsupported("no 8-bit operands of one scale");
  if (s.w_zero != 0) return unsupported("weights with a zero point");
  if (p.family() == Family::kGemm) s.x *= p.as<GemmParams>().alpha;
  return s;
}

namespace {

struct Axes {
  bool conv, turned;
  size_t first;  // of the two that are columns and channels
  Axes(const Problem& p, const Dims& d)
      : conv(p.is(Family::kConv)), turned(conv || p.as<GemmParams>().trans_b), first(conv ? 0 : d.size() - 2) {}
};

}  // namespace

int64_t columns_of(const Problem& p, const Dims& d) {
  const Axes axes(p, d);
  return d[axes.turned ? axes.first : axes.first + 1];
}

WeightColumns weight_columns(const Problem& p, const HostTensor& weights, int64_t step) {
  const Dims& d = weights.dims();
  const auto [conv, turned, first] = Axes(p, d);
  const auto size = static_cast<int64_t>(dtype_bytes(weights.dtype(), 1));
  WeightColumns c;
  c.columns = columns_of(p, d);
  c.channels = d[turned ? first + 1 : first];
  c.taps = c.columns * c.channels == 0 ? 0 : conv ? weights.volume() / (c.columns * c.channels) : 1;
  const int64_t pitch = (c.taps * c.channels * size + step - 1) / step * step;
  c.bytes.resize(static_cast<size_t>(c.columns * pitch));
  const auto* const from = static_cast<const std::byte*>(weights.data());
  const auto copy = [&](int64_t n, int64_t tap, int64_t k, int64_t source) {
    std::memcpy(&c.bytes[static_cast<size_t>(n * pitch + (tap * c.channels + k) * size)], from + source * size,
                static_cast<size_t>(size));
  };
  constexpr int64_t kAtOnce = 32;  // columns, whose neighbours lie beside them in a row
  const int64_t blocks = (c.columns + kAtOnce - 1) / kAtOnce;
  parallel_for(blocks, 1, [&, is_turned = turned](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first_column = block * kAtOnce, last = std::min(first_column + kAtOnce, c.columns);
      if (!is_turned) {
        for (int64_t k = 0; k < c.channels; ++k)
          for (int64_t n = first_column; n < last; ++n) copy(n, 0, k, k * c.columns + n);
        continue;
      }
      for (int64_t n = first_column; n < last; ++n)
        for (int64_t tap = 0; tap < c.taps; ++tap)
          for (int64_t k = 0; k < c.channels; ++k) copy(n, tap, k, (n * c.channels + k) * c.taps + tap);
    }
  });
  return c;
}

Int8Columns int8_columns(const Problem& p, const HostTensor& weights, int64_t step) {
  Int8Columns c{weight_columns(p, weights, step), {}};
  const size_t pitch = c.columns == 0 ? 0 : c.bytes.size() / static_cast<size_t>(c.columns);
  for (size_t n = 0; n < static_cast<size_t>(c.columns); ++n) {
    int64_t sum = 0;
    for (size_t k = 0; k < pitch; ++k) sum += static_cast<int8_t>(c.bytes[n * pitch + k]);
    c.sums.push_back(sum);
  }
  return c;
}

std::vector<std::byte> as_halves(std::span<const std::byte> bytes) {
  std::vector<std::byte> halves(2 * bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint16_t half = f32_to_f16(static_cast<int8_t>(bytes[i]));
    std::memcpy(&halves[2 * i], &half, sizeof half);
  }
  return halves;
}

size_t scales_begin(int64_t weights) { return (static_cast<size_t>(weights) + 15) / 16 * 16; }

size_t scales_end(int64_t weights, int64_t columns) {
  return scales_begin(weights) + static_cast<size_t>(columns) * sizeof(float);
}

std::vector<std::byte> with_scales(std::vector<std::byte> weights, const GemmScales& scales, int64_t columns) {
  const auto count = static_cast<int64_t>(weights.size());
  weights.resize(scales_end(count, columns));
  for (int64_t c = 0; c < columns; ++c) {
    const auto scale = static_cast<float>(scales.of(c));
    std::memcpy(&weights[scales_end(count, c)], &scale, sizeof scale);
  }
  return weights;
}

}  // namespace wootz::cuda
