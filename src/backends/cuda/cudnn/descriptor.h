// A descriptor of cuDNN's backend interface: made, given attributes, finished, then used or asked.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/cudnn/library.h"

namespace wootz::cuda {

namespace cudnn {
template <typename T>
constexpr ValueType kTypeOf = ValueType::kInt64;
template <>
inline constexpr ValueType kTypeOf<bool> = ValueType::kBoolean;
template <>
inline constexpr ValueType kTypeOf<float> = ValueType::kFloat;
template <>
inline constexpr ValueType kTypeOf<double> = ValueType::kDouble;
template <>
inline constexpr ValueType kTypeOf<DataType> = ValueType::kDataType;
template <>
inline constexpr ValueType kTypeOf<Pointwise> = ValueType::kPointwiseMode;
template <>
inline constexpr ValueType kTypeOf<Handle> = ValueType::kHandle;
template <>
inline constexpr ValueType kTypeOf<void*> = ValueType::kPointer;
}  // namespace cudnn

class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  CudnnDescriptor(const CudnnLibrary& library, cudnn::Kind kind);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  // The first error is kept for finish().
  CudnnDescriptor& set(cudnn::Attribute which, cudnn::ValueType type, int64_t count, const void* values);
  template <typename T>
  CudnnDescriptor& set(cudnn::Attribute which, const T& value) {
    static_assert(std::is_same_v<T, int64_t> || cudnn::kTypeOf<T> != cudnn::ValueType::kInt64);
    return set(which, cudnn::kTypeOf<T>, 1, &value);
  }
  CudnnDescriptor& set(cudnn::Attribute which, const std::vector<int64_t>& values) {
    return set(which, cudnn::ValueType::kInt64, static_cast<int64_t>(values.size()), values.data());
  }
  CudnnDescriptor& set(cudnn::Attribute which, const CudnnDescriptor& value) {
    return set(which, cudnn::ValueType::kDescriptor, 1, &value.raw_);
  }
  // `what` names it in the error.
  Status finish(const char* what);

  // Up to `room` values; how many there are. Descriptors are filled into ones that exist.
  Result<int64_t> get(cudnn::Attribute which, cudnn::ValueType type, int64_t room, void* values) const;
  Result<int64_t> get_number(cudnn::Attribute which) const;
  Result<std::string> get_text(cudnn::Attribute which) const;
  // As many descriptors of a kind as there are, of at most `room`.
  Result<std::vector<CudnnDescriptor>> get_all(cudnn::Attribute which, cudnn::Kind kind, int64_t room) const;

  void* raw() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  const CudnnLibrary* library_ = nullptr;
  void* raw_ = nullptr;
  cudnn::Code failed_ = cudnn::kSuccess;
};

// The raw pointers, as attributes that are lists take them.
std::vector<void*> raw_of(const std::vector<CudnnDescriptor>& all);

}  // namespace wootz::cuda
