// The two levels of the API that one library serves (include/wootz/level.h), and what the library has to do about it:
// it is compiled at level 10, so calls to a caller's logger and profiler go by the caller's level, and the numbers of
// four enumerations are translated where they come in and go out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "api/runtime/public.h"
#include "wootz/builder_flags.h"
#include "wootz/network_flags.h"
#include "wootz/tactic_source.h"

namespace wootz::api {

enum class ApiLevel : uint8_t { kUnknown, k10, k11 };

// Of a program that was compiled with this NV_TENSORRT_VERSION; kUnknown: neither of the two.
ApiLevel level_of(int32_t version);
// NV_TENSORRT_VERSION at a level.
int32_t version_at(ApiLevel level);

// A logger as the application made it: which virtual functions it has depends on the level. Of an unknown one it is
// handed back, and never called.
struct AppLogger {
  nvinfer1::ILogger* object = nullptr;
  ApiLevel level = ApiLevel::kUnknown;

  void log(nvinfer1::ILogger::Severity severity, const char* text) const noexcept;
};

// A profiler likewise.
struct AppProfiler {
  nvinfer1::IProfiler* object = nullptr;
  ApiLevel level = ApiLevel::k10;

  void report(const char* step, float ms) const noexcept;
};

// By the numbers that an enumeration has at level 11: the numbers of the same enumerators here; -1: there is none.
template <class E>
std::span<const int8_t> numbers_of_11();
template <>
std::span<const int8_t> numbers_of_11<nvinfer1::BuilderFlag>();
template <>
std::span<const int8_t> numbers_of_11<nvinfer1::PreviewFeature>();
template <>
std::span<const int8_t> numbers_of_11<nvinfer1::TacticSource>();
template <>
std::span<const int8_t> numbers_of_11<nvinfer1::NetworkDefinitionCreationFlag>();

// An enumerator that a caller names by its number; none: the caller's level has no such number.
template <class E>
std::optional<E> from_caller(ApiLevel level, E value) {
  const auto number = static_cast<size_t>(static_cast<uint32_t>(value));
  if (level != ApiLevel::k11)
    return number < static_cast<size_t>(nvinfer1::EnumMax<E>()) ? std::optional<E>(value) : std::nullopt;
  const std::span<const int8_t> numbers = numbers_of_11<E>();
  if (number >= numbers.size() || numbers[number] < 0) return std::nullopt;
  return static_cast<E>(numbers[number]);
}

// The same for a mask of them.
template <class E>
std::optional<uint32_t> mask_from_caller(ApiLevel level, uint32_t mask) {
  uint32_t result = 0;
  for (uint32_t bit = 0; bit < 32; ++bit) {
    if ((mask >> bit & 1U) == 0) continue;
    const std::optional<E> value = from_caller(level, static_cast<E>(bit));
    if (!value) return std::nullopt;
    result |= 1U << static_cast<uint32_t>(*value);
  }
  return result;
}

// A mask for a caller, without what its level has no number for.
template <class E>
uint32_t mask_to_caller(ApiLevel level, uint32_t mask) {
  if (level != ApiLevel::k11) return mask;
  const std::span<const int8_t> numbers = numbers_of_11<E>();
  uint32_t result = 0;
  for (size_t bit = 0; bit < numbers.size(); ++bit)
    if (numbers[bit] >= 0 && (mask >> static_cast<uint32_t>(numbers[bit]) & 1U) != 0) result |= 1U << bit;
  return result;
}

}  // namespace wootz::api
