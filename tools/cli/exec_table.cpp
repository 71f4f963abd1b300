// The table of flags, with the functions that put what a flag says into the request.
#include <algorithm>
#include <cstdlib>

#include "exec_flags.h"

namespace wootz_cli {
namespace {

using nvinfer1::BuilderFlag;
using nvinfer1::DataType;
using nvinfer1::HardwareCompatibilityLevel;
using nvinfer1::IBuilderConfig;
using nvinfer1::ILayer;
using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;
using nvinfer1::LayerType;
using nvinfer1::MemoryPoolType;
using nvinfer1::PreviewFeature;
using nvinfer1::ProfilingVerbosity;
using nvinfer1::RuntimePlatform;
using nvinfer1::TacticSource;
using nvinfer1::TempfileControlFlag;
using nvinfer1::TilingOptimizationLevel;
using nvonnxparser::IParser;
using nvonnxparser::OnnxParserFlag;

constexpr const char* kNoTransfers = "a CPU engine works on host memory: nothing is transferred";
constexpr const char* kNoGraph = "a CPU engine has no CUDA graph";
constexpr const char* kNoDla = "there is no DLA here";
constexpr const char* kNoSafety = "there is no safety runtime here, and no engine for one";
constexpr const char* kNoImplicitBatch =
    "the batch size is an extent of the model: --shapes, --minShapes, --optShapes, --maxShapes";
constexpr const char* kNoSuchModels = "models are read from ONNX files: --onnx";

[[noreturn]] void refuse(const char* names, const char* why) {
  const std::string all = names;
  throw Failure(all.substr(0, all.find(',')) + " is refused: " + why);
}

ProfileShapes& shapes_at(Exec& e) {
  if (e.shapes_of == 0) return e.build;
  if (e.build.more_profiles.size() < static_cast<size_t>(e.shapes_of))
    e.build.more_profiles.resize(static_cast<size_t>(e.shapes_of));
  return e.build.more_profiles[static_cast<size_t>(e.shapes_of - 1)];
}

void set_flag(Exec& e, BuilderFlag flag) { e.build.flags.push_back(flag); }
void set_config(Exec& e, const char* flag, std::function<bool(IBuilderConfig&)> set) {
  e.build.on_config.push_back({flag, std::move(set)});
}
void set_network(Exec& e, const char* flag, std::function<bool(INetworkDefinition&)> set) {
  e.build.on_network.push_back({flag, std::move(set)});
}
void set_parser(Exec& e, const char* flag, std::function<bool(IParser&)> set) {
  e.build.on_parser.push_back({flag, std::move(set)});
}

// Types of a strongly typed network are its own: parse_exec() takes these out again there.
void set_precision(Exec& e, const char* flag, BuilderFlag type) { e.precisions.emplace_back(flag, type); }

void set_pools(Exec& e, const std::string& text) {
  static constexpr Word<MemoryPoolType> kPools[] = {{"workspace", MemoryPoolType::kWORKSPACE},
                                                    {"tacticDRAM", MemoryPoolType::kTACTIC_DRAM},
                                                    {"tacticSharedMem", MemoryPoolType::kTACTIC_SHARED_MEMORY},
                                                    {"dlaSRAM", MemoryPoolType::kDLA_MANAGED_SRAM},
                                                    {"dlaLocalDRAM", MemoryPoolType::kDLA_LOCAL_DRAM},
                                                    {"dlaGlobalDRAM", MemoryPoolType::kDLA_GLOBAL_DRAM}};
  for (const auto& [name, size] : parse_pairs(text, "--memPoolSize", "POOL:SIZE"))
    e.build.pools[parse_word(name, "--memPoolSize", kPools)] = parse_size(size, "--memPoolSize=" + name);
}

// "abc*d": * stands for any characters.
bool matches(const char* pattern, const char* name) {
  if (*pattern == '\0') return *name == '\0';
  if (*pattern == '*') return matches(pattern + 1, name) || (*name != '\0' && matches(pattern, name + 1));
  return *pattern == *name && matches(pattern + 1, name + 1);
}

// `act` for each layer whose name is meant; the last that fits a layer counts. Failure: a name that is no layer's.
template <typename T>
bool for_layers(INetworkDefinition& network, const std::string& flag,
                const std::vector<std::pair<std::string, T>>& named,
                const std::function<void(ILayer&, const T&)>& act) {
  for (const auto& [name, value] : named) {
    bool any = false;
    for (int32_t i = 0; i < network.getNbLayers(); ++i) {
      ILayer& layer = *network.getLayer(i);
      if (!matches(name.c_str(), layer.getName())) continue;
      any = true;
      act(layer, value);
    }
    if (!any) throw Failure(flag + ": the network has no layer '" + name + "'");
  }
  return true;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

void set_precisions(Exec& e, const std::string& text) {
  std::vector<std::pair<std::string, DataType>> named;
  for (const auto& [name, type] : parse_pairs(text, "--layerPrecisions", "LAYER:TYPE"))
    named.emplace_back(name, parse_type(type, "--layerPrecisions"));
  set_network(e, "--layerPrecisions", [named](INetworkDefinition& network) {
    return for_layers<DataType>(network, "--layerPrecisions", named,
                                [](ILayer& layer, const DataType& type) { layer.setPrecision(type); });
  });
}

void set_output_types(Exec& e, const std::string& text) {
  using Types = std::vector<DataType>;
  std::vector<std::pair<std::string, Types>> named;
  for (const auto& [name, list] : parse_pairs(text, "--layerOutputTypes", "LAYER:TYPE[+TYPE]")) {
    Types types;
    for (size_t at = 0; at <= list.size();) {
      const size_t plus = std::min(list.find('+', at), list.size());
      types.push_back(parse_type(list.substr(at, plus - at), "--layerOutputTypes"));
      at = plus + 1;
    }
    named.emplace_back(name, std::move(types));
  }
  set_network(e, "--layerOutputTypes", [named](INetworkDefinition& network) {
    return for_layers<Types>(network, "--layerOutputTypes", named, [](ILayer& layer, const Types& types) {
      const auto outputs = static_cast<size_t>(layer.getNbOutputs());
      if (types.size() != 1 && types.size() != outputs)
        throw Failure("--layerOutputTypes: " + std::to_string(types.size()) + " types for the " +
                      std::to_string(outputs) + " outputs of layer '" + layer.getName() + "'");
      for (size_t o = 0; o < outputs; ++o)
        layer.setOutputType(static_cast<int32_t>(o), types[types.size() == 1 ? 0 : o]);
    });
  });
}

void set_constraints(Exec& e, const std::string& text) {
  enum Constraints { kNone, kPrefer, kObey };
  static constexpr Word<Constraints> kWords[] = {{"none", kNone}, {"prefer", kPrefer}, {"obey", kObey}};
  const Constraints how = parse_word(text, "--precisionConstraints", kWords);
  if (how == kPrefer) set_flag(e, BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  if (how == kObey) set_flag(e, BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
}

#pragma GCC diagnostic pop

void set_device_types(Exec& e, const std::string& text) {
  const auto named = parse_pairs(text, "--layerDeviceTypes", "LAYER:GPU");
  for (const auto& [name, device] : named) {
    if (device == "DLA") refuse("--layerDeviceTypes", kNoDla);
    if (device != "GPU") no_such_word("--layerDeviceTypes", device, "GPU, DLA");
  }
  set_network(e, "--layerDeviceTypes", [named](INetworkDefinition& network) {
    return for_layers<std::string>(network, "--layerDeviceTypes", named, [](ILayer&, const std::string&) {});
  });
}

void set_decomposable(Exec& e, const std::string& text) {
  std::vector<std::pair<std::string, bool>> named;
  for (const std::string& name : parse_list(text)) named.emplace_back(name, true);
  set_network(e, "--decomposableAttentions", [named](INetworkDefinition& network) {
    return for_layers<bool>(network, "--decomposableAttentions", named, [](ILayer& layer, const bool&) {
      if (layer.getType() != LayerType::kATTENTION_INPUT && layer.getType() != LayerType::kATTENTION_OUTPUT)
        throw Failure(std::string("--decomposableAttentions: '") + layer.getName() + "' is no attention");
      const auto& border = static_cast<const nvinfer1::IAttentionBoundaryLayer&>(layer);
      if (!border.getAttention()->setDecomposable(true))
        throw Failure(std::string("--decomposableAttentions: '") + layer.getName() + "' refuses");
    });
  });
}

// One pair for each input or output, or one for all.
void set_formats(Exec& e, const char* flag, const std::string& text, bool inputs) {
  const std::vector<TypeAndFormats> all = parse_formats(text, flag);
  set_network(e, flag, [all, inputs, flag = std::string(flag)](INetworkDefinition& network) {
    const auto count = static_cast<size_t>(inputs ? network.getNbInputs() : network.getNbOutputs());
    if (all.size() != 1 && all.size() != count)
      throw Failure(flag + ": " + std::to_string(all.size()) + " formats, and the network has " +
                    std::to_string(count) + (inputs ? " inputs" : " outputs"));
    for (size_t i = 0; i < count; ++i) {
      const TypeAndFormats& to = all[all.size() == 1 ? 0 : i];
      const auto at = static_cast<int32_t>(i);
      ITensor& tensor = *(inputs ? network.getInput(at) : network.getOutput(at));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
      if (tensor.getType() != to.type) tensor.setType(to.type);
#pragma GCC diagnostic pop
      tensor.setAllowedFormats(to.formats);
      if (tensor.getType() != to.type || tensor.getAllowedFormats() != to.formats) return false;
    }
    return true;
  });
}

void set_sparsity(Exec& e, const std::string& text) {
  enum Sparsity { kOff, kOn, kForce };
  static constexpr Word<Sparsity> kWords[] = {{"disable", kOff}, {"enable", kOn}, {"force", kForce}};
  const Sparsity how = parse_word(text, "--sparsity", kWords);
  if (how == kForce) refuse("--sparsity=force", "the model's weights are not overwritten");
  if (how == kOn) set_flag(e, BuilderFlag::kSPARSE_WEIGHTS);
}

// "+A,-B": by number, and whether it is on.
template <typename T, size_t N>
std::vector<std::pair<T, bool>> parse_switches(const std::string& text, const char* flag, const Word<T> (&words)[N]) {
  std::vector<std::pair<T, bool>> all;
  for (const std::string& part : parse_list(text)) {
    if (part.empty() || (part[0] != '+' && part[0] != '-'))
      throw Usage(std::string(flag) + ": '" + part + "' begins with neither + nor -");
    all.emplace_back(parse_word(part.substr(1), flag, words), part[0] == '+');
  }
  return all;
}

void set_sources(Exec& e, const std::string& text) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  static constexpr Word<TacticSource> kSources[] = {{"CUBLAS", TacticSource::kCUBLAS},
                                                    {"CUBLAS_LT", TacticSource::kCUBLAS_LT},
                                                    {"CUDNN", TacticSource::kCUDNN},
                                                    {"EDGE_MASK_CONVOLUTIONS", TacticSource::kEDGE_MASK_CONVOLUTIONS},
                                                    {"JIT_CONVOLUTIONS", TacticSource::kJIT_CONVOLUTIONS}};
#pragma GCC diagnostic pop
  const auto switches = parse_switches(text, "--tacticSources", kSources);
  set_config(e, "--tacticSources", [switches](IBuilderConfig& c) {
    nvinfer1::TacticSources mask = c.getTacticSources();
    for (const auto& [source, on] : switches)
      mask = on ? mask | 1U << static_cast<uint32_t>(source) : mask & ~(1U << static_cast<uint32_t>(source));
    return c.setTacticSources(mask);
  });
}

void set_preview(Exec& e, const std::string& text) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  static constexpr Word<PreviewFeature> kFeatures[] = {
      {"profileSharing0806", PreviewFeature::kPROFILE_SHARING_0806},
      {"aliasedPluginIO1003", PreviewFeature::kALIASED_PLUGIN_IO_10_03},
      {"runtimeActivationResize", PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10},
      {"multiDeviceRuntime1016", PreviewFeature::kMULTIDEVICE_RUNTIME_10_16}};
#pragma GCC diagnostic pop
  const auto switches = parse_switches(text, "--preview", kFeatures);
  set_config(e, "--preview", [switches](IBuilderConfig& c) {
    for (const auto& [feature, on] : switches) c.setPreviewFeature(feature, on);
    return std::all_of(switches.begin(), switches.end(),
                       [&](const auto& s) { return c.getPreviewFeature(s.first) == s.second; });
  });
}

void set_compatibility(Exec& e, const std::string& text) {
  static constexpr Word<HardwareCompatibilityLevel> kLevels[] = {
      {"none", HardwareCompatibilityLevel::kNONE},
      {"ampere+", HardwareCompatibilityLevel::kAMPERE_PLUS},
      {"sameComputeCapability", HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY}};
  set_config(e, "--hardwareCompatibilityLevel",
             [level = parse_word(text, "--hardwareCompatibilityLevel", kLevels)](IBuilderConfig& c) {
               c.setHardwareCompatibilityLevel(level);
               return c.getHardwareCompatibilityLevel() == level;
             });
}

void set_platform(Exec& e, const std::string& text) {
  static constexpr Word<RuntimePlatform> kPlatforms[] = {{"SameAsBuild", RuntimePlatform::kSAME_AS_BUILD},
                                                         {"WindowsAMD64", RuntimePlatform::kWINDOWS_AMD64}};
  const RuntimePlatform platform = parse_word(text, "--runtimePlatform", kPlatforms);
  if (platform != RuntimePlatform::kSAME_AS_BUILD) e.skip_inference = true;
  set_config(e, "--runtimePlatform", [platform](IBuilderConfig& c) {
    c.setRuntimePlatform(platform);
    return c.getRuntimePlatform() == platform;
  });
}

ProfilingVerbosity verbosity_of(const std::string& text) {
  static constexpr Word<ProfilingVerbosity> kWords[] = {{"layer_names_only", ProfilingVerbosity::kLAYER_NAMES_ONLY},
                                                        {"detailed", ProfilingVerbosity::kDETAILED},
                                                        {"none", ProfilingVerbosity::kNONE},
                                                        {"default", ProfilingVerbosity::kLAYER_NAMES_ONLY},
                                                        {"verbose", ProfilingVerbosity::kDETAILED}};
  return parse_word(text, "--profilingVerbosity", kWords);
}

// Of a name: the input, or the layer's output.
ITensor* tensor_named(INetworkDefinition& network, const std::string& name) {
  for (int32_t l = 0; l < network.getNbLayers(); ++l) {
    ILayer& layer = *network.getLayer(l);
    for (int32_t o = 0; o < layer.getNbOutputs(); ++o)
      if (ITensor* const tensor = layer.getOutput(o); tensor != nullptr && name == tensor->getName()) return tensor;
  }
  return nullptr;
}

void mark_debug(Exec& e, const std::string& text) {
  set_network(e, "--markDebug", [names = parse_list(text)](INetworkDefinition& network) {
    for (const std::string& name : names) {
      ITensor* const tensor = tensor_named(network, name);
      if (tensor == nullptr) throw Failure("--markDebug: no layer of the network gives a tensor '" + name + "'");
      if (!network.markDebug(*tensor)) return false;
    }
    return true;
  });
}

uint32_t tempfiles_of(const std::string& text) {
  static constexpr Word<TempfileControlFlag> kFlags[] = {{"in_memory", TempfileControlFlag::kALLOW_IN_MEMORY_FILES},
                                                         {"temporary", TempfileControlFlag::kALLOW_TEMPORARY_FILES}};
  static constexpr Word<bool> kHow[] = {{"allow", true}, {"deny", false}};
  uint32_t mask = 3;
  for (const auto& [name, how] : parse_pairs(text, "--tempfileControls", "in_memory:allow or temporary:deny")) {
    const uint32_t bit = 1U << static_cast<uint32_t>(parse_word(name, "--tempfileControls", kFlags));
    mask = parse_word(how, "--tempfileControls", kHow) ? mask | bit : mask & ~bit;
  }
  return mask;
}

void set_device(Exec& e, const std::string& text) {
  e.device = text;
  if (text.empty() || text == "cpu" || text == "cuda" || text == "reference") return;
  if (text.find_first_not_of("0123456789") != std::string::npos || text.size() > 4)
    throw Usage("--device: '" + text + "' is neither the number of a GPU nor cpu, cuda, reference");
}

void load_inputs(Exec& e, const std::string& text) {
  e.load_inputs = parse_pairs(text, "--loadInputs", "NAME:FILE");
  e.references[e.reference].inputs = e.load_inputs;
}

Loss loss_of(const std::string& text) {
  static constexpr Word<Loss> kWords[] = {
      {"l0", Loss::kL0}, {"l1", Loss::kL1}, {"l2", Loss::kL2}, {"lInf", Loss::kLInf}, {"cos", Loss::kCos}};
  return parse_word(text, "--accuracyAlgorithm", kWords);
}

nvinfer1::ExecutionContextAllocationStrategy allocation_of(const std::string& text) {
  using nvinfer1::ExecutionContextAllocationStrategy;
  static constexpr Word<ExecutionContextAllocationStrategy> kWords[] = {
      {"static", ExecutionContextAllocationStrategy::kSTATIC},
      {"profile", ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE},
      {"runtime", ExecutionContextAllocationStrategy::kUSER_MANAGED}};
  return parse_word(text, "--allocationStrategy", kWords);
}

RuntimeKind runtime_of(const std::string& text) {
  static constexpr Word<RuntimeKind> kWords[] = {
      {"full", RuntimeKind::kFull}, {"lean", RuntimeKind::kLean}, {"dispatch", RuntimeKind::kDispatch}};
  return parse_word(text, "--useRuntime", kWords);
}

Tuning::Search search_of(const std::string& text) {
  static constexpr Word<Tuning::Search> kWords[] = {
      {"fast", Tuning::Search::kFast}, {"full", Tuning::Search::kFull}, {"mixed", Tuning::Search::kMixed}};
  return parse_word(text, "--tuningSearch", kWords);
}

void set_percentiles(Exec& e, const std::string& text) {
  e.percentiles.clear();
  for (const std::string& part : parse_list(text)) e.percentiles.push_back(parse_number(part, "--percentile", 0, 100));
}

void set_debug_formats(Exec& e, const std::string& text) {
  static constexpr Word<bool> kWords[] = {{"summary", true}, {"numpy", true}, {"string", true}, {"raw", true}};
  e.all_debug_tensors = parse_list(text);
  for (const std::string& word : e.all_debug_tensors) parse_word(word, "--saveAllDebugTensors", kWords);
}

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

const std::vector<Flag>& exec_flags() {
#define ACTION(...)                             \
  [](Exec& e, const std::string& v) {           \
    static_cast<void>(e), static_cast<void>(v); \
    __VA_ARGS__;                                \
  }
#define FLAG(names, value, group, what, ...) Flag{names, value, FlagGroup::group, what, ACTION(__VA_ARGS__)},
#define PARTLY(names, value, group, what, gpu, cpu, ...) \
  Flag{names, value, FlagGroup::group, what, ACTION(__VA_ARGS__), gpu, cpu},
#define REFUSED(names, value, why) Flag{names, value, FlagGroup::kRefused, why, ACTION(refuse(names, why))},
  static const std::vector<Flag> flags = {
#include "exec_flags.inc"
  };
#undef FLAG
#undef PARTLY
#undef REFUSED
#undef ACTION
  return flags;
}

#pragma GCC diagnostic pop

}  // namespace wootz_cli
