#include "backends/cuda/generate/normalized_form.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cuda/support/int8_weights.h"
#include "base/half.h"
#include "base/thread_pool.h"

namespace wootz::cuda {
namespace {

std::vector<float> values_of(const HostTensor& t, int64_t count, float otherwise) {
  std::vector<float> values(static_cast<size_t>(count), otherwise);
  if (t.valid())
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<float>(t.get_f64(i));
  return values;
}

// The power of two by which the largest of w' comes to between 1/2 and 1.
float factor_for(float largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  return std::ldexp(1.0f, -std::min(std::max(std::ilogb(largest) + 1, -100), 100));
}

struct F16 {
  static float widen(uint16_t bits) { return f16_to_f32(bits); }
  static uint16_t round(float value) { return f32_to_f16(value); }
};
struct Bf16 {
  static float widen(uint16_t bits) { return bf16_to_f32(bits); }
  static uint16_t round(float value) { return f32_to_bf16(value); }
};

// Columns of w by the normalization's scale and bias.
struct Scaling {
  const std::vector<float>&scale, &bias;
  size_t columns, pitch;
  float alpha;
};

template <class Type>
float largest_of(const Scaling& s, const uint16_t* w) {
  std::vector<float> largest(s.columns);
  parallel_for(static_cast<int64_t>(s.columns), 16, [&](int64_t begin, int64_t end) {
    for (auto n = static_cast<size_t>(begin); n < static_cast<size_t>(end); ++n)
      for (size_t k = 0; k < s.scale.size(); ++k)
        largest[n] = std::max(largest[n], std::fabs(Type::widen(w[n * s.pitch + k]) * s.scale[k]));
  });
  return s.columns == 0 ? 0 : *std::max_element(largest.begin(), largest.end());
}

// In place; adds their tables.
template <class Type>
void scale_columns(const Scaling& s, std::vector<std::byte>* bytes) {
  const size_t count = s.columns, weights = bytes->size();
  auto* const w = reinterpret_cast<uint16_t*>(bytes->data());
  const float factor = factor_for(largest_of<Type>(s, w));
  std::vector<float> tables(2 * count + 1);
  parallel_for(static_cast<int64_t>(count), 16, [&](int64_t begin, int64_t end) {
    for (auto n = static_cast<size_t>(begin); n < static_cast<size_t>(end); ++n) {
      double sum = 0, added = 0;
      for (size_t k = 0; k < s.scale.size(); ++k) {
        uint16_t& own = w[n * s.pitch + k];
        const float value = Type::widen(own);
        added += static_cast<double>(value) * s.bias[k];
        own = Type::round(value * s.scale[k] * factor);
        sum += Type::widen(own);
      }
      tables[n] = static_cast<float>(sum);
      tables[count + n] = static_cast<float>(added * s.alpha);
    }
  });
  tables[2 * count] = s.alpha / factor;
  bytes->resize(weights + tables.size() * sizeof(float));
  std::memcpy(bytes->data() + weights, tables.data(), tables.size() * sizeof(float));
}

}  // namespace

std::vector<std::byte> normalized_columns(const Problem& p, const HostTensor& w, const HostTensor& scale,
                                          const HostTensor& bias, int64_t step) {
  WeightColumns made = weight_columns(p, w, step);
  const auto columns = static_cast<size_t>(made.columns);
  const std::vector<float> by = values_of(scale, made.channels, 1), plus = values_of(bias, made.channels, 0);
  const Scaling scaling{by, plus, columns, columns == 0 ? 0 : made.bytes.size() / columns / sizeof(uint16_t),
                        static_cast<float>(p.as<GemmParams>().alpha)};
  w.dtype() == DType::kF16 ? scale_columns<F16>(scaling, &made.bytes) : scale_columns<Bf16>(scaling, &made.bytes);
  return std::move(made.bytes);
}

PackedForm normalized_form(const Problem& p, const HostTensor& w, const HostTensor& scale, const HostTensor& bias,
                           int64_t step) {
  const int64_t columns = columns_of(p, w.dims()), depth = columns == 0 ? 0 : w.volume() / columns;
  const int64_t pitch = (depth * 2 + step - 1) / step * step;
  const auto bytes = static_cast<size_t>(columns * pitch) + static_cast<size_t>(2 * columns + 1) * sizeof(float);
  return packed_by(bytes,
                   [=]() -> Result<std::vector<std::byte>> { return normalized_columns(p, w, scale, bias, step); });
}

}  // namespace wootz::cuda
