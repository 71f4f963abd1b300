#include "api/builder_config.h"

#include <charconv>
#include <cstdlib>

#include "api/profile.h"
#include "api/runtime/made_here.h"
#include "base/cpu_info.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

template <class E>
bool known(E value) {
  const auto number = static_cast<int32_t>(value);
  return number >= 0 && number < EnumMax<E>();
}

// Keeps an enumerator that exists; otherwise the old value stays and the refusal is reported.
template <class E>
bool keep_enum(const Reporter& reporter, const char* call, E value, E* member) noexcept {
  return attempt(reporter, call, [&]() -> Status {
    if (!known(value))
      return invalid_argument("{} is not one of the {} values there are", static_cast<int32_t>(value), EnumMax<E>());
    *member = value;
    return Status();
  });
}

bool is_of_dla(MemoryPoolType pool) {
  return pool == MemoryPoolType::kDLA_MANAGED_SRAM || pool == MemoryPoolType::kDLA_LOCAL_DRAM ||
         pool == MemoryPoolType::kDLA_GLOBAL_DRAM;
}

bool keep_number(const Reporter& reporter, const char* call, int64_t value, int64_t low, int64_t high,
                 int32_t* member) noexcept {
  return attempt(reporter, call, [&]() -> Status {
    if (value < low || value > high) return invalid_argument("{} is outside [{}, {}]", value, low, high);
    *member = static_cast<int32_t>(value);
    return Status();
  });
}

}  // namespace

void BuilderConfigImpl::setDLACore(int32_t dlaCore) noexcept {
  attempt(reporter_, "IBuilderConfig::setDLACore", [&]() -> Status {
    if (dlaCore != -1) return invalid_argument("there is no DLA core {}: this machine has none", dlaCore);
    return Status();
  });
}

BuilderConfigImpl::BuilderConfigImpl(const Reporter& reporter) : reporter_(reporter) {}

void BuilderConfigImpl::setAvgTimingIterations(int32_t avgTiming) noexcept {
  keep_number(reporter_, "IBuilderConfig::setAvgTimingIterations", avgTiming, 1, 1 << 20, &v_.avg_timing);
}
void BuilderConfigImpl::setEngineCapability(EngineCapability capability) noexcept {
  keep_enum(reporter_, "IBuilderConfig::setEngineCapability", capability, &v_.capability);
}
void BuilderConfigImpl::setInt8Calibrator(IInt8Calibrator* calibrator) noexcept { v_.calibrator = calibrator; }

void BuilderConfigImpl::setFlags(BuilderFlags builderFlags) noexcept {
  attempt(reporter_, "IBuilderConfig::setFlags", [&]() -> Status {
    const std::optional<uint32_t> flags = mask_from_caller<BuilderFlag>(reporter_.level(), builderFlags);
    if (!flags) return invalid_argument("unknown bits in {:#x}", builderFlags);
    v_.flags = *flags;
    return Status();
  });
}
void BuilderConfigImpl::clearFlag(BuilderFlag builderFlag) noexcept {
  attempt(reporter_, "IBuilderConfig::clearFlag", [&]() -> Status {
    const std::optional<BuilderFlag> flag = from_caller(reporter_.level(), builderFlag);
    if (!flag) return invalid_argument("there is no flag {}", static_cast<int32_t>(builderFlag));
    v_.flags &= ~(1U << static_cast<uint32_t>(*flag));
    return Status();
  });
}
void BuilderConfigImpl::setFlag(BuilderFlag builderFlag) noexcept {
  attempt(reporter_, "IBuilderConfig::setFlag", [&]() -> Status {
    const std::optional<BuilderFlag> flag = from_caller(reporter_.level(), builderFlag);
    if (!flag) return invalid_argument("there is no flag {}", static_cast<int32_t>(builderFlag));
    v_.flags |= 1U << static_cast<uint32_t>(*flag);
    return Status();
  });
}
bool BuilderConfigImpl::getFlag(BuilderFlag builderFlag) const noexcept {
  const std::optional<BuilderFlag> flag = from_caller(reporter_.level(), builderFlag);
  return flag && has(*flag);
}

void BuilderConfigImpl::setDeviceType(const ILayer* layer, DeviceType deviceType) noexcept {
  attempt(reporter_, "IBuilderConfig::setDeviceType", [&]() -> Status {
    if (layer == nullptr || !known(deviceType))
      return invalid_argument("layer {}, device type {}", static_cast<const void*>(layer),
                              static_cast<int32_t>(deviceType));
    v_.devices[layer] = deviceType;
    return Status();
  });
}
DeviceType BuilderConfigImpl::getDeviceType(const ILayer* layer) const noexcept {
  const auto found = v_.devices.find(layer);
  return found == v_.devices.end() ? v_.default_device : found->second;
}
bool BuilderConfigImpl::isDeviceTypeSet(const ILayer* layer) const noexcept { return v_.devices.count(layer) != 0; }
void BuilderConfigImpl::resetDeviceType(const ILayer* layer) noexcept { v_.devices.erase(layer); }
void BuilderConfigImpl::setDefaultDeviceType(DeviceType deviceType) noexcept {
  keep_enum(reporter_, "IBuilderConfig::setDefaultDeviceType", deviceType, &v_.default_device);
}

void BuilderConfigImpl::reset() noexcept {
  attempt(reporter_, "IBuilderConfig::reset", [&]() -> Status {
    v_ = Values();
    own_cache_.reset();
    return Status();
  });
}

int32_t BuilderConfigImpl::addOptimizationProfile(const IOptimizationProfile* profile) noexcept {
  return attempt_or(reporter_, "IBuilderConfig::addOptimizationProfile", -1, [&]() -> Result<int32_t> {
    const auto* ours = made_here<ProfileImpl>(profile);
    if (ours == nullptr) return invalid_argument("the profile is null or not a builder's");
    if (!ours->isValid())
      return invalid_argument("the profile is not valid: every input needs kMIN, kOPT and kMAX, in order");
    if (v_.profiles.size() >= static_cast<size_t>(limits::kMaxProfiles))
      return invalid_argument("there are {} profiles already, the limit", v_.profiles.size());
    v_.profiles.push_back(ours);
    return static_cast<int32_t>(v_.profiles.size()) - 1;
  });
}

void BuilderConfigImpl::setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept {
  keep_enum(reporter_, "IBuilderConfig::setProfilingVerbosity", verbosity, &v_.verbosity);
}
void BuilderConfigImpl::setAlgorithmSelector(IAlgorithmSelector* selector) noexcept { v_.selector = selector; }
bool BuilderConfigImpl::setCalibrationProfile(const IOptimizationProfile* profile) noexcept {
  return attempt(reporter_, "IBuilderConfig::setCalibrationProfile", [&]() -> Status {
    if (profile == nullptr || !profile->isValid())
      return invalid_argument("the profile is null or lacks shapes: every input needs kMIN, kOPT and kMAX, in order");
    v_.calibration_profile = profile;
    return Status();
  });
}

void BuilderConfigImpl::setQuantizationFlags(QuantizationFlags flags) noexcept {
  attempt(reporter_, "IBuilderConfig::setQuantizationFlags", [&]() -> Status {
    if (flags >> EnumMax<QuantizationFlag>() != 0) return invalid_argument("unknown bits in {:#x}", flags);
    v_.quantization = flags;
    return Status();
  });
}

bool BuilderConfigImpl::setTacticSources(TacticSources tacticSources) noexcept {
  return attempt(reporter_, "IBuilderConfig::setTacticSources", [&]() -> Status {
    const std::optional<uint32_t> sources = mask_from_caller<TacticSource>(reporter_.level(), tacticSources);
    if (!sources) return invalid_argument("unknown bits in {:#x}", tacticSources);
    // Level 11 has no names for libraries: they stay as they are.
    constexpr TacticSources kLibraries = 0x7;
    v_.sources = reporter_.level() == ApiLevel::k11 ? *sources | (v_.sources & kLibraries) : *sources;
    return Status();
  });
}

ITimingCache* BuilderConfigImpl::createTimingCache(const void* blob, std::size_t size) const noexcept {
  return attempt_or<ITimingCache*>(
      reporter_, "IBuilderConfig::createTimingCache", nullptr, [&]() -> Result<ITimingCache*> {
        if (blob == nullptr && size > 0) return invalid_argument("{} bytes at null", size);
        std::unique_ptr<TimingCache> cache;
        if (size == 0) {
          WOOTZ_ASSIGN_OR_RETURN(cache, empty_cache());
        } else {
          WOOTZ_ASSIGN_OR_RETURN(cache, TimingCache::deserialize({static_cast<const std::byte*>(blob), size}));
        }
        return new TimingCacheImpl(reporter_, std::move(cache));
      });
}

bool BuilderConfigImpl::setTimingCache(const ITimingCache& cache, bool ignoreMismatch) noexcept {
  return attempt(reporter_, "IBuilderConfig::setTimingCache", [&]() -> Status {
    const auto* ours = made_here<TimingCacheImpl>(&cache);
    if (ours == nullptr) return invalid_argument("the cache was not made by createTimingCache");
    WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<TimingCache> here, empty_cache());
    const std::optional<std::string> differs = TimingCache::mismatch(ours->cache().device(), here->device());
    if (differs && !ignoreMismatch) return invalid_argument("the cache is of another device: {}", *differs);
    v_.cache = ours;
    return Status();
  });
}

const ITimingCache* BuilderConfigImpl::getTimingCache() const noexcept {
  return v_.cache != nullptr ? v_.cache : own_cache_.get();
}

void BuilderConfigImpl::setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize) noexcept {
  attempt(reporter_, "IBuilderConfig::setMemoryPoolLimit", [&]() -> Status {
    if (!known(pool)) return invalid_argument("there is no memory pool {}", static_cast<int32_t>(pool));
    if (is_of_dla(pool)) return unsupported("pool {} is a DLA's, and there is no DLA here", static_cast<int32_t>(pool));
    v_.pools[pool] = poolSize;
    return Status();
  });
}
std::size_t BuilderConfigImpl::getMemoryPoolLimit(MemoryPoolType pool) const noexcept {
  if (const auto found = v_.pools.find(pool); found != v_.pools.end()) return found->second;
  switch (pool) {
    case MemoryPoolType::kWORKSPACE:
    case MemoryPoolType::kTACTIC_DRAM: return cpu_info().memory;
    case MemoryPoolType::kTACTIC_SHARED_MEMORY: return size_t{1} << 30;
    default: return 0;
  }
}

void BuilderConfigImpl::setPreviewFeature(PreviewFeature feature, bool enable) noexcept {
  attempt(reporter_, "IBuilderConfig::setPreviewFeature", [&]() -> Status {
    const std::optional<PreviewFeature> known = from_caller(reporter_.level(), feature);
    if (!known) return invalid_argument("there is no preview feature {}", static_cast<int32_t>(feature));
    if (*known == PreviewFeature::kPROFILE_SHARING_0806 && !enable)
      return unsupported("kPROFILE_SHARING_0806 is on and stays on: contexts may share a profile");
    const uint32_t bit = 1U << static_cast<uint32_t>(*known);
    v_.preview = enable ? v_.preview | bit : v_.preview & ~bit;
    return Status();
  });
}
bool BuilderConfigImpl::getPreviewFeature(PreviewFeature feature) const noexcept {
  const std::optional<PreviewFeature> known = from_caller(reporter_.level(), feature);
  return known && (v_.preview >> static_cast<uint32_t>(*known) & 1U) != 0;
}

void BuilderConfigImpl::setBuilderOptimizationLevel(int32_t level) noexcept {
  keep_number(reporter_, "IBuilderConfig::setBuilderOptimizationLevel", level, 0, 5, &v_.level);
}
void BuilderConfigImpl::setHardwareCompatibilityLevel(HardwareCompatibilityLevel level) noexcept {
  keep_enum(reporter_, "IBuilderConfig::setHardwareCompatibilityLevel", level, &v_.compatibility);
}

void BuilderConfigImpl::setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept {
  attempt(reporter_, "IBuilderConfig::setPluginsToSerialize", [&]() -> Status {
    if (nbPaths < 0 || (paths == nullptr && nbPaths > 0)) return invalid_argument("{} paths", nbPaths);
    std::vector<std::string> list;
    for (int32_t i = 0; i < nbPaths; ++i) {
      if (paths[i] == nullptr) return invalid_argument("path {} is null", i);
      list.emplace_back(paths[i]);
    }
    v_.plugins = std::move(list);
    return Status();
  });
}
const char* BuilderConfigImpl::getPluginToSerialize(int32_t index) const noexcept {
  return index >= 0 && static_cast<size_t>(index) < v_.plugins.size() ? v_.plugins[static_cast<size_t>(index)].c_str()
                                                                      : nullptr;
}
void BuilderConfigImpl::setMaxAuxStreams(int32_t nbStreams) noexcept { setMaxAuxStreams_11(nbStreams); }
bool BuilderConfigImpl::setMaxAuxStreams_11(int32_t nbStreams) noexcept {
  return keep_number(reporter_, "IBuilderConfig::setMaxAuxStreams", nbStreams, -1, 1024, &v_.aux_streams);
}
void BuilderConfigImpl::setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept {
  keep_enum(reporter_, "IBuilderConfig::setRuntimePlatform", runtimePlatform, &v_.platform);
}
void BuilderConfigImpl::setMaxNbTactics(int32_t maxNbTactics) noexcept {
  keep_number(reporter_, "IBuilderConfig::setMaxNbTactics", maxNbTactics, -1, INT32_MAX, &v_.max_tactics);
}
bool BuilderConfigImpl::setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept {
  return attempt(reporter_, "IBuilderConfig::setTilingOptimizationLevel", [&]() -> Status {
    if (!known(level)) return invalid_argument("{} is no level of tiling", static_cast<int32_t>(level));
    if (level != TilingOptimizationLevel::kNONE)
      return unsupported("layers are not tiled across each other here: only TilingOptimizationLevel::kNONE");
    return Status();
  });
}
bool BuilderConfigImpl::setL2LimitForTiling(int64_t size) noexcept {
  return attempt(reporter_, "IBuilderConfig::setL2LimitForTiling", [&]() -> Status {
    if (size != -1)
      return unsupported("layers are not tiled across each other here: a limit of {} bytes binds nothing", size);
    return Status();
  });
}
bool BuilderConfigImpl::setRemoteAutoTuningConfig(const char* config) noexcept {
  return attempt(reporter_, "IBuilderConfig::setRemoteAutoTuningConfig", [&]() -> Status {
    if (config != nullptr && *config != '\0') return unsupported("tactics are timed on this machine only");
    v_.remote.clear();
    return Status();
  });
}
bool BuilderConfigImpl::setBuildRoute(const char* buildRoute) noexcept {
  return attempt(reporter_, "IBuilderConfig::setBuildRoute", [&]() -> Status {
    if (buildRoute == nullptr) return invalid_argument("the build route is null");
    return set_option("build_route", buildRoute);
  });
}

}  // namespace wootz::api
