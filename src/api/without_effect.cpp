// What is asked for and this build does not do is said by name, not dropped in silence: one warning for each setting
// that is not its default. A setting that comes to act loses its row.

#include "api/without_effect.h"
#include "api/builder_config.h"
#include "api/network/network.h"
#include "api/profile.h"
#include "backends/registry.h"
#include "quant/insert_qdq.h"

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
    {BuilderFlag::kFP8, "kFP8", "allows 8-bit floats; this build computes in the network's own types", DType::kF8E4M3},
    {BuilderFlag::kINT4, "kINT4", "4-bit weights of the network are read with or without this flag; none are made"},
    {BuilderFlag::kFP4, "kFP4", "4-bit floats of the network are read with or without this flag; none are made"},
};

constexpr const char* kFeatures[] = {"kPROFILE_SHARING_0806", "kALIASED_PLUGIN_IO_10_03",
                                     "kRUNTIME_ACTIVATION_RESIZE_10_10", "kMULTIDEVICE_RUNTIME_10_16"};
static_assert(std::size(kFeatures) == static_cast<size_t>(EnumMax<PreviewFeature>()));

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

// What asks for something that this backend has nothing to do for: a line of the log, and no warning, as the build is
// as asked.
void BuilderConfigImpl::note_nothing_to_do(const BuildSettings& settings, const Backend& backend) const {
  const bool host = !backend.can.own_memory;
  const struct {
    bool applies;
    const char* text;
  } lines[] = {
      {host && has(BuilderFlag::kSPARSE_WEIGHTS),
       "BuilderFlag::kSPARSE_WEIGHTS: no tactic of the host's gains from 2:4 zeros: all weights are computed as dense "
       "ones"},
      {v_.quantization != Values().quantization,
       "QuantizationFlag::kCALIBRATE_BEFORE_FUSION: scales are always found of the network as it is before fusion"},
      {host && v_.stream != nullptr,
       "IBuilderConfig::setProfileStream: tactics are timed on the host's threads, which no stream orders"},
      {host && settings.shared_memory != SIZE_MAX,
       "MemoryPoolType::kTACTIC_SHARED_MEMORY: no tactic of the host's takes such memory"},
      {host && v_.sources != Values().sources,
       "IBuilderConfig::setTacticSources: none of the sources offers tactics for the host"},
      {host && !settings.keep_compiled,
       "BuilderFlag::kDISABLE_COMPILATION_CACHE: nothing is compiled for the host while building"},
  };
  for (const auto& line : lines)
    if (line.applies) reporter_.log(Reporter::Severity::kINFO, line.text);
}

void BuilderConfigImpl::note_without_effect(const BuildSettings& options) const {
  const Result<const Backend*> backend = find_backend(options.backend);
  if (!backend.ok()) return;  // the build says so
  const auto fast = [&](DType type) { return type != DType::kInvalid && (*backend)->computes_fast_in(type); };
  for (const FlagNote& note : kFlags) {
    if (!has(note.flag) || fast(note.acts_in)) continue;
    const bool other = note.acts_in == DType::kF16 && fast(DType::kBF16) && !has(BuilderFlag::kBF16);
    reporter_.warning(fmt::format("BuilderFlag::{}: {}{}", note.name, note.text,
                                  other ? ", and would be faster in bfloat16: BuilderFlag::kBF16" : ""));
  }

  if (has(BuilderFlag::kEXCLUDE_LEAN_RUNTIME) && !has(BuilderFlag::kVERSION_COMPATIBLE))
    reporter_.warning(
        "BuilderFlag::kEXCLUDE_LEAN_RUNTIME: a plan holds no runtime without BuilderFlag::kVERSION_COMPATIBLE");

  const Values usual;
  struct Setting {
    bool differs;
    const char* name;
    const char* text;
  };
  const Setting settings[] = {
      {v_.calibrator != nullptr && !int8(), "setInt8Calibrator", "without BuilderFlag::kINT8 it is not asked"},
      {v_.calibration_profile != nullptr && (!int8() || v_.calibrator == nullptr), "setCalibrationProfile",
       "nothing is calibrated without BuilderFlag::kINT8 and a calibrator"},
      {v_.compatibility != usual.compatibility && !(*backend)->can.own_memory, "setHardwareCompatibilityLevel",
       "the levels are of GPUs; a plan for the host runs on processors with the instruction set of option 'isa'"},
  };
  for (const Setting& s : settings)
    if (s.differs) reporter_.warning(fmt::format("IBuilderConfig::{}: {}", s.name, s.text));
  // Memory follows a context's shapes with and without it.
  constexpr uint32_t kAlways = 1U << static_cast<uint32_t>(PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10) |
                               1U << static_cast<uint32_t>(PreviewFeature::kMULTIDEVICE_RUNTIME_10_16);
  for (size_t f = 0; f < std::size(kFeatures); ++f)
    if (f != static_cast<size_t>(PreviewFeature::kALIASED_PLUGIN_IO_10_03) &&
        (((v_.preview ^ usual.preview) & ~kAlways) >> f & 1U) != 0)
      reporter_.warning(
          fmt::format("IBuilderConfig::setPreviewFeature(PreviewFeature::{}): builds and engines are the "
                      "same with and without it",
                      kFeatures[f]));
  note_nothing_to_do(options, **backend);
}

void note_without_effect(const NetworkImpl& network, const Reporter& reporter, bool types_bind, bool int8) {
  Named precisions, ranges, formats;
  for (const auto& layer : network.made_layers())
    if (layer->precision != DType::kInvalid && !types_bind) precisions.add(layer->name());
  for (const TensorImpl& tensor : network.tensors()) {
    if (tensor.dynamicRangeIsSet() && !int8) ranges.add(tensor.name());
    if (tensor.formats_are_set() && !tensor.is_input && !tensor.is_output) formats.add(tensor.name());
  }
  const auto say = [&](const Named& named, const char* call, const char* what, const char* text) {
    if (named.any()) reporter.warning(fmt::format("{}: {}: {}", call, named.text(what), text));
  };
  say(precisions, "ILayer::setPrecision", "layer",
      "types bind with BuilderFlag::kOBEY_PRECISION_CONSTRAINTS or "
      "kPREFER_PRECISION_CONSTRAINTS, and neither is set");
  say(ranges, "ITensor::setDynamicRange", "tensor", "ranges are of no use without BuilderFlag::kINT8");
  say(formats, "ITensor::setAllowedFormats", "tensor",
      "formats are chosen for inputs and outputs of the network alone");
}

void note_int8(const Graph& graph, bool any_scales, const Reporter& reporter) {
  const bool quantized = has_quantization(graph);
  if (quantized && any_scales)
    reporter.warning(
        "BuilderFlag::kINT8: the network has Quantize or Dequantize layers, and these alone say what is computed in 8 "
        "bits: the calibrator and the ranges of tensors are not looked at");
  if (!quantized && !any_scales)
    reporter.warning(
        "BuilderFlag::kINT8: there is no calibrator, no range of a tensor and no Quantize layer: nothing is computed "
        "in "
        "8 bits");
}

}  // namespace wootz::api
