// What the add... methods share.
#pragma once

#include <algorithm>
#include <bit>

#include "api/network/network.h"

namespace wootz::api {

// Refuses numbers outside an enumeration.
template <class E>
Status check_enum(E value, const char* what) {
  const auto number = static_cast<int32_t>(value);
  if (number >= 0 && number < nvinfer1::EnumMax<E>()) return Status();
  return invalid_argument("{} {} is not one of the {} there are", what, number, nvinfer1::EnumMax<E>());
}
inline Status check_type(nvinfer1::DataType type) {
  return from_api(type) == DType::kInvalid ? invalid_argument("unknown type {}", static_cast<int>(type)) : Status();
}

// A setter's value that must be one of an enumeration: kept and true, or refused and reported.
template <class L, class E>
bool take_enum(L& layer, const char* call, const char* what, E value, E* member) noexcept {
  return attempt(layer.network().reporter(), call, [&]() -> Status {
    if (Status status = check_enum(value, what); !status.ok()) return status.with_prefix(layer.place());
    *member = value;
    layer.changed();
    return Status();
  });
}

// The body of an add... method: f returns Result<I*>.
template <class I, class F>
I* add_or_null(const NetworkImpl& network, const char* call, F&& f) noexcept {
  return attempt_or<I*>(network.reporter(), call, nullptr, std::forward<F>(f));
}

// Axis of a mask with exactly one bit below `rank`.
inline Result<int> single_axis(uint32_t axes, int rank) {
  if (std::popcount(axes) != 1 || std::countr_zero(axes) >= rank)
    return invalid_argument("the axes {:#x} must be one bit below the rank, which is {}", axes, rank);
  return std::countr_zero(axes);
}
inline Result<std::vector<int64_t>> axes_of(uint32_t axes, int rank) {
  std::vector<int64_t> list;
  for (int a = 0; a < 32; ++a) {
    if ((axes >> a & 1U) == 0) continue;
    if (a >= rank) return invalid_argument("the axes {:#x} have a bit at or above the rank, which is {}", axes, rank);
    list.push_back(a);
  }
  return list;
}

inline std::vector<int64_t> to_vector(const ApiDims& dims) {
  return {dims.d, dims.d + std::clamp(dims.nbDims, 0, static_cast<int32_t>(ApiDims::MAX_DIMS))};
}
inline ApiDims to_api_dims(const std::vector<int64_t>& values) {
  ApiDims dims{};
  for (int64_t v : values)
    if (dims.nbDims < ApiDims::MAX_DIMS) dims.d[dims.nbDims++] = v;
  return dims;
}
inline ApiDims filled_dims(int32_t rank, int64_t value) {
  return to_api_dims(std::vector<int64_t>(static_cast<size_t>(std::max(rank, 0)), value));
}
// The axis that image layers take when none is set.
inline int channel_axis(int rank) { return std::max(0, rank - 3); }

}  // namespace wootz::api
