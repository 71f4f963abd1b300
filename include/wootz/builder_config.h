// IBuilderConfig: options of a build.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated methods take deprecated types
#endif

#include <cstddef>
#include <cstdint>

#include "wootz/algorithm_selector.h"
#include "wootz/builder_flags.h"
#include "wootz/calibrator.h"
#include "wootz/cuda_types.h"
#include "wootz/device.h"
#include "wootz/layer.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/profile.h"
#include "wootz/profiling_verbosity.h"
#include "wootz/progress_monitor.h"
#include "wootz/tactic_source.h"
#include "wootz/timing_cache.h"

namespace nvinfer1 {

enum class QuantizationFlag : int32_t;

/// Options of a build. Made by IBuilder::createBuilderConfig, owned by the caller, and good for any number of builds.
/// Objects that are set here stay the caller's and must live until the build is done. Use it from one thread at a time.
/// An impossible value is refused and logged, and the old one stays; combinations are judged when building.
class IBuilderConfig : public INoCopy {
 public:
  /// How many runs the time of a tactic is taken from; 1 by default.
  virtual void setAvgTimingIterations(int32_t avgTiming) noexcept = 0;
  virtual int32_t getAvgTimingIterations() const noexcept = 0;

  /// Only kSTANDARD, the default, can be built.
  virtual void setEngineCapability(EngineCapability capability) noexcept = 0;
  virtual EngineCapability getEngineCapability() const noexcept = 0;

  WOOTZ_UNTIL_10
  /// Source of inputs to find ranges for implicit INT8 quantization; null for none.
  TRT_DEPRECATED virtual void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept = 0;
  TRT_DEPRECATED virtual IInt8Calibrator* getInt8Calibrator() const noexcept = 0;

 public:
  /// Replaces all flags.
  virtual void setFlags(BuilderFlags builderFlags) noexcept = 0;
  virtual BuilderFlags getFlags() const noexcept = 0;

  /// Clears, sets and reads one flag.
  virtual void clearFlag(BuilderFlag builderFlag) noexcept = 0;
  virtual void setFlag(BuilderFlag builderFlag) noexcept = 0;
  virtual bool getFlag(BuilderFlag builderFlag) const noexcept = 0;

  /// Device of a layer, in place of the default one. There is no DLA here: see DeviceType.
  virtual void setDeviceType(const ILayer* layer, DeviceType deviceType) noexcept = 0;
  virtual DeviceType getDeviceType(const ILayer* layer) const noexcept = 0;
  virtual bool isDeviceTypeSet(const ILayer* layer) const noexcept = 0;
  virtual void resetDeviceType(const ILayer* layer) noexcept = 0;

  /// Always false.
  virtual bool canRunOnDLA(const ILayer* layer) const noexcept = 0;

  /// Kept and handed back; no effect.
  virtual void setDLACore(int32_t dlaCore) noexcept = 0;
  virtual int32_t getDLACore() const noexcept = 0;

  /// Device of layers that have none set; kGPU by default.
  virtual void setDefaultDeviceType(DeviceType deviceType) noexcept = 0;
  virtual DeviceType getDefaultDeviceType() const noexcept = 0;

  /// Back to how createBuilderConfig made it.
  virtual void reset() noexcept = 0;

  /// Stream on which tactics are timed; null, the default, for one of the builder's.
  virtual void setProfileStream(cudaStream_t stream) noexcept = 0;
  virtual cudaStream_t getProfileStream() const noexcept = 0;

  /// Adds a profile, to be left alone from then on, and returns its index; -1 when it is not valid. A network with open
  /// extents needs one.
  virtual int32_t addOptimizationProfile(const IOptimizationProfile* profile) noexcept = 0;
  virtual int32_t getNbOptimizationProfiles() const noexcept = 0;

  /// How much the engine will tell about itself; kLAYER_NAMES_ONLY by default.
  virtual void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept = 0;
  virtual ProfilingVerbosity getProfilingVerbosity() const noexcept = 0;

  WOOTZ_UNTIL_10
  /// Chooser of tactics; null, the default, for the builder itself.
  TRT_DEPRECATED virtual void setAlgorithmSelector(v_1_0::IAlgorithmSelector* selector) noexcept = 0;
  TRT_DEPRECATED virtual v_1_0::IAlgorithmSelector* getAlgorithmSelector() const noexcept = 0;

  /// Profile whose opt shapes calibration runs with; the first one by default. False when it is not valid.
  TRT_DEPRECATED virtual bool setCalibrationProfile(const IOptimizationProfile* profile) noexcept = 0;
  TRT_DEPRECATED virtual const IOptimizationProfile* getCalibrationProfile() noexcept = 0;

  /// See QuantizationFlag.
  TRT_DEPRECATED virtual void setQuantizationFlags(uint32_t flags) noexcept = 0;
  TRT_DEPRECATED virtual uint32_t getQuantizationFlags() const noexcept = 0;
  TRT_DEPRECATED virtual void clearQuantizationFlag(QuantizationFlag flag) noexcept = 0;
  TRT_DEPRECATED virtual void setQuantizationFlag(QuantizationFlag flag) noexcept = 0;
  TRT_DEPRECATED virtual bool getQuantizationFlag(QuantizationFlag flag) const noexcept = 0;

 public:
  /// Where tactics may come from, as bits 1U << TacticSource. False for unknown ones.
  virtual bool setTacticSources(TacticSources tacticSources) noexcept = 0;
  virtual TacticSources getTacticSources() const noexcept = 0;

  /// A cache with the entries in `size` bytes at `blob`, or, for size 0, an empty one; owned by the caller. Null when
  /// the bytes are no cache.
  virtual ITimingCache* createTimingCache(const void* blob, std::size_t size) const noexcept = 0;

  /// Cache to use and fill in builds. False, and no cache set, when it is from another device or version, unless
  /// `ignoreMismatch`. Without one, each build has its own.
  virtual bool setTimingCache(const ITimingCache& cache, bool ignoreMismatch) noexcept = 0;

  /// The cache set, or the last build's own; owned by the config or whoever set it. Null when there is none.
  virtual const ITimingCache* getTimingCache() const noexcept = 0;

  /// Limit in bytes for a MemoryPoolType.
  virtual void setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize) noexcept = 0;
  virtual std::size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept = 0;

  /// Turns a feature on or off; see PreviewFeature.
  virtual void setPreviewFeature(PreviewFeature feature, bool enable) noexcept = 0;
  virtual bool getPreviewFeature(PreviewFeature feature) const noexcept = 0;

  /// How hard to search, from 0 (first tactic that works) to 5 (everything); 3 by default. Each step up takes longer,
  /// and finds an engine that is as fast or faster.
  virtual void setBuilderOptimizationLevel(int32_t level) noexcept = 0;
  virtual int32_t getBuilderOptimizationLevel() noexcept = 0;

  /// Which other GPUs the plan must run on; kNONE by default. No effect on CPU plans.
  virtual void setHardwareCompatibilityLevel(HardwareCompatibilityLevel hardwareCompatibilityLevel) noexcept = 0;
  virtual HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept = 0;

  /// Plugin libraries, by path, that go into the plan: the paths are copied. Loading such a plan needs
  /// setEngineHostCodeAllowed.
  virtual void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept = 0;

  /// One of the paths, or null when out of range; and their number.
  virtual const char* getPluginToSerialize(int32_t index) const noexcept = 0;
  virtual int32_t getNbPluginsToSerialize() const noexcept = 0;

  /// Most streams an inference may use besides the enqueue's. Default -1: the builder decides, by measuring whole
  /// inferences; 0 forbids. At most 7 are used, and only on devices with queues of their own.
  virtual int32_t getMaxAuxStreams() const noexcept = 0;

  WOOTZ_UNTIL_10
  virtual void WOOTZ_OVERLOAD_UNTIL_10(setMaxAuxStreams)(int32_t nbStreams) noexcept = 0;

  WOOTZ_SINCE_11
  /// False for a number that is refused.
  virtual bool WOOTZ_OVERLOAD_SINCE_11(setMaxAuxStreams)(int32_t nbStreams) noexcept = 0;

 public:
  /// Told how far a build has come, and asked whether to go on; null, the default, for none.
  virtual void setProgressMonitor(IProgressMonitor* monitor) noexcept = 0;
  virtual IProgressMonitor* getProgressMonitor() const noexcept = 0;

  /// Platform the plan is for; kSAME_AS_BUILD by default.
  virtual void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept = 0;
  virtual RuntimePlatform getRuntimePlatform() const noexcept = 0;

  /// Most tactics timed for a step; -1, the default, lets the builder decide.
  virtual void setMaxNbTactics(int32_t maxNbTactics) noexcept = 0;
  virtual int32_t getMaxNbTactics() const noexcept = 0;

  /// See TilingOptimizationLevel; kNONE by default. False when not supported.
  virtual bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept = 0;
  virtual TilingOptimizationLevel getTilingOptimizationLevel() const noexcept = 0;

  /// Bytes of cache that tiling may count on; -1 by default: as the device says. False for other negative numbers.
  virtual bool setL2LimitForTiling(int64_t size) noexcept = 0;
  virtual int64_t getL2LimitForTiling() const noexcept = 0;

  /// Where to time tactics instead of here, as text; copied. False when not supported.
  virtual bool setRemoteAutoTuningConfig(const char* config) noexcept = 0;
  virtual const char* getRemoteAutoTuningConfig() const noexcept = 0;

  WOOTZ_SINCE_11
  /// A recipe for the compiler's choices, in words of its own; copied. Here it says which optimizing passes are left
  /// out: "without:PASS+PASS", or the empty text for none. False for any other.
  virtual bool setBuildRoute(const char* buildRoute) noexcept = 0;
  virtual const char* getBuildRoute() const noexcept = 0;

  /// The routes of a single pass each, and the empty one, as a JSON list of texts; others are combinations.
  virtual const char* getAllBuildRoutes() const noexcept = 0;
};

}  // namespace nvinfer1
