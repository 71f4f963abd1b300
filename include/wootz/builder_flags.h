// Enumerations of IBuilderConfig.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/macros.h"

namespace nvinfer1 {

/// Bits 1U << QuantizationFlag.
using QuantizationFlags = uint32_t;

enum class QuantizationFlag : int32_t {
  kCALIBRATE_BEFORE_FUSION TRT_DEPRECATED_ENUM = 0,
};

template <>
struct impl::EnumMaxImpl<QuantizationFlag> {
  static constexpr int32_t kVALUE = 1;
};

enum class RuntimePlatform : int32_t {
  kSAME_AS_BUILD = 0,
  kWINDOWS_AMD64 = 1,
};

template <>
struct impl::EnumMaxImpl<RuntimePlatform> {
  static constexpr int32_t kVALUE = 2;
};

/// Bits 1U << BuilderFlag.
using BuilderFlags = uint32_t;

enum class BuilderFlag : int32_t {
  kFP16 TRT_DEPRECATED_ENUM = 0,
  kINT8 TRT_DEPRECATED_ENUM = 1,
  kDEBUG = 2,
  kGPU_FALLBACK = 3,
  kREFIT = 4,
  kDISABLE_TIMING_CACHE = 5,
  kTF32 = 6,
  kSPARSE_WEIGHTS = 7,
  kSAFETY_SCOPE TRT_DEPRECATED_ENUM = 8,
  kOBEY_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 9,
  kPREFER_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 10,
  kDIRECT_IO TRT_DEPRECATED_ENUM = 11,
  kREJECT_EMPTY_ALGORITHMS TRT_DEPRECATED_ENUM = 12,
  kVERSION_COMPATIBLE = 13,
  kEXCLUDE_LEAN_RUNTIME = 14,
  kFP8 TRT_DEPRECATED_ENUM = 15,
  kERROR_ON_TIMING_CACHE_MISS = 16,
  kBF16 TRT_DEPRECATED_ENUM = 17,
  kDISABLE_COMPILATION_CACHE = 18,
  kSTRIP_PLAN = 19,
  kWEIGHTLESS TRT_DEPRECATED_ENUM = 19,
  kREFIT_IDENTICAL = 20,
  kWEIGHT_STREAMING = 21,
  kINT4 TRT_DEPRECATED_ENUM = 22,
  kREFIT_INDIVIDUAL = 23,
  kSTRICT_NANS = 24,
  kMONITOR_MEMORY = 25,
  kFP4 TRT_DEPRECATED_ENUM = 26,
  kEDITABLE_TIMING_CACHE = 27,
  kDISTRIBUTIVE_INDEPENDENCE = 28,
};

template <>
struct impl::EnumMaxImpl<BuilderFlag> {
  static constexpr int32_t kVALUE = 29;
};

enum class MemoryPoolType : int32_t {
  kWORKSPACE = 0,
  kDLA_MANAGED_SRAM = 1,
  kDLA_LOCAL_DRAM = 2,
  kDLA_GLOBAL_DRAM = 3,
  kTACTIC_DRAM = 4,
  kTACTIC_SHARED_MEMORY = 5,
};

template <>
struct impl::EnumMaxImpl<MemoryPoolType> {
  static constexpr int32_t kVALUE = 6;
};

enum class PreviewFeature : int32_t {
  kPROFILE_SHARING_0806 TRT_DEPRECATED_ENUM = 0,
  kALIASED_PLUGIN_IO_10_03 = 1,
  kRUNTIME_ACTIVATION_RESIZE_10_10 = 2,
  kMULTIDEVICE_RUNTIME_10_16 = 3,
};

template <>
struct impl::EnumMaxImpl<PreviewFeature> {
  static constexpr int32_t kVALUE = 4;
};

enum class HardwareCompatibilityLevel : int32_t {
  kNONE = 0,
  kAMPERE_PLUS = 1,
  kSAME_COMPUTE_CAPABILITY = 2,
};

template <>
struct impl::EnumMaxImpl<HardwareCompatibilityLevel> {
  static constexpr int32_t kVALUE = 3;
};

enum class TilingOptimizationLevel : int32_t {
  kNONE = 0,
  kFAST = 1,
  kMODERATE = 2,
  kFULL = 3,
};

template <>
struct impl::EnumMaxImpl<TilingOptimizationLevel> {
  static constexpr int32_t kVALUE = 4;
};

}  // namespace nvinfer1
