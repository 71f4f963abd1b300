// Enumerations of IBuilderConfig.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/level.h"
#include "wootz/macros.h"

namespace nvinfer1 {

#if NV_TENSORRT_MAJOR < 11
/// Bits 1U << QuantizationFlag.
using QuantizationFlags = uint32_t;

enum class QuantizationFlag : int32_t {
  /// Collect ranges on the network as it was written, rather than after fusion.
  kCALIBRATE_BEFORE_FUSION TRT_DEPRECATED_ENUM = 0,
};

template <>
struct impl::EnumMaxImpl<QuantizationFlag> {
  static constexpr int32_t kVALUE = 1;
};
#endif

/// Operating system and processor that a plan is for.
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

/// Switches of a build. All are off by default, but for kTF32. Precision flags allow a type, and the tuner decides by
/// time; with a strongly typed network they are an error of the build. A flag that this version does not act on is
/// named in a warning of the build.
enum class BuilderFlag : int32_t {
#if NV_TENSORRT_MAJOR < 11
  /// Allow kHALF.
  kFP16 TRT_DEPRECATED_ENUM = 0,
  /// Allow kINT8, where ranges are known by calibration or setDynamicRange.
  kINT8 TRT_DEPRECATED_ENUM = 1,
#endif
  /// Synchronize and check for errors after every step.
  kDEBUG = 2,
  /// Layers asked onto a device that cannot run them go to the engine's device.
  kGPU_FALLBACK = 3,
  /// All weights can be replaced by an IRefitter.
  kREFIT = 4,
  /// Do not use times of earlier layers of this build.
  kDISABLE_TIMING_CACHE = 5,
  /// Allow products of kFLOAT with inputs rounded to 10 bits of mantissa, summed in kFLOAT.
  kTF32 = 6,
  /// Allow kernels for weights with two of each four values zero, where they are.
  kSPARSE_WEIGHTS = 7,
  /// Refuse what the safety runtime would not run.
  kSAFETY_SCOPE TRT_DEPRECATED_ENUM = 8,
#if NV_TENSORRT_MAJOR < 11
  /// Types set on layers are binding: fail rather than use others.
  kOBEY_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 9,
  /// Types set on layers are used where possible, with a warning otherwise.
  kPREFER_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 10,
#endif
  /// No change of layout at inputs and outputs: fail rather than insert one.
  kDIRECT_IO TRT_DEPRECATED_ENUM = 11,
#if NV_TENSORRT_MAJOR < 11
  /// Fail when an algorithm selector picks nothing.
  kREJECT_EMPTY_ALGORITHMS TRT_DEPRECATED_ENUM = 12,
#endif
  /// The plan runs under other versions: it holds the library of the runtime, which those run it by.
  kVERSION_COMPATIBLE = WOOTZ_BY_LEVEL(13, 12),
  /// Leave that runtime out of the plan: IRuntime::loadRuntime opens the library where it is.
  kEXCLUDE_LEAN_RUNTIME = WOOTZ_BY_LEVEL(14, 13),
#if NV_TENSORRT_MAJOR < 11
  /// Allow kFP8.
  kFP8 TRT_DEPRECATED_ENUM = 15,
#endif
  /// Fail when a time is needed that the timing cache does not have.
  kERROR_ON_TIMING_CACHE_MISS = WOOTZ_BY_LEVEL(16, 15),
#if NV_TENSORRT_MAJOR < 11
  /// Allow kBF16.
  kBF16 TRT_DEPRECATED_ENUM = 17,
#endif
  /// Do not keep compiled kernels in the timing cache.
  kDISABLE_COMPILATION_CACHE = WOOTZ_BY_LEVEL(18, 17),
  /// Leave refittable weights out of the plan; they come by a refit. Without another refit flag they must be those of
  /// the build, as with kREFIT_IDENTICAL.
  kSTRIP_PLAN = WOOTZ_BY_LEVEL(19, 18),
#if NV_TENSORRT_MAJOR < 11
  /// Older name of kSTRIP_PLAN.
  kWEIGHTLESS TRT_DEPRECATED_ENUM = 19,
#endif
  /// Weights can be replaced by the same values only, others are refused: refit of a stripped plan.
  kREFIT_IDENTICAL = WOOTZ_BY_LEVEL(20, 19),
  /// Weights may stay in host memory and be brought in during inference; see ICudaEngine::setWeightStreamingBudgetV2.
  /// Strongly typed networks only.
  kWEIGHT_STREAMING = WOOTZ_BY_LEVEL(21, 20),
#if NV_TENSORRT_MAJOR < 11
  /// Allow kINT4 weights.
  kINT4 TRT_DEPRECATED_ENUM = 22,
#endif
  /// The weights marked by INetworkDefinition::markWeightsRefittable can be replaced. Not together with kREFIT or
  /// kREFIT_IDENTICAL.
  kREFIT_INDIVIDUAL = WOOTZ_BY_LEVEL(23, 22),
  /// No rewriting that is right only in the absence of NaN.
  kSTRICT_NANS = WOOTZ_BY_LEVEL(24, 23),
  /// Log memory use while building.
  kMONITOR_MEMORY = WOOTZ_BY_LEVEL(25, 24),
#if NV_TENSORRT_MAJOR < 11
  /// Allow kFP4.
  kFP4 TRT_DEPRECATED_ENUM = 26,
#endif
  /// The timing cache takes and honours edits; see ITimingCache::update.
  kEDITABLE_TIMING_CACHE = WOOTZ_BY_LEVEL(27, 26),
  /// An output element does not depend on where along an outer axis it lies.
  kDISTRIBUTIVE_INDEPENDENCE = WOOTZ_BY_LEVEL(28, 27),
};

template <>
struct impl::EnumMaxImpl<BuilderFlag> {
  static constexpr int32_t kVALUE = WOOTZ_BY_LEVEL(29, 28);
};

/// Memory whose use a build limits. Those of DLA have no meaning here.
enum class MemoryPoolType : int32_t {
  /// Scratch memory of a step; all of the device's memory by default.
  kWORKSPACE = 0,
  kDLA_MANAGED_SRAM = 1,
  kDLA_LOCAL_DRAM = 2,
  kDLA_GLOBAL_DRAM = 3,
  /// Device memory that timing a tactic may take; all of it by default.
  kTACTIC_DRAM = 4,
  /// Shared memory of a thread block; what the device has by default.
  kTACTIC_SHARED_MEMORY = 5,
};

template <>
struct impl::EnumMaxImpl<MemoryPoolType> {
  static constexpr int32_t kVALUE = 6;
};

/// Features that may still change.
enum class PreviewFeature : int32_t {
#if NV_TENSORRT_MAJOR < 11
  /// Always on: several contexts may use one profile.
  kPROFILE_SHARING_0806 TRT_DEPRECATED_ENUM = 0,
#endif
  /// Plugins whose outputs overwrite inputs.
  kALIASED_PLUGIN_IO_10_03 = WOOTZ_BY_LEVEL(1, 0),
  /// updateDeviceMemorySizeForShapes gives exact sizes.
  kRUNTIME_ACTIVATION_RESIZE_10_10 = WOOTZ_BY_LEVEL(2, 1),
#if NV_TENSORRT_MAJOR < 11
  /// Layers that span devices.
  kMULTIDEVICE_RUNTIME_10_16 = 3,
#endif
};

template <>
struct impl::EnumMaxImpl<PreviewFeature> {
  static constexpr int32_t kVALUE = WOOTZ_BY_LEVEL(4, 2);
};

/// GPUs that a plan runs on.
enum class HardwareCompatibilityLevel : int32_t {
  /// The model it was built for.
  kNONE = 0,
  /// Compute capability 8.0 and later.
  kAMPERE_PLUS = 1,
  /// All of the same compute capability.
  kSAME_COMPUTE_CAPABILITY = 2,
};

template <>
struct impl::EnumMaxImpl<HardwareCompatibilityLevel> {
  static constexpr int32_t kVALUE = 3;
};

/// How much time goes into tiling steps across each other, for the sake of the cache.
enum class TilingOptimizationLevel : int32_t {
  /// None.
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
