// IBuilderConfig: every option kept and handed back; what a build goes by is read out by to_settings().
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/build_routes.h"
#include "api/public.h"
#include "api/runtime/reporter.h"
#include "api/timing_cache.h"
#include "backend/program.h"
#include "build/settings.h"
#include "ir/graph.h"

namespace wootz::api {

class ProfileImpl;

// Which weights of a plan can be replaced.
enum class RefitKind : uint8_t { kNone, kAll, kIdentical, kIndividual };

class BuilderConfigImpl final : public nvinfer1::IBuilderConfig {
 public:
  explicit BuilderConfigImpl(const Reporter& reporter);

  void setAvgTimingIterations(int32_t avgTiming) noexcept override;
  int32_t getAvgTimingIterations() const noexcept override { return v_.avg_timing; }
  void setEngineCapability(nvinfer1::EngineCapability capability) noexcept override;
  nvinfer1::EngineCapability getEngineCapability() const noexcept override { return v_.capability; }
  void setInt8Calibrator(nvinfer1::IInt8Calibrator* calibrator) noexcept override;
  nvinfer1::IInt8Calibrator* getInt8Calibrator() const noexcept override { return v_.calibrator; }
  void setFlags(nvinfer1::BuilderFlags builderFlags) noexcept override;
  nvinfer1::BuilderFlags getFlags() const noexcept override {
    return mask_to_caller<nvinfer1::BuilderFlag>(reporter_.level(), v_.flags);
  }
  void clearFlag(nvinfer1::BuilderFlag builderFlag) noexcept override;
  void setFlag(nvinfer1::BuilderFlag builderFlag) noexcept override;
  bool getFlag(nvinfer1::BuilderFlag builderFlag) const noexcept override;
  void setDeviceType(const nvinfer1::ILayer* layer, nvinfer1::DeviceType deviceType) noexcept override;
  nvinfer1::DeviceType getDeviceType(const nvinfer1::ILayer* layer) const noexcept override;
  bool isDeviceTypeSet(const nvinfer1::ILayer* layer) const noexcept override;
  void resetDeviceType(const nvinfer1::ILayer* layer) noexcept override;
  bool canRunOnDLA(const nvinfer1::ILayer*) const noexcept override { return false; }
  void setDLACore(int32_t dlaCore) noexcept override;
  int32_t getDLACore() const noexcept override { return v_.dla_core; }
  void setDefaultDeviceType(nvinfer1::DeviceType deviceType) noexcept override;
  nvinfer1::DeviceType getDefaultDeviceType() const noexcept override { return v_.default_device; }
  void reset() noexcept override;
  void setProfileStream(cudaStream_t stream) noexcept override { v_.stream = stream; }
  cudaStream_t getProfileStream() const noexcept override { return v_.stream; }
  int32_t addOptimizationProfile(const nvinfer1::IOptimizationProfile* profile) noexcept override;
  int32_t getNbOptimizationProfiles() const noexcept override { return static_cast<int32_t>(v_.profiles.size()); }
  void setProfilingVerbosity(nvinfer1::ProfilingVerbosity verbosity) noexcept override;
  nvinfer1::ProfilingVerbosity getProfilingVerbosity() const noexcept override { return v_.verbosity; }
  void setAlgorithmSelector(nvinfer1::IAlgorithmSelector* selector) noexcept override;
  nvinfer1::IAlgorithmSelector* getAlgorithmSelector() const noexcept override { return v_.selector; }
  bool rejects_empty_selections() const { return has(nvinfer1::BuilderFlag::kREJECT_EMPTY_ALGORITHMS); }
  bool setCalibrationProfile(const nvinfer1::IOptimizationProfile* profile) noexcept override;
  const nvinfer1::IOptimizationProfile* getCalibrationProfile() noexcept override { return v_.calibration_profile; }
  void setQuantizationFlags(nvinfer1::QuantizationFlags flags) noexcept override;
  nvinfer1::QuantizationFlags getQuantizationFlags() const noexcept override { return v_.quantization; }
  void clearQuantizationFlag(nvinfer1::QuantizationFlag) noexcept override { v_.quantization = 0; }
  void setQuantizationFlag(nvinfer1::QuantizationFlag) noexcept override { v_.quantization = 1; }
  bool getQuantizationFlag(nvinfer1::QuantizationFlag) const noexcept override { return v_.quantization != 0; }
  bool setTacticSources(nvinfer1::TacticSources tacticSources) noexcept override;
  nvinfer1::TacticSources getTacticSources() const noexcept override {
    return mask_to_caller<nvinfer1::TacticSource>(reporter_.level(), v_.sources);
  }
  nvinfer1::ITimingCache* createTimingCache(const void* blob, std::size_t size) const noexcept override;
  bool setTimingCache(const nvinfer1::ITimingCache& cache, bool ignoreMismatch) noexcept override;
  const nvinfer1::ITimingCache* getTimingCache() const noexcept override;
  void setMemoryPoolLimit(nvinfer1::MemoryPoolType pool, std::size_t poolSize) noexcept override;
  std::size_t getMemoryPoolLimit(nvinfer1::MemoryPoolType pool) const noexcept override;
  void setPreviewFeature(nvinfer1::PreviewFeature feature, bool enable) noexcept override;
  bool getPreviewFeature(nvinfer1::PreviewFeature feature) const noexcept override;
  void setBuilderOptimizationLevel(int32_t level) noexcept override;
  int32_t getBuilderOptimizationLevel() noexcept override { return v_.level; }
  void setHardwareCompatibilityLevel(nvinfer1::HardwareCompatibilityLevel level) noexcept override;
  nvinfer1::HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override {
    return v_.compatibility;
  }
  void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept override;
  const char* getPluginToSerialize(int32_t index) const noexcept override;
  int32_t getNbPluginsToSerialize() const noexcept override { return static_cast<int32_t>(v_.plugins.size()); }
  void setMaxAuxStreams(int32_t nbStreams) noexcept override;
  bool setMaxAuxStreams_11(int32_t nbStreams) noexcept override;
  int32_t getMaxAuxStreams() const noexcept override { return v_.aux_streams; }
  void setProgressMonitor(nvinfer1::IProgressMonitor* monitor) noexcept override { v_.monitor = monitor; }
  nvinfer1::IProgressMonitor* getProgressMonitor() const noexcept override { return v_.monitor; }
  void setRuntimePlatform(nvinfer1::RuntimePlatform runtimePlatform) noexcept override;
  nvinfer1::RuntimePlatform getRuntimePlatform() const noexcept override { return v_.platform; }
  void setMaxNbTactics(int32_t maxNbTactics) noexcept override;
  int32_t getMaxNbTactics() const noexcept override { return v_.max_tactics; }
  bool setTilingOptimizationLevel(nvinfer1::TilingOptimizationLevel level) noexcept override;
  nvinfer1::TilingOptimizationLevel getTilingOptimizationLevel() const noexcept override { return v_.tiling; }
  bool setL2LimitForTiling(int64_t size) noexcept override;
  int64_t getL2LimitForTiling() const noexcept override { return v_.l2_limit; }
  bool setRemoteAutoTuningConfig(const char* config) noexcept override;
  const char* getRemoteAutoTuningConfig() const noexcept override { return v_.remote.c_str(); }

  bool setBuildRoute(const char* buildRoute) noexcept override;
  const char* getBuildRoute() const noexcept override { return option("build_route"); }
  const char* getAllBuildRoutes() const noexcept override { return all_build_routes().c_str(); }

  // Options beyond the API (wootz/extensions.h), as text. Null: an unknown key.
  Status set_option(std::string_view key, const char* value);
  const char* option(std::string_view key) const;

  // What a build of this config goes by. Errors: combinations that cannot be built.
  Result<BuildSettings> to_settings() const;
  RefitKind refit_kind() const {
    using nvinfer1::BuilderFlag;
    if (has(BuilderFlag::kREFIT_INDIVIDUAL)) return RefitKind::kIndividual;
    if (has(BuilderFlag::kREFIT)) return RefitKind::kAll;
    return has(BuilderFlag::kREFIT_IDENTICAL) || strips() ? RefitKind::kIdentical : RefitKind::kNone;
  }
  // Plans without refittable weights; they come back as they were unless another flag says more.
  bool strips() const { return has(nvinfer1::BuilderFlag::kSTRIP_PLAN); }
  bool streams_weights() const { return has(nvinfer1::BuilderFlag::kWEIGHT_STREAMING); }
  // By either flag. Without one, types set on layers are not looked at.
  bool types_of_layers_bind() const {
    return has(nvinfer1::BuilderFlag::kOBEY_PRECISION_CONSTRAINTS) ||
           has(nvinfer1::BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  }
  bool int8() const { return has(nvinfer1::BuilderFlag::kINT8); }
  bool direct_io() const { return has(nvinfer1::BuilderFlag::kDIRECT_IO); }
  // The cache set, or one of the config's own.
  Result<TimingCache*> cache_for_build() const;
  // A strongly typed network's types are its own: an error names the flag that would change them.
  // What the network's plugins need of the config.
  Status check_plugins(const Graph& graph, const BuildSettings& settings) const;
  // setPluginsToSerialize(): the libraries into the program.
  Status add_plugin_libraries(Program* program) const;
  Status check_strong_typing() const;

 private:
  // Of the library's own flags, whatever the caller's level.
  bool has(nvinfer1::BuilderFlag flag) const { return (v_.flags >> static_cast<uint32_t>(flag) & 1U) != 0; }
  // Errors: what is set cannot be built.
  Status check_buildable() const;
  // What the public API wants to read from the engine again.
  void keep_properties(BuildSettings* settings) const;
  // From flags, pools and tactic sources.
  void take_flags(BuildSettings* settings) const;
  void take_pools(BuildSettings* settings) const;
  void take_sources(BuildSettings* settings) const;
  // An empty cache for the device that a build is for.
  Result<std::unique_ptr<TimingCache>> empty_cache() const;
  // Names in a warning each what was set and no build acts on.
  void note_without_effect(const BuildSettings& options) const;
  void note_nothing_to_do(const BuildSettings& settings, const Backend& backend) const;
  struct Values {
    int32_t avg_timing = 1;
    nvinfer1::EngineCapability capability = nvinfer1::EngineCapability::kSTANDARD;
    nvinfer1::IInt8Calibrator* calibrator = nullptr;
    nvinfer1::BuilderFlags flags = 1U << static_cast<uint32_t>(nvinfer1::BuilderFlag::kTF32);
    std::map<const nvinfer1::ILayer*, nvinfer1::DeviceType> devices;
    int32_t dla_core = -1;
    nvinfer1::DeviceType default_device = nvinfer1::DeviceType::kGPU;
    cudaStream_t stream = nullptr;
    std::vector<const ProfileImpl*> profiles;
    nvinfer1::ProfilingVerbosity verbosity = nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY;
    nvinfer1::IAlgorithmSelector* selector = nullptr;
    const nvinfer1::IOptimizationProfile* calibration_profile = nullptr;
    nvinfer1::QuantizationFlags quantization = 0;
    nvinfer1::TacticSources sources = 0x1E;  // all but kCUBLAS, which is nothing beside kCUBLAS_LT
    const TimingCacheImpl* cache = nullptr;
    std::map<nvinfer1::MemoryPoolType, size_t> pools;
    uint32_t preview = 1;
    int32_t level = 3;
    nvinfer1::HardwareCompatibilityLevel compatibility = nvinfer1::HardwareCompatibilityLevel::kNONE;
    std::vector<std::string> plugins;
    int32_t aux_streams = -1;
    nvinfer1::IProgressMonitor* monitor = nullptr;
    nvinfer1::RuntimePlatform platform = nvinfer1::RuntimePlatform::kSAME_AS_BUILD;
    int32_t max_tactics = -1;
    nvinfer1::TilingOptimizationLevel tiling = nvinfer1::TilingOptimizationLevel::kNONE;
    int64_t l2_limit = -1;
    std::string remote;
    std::map<std::string, std::string, std::less<>> options;
  };

  Reporter reporter_;
  Values v_;
  mutable std::unique_ptr<TimingCacheImpl> own_cache_;
};

}  // namespace wootz::api
