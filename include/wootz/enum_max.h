// EnumMax<E>(): how many values an enumeration has. Loops over all values, and name tables, rest on it.
#pragma once

#include <cstdint>

namespace nvinfer1 {
namespace impl {

/// Specialised beside each enumeration with its number of values.
template <typename T>
struct EnumMaxImpl;

}  // namespace impl

/// Number of values of enumeration T: one more than its largest enumerator.
template <typename T>
constexpr int32_t EnumMax() noexcept {
  return impl::EnumMaxImpl<T>::kVALUE;
}

}  // namespace nvinfer1
