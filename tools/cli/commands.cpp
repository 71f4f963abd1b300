#include "commands.h"

#include <sys/stat.h>

#include <cstdio>
#include <memory>

#include "base/json.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using json = wootz::SortedJson;
using ordered_json = wootz::OrderedJson;

std::map<std::string, Array> load_inputs(const std::vector<std::string>& pairs) {
  std::map<std::string, Array> inputs;
  for (const std::string& pair : pairs) {
    const size_t at = pair.find('=');
    if (at == std::string::npos || at == 0) throw Usage("--input: '" + pair + "' is not NAME=FILE.npy");
    inputs[pair.substr(0, at)] = read_npy(pair.substr(at + 1));
  }
  return inputs;
}

std::string file_name(std::string tensor) {
  for (char& c : tensor)
    if (c == '/' || c == ':' || c == '\\') c = '_';
  return tensor;
}

// 1 of "1" and "cuda:1"; -1: no number is asked for.
int device_number(const std::string& device) {
  const std::string digits = device.substr(device.find(':') + 1);  // npos + 1: the whole
  if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos) return -1;
  return std::stoi(digits);
}

}  // namespace

// As trtexec's: the libraries to load, and those of them that a plan keeps.
void add_plugin_options(CLI::App& command, std::vector<std::string>& libraries, std::vector<std::string>& kept) {
  command.add_option("--plugins,--staticPlugins", libraries, "Library of plugins to load; repeatable")
      ->allow_extra_args(false);
  command.add_option("--dynamicPlugins", kept, "Library of plugins to load, which the plan keeps; repeatable")
      ->allow_extra_args(false);
}

void add_build_options(CLI::App& command, BuildOptions& o) {
  command.add_option("--shapes", o.shapes, "Shapes of dynamic inputs, NAME:1x3x224x224,... (min = opt = max)");
  command.add_option("--minShapes", o.min, "Smallest shapes of dynamic inputs");
  command.add_option("--optShapes", o.opt, "Shapes to optimize for");
  command.add_option("--maxShapes", o.max, "Largest shapes of dynamic inputs");
  command.add_option("--device", o.device,
                     "cpu, cuda, reference; a number of `wootz devices`, or cuda:1; or the GPU to build for without "
                     "having it: h200, ... or a .json; default: the first GPU where there is one, or cpu");
  command.add_option("--native-code", o.native_code, "Machine code to keep in the plan: 0, 1 or all");
  command.add_option("--threads", o.threads, "Threads of one inference, 0: all");
  command.add_option("--isa", o.isa, "Highest instruction set: avx2 or avx512");
  command.add_option("--workspace", o.workspace_mib, "Limit of a tactic's workspace in MiB");
  command.add_option("--timing-cache", o.request.timing_cache, "Timing cache file, read and written back");
  command.add_option("--disable-passes", o.disable, "Optimizing passes to leave out, comma separated, or all");
  command.add_option("--dump-stages", o.dump_stages, "Folder to write the graph and the program after each stage to");
  command.add_option("--max-aux-streams", o.request.aux_streams, "Most streams beside the caller's, -1: as is fastest");
  command.add_option("--option", o.pairs, "KEY=VALUE: an option of the build by its key (docs/python.md); repeatable")
      ->allow_extra_args(false);
  add_plugin_options(command, o.request.plugins, o.request.plugins_in_plan);
  command.add_flag("--no-timing", o.no_timing, "Choose tactics by estimate instead of measuring");
  command.add_flag("--refit", o.refit, "Plan whose weights can be replaced");
  command.add_flag("--strip", o.strip,
                   "Plan without weights, which wootz refit brings back: with --refit any others too");
  command.add_flag("--version-compatible", o.version_compatible,
                   "Plan that holds the runtime which runs it under other versions");
  command.add_flag("--exclude-lean-runtime", o.exclude_runtime, "Such a plan without its runtime");
  command.add_flag("--fp16", o.fp16, "Allow FP16");
  command.add_flag("--bf16", o.bf16, "Allow BF16");
  command.add_flag("--int8", o.int8, "Allow INT8");
  command.add_flag("--sparse-weights", o.sparse_weights,
                   "Kernels may leave out the zeros of weights that have them 2:4");
  CalibrationRequest& calibration = o.request.calibration;
  command.add_option("--calib", calibration.cache,
                     "With --int8: file of scales, read if it is there, and otherwise written");
  command
      .add_option("--calib-data", calibration.data,
                  "With --int8: representative inputs, a .npz or .npy file or a folder of such; repeatable")
      ->allow_extra_args(false);
  command.add_option(
      "--calib-algorithm", calibration.algorithm,
      "How scales are found: least_error, entropy2, entropy, minmax or legacy; default: as --calib was written, or "
      "least_error");
  command.add_option("--calib-shapes", o.calibration_shapes,
                     "Shapes of the batches that --calib-data is cut into; default: those to optimize for");
  command.add_flag("--json", o.as_json, "Report as JSON on stdout");
  command.add_flag("-v,--verbose", o.verbose, "Log every detail");
}

void add_options(const std::vector<std::string>& pairs, std::map<std::string, std::string>* options) {
  for (const std::string& pair : pairs) {
    const size_t at = pair.find('=');
    if (at == std::string::npos || at == 0) throw Usage("--option: '" + pair + "' is not KEY=VALUE");
    (*options)[pair.substr(0, at)] = pair.substr(at + 1);
  }
}

void finish(BuildOptions& o, Logger& logger) {
  if (o.verbose) logger.least = nvinfer1::ILogger::Severity::kVERBOSE;
  o.request.opt_shapes = parse_shapes(o.shapes.empty() ? o.opt : o.shapes, "--shapes");
  o.request.min_shapes = parse_shapes(o.min, "--minShapes");
  o.request.max_shapes = parse_shapes(o.max, "--maxShapes");
  const bool backend = o.device == "cpu" || o.device == "cuda" || o.device == "reference";
  if (!o.device.empty()) o.request.options[backend ? "backend" : "device"] = o.device;
  if (!o.native_code.empty()) o.request.options["native_code"] = o.native_code;
  if (o.threads > 0) o.request.options["threads"] = std::to_string(o.threads);
  if (!o.isa.empty()) o.request.options["isa"] = o.isa;
  if (!o.disable.empty()) o.request.options["disable_passes"] = o.disable;
  if (!o.dump_stages.empty()) o.request.options["dump_stages"] = o.dump_stages;
  if (o.no_timing) o.request.options["timing"] = "0";
  add_options(o.pairs, &o.request.options);
  if (o.workspace_mib > 0) o.request.pools[nvinfer1::MemoryPoolType::kWORKSPACE] = o.workspace_mib << 20;
  using nvinfer1::BuilderFlag;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (o.refit) o.request.flags.push_back(BuilderFlag::kREFIT);
  if (o.strip) o.request.flags.push_back(BuilderFlag::kSTRIP_PLAN);
  if (o.version_compatible) o.request.flags.push_back(BuilderFlag::kVERSION_COMPATIBLE);
  if (o.exclude_runtime) o.request.flags.push_back(BuilderFlag::kEXCLUDE_LEAN_RUNTIME);
  if (o.fp16) o.request.flags.push_back(BuilderFlag::kFP16);
  if (o.bf16) o.request.flags.push_back(BuilderFlag::kBF16);
  if (o.int8) o.request.flags.push_back(BuilderFlag::kINT8);
  if (o.sparse_weights) o.request.flags.push_back(BuilderFlag::kSPARSE_WEIGHTS);
  o.request.calibration.opt_shapes = parse_shapes(o.calibration_shapes, "--calib-shapes");
  check_calibration(o.request.calibration, o.int8);
#pragma GCC diagnostic pop
  o.request.plugins.insert(o.request.plugins.end(), o.request.plugins_in_plan.begin(), o.request.plugins_in_plan.end());
  o.request.progress = !o.as_json;
}

bool is_onnx(const std::string& path) { return path.size() > 5 && path.rfind(".onnx") == path.size() - 5; }

void add_build(CLI::App& app, Logger& logger) {
  CLI::App* command = app.add_subcommand("build", "ONNX model to plan");
  auto o = std::make_shared<BuildOptions>();
  auto output = std::make_shared<std::string>(), page = std::make_shared<std::string>();
  command->add_option("model", o->request.model, "ONNX model")->required();
  command->add_option("-o,--output", *output, "Plan to write")->required();
  command->add_option("--report", *page, "Report to write as a page for a browser (.html)");
  add_build_options(*command, *o);
  command->callback([o, output, page, &logger] {
    finish(*o, logger);
    o->request.page = !page->empty();
    o->request.output = *output;
    Built built;
    try {
      built = build_plan(o->request, logger);
      if (!page->empty()) write_file(*page, built.page.data(), built.page.size());
    } catch (const Usage&) {
      throw;
    } catch (const std::exception& error) {
      const ordered_json failed{{"operation", "build-engine"},
                                {"status", "failed"},
                                {"input_model", o->request.model},
                                {"error", error.what()}};
      if (o->as_json) std::printf("%s\n", failed.dump(1, ' ', false, json::error_handler_t::replace).c_str());
      throw;
    }
    const double mib = static_cast<double>(built.plan_bytes) / 1048576;
    if (o->as_json) {
      ordered_json report{{"operation", "build-engine"},
                          {"status", "success"},
                          {"input_model", o->request.model},
                          {"output_engine", *output}};
      if (!page->empty()) report["report"] = *page;
      report.update(ordered_json::parse(built.report));
      report["performance"]["build_time_s"] = built.seconds;
      report["performance"]["engine_size_mb"] = mib;
      std::printf("%s\n", report.dump(1, ' ', false, json::error_handler_t::replace).c_str());
      return;
    }
    const std::string backend = json::parse(built.report)["configuration"].value("backend", "");
    std::printf("%s: %.1f MiB for %s, built in %.2f s\n", output->c_str(), mib, backend.c_str(), built.seconds);
    if (!page->empty()) std::printf("%s: the report\n", page->c_str());
  });
}

void add_run(CLI::App& app, Logger& logger) {
  CLI::App* command = app.add_subcommand("run", "Run a plan on .npy files");
  struct Options {
    std::string plan, folder = ".", shapes;
    std::vector<std::string> inputs, tensors, more_plugins;
    LoadOptions load;
    bool as_json = false;
  };
  auto o = std::make_shared<Options>();
  command->add_option("plan", o->plan, "Plan")->required();
  command->add_option("-i,--input", o->inputs, "NAME=FILE.npy; inputs without one get random numbers");
  command->add_option("--shapes", o->shapes, "Shapes of inputs without a file, NAME:1x3x224x224,...");
  command->add_option("--device", o->load.device,
                      "Number of the device to run on, as `wootz devices` lists those of a kind");
  command->add_option("--output-dir", o->folder, "Folder for the outputs, one .npy each");
  command->add_option("--dump-tensors", o->tensors, "Values of the model to write there too, NAME,... or all")
      ->delimiter(',');
  add_plugin_options(*command, o->load.plugins, o->more_plugins);
  command->add_flag("--allow-native", o->load.native,
                    "Use machine code and libraries that the plan brings: you trust where it is from");
  command->add_flag("--json", o->as_json, "Report as JSON on stdout");
  command->callback([o, &logger] {
    const std::map<std::string, Array> inputs = load_inputs(o->inputs);
    o->load.plugins.insert(o->load.plugins.end(), o->more_plugins.begin(), o->more_plugins.end());
    Session session(o->plan, logger, o->load);
    session.prepare(parse_shapes(o->shapes, "--shapes"), inputs);
    if (!o->tensors.empty()) session.tap(o->tensors);
    session.run();
    ::mkdir(o->folder.c_str(), 0777);
    json report{{"operation", "run"}, {"status", "success"}, {"outputs", json::array()}};
    const auto write = [&](const char* list, const std::string& name, const Array& array) {
      const std::string path = o->folder + "/" + file_name(name) + ".npy";
      write_npy(path, array);
      report[list].push_back(
          {{"name", name}, {"file", path}, {"shape", array.shape}, {"dtype", dtype_name(array.dtype)}});
      if (!o->as_json)
        std::printf("%s: %s %s -> %s\n", name.c_str(), dtype_name(array.dtype), shape_text(array.shape).c_str(),
                    path.c_str());
    };
    const std::map<std::string, Array> outputs = session.outputs();
    for (const auto& [name, array] : outputs) write("outputs", name, array);
    for (const auto& [name, array] : session.tapped())
      if (!has_npy_form(array.dtype))
        std::fprintf(stderr, "%s: %s has no NumPy form, left out\n", name.c_str(), dtype_name(array.dtype));
      else if (outputs.count(name) == 0)
        write("tensors", name, array);
    if (o->as_json) std::printf("%s\n", report.dump(1).c_str());
  });
}

void add_bench(CLI::App& app, Logger& logger) {
  CLI::App* command = app.add_subcommand("bench", "Time a plan, or a model built on the way");
  struct Options {
    BuildOptions build;
    std::string file;
    double seconds = 3, warmup = 200;
    int iterations = 10;
    bool native = false;
  };
  auto o = std::make_shared<Options>();
  command->add_option("file", o->file, "Plan or ONNX model")->required();
  command->add_option("--duration", o->seconds, "Seconds to measure");
  command->add_option("--iterations", o->iterations, "At least so many inferences");
  command->add_option("--warmUp", o->warmup, "Milliseconds before measuring");
  command->add_flag("--allow-native", o->native, "Use machine code that the plan brings: you trust where it is from");
  add_build_options(*command, o->build);
  command->callback([o, &logger] {
    finish(o->build, logger);
    std::unique_ptr<Session> made;
    LoadOptions load;
    load.native = o->native;
    load.device = device_number(o->build.device);
    load.plugins = o->build.request.plugins;
    if (is_onnx(o->file)) {
      o->build.request.model = o->file;
      made = std::make_unique<Session>(*build_plan(o->build.request, logger).plan, logger, load);
    } else {
      made = std::make_unique<Session>(o->file, logger, load);
    }
    Session& session = *made;
    session.prepare(o->build.request.opt_shapes, {});
    const std::vector<double> times = time_inferences(session, o->iterations, o->seconds, o->warmup);
    double sum = 0;
    for (double t : times) sum += t;
    const double mean = sum / static_cast<double>(times.size());
    if (o->build.as_json) {
      std::printf("%s\n", json{{"operation", "bench"},
                               {"status", "success"},
                               {"file", o->file},
                               {"runs", times.size()},
                               {"min_ms", times.front()},
                               {"median_ms", percentile(times, 50)},
                               {"mean_ms", mean},
                               {"p90_ms", percentile(times, 90)},
                               {"p99_ms", percentile(times, 99)},
                               {"max_ms", times.back()},
                               {"load_ms", session.load_ms},
                               {"throughput_qps", 1e3 / mean}}
                              .dump(1)
                              .c_str());
      return;
    }
    std::printf(
        "%zu runs: median %.3f ms, min %.3f, mean %.3f, p90 %.3f, p99 %.3f, max %.3f (load %.1f ms, %.1f "
        "inferences/s)\n",
        times.size(), percentile(times, 50), times.front(), mean, percentile(times, 90), percentile(times, 99),
        times.back(), session.load_ms, 1e3 / mean);
  });
}

}  // namespace wootz_cli
