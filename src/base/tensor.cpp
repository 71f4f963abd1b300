#include "base/tensor.h"

#include <cmath>
#include <cstdlib>

#include "base/half.h"
#include "base/mapped.h"

namespace wootz {
namespace {

constexpr size_t kAlignment = 64;

unsigned get_packed(const void* data, int64_t index, int bits) {
  const int per_byte = 8 / bits;
  const uint8_t byte = static_cast<const uint8_t*>(data)[index / per_byte];
  return (byte >> ((index % per_byte) * bits)) & ((1u << bits) - 1);
}

void set_packed(void* data, int64_t index, int bits, unsigned value) {
  const int per_byte = 8 / bits;
  uint8_t& byte = static_cast<uint8_t*>(data)[index / per_byte];
  const int shift = static_cast<int>(index % per_byte) * bits;
  const unsigned mask = ((1u << bits) - 1) << shift;
  byte = static_cast<uint8_t>((byte & ~mask) | ((value << shift) & mask));
}

int64_t sign_extend(unsigned value, int bits) {
  const unsigned top = 1u << (bits - 1);
  return static_cast<int64_t>(value ^ top) - static_cast<int64_t>(top);
}

template <typename T>
T load(const void* data, int64_t index) {
  return static_cast<const T*>(data)[index];
}
template <typename T>
void store(void* data, int64_t index, T value) {
  static_cast<T*>(data)[index] = value;
}

// A conversion that is defined for every double: out of range and NaN give the nearest representable, NaN gives 0.
int64_t to_i64(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775807.0) return INT64_MAX;
  if (value <= -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(value);
}

}  // namespace

Result<HostTensor> HostTensor::allocate(DType dtype, const Dims& dims) {
  WOOTZ_ASSIGN_OR_RETURN(const int64_t volume, checked_volume(dims.span()));
  const size_t bytes = dtype_bytes(dtype, volume);
  const size_t padded = (bytes + kAlignment) / kAlignment * kAlignment;  // never zero
  void* memory = std::aligned_alloc(kAlignment, padded);
  if (memory == nullptr)
    return make_error(Code::kResourceExhausted, "no memory for a {} tensor {} ({} bytes)", dtype_name(dtype),
                      dims.to_string(), bytes);
  std::memset(memory, 0, padded);
  return wrap(dtype, dims, memory,
              std::shared_ptr<const void>(memory, [](const void* p) { std::free(const_cast<void*>(p)); }));
}

HostTensor HostTensor::wrap(DType dtype, const Dims& dims, const void* data, std::shared_ptr<const void> owner) {
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = dims;
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

void HostTensor::release_pages() const {
  if (data_ != nullptr) release_mapped({static_cast<const std::byte*>(data_), bytes()});
}

HostTensor HostTensor::reshaped(const Dims& dims) const {
  HostTensor tensor = *this;
  if (dims.volume() == dims_.volume()) tensor.dims_ = dims;
  return tensor;
}

double HostTensor::get_f64(int64_t i) const {
  switch (dtype_) {
    case DType::kF32: return load<float>(data_, i);
    case DType::kF64: return load<double>(data_, i);
    case DType::kF16: return f16_to_f32(load<uint16_t>(data_, i));
    case DType::kBF16: return bf16_to_f32(load<uint16_t>(data_, i));
    case DType::kF8E4M3:
    case DType::kF8E4M3Fnuz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Fnuz:
    case DType::kF8E8M0: return small_float_to_f32(dtype_, load<uint8_t>(data_, i));
    case DType::kF4E2M1: return small_float_to_f32(dtype_, static_cast<uint8_t>(get_packed(data_, i, 4)));
    case DType::kU64: return static_cast<double>(load<uint64_t>(data_, i));
    default: return static_cast<double>(get_i64(i));
  }
}

int64_t HostTensor::get_i64(int64_t i) const {
  switch (dtype_) {
    case DType::kI8: return load<int8_t>(data_, i);
    case DType::kU8: return load<uint8_t>(data_, i);
    case DType::kI16: return load<int16_t>(data_, i);
    case DType::kU16: return load<uint16_t>(data_, i);
    case DType::kI32: return load<int32_t>(data_, i);
    case DType::kU32: return load<uint32_t>(data_, i);
    case DType::kI64: return load<int64_t>(data_, i);
    case DType::kU64: return static_cast<int64_t>(load<uint64_t>(data_, i));
    case DType::kBool: return load<uint8_t>(data_, i) != 0;
    case DType::kI4: return sign_extend(get_packed(data_, i, 4), 4);
    case DType::kU4: return get_packed(data_, i, 4);
    case DType::kI2: return sign_extend(get_packed(data_, i, 2), 2);
    case DType::kU2: return get_packed(data_, i, 2);
    case DType::kInvalid:
    case DType::kString: return 0;
    default: return to_i64(get_f64(i));
  }
}

void HostTensor::set_f64(int64_t i, double value) {
  void* data = mutable_data();
  switch (dtype_) {
    case DType::kF32: return store<float>(data, i, static_cast<float>(value));
    case DType::kF64: return store<double>(data, i, value);
    case DType::kF16: return store<uint16_t>(data, i, f32_to_f16(static_cast<float>(value)));
    case DType::kBF16: return store<uint16_t>(data, i, f32_to_bf16(static_cast<float>(value)));
    case DType::kF8E5M2:  // infinity, where it was asked for, stays infinity
      return store<uint8_t>(data, i, f32_to_small_float(dtype_, static_cast<float>(value), !std::isinf(value)));
    case DType::kF8E4M3:
    case DType::kF8E4M3Fnuz:
    case DType::kF8E5M2Fnuz:
    case DType::kF8E8M0: return store<uint8_t>(data, i, f32_to_small_float(dtype_, static_cast<float>(value), true));
    case DType::kF4E2M1: return set_packed(data, i, 4, f32_to_small_float(dtype_, static_cast<float>(value), true));
    case DType::kBool: return store<uint8_t>(data, i, value != 0);
    case DType::kU64:  // what int64 does not hold
      if (value >= 0x1p63) return store<uint64_t>(data, i, value >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(value));
      return set_i64(i, to_i64(value));
    default: return set_i64(i, to_i64(value));
  }
}

void HostTensor::set_i64(int64_t i, int64_t value) {
  void* data = mutable_data();
  switch (dtype_) {
    case DType::kI8: return store<int8_t>(data, i, static_cast<int8_t>(value));
    case DType::kU8: return store<uint8_t>(data, i, static_cast<uint8_t>(value));
    case DType::kI16: return store<int16_t>(data, i, static_cast<int16_t>(value));
    case DType::kU16: return store<uint16_t>(data, i, static_cast<uint16_t>(value));
    case DType::kI32: return store<int32_t>(data, i, static_cast<int32_t>(value));
    case DType::kU32: return store<uint32_t>(data, i, static_cast<uint32_t>(value));
    case DType::kI64: return store<int64_t>(data, i, value);
    case DType::kU64: return store<uint64_t>(data, i, static_cast<uint64_t>(value));
    case DType::kBool: return store<uint8_t>(data, i, value != 0);
    case DType::kI4:
    case DType::kU4: return set_packed(data, i, 4, static_cast<unsigned>(value) & 15u);
    case DType::kI2:
    case DType::kU2: return set_packed(data, i, 2, static_cast<unsigned>(value) & 3u);
    case DType::kInvalid:
    case DType::kString: return;
    default: return set_f64(i, static_cast<double>(value));
  }
}

}  // namespace wootz
