// trtexec's flags: those that act, and for the others what is said of them. None is dropped without a word.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "commands.h"
#include "exec.h"

namespace wootz_cli {
namespace {

using nvinfer1::BuilderFlag;
using nvinfer1::MemoryPoolType;
using nvinfer1::ProfilingVerbosity;

constexpr const char* kBuilding = "Building";

// A flag that scripts carry and that does not act on every engine. Null: it acts there, or is how things are anyway.
struct Remark {
  const char* flag;
  bool takes_value;
  const char *on_gpu, *on_cpu;
};
constexpr const char* kNoTransfers = "a CPU engine works on host memory: nothing is transferred";
constexpr const char* kWaiting = "the driver decides how the host waits";
constexpr const char* kNoDla = "there is no DLA here";
constexpr const char* kFormats = "inputs and outputs keep the model's types and the linear format";
constexpr Remark kRemarks[] = {
    {"--useCudaGraph", false, nullptr, "a CPU engine has no CUDA graph"},
    {"--noCudaGraph", false, "inferences are replayed from a CUDA graph all the same", nullptr},
    {"--noDataTransfers", false, nullptr, kNoTransfers},
    {"--includeDataTransfers", false, nullptr, kNoTransfers},
    {"--exposeDMA", false, nullptr, kNoTransfers},
    {"--useSpinWait", false, kWaiting, "the host computes and does not wait"},
    {"--noSpinWait", false, kWaiting, "the host computes and does not wait"},
    {"--noCompilationCache", false, nullptr, "no kernel of a CPU engine is compiled"},
    {"--separateProfileRun", false, "layers are not profiled", "layers are not profiled"},
    {"--allowGPUFallback", false, kNoDla, kNoDla},
    {"--useDLACore", true, kNoDla, kNoDla},
    {"--directIO", false, kFormats, kFormats},
    {"--inputIOFormats", true, kFormats, kFormats},
    {"--outputIOFormats", true, kFormats, kFormats},
    {"--useManagedMemory", false, "inputs and outputs are in device memory", "inputs and outputs are in host memory"},
    {"--explicitBatch", false, nullptr, nullptr},  // every network's batch size is
    {"--restricted", false, "networks for the safety runtime are not built",
     "networks for the safety runtime are not built"},
    {"--infStreams", true, "inferences go through one stream", "inferences run one after the other"},
    {"--streams", true, "inferences go through one stream", "inferences run one after the other"},
    {"--threads_per_stream", true, "one thread enqueues", "one thread enqueues"},
    {"--sparsity", true, "weights are not looked at for sparsity", "weights are not looked at for sparsity"},
    {"--tacticSources", true, "all libraries are asked", "all libraries are asked"},
    {"--preview", true, "there is no preview feature", "there is no preview feature"},
    {"--sleepTime", true, "inferences begin at once", "inferences begin at once"},
    {"--hardwareCompatibilityLevel", true, "the plan is for this GPU", "the plan is for this processor"},
    {"--persistentCacheRatio", true, "the L2 cache is left to the device", "there is no such cache"},
};

double number(const std::string& text, const std::string& flag, double low, double high) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= low && value <= high))
    throw Usage(flag + ": '" + text + "' is no number from " + std::to_string(static_cast<int64_t>(low)) + " to " +
                std::to_string(static_cast<int64_t>(high)));
  return value;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

// "workspace:4G,tacticSharedMem:48K".
void parse_pools(const std::string& text, Exec& e) {
  static constexpr std::pair<const char*, MemoryPoolType> kPools[] = {
      {"workspace", MemoryPoolType::kWORKSPACE},
      {"tacticDRAM", MemoryPoolType::kTACTIC_DRAM},
      {"tacticSharedMem", MemoryPoolType::kTACTIC_SHARED_MEMORY},
      {"dlaSRAM", MemoryPoolType::kDLA_MANAGED_SRAM},
      {"dlaLocalDRAM", MemoryPoolType::kDLA_LOCAL_DRAM},
      {"dlaGlobalDRAM", MemoryPoolType::kDLA_GLOBAL_DRAM}};
  for (const std::string& part : parts_of(text)) {
    const size_t colon = part.find(':');
    if (colon == std::string::npos) throw Usage("--memPoolSize: '" + part + "' is not POOL:SIZE");
    const std::string name = part.substr(0, colon);
    const auto* pool = std::find_if(std::begin(kPools), std::end(kPools), [&](auto& p) { return name == p.first; });
    if (pool == std::end(kPools)) {
      std::string known;
      for (const auto& p : kPools) known += (known.empty() ? "" : ", ") + std::string(p.first);
      throw Usage("--memPoolSize: there is no pool '" + name + "'; the pools are: " + known);
    }
    e.build.pools[pool->second] = parse_size(part.substr(colon + 1), "--memPoolSize=" + name);
    if (pool->second != MemoryPoolType::kWORKSPACE)
      e.warnings.push_back("--memPoolSize=" + name + " has no effect: only the pool workspace limits tactics");
  }
}

ProfilingVerbosity parse_verbosity(const std::string& text) {
  if (text == "none") return ProfilingVerbosity::kNONE;
  if (text == "layer_names_only" || text == "default") return ProfilingVerbosity::kLAYER_NAMES_ONLY;
  if (text == "detailed" || text == "verbose") return ProfilingVerbosity::kDETAILED;
  throw Usage("--profilingVerbosity: '" + text + "' is none of layer_names_only, detailed, none");
}

void parse_device(const std::string& text, Exec& e) {
  e.device = text;
  if (text.empty() || text == "cpu" || text == "cuda" || text == "reference") return;
  if (text.find_first_not_of("0123456789") != std::string::npos || text.size() > 4)
    throw Usage("--device: '" + text + "' is neither the number of a GPU nor cpu, cuda, reference");
}

// Precision flags as trtexec has them: types of a strongly typed network are its own.
struct Precision {
  bool fp16 = false, bf16 = false, int8 = false, best = false;
};
void set_precision(const Precision& p, Exec& e) {
  const std::pair<const char*, bool> given[] = {
      {"--fp16", p.fp16}, {"--bf16", p.bf16}, {"--int8", p.int8}, {"--best", p.best}};
  if (e.build.strongly_typed) {
    for (const auto& [flag, on] : given)
      if (on) e.warnings.push_back(std::string(flag) + " has no effect: --stronglyTyped keeps the model's types");
    return;
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (p.fp16 || p.best) e.build.flags.push_back(BuilderFlag::kFP16);
  if (p.bf16 || p.best) e.build.flags.push_back(BuilderFlag::kBF16);
  if (p.int8 || p.best) e.build.flags.push_back(BuilderFlag::kINT8);
#pragma GCC diagnostic pop
}

// What the flags say before it is put together: texts to be read, and switches that become builder flags.
struct Given {
  std::string min, opt, max, pools, workspace, percentile, device, verbosity;
  Precision precision;
  bool refit = false, strip = false, compatible = false, no_tf32 = false, no_cache = false, no_code_cache = false;
  bool transfers = false, no_transfers = false, expose = false;
  std::string unused_value;  // of flags that are accepted and do nothing
  bool unused = false;
};

void declare_building(CLI::App& app, Exec& e, Given& given) {
  app.option_defaults()->group(kBuilding);
  app.add_option("--onnx", e.build.model, "ONNX model");
  app.add_option("--saveEngine", e.save_engine, "Plan to write");
  app.add_option("--minShapes", given.min, "Smallest shapes of dynamic inputs");
  app.add_option("--optShapes", given.opt, "Shapes to optimize for");
  app.add_option("--maxShapes", given.max, "Largest shapes of dynamic inputs");
  app.add_option("--memPoolSize", given.pools, "workspace:SIZE, in MiB or with B, K, M, G");
  app.add_option("--workspace", given.workspace, "The same as --memPoolSize=workspace:SIZE");
  app.add_option("--timingCacheFile", e.build.timing_cache, "Timing cache, read and written back");
  app.add_option("--builderOptimizationLevel", e.build.optimization_level, "0 to 5");
  app.add_option("--avgTiming", e.build.avg_timing, "Least batches that a tactic is timed in")
      ->check(CLI::PositiveNumber);
  app.add_option("--maxAuxStreams", e.build.aux_streams, "Most streams beside the caller's");
  app.add_option("--profilingVerbosity", given.verbosity, "layer_names_only, detailed (default here) or none");
  app.add_flag("--stronglyTyped", e.build.strongly_typed, "Types are the model's own");
  app.add_flag("--noTF32", given.no_tf32, "FP32 products do not round their operands to TF32");
  app.add_flag("--fp16", given.precision.fp16, "Allow FP16");
  app.add_flag("--bf16", given.precision.bf16, "Allow BF16");
  app.add_flag("--int8", given.precision.int8, "Allow INT8");
  app.add_flag("--best", given.precision.best, "Allow all of these");
  app.add_flag("--refit", given.refit, "Engine that can be refitted");
  app.add_option("--refitFromOnnx", e.refit_model, "Model whose weights the engine gets before it runs");
  app.add_flag("--timeRefit", e.time_refit, "Time a refit: from --refitFromOnnx, or from --onnx again");
  app.add_flag("--stripWeights", given.strip, "Plan without weights");
  app.add_flag("--versionCompatible,--vc", given.compatible, "Plan for later versions");
  app.add_flag("--noBuilderCache", given.no_cache, "Keep no timing cache");
}

void declare_running(CLI::App& app, Exec& e, Given& given) {
  app.option_defaults()->group("Running and reporting");
  app.add_option("--loadEngine", e.load_engine, "Plan to read instead of building");
  app.add_option("--shapes", e.shapes, "Shapes to run with (and to build for, without --optShapes)");
  app.add_option("--device", given.device, "Number of the GPU; or cpu, cuda, reference");
  app.add_flag("--skipInference,--buildOnly", e.skip_inference, "Build only");
  app.add_option("--loadInputs", e.load_inputs, "NAME:FILE.npy,...");
  app.add_option("--iterations", e.timing.iterations, "At least so many")->check(CLI::NonNegativeNumber);
  app.add_option("--duration", e.timing.seconds, "At least so many seconds")->check(CLI::NonNegativeNumber);
  app.add_option("--warmUp", e.timing.warmup_ms, "Milliseconds before")->check(CLI::NonNegativeNumber);
  app.add_option("--idleTime", e.timing.idle_ms, "Milliseconds between inferences")->check(CLI::NonNegativeNumber);
  app.add_option("--avgRuns", e.avg_runs, "Inferences in an average of the trace")->check(CLI::PositiveNumber);
  app.add_option("--percentile", given.percentile, "Of the summary, 90,95,99");
  app.add_option("--exportTimes", e.export_times, "JSON file of all times");
  app.add_option("--exportLayerInfo", e.export_layers, "JSON file of the layers");
  app.add_flag("--dumpLayerInfo", e.dump_layers, "Print the layers");
  app.add_flag("--verbose", e.verbose, "Log every detail");
}

// Flags of which some act, under the names that trtexec gives them, and the others have a remark.
void declare_remarked(CLI::App& app, Given& given) {
  app.option_defaults()->group("Accepted; a warning says where they have no effect");
  for (const Remark& remark : kRemarks) {
    const std::string name = remark.flag;
    if (remark.takes_value)
      app.add_option(name, given.unused_value);
    else
      app.add_flag(name, name == "--noDataTransfers"        ? given.no_transfers
                         : name == "--includeDataTransfers" ? given.transfers
                         : name == "--exposeDMA"            ? given.expose
                         : name == "--noCompilationCache"   ? given.no_code_cache
                                                            : given.unused);
  }
}

// Which flags were given, and those among them that a plan read from a file leaves without effect.
void note_given(const CLI::App& app, Exec& e) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    e.given.push_back(option->get_name());
    if (!e.load_engine.empty() && option->get_group() == kBuilding)
      e.warnings.push_back(option->get_name() + " has no effect: --loadEngine builds nothing");
  }
  if (e.skip_inference && !e.load_engine.empty()) e.warnings.emplace_back("--skipInference: nothing is built either");
}

void read_texts(const Given& given, Exec& e) {
  e.build.min_shapes = parse_shapes(given.min, "--minShapes");
  e.build.opt_shapes = parse_shapes(given.opt.empty() ? e.shapes : given.opt, "--optShapes");
  e.build.max_shapes = parse_shapes(given.max, "--maxShapes");
  parse_pools(given.pools, e);
  if (!given.workspace.empty()) e.build.pools[MemoryPoolType::kWORKSPACE] = parse_size(given.workspace, "--workspace");
  if (!given.verbosity.empty()) e.build.verbosity = parse_verbosity(given.verbosity);
  parse_device(given.device, e);
  if (!given.percentile.empty()) e.percentiles.clear();
  for (const std::string& part : parts_of(given.percentile))
    e.percentiles.push_back(number(part, "--percentile", 0, 100));
}

void set_flags(const Given& given, Exec& e) {
  set_precision(given.precision, e);
  if (given.refit) e.build.flags.push_back(BuilderFlag::kREFIT);
  if (given.strip) e.build.flags.push_back(BuilderFlag::kSTRIP_PLAN);
  if (given.compatible) e.build.flags.push_back(BuilderFlag::kVERSION_COMPATIBLE);
  if (given.no_cache) e.build.flags.push_back(BuilderFlag::kDISABLE_TIMING_CACHE);
  if (given.no_tf32) e.build.cleared_flags.push_back(BuilderFlag::kTF32);
  if (given.no_code_cache) ::setenv("WOOTZ_CUDA_CACHE", "", 1);
}

}  // namespace

size_t parse_size(const std::string& text, const std::string& flag) {
  static constexpr struct {
    const char* unit;
    double bytes;
  } kUnits[] = {{"", 0x1p20},   {"B", 1},        {"K", 0x1p10}, {"KB", 0x1p10}, {"KiB", 0x1p10}, {"M", 0x1p20},
                {"MB", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30}, {"GB", 0x1p30}, {"GiB", 0x1p30}};
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  for (const auto& unit : kUnits) {
    if (digits == 0 || std::strcmp(text.c_str() + digits, unit.unit) != 0) continue;
    char* end = nullptr;
    const std::string count = text.substr(0, digits);
    const double bytes = std::strtod(count.c_str(), &end) * unit.bytes;
    if (*end == '\0' && bytes < 0x1p62) return static_cast<size_t>(bytes);
  }
  throw Usage(flag + ": '" + text + "' is no size: a number of MiB, or one followed by B, K, M or G");
}

std::vector<std::string> remarks_on(const Exec& exec, bool on_gpu) {
  std::vector<std::string> lines = exec.warnings;
  for (const Remark& remark : kRemarks) {
    const char* why = on_gpu ? remark.on_gpu : remark.on_cpu;
    if (why != nullptr && std::find(exec.given.begin(), exec.given.end(), remark.flag) != exec.given.end())
      lines.push_back(std::string(remark.flag) + " has no effect: " + why);
  }
  return lines;
}

std::optional<Exec> parse_exec(int argc, char** argv) {
  Exec e;
  Given given;
  CLI::App app("trtexec's flags over Wootz", "wootz exec");
  declare_building(app, e, given);
  declare_running(app, e, given);
  declare_remarked(app, given);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return std::nullopt;
  }
  if (e.build.model.empty() == e.load_engine.empty()) throw Usage("give either --onnx or --loadEngine");
  note_given(app, e);
  read_texts(given, e);
  set_flags(given, e);
  e.timing.transfers = given.transfers || (!given.no_transfers && NV_TENSORRT_MAJOR < 11);  // trtexec's default changed
  e.timing.overlap = !given.expose;
  return e;
}

}  // namespace wootz_cli
