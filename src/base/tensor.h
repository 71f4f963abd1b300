// HostTensor: a dense row-major tensor in host memory, shared and immutable once handed on.
#pragma once

#include <cstring>
#include <memory>
#include <span>

#include "base/dims.h"
#include "base/dtype.h"
#include "base/status.h"

namespace wootz {

class HostTensor {
 public:
  HostTensor() = default;
  // Zero-filled memory of its own (64-byte aligned). Errors: more elements than limits::kMaxElements, no memory.
  static Result<HostTensor> allocate(DType dtype, const Dims& dims);
  // Bytes that `owner` keeps alive (a mapped file, a protobuf message, the caller's weights).
  static HostTensor wrap(DType dtype, const Dims& dims, const void* data, std::shared_ptr<const void> owner);
  // A copy of values; the shape defaults to one dimension.
  template <typename T>
  static HostTensor from(std::span<const T> values, const Dims& dims);
  template <typename T>
  static HostTensor scalar(T value) {
    return from<T>(std::span<const T>(&value, 1), Dims{});
  }

  bool valid() const { return dtype_ != DType::kInvalid; }
  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  int rank() const { return dims_.rank(); }
  int64_t volume() const { return dims_.volume(); }
  size_t bytes() const { return dtype_bytes(dtype_, volume()); }
  const void* data() const { return data_; }
  // Only for tensors made by allocate() or from(), while their maker fills them.
  void* mutable_data() { return const_cast<void*>(data_); }
  template <typename T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), static_cast<size_t>(volume())};
  }
  template <typename T>
  std::span<T> as_mutable() {
    return {static_cast<T*>(mutable_data()), static_cast<size_t>(volume())};
  }
  // The values will not be read soon: those of a mapped file leave the process's memory until they are (base/mapped.h).
  void release_pages() const;
  // The same bytes under another shape of equal volume.
  HostTensor reshaped(const Dims& dims) const;

  // Element access across types, for the reference paths: any numeric type read and written as double or int64,
  // sub-byte and 8/16-bit float formats included. Writing rounds to nearest even. What is too large becomes infinity in
  // formats of 16 bits and more and the largest finite value in narrower ones (infinity itself stays, where there is
  // one); integers wrap like a C++ conversion from int64.
  double get_f64(int64_t index) const;
  int64_t get_i64(int64_t index) const;
  void set_f64(int64_t index, double value);
  void set_i64(int64_t index, int64_t value);

 private:
  DType dtype_ = DType::kInvalid;
  Dims dims_;
  const void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

template <typename T>
HostTensor HostTensor::from(std::span<const T> values, const Dims& dims) {
  const Dims shape = dims.empty() && values.size() != 1 ? Dims{static_cast<int64_t>(values.size())} : dims;
  Result<HostTensor> made = allocate(DTypeOf<T>::value, shape);
  if (!made.ok() || static_cast<size_t>(shape.volume()) != values.size()) return {};
  HostTensor tensor = std::move(made).value();
  if (!values.empty()) std::memcpy(tensor.mutable_data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

}  // namespace wootz
