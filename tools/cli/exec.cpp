// trtexec's commonly used flags and its report, over the same build and run as the other subcommands.
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "commands.h"

namespace wootz_cli {
namespace {

using nvinfer1::BuilderFlag;
using nvinfer1::MemoryPoolType;

struct Exec {
  BuildRequest build;
  std::string load_engine, save_engine, shapes, export_times, export_layers, load_inputs;
  double duration = 3, warmup = 200;
  int iterations = 10, avg_runs = 10;
  std::vector<double> percentiles{90, 95, 99};
  bool skip_inference = false, dump_layers = false, verbose = false;
  size_t workspace_mib = 0;
};

// Accepted because scripts carry them, without a meaning for a CPU engine; each is named once in the log.
constexpr const char* kWithoutMeaning[] = {"--noTF32",
                                           "--useSpinWait",
                                           "--noSpinWait",
                                           "--useCudaGraph",
                                           "--noCudaGraph",
                                           "--noDataTransfers",
                                           "--includeDataTransfers",
                                           "--separateProfileRun",
                                           "--stronglyTyped",
                                           "--allowGPUFallback",
                                           "--directIO",
                                           "--useManagedMemory",
                                           "--exposeDMA",
                                           "--explicitBatch",
                                           "--buildOnly",
                                           "--best",
                                           "--restricted",
                                           "--noBuilderCache",
                                           "--noCompilationCache"};
constexpr const char* kWithoutMeaningValue[] = {"--device",
                                                "--useDLACore",
                                                "--infStreams",
                                                "--streams",
                                                "--threads_per_stream",
                                                "--sparsity",
                                                "--tacticSources",
                                                "--preview",
                                                "--profilingVerbosity",
                                                "--avgTiming",
                                                "--sleepTime",
                                                "--idleTime",
                                                "--hardwareCompatibilityLevel",
                                                "--persistentCacheRatio",
                                                "--inputIOFormats",
                                                "--outputIOFormats"};

std::vector<double> numbers(const std::string& text) {
  std::vector<double> values;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    values.push_back(std::strtod(text.substr(at, comma - at).c_str(), nullptr));
    at = comma + 1;
  }
  return values;
}

// "workspace:1024,tacticDRAM:512", in MiB.
void parse_pools(const std::string& text, Exec& e) {
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const size_t colon = part.find(':');
    if (colon == std::string::npos) throw Usage("--memPoolSize: '" + part + "' is not POOL:MiB");
    const std::string pool = part.substr(0, colon);
    const double mib = std::strtod(part.c_str() + colon + 1, nullptr);
    const auto bytes = static_cast<size_t>(mib * 1048576);
    if (pool == "workspace")
      e.build.pools[MemoryPoolType::kWORKSPACE] = bytes;
    else if (pool == "tacticDRAM")
      e.build.pools[MemoryPoolType::kTACTIC_DRAM] = bytes;
    else if (pool == "tacticSharedMem")
      e.build.pools[MemoryPoolType::kTACTIC_SHARED_MEMORY] = bytes;
    else
      throw Usage("--memPoolSize: there is no pool '" + pool + "' here (workspace, tacticDRAM, tacticSharedMem)");
    at = comma + 1;
  }
}

void parse(int argc, char** argv, Exec& e) {
  CLI::App app("trtexec's flags over Wootz", "wootz exec");
  std::string min, opt, max, pools, percentile;
  bool fp16 = false, bf16 = false, int8 = false, refit = false, strip = false, version_compatible = false;
  app.add_option("--onnx", e.build.model, "ONNX model");
  app.add_option("--saveEngine", e.save_engine, "Plan to write");
  app.add_option("--loadEngine", e.load_engine, "Plan to read instead of building");
  app.add_option("--minShapes", min);
  app.add_option("--optShapes", opt);
  app.add_option("--maxShapes", max);
  app.add_option("--shapes", e.shapes, "Shapes to run with (and to build for, without --optShapes)");
  app.add_option("--memPoolSize", pools);
  app.add_option("--workspace", e.workspace_mib, "MiB");
  app.add_option("--timingCacheFile", e.build.timing_cache);
  app.add_option("--builderOptimizationLevel", e.build.optimization_level);
  app.add_option("--maxAuxStreams", e.build.aux_streams);
  app.add_option("--loadInputs", e.load_inputs, "NAME:FILE.npy,...");
  app.add_option("--iterations", e.iterations);
  app.add_option("--duration", e.duration);
  app.add_option("--warmUp", e.warmup);
  app.add_option("--avgRuns", e.avg_runs);
  app.add_option("--percentile", percentile);
  app.add_option("--exportTimes", e.export_times);
  app.add_option("--exportLayerInfo", e.export_layers);
  app.add_flag("--skipInference", e.skip_inference);
  app.add_flag("--dumpLayerInfo", e.dump_layers);
  app.add_flag("--verbose", e.verbose);
  app.add_flag("--fp16", fp16);
  app.add_flag("--bf16", bf16);
  app.add_flag("--int8", int8);
  app.add_flag("--refit", refit);
  app.add_flag("--stripWeights", strip);
  app.add_flag("--versionCompatible,--vc", version_compatible);
  bool flag = false;
  std::string value;
  for (const char* name : kWithoutMeaning) app.add_flag(name, flag)->group("Accepted, without effect on a CPU engine");
  for (const char* name : kWithoutMeaningValue)
    app.add_option(name, value)->group("Accepted, without effect on a CPU engine");
  app.parse(argc, argv);
  e.build.min_shapes = parse_shapes(min, "--minShapes");
  e.build.opt_shapes = parse_shapes(opt.empty() ? e.shapes : opt, "--optShapes");
  e.build.max_shapes = parse_shapes(max, "--maxShapes");
  parse_pools(pools, e);
  if (e.workspace_mib > 0) e.build.pools[MemoryPoolType::kWORKSPACE] = e.workspace_mib << 20;
  if (!percentile.empty()) e.percentiles = numbers(percentile);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (fp16) e.build.flags.push_back(BuilderFlag::kFP16);
  if (bf16) e.build.flags.push_back(BuilderFlag::kBF16);
  if (int8) e.build.flags.push_back(BuilderFlag::kINT8);
#pragma GCC diagnostic pop
  if (refit) e.build.flags.push_back(BuilderFlag::kREFIT);
  if (strip) e.build.flags.push_back(BuilderFlag::kSTRIP_PLAN);
  if (version_compatible) e.build.flags.push_back(BuilderFlag::kVERSION_COMPATIBLE);
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && option->get_group().rfind("Accepted", 0) == 0)
      std::printf("[W] %s has no effect on a CPU engine\n", option->get_name().c_str());
  if (e.build.model.empty() == e.load_engine.empty()) throw Usage("give either --onnx or --loadEngine");
}

void print_row(const char* what, const std::vector<double>& sorted, const std::vector<double>& percentiles) {
  double sum = 0;
  for (double t : sorted) sum += t;
  std::printf("[I] %s: min = %g ms, max = %g ms, mean = %g ms, median = %g ms", what, sorted.front(), sorted.back(),
              sum / static_cast<double>(sorted.size()), percentile(sorted, 50));
  for (double p : percentiles) std::printf(", percentile(%g%%) = %g ms", p, percentile(sorted, p));
  std::printf("\n");
}

void execute(Exec& e, Logger& logger) {
  if (e.verbose) logger.least = nvinfer1::ILogger::Severity::kVERBOSE;
  std::unique_ptr<Session> made;
  size_t size = 0;
  if (e.load_engine.empty()) {
    const Built built = build_plan(e.build, logger);
    std::printf("[I] Engine built in %g sec.\n", built.seconds);
    if (!e.save_engine.empty()) write_file(e.save_engine, built.plan->data(), built.plan->size());
    size = built.plan->size();
    made = std::make_unique<Session>(*built.plan, logger);
  } else {
    made = std::make_unique<Session>(e.load_engine, logger);
    struct stat file {};
    if (::stat(e.load_engine.c_str(), &file) == 0) size = static_cast<size_t>(file.st_size);
  }
  Session& session = *made;
  std::printf("[I] Created engine with size: %g MiB\n[I] Engine deserialized in %g sec.\n",
              static_cast<double>(size) / 1048576, session.load_ms / 1e3);
  if (e.dump_layers || !e.export_layers.empty()) {
    const std::unique_ptr<nvinfer1::IEngineInspector> inspector(session.engine().createEngineInspector());
    using nvinfer1::LayerInformationFormat;
    if (inspector != nullptr && e.dump_layers)
      std::printf("[I] Layer Information:\n%s\n", inspector->getEngineInformation(LayerInformationFormat::kONELINE));
    if (inspector != nullptr && !e.export_layers.empty()) {
      const char* text = inspector->getEngineInformation(LayerInformationFormat::kJSON);
      write_file(e.export_layers, text, std::strlen(text));
    }
  }
  if (e.skip_inference) return;
  std::map<std::string, Array> inputs;
  for (size_t at = 0; at < e.load_inputs.size();) {
    const size_t comma = std::min(e.load_inputs.find(',', at), e.load_inputs.size());
    const std::string part = e.load_inputs.substr(at, comma - at);
    const size_t colon = part.find(':');
    if (colon == std::string::npos) throw Usage("--loadInputs: '" + part + "' is not NAME:FILE.npy");
    inputs[part.substr(0, colon)] = read_npy(part.substr(colon + 1));
    at = comma + 1;
  }
  session.prepare(parse_shapes(e.shapes, "--shapes"), inputs);
  const std::vector<double> times = time_inferences(session, e.iterations, e.duration, e.warmup);
  double wall = 0;
  for (double t : times) wall += t;
  std::printf("[I] === Performance summary ===\n[I] Throughput: %g qps\n",
              static_cast<double>(times.size()) * 1e3 / wall);
  print_row("Latency", times, e.percentiles);
  print_row("Compute Time", times, e.percentiles);
  std::printf("[I] Total Host Walltime: %g s\n[I] Total Compute Time: %g s\n", wall / 1e3, wall / 1e3);
  if (!e.export_times.empty()) {
    nlohmann::json rows = nlohmann::json::array();
    double start = 0;
    for (double t : times) {
      rows.push_back({{"startComputeMs", start},
                      {"endComputeMs", start + t},
                      {"h2dMs", 0},
                      {"computeMs", t},
                      {"d2hMs", 0},
                      {"latencyMs", t}});
      start += t;
    }
    const std::string text = rows.dump(1);
    write_file(e.export_times, text.data(), text.size());
  }
}

}  // namespace

int run_exec(int argc, char** argv, Logger& logger) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i ? " " : "") + std::string(argv[i]);
  std::printf("&&&& RUNNING TensorRT.trtexec [TensorRT v%d] [wootz] # %s\n", static_cast<int>(NV_TENSORRT_VERSION),
              line.c_str());
  const auto end = [&](const char* how, int status) {
    std::printf("&&&& %s TensorRT.trtexec [TensorRT v%d] [wootz] # %s\n", how, static_cast<int>(NV_TENSORRT_VERSION),
                line.c_str());
    return status;
  };
  try {
    Exec e;
    parse(argc, argv, e);
    execute(e, logger);
    return end("PASSED", 0);
  } catch (const CLI::CallForHelp& help) {
    CLI::App app("trtexec's flags over Wootz", "wootz exec");
    std::printf(
        "wootz exec: --onnx or --loadEngine, --saveEngine, --shapes/--minShapes/--optShapes/--maxShapes, "
        "--memPoolSize, --timingCacheFile,\n"
        "  --loadInputs, --iterations, --duration, --warmUp, --percentile, --exportTimes, --exportLayerInfo, "
        "--dumpLayerInfo, --skipInference, --verbose\n");
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "wootz exec: %s\n", error.what());
    return end("FAILED", 2);
  } catch (const Usage& error) {
    std::fprintf(stderr, "wootz exec: %s\n", error.what());
    return end("FAILED", 2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "[E] %s\n", error.what());
    return end("FAILED", 1);
  }
}

}  // namespace wootz_cli
