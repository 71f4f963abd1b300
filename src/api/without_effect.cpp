// What is asked for and this build does not do is said by name, not dropped in silence: one warning for each setting
// that is not its default. A setting that comes to act loses its row.

#include "api/without_effect.h"
#include "api/builder_config.h"
#include "api/network/network.h"
#include "api/profile.h"
#include "backends/registry.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: speaks of that interface's enumerators throughout

namespace {

// Flags that allow a type, or say how types set on layers bind.
struct PrecisionFlag {
  BuilderFlag flag;
  const char* name;
};
constexpr PrecisionFlag kPrecisionFlags[] = {
    {BuilderFlag::kFP16, "kFP16"},
    {BuilderFlag::kBF16, "kBF16"},
    {BuilderFlag::kINT8, "kINT8"},
    {BuilderFlag::kFP8, "kFP8"},
    {BuilderFlag::kINT4, "kINT4"},
    {BuilderFlag::kFP4, "kFP4"},
    {BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, "kOBEY_PRECISION_CONSTRAINTS"},
    {BuilderFlag::kPREFER_PRECISION_CONSTRAINTS, "kPREFER_PRECISION_CONSTRAINTS"},
};

struct FlagNote {
  BuilderFlag flag;
  const char* name;
  const char* text;
  DType acts_in = DType::kInvalid;  // no note where the backend computes fast in this type
};
constexpr FlagNote kFlags[] = {
    {BuilderFlag::kFP16, "kFP16", "allows half precision; this build computes in the network's own types", DType::kF16},
    {BuilderFlag::kBF16, "kBF16", "allows bfloat16; this build computes in the network's own types", DType::kBF16},
    {BuilderFlag::kINT8, "kINT8",
     "what stands between Q/DQ layers is computed in 8 bits with or without this flag; nothing is quantized "
     "implicitly"},
    {BuilderFlag::kFP8, "kFP8", "allows 8-bit floats; this build computes in the network's own types"},
    {BuilderFlag::kINT4, "kINT4", "4-bit weights of the network are read with or without this flag; none are made"},
    {BuilderFlag::kFP4, "kFP4", "4-bit floats of the network are read with or without this flag; none are made"},
    {BuilderFlag::kDEBUG, "kDEBUG",
     "no step is waited for while building; IExecutionContext::setDebugSync or WOOTZ_DEBUG_SYNC=1 waits while running"},
    {BuilderFlag::kSTRIP_PLAN, "kSTRIP_PLAN", "the plan keeps its weights"},
    {BuilderFlag::kWEIGHT_STREAMING, "kWEIGHT_STREAMING", "the engine keeps its weights in memory"},
    {BuilderFlag::kSPARSE_WEIGHTS, "kSPARSE_WEIGHTS", "weights with zeros are computed as all others are"},
    {BuilderFlag::kSAFETY_SCOPE, "kSAFETY_SCOPE", "nothing is refused for the sake of a safety runtime"},
    {BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, "kOBEY_PRECISION_CONSTRAINTS",
     "types given by ILayer::setPrecision are not looked at; ILayer::setOutputType binds without this flag"},
    {BuilderFlag::kPREFER_PRECISION_CONSTRAINTS, "kPREFER_PRECISION_CONSTRAINTS",
     "types given by ILayer::setPrecision are not looked at; ILayer::setOutputType binds without this flag"},
    {BuilderFlag::kDIRECT_IO, "kDIRECT_IO",
     "inputs and outputs are row-major, and layouts change inside the network where kernels want others"},
    {BuilderFlag::kREJECT_EMPTY_ALGORITHMS, "kREJECT_EMPTY_ALGORITHMS", "no algorithm selector is asked"},
    {BuilderFlag::kVERSION_COMPATIBLE, "kVERSION_COMPATIBLE", "later versions may refuse the plan"},
    {BuilderFlag::kEXCLUDE_LEAN_RUNTIME, "kEXCLUDE_LEAN_RUNTIME", "no plan holds a runtime, with or without this flag"},
    {BuilderFlag::kDISABLE_COMPILATION_CACHE, "kDISABLE_COMPILATION_CACHE",
     "timing caches hold no compiled kernels, with or without this flag; those of CUDA are kept in WOOTZ_CUDA_CACHE"},
    {BuilderFlag::kSTRICT_NANS, "kSTRICT_NANS", "networks are rewritten as they are without this flag"},
    {BuilderFlag::kMONITOR_MEMORY, "kMONITOR_MEMORY",
     "the log and the report tell the engine's memory with or without this flag, and nothing of the build's"},
    {BuilderFlag::kEDITABLE_TIMING_CACHE, "kEDITABLE_TIMING_CACHE",
     "every timing cache takes edits and is obeyed, with or without this flag"},
    {BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE, "kDISTRIBUTIVE_INDEPENDENCE",
     "that results do not depend on their place along outer axes is not promised"},
};

constexpr const char* kPools[] = {"kWORKSPACE",       "kDLA_MANAGED_SRAM", "kDLA_LOCAL_DRAM",
                                  "kDLA_GLOBAL_DRAM", "kTACTIC_DRAM",      "kTACTIC_SHARED_MEMORY"};
constexpr const char* kFeatures[] = {"kPROFILE_SHARING_0806", "kALIASED_PLUGIN_IO_10_03",
                                     "kRUNTIME_ACTIVATION_RESIZE_10_10", "kMULTIDEVICE_RUNTIME_10_16"};
static_assert(std::size(kPools) == EnumMax<MemoryPoolType>() && std::size(kFeatures) == EnumMax<PreviewFeature>());

// "3 layers ('conv1', 'conv2', ...)"
class Named {
 public:
  void add(const std::string& name) {
    if (count_++ < kShown) names_ += fmt::format("{}'{}'", names_.empty() ? "" : ", ", name);
  }
  bool any() const { return count_ > 0; }
  std::string text(const char* what) const {
    return fmt::format("{} {}{} ({}{})", count_, what, count_ == 1 ? "" : "s", names_, count_ > kShown ? ", ..." : "");
  }

 private:
  static constexpr size_t kShown = 3;
  size_t count_ = 0;
  std::string names_;
};

}  // namespace

Status BuilderConfigImpl::check_strong_typing() const {
  for (const PrecisionFlag& p : kPrecisionFlags)
    if (has(p.flag))
      return invalid_argument(
          "BuilderFlag::{} is set for a strongly typed network (NetworkDefinitionCreationFlag::kSTRONGLY_TYPED), whose "
          "types are those that it states: clear the flag, or create the network without strong typing",
          p.name);
  return Status();
}

void BuilderConfigImpl::note_without_effect(const BuildSettings& options) const {
  const Result<const Backend*> backend = find_backend(options.backend);
  const auto fast = [&](DType type) {
    return type != DType::kInvalid && backend.ok() && (*backend)->computes_fast_in(type);
  };
  for (const FlagNote& note : kFlags)
    if (has(note.flag) && !fast(note.acts_in))
      reporter_.warning(fmt::format("BuilderFlag::{}: {}", note.name, note.text));

  const Values usual;
  struct Setting {
    bool differs;
    const char* name;
    const char* text;
  };
  const Setting settings[] = {
      {v_.calibrator != nullptr, "setInt8Calibrator",
       "the INT8 calibrator is not asked: quantize explicitly, with Q/DQ layers"},
      {v_.calibration_profile != nullptr, "setCalibrationProfile", "nothing is calibrated"},
      {v_.quantization != usual.quantization, "setQuantizationFlags", "nothing is calibrated"},
      {v_.dla_core != usual.dla_core, "setDLACore", "there is no DLA here"},
      {v_.stream != nullptr, "setProfileStream", "tactics are timed on a stream of the build's own"},
      {v_.sources != usual.sources, "setTacticSources",
       "kernels are taken from wherever they are fastest; the engine only tells what was set"},
      {v_.compatibility != usual.compatibility, "setHardwareCompatibilityLevel",
       "the plan is for the device that it is built for; the engine only tells what was set"},
      {!v_.plugins.empty(), "setPluginsToSerialize", "no library goes into the plan"},
      {v_.tiling != usual.tiling, "setTilingOptimizationLevel", "steps are not tiled across each other"},
      {v_.l2_limit != usual.l2_limit, "setL2LimitForTiling", "steps are not tiled across each other"},
  };
  for (const Setting& s : settings)
    if (s.differs) reporter_.warning(fmt::format("IBuilderConfig::{}: {}", s.name, s.text));
  for (const auto& [pool, bytes] : v_.pools)
    if (pool != MemoryPoolType::kWORKSPACE)
      reporter_.warning(
          fmt::format("IBuilderConfig::setMemoryPoolLimit(MemoryPoolType::{}): of a build's memory only "
                      "kWORKSPACE is limited",
                      kPools[static_cast<size_t>(pool)]));
  for (size_t f = 0; f < std::size(kFeatures); ++f)
    if (((v_.preview ^ usual.preview) >> f & 1U) != 0)
      reporter_.warning(
          fmt::format("IBuilderConfig::setPreviewFeature(PreviewFeature::{}): builds and engines are the "
                      "same with and without it",
                      kFeatures[f]));
  Named profiles;
  for (size_t p = 0; p < v_.profiles.size(); ++p)
    if (v_.profiles[p]->getExtraMemoryTarget() != 0) profiles.add(std::to_string(p));
  if (profiles.any())
    reporter_.warning(
        fmt::format("IOptimizationProfile::setExtraMemoryTarget: {}: an engine takes the memory that its "
                    "shapes need",
                    profiles.text("profile")));
}

void note_without_effect(const NetworkImpl& network, const Reporter& reporter) {
  constexpr TensorFormats kAll = (1U << EnumMax<TensorFormat>()) - 1, kRows = 1;
  Named precisions, ranges, formats;
  for (const auto& layer : network.made_layers())
    if (layer->precision != DType::kInvalid) precisions.add(layer->name());
  for (const TensorImpl& tensor : network.tensors()) {
    if (tensor.dynamicRangeIsSet()) ranges.add(tensor.name());
    const TensorFormats allowed = tensor.getAllowedFormats();
    if (allowed != kAll && allowed != kRows) formats.add(tensor.name());
  }
  const auto say = [&](const Named& named, const char* call, const char* what, const char* text) {
    if (named.any()) reporter.warning(fmt::format("{}: {}: {}", call, named.text(what), text));
  };
  say(precisions, "ILayer::setPrecision", "layer", "types are chosen without it; ILayer::setOutputType binds");
  say(ranges, "ITensor::setDynamicRange", "tensor", "nothing is quantized implicitly: add Q/DQ layers");
  say(formats, "ITensor::setAllowedFormats", "tensor", "inputs and outputs are row-major (TensorFormat::kLINEAR)");
}

}  // namespace wootz::api
