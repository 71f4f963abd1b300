#include "backends/cuda/generate/normalized_form.h"

#include <cmath>
#include <cstring>

#include "backends/cuda/support/int8_weights.h"
#include "base/half.h"

namespace wootz::cuda {
namespace {

struct Narrow {
  float (*widen)(uint16_t bits);
  uint16_t (*round)(float value);
};

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

// Packed columns of w, in place, and their tables.
void scale_columns(const Narrow& type, const std::vector<float>& scale, const std::vector<float>& bias, int64_t columns,
                   float alpha, std::vector<std::byte>* bytes) {
  const size_t pitch = columns == 0 ? 0 : bytes->size() / static_cast<size_t>(columns) / sizeof(uint16_t);
  const auto count = static_cast<size_t>(columns), depth = scale.size(), weights = bytes->size();
  auto* const w = reinterpret_cast<uint16_t*>(bytes->data());
  float largest = 0;
  for (size_t n = 0; n < count; ++n)
    for (size_t k = 0; k < depth; ++k) largest = std::max(largest, std::fabs(type.widen(w[n * pitch + k]) * scale[k]));
  const float factor = factor_for(largest);
  std::vector<float> tables(2 * count + 1);
  for (size_t n = 0; n < count; ++n) {
    double sum = 0, added = 0;
    for (size_t k = 0; k < depth; ++k) {
      uint16_t& own = w[n * pitch + k];
      const float value = type.widen(own);
      added += static_cast<double>(value) * bias[k];
      own = type.round(value * scale[k] * factor);
      sum += type.widen(own);
    }
    tables[n] = static_cast<float>(sum);
    tables[count + n] = static_cast<float>(added * alpha);
  }
  tables[2 * count] = alpha / factor;
  bytes->resize(weights + tables.size() * sizeof(float));
  std::memcpy(bytes->data() + weights, tables.data(), tables.size() * sizeof(float));
}

}  // namespace

PackedForm normalized_form(const Problem& p, const HostTensor& w, const HostTensor& scale, const HostTensor& bias,
                           int64_t step) {
  const int64_t columns = columns_of(p, w.dims()), depth = columns == 0 ? 0 : w.volume() / columns;
  const int64_t pitch = (depth * 2 + step - 1) / step * step;
  const auto bytes = static_cast<size_t>(columns * pitch) + static_cast<size_t>(2 * columns + 1) * sizeof(float);
  return packed_by(bytes, [=]() -> Result<std::vector<std::byte>> {
    std::vector<std::byte> made = weight_columns(p, w, step).bytes;
    const Narrow type = w.dtype() == DType::kF16 ? Narrow{f16_to_f32, f32_to_f16} : Narrow{bf16_to_f32, f32_to_bf16};
    scale_columns(type, values_of(scale, depth, 1), values_of(bias, depth, 0), columns,
                  static_cast<float>(p.as<GemmParams>().alpha), &made);
    return made;
  });
}

}  // namespace wootz::cuda
