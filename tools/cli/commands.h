// The subcommands. Each adds itself to the command line; the callback runs it.
#pragma once

#include <CLI/CLI.hpp>

#include "build_plan.h"
#include "session.h"
#include "tool_inputs.h"

namespace wootz_cli {

// The options of `build`, which other commands take too where a model may stand for a plan.
struct BuildOptions {
  BuildRequest request;
  std::vector<std::string> pairs;  // options by their keys
  std::string shapes, min, opt, max, device, native_code, isa, disable, dump_stages, calibration_shapes;
  int threads = 0;
  size_t workspace_mib = 0;
  bool no_timing = false, as_json = false, verbose = false, fp16 = false, bf16 = false, int8 = false;
  bool sparse_weights = false;
  bool refit = false, strip = false, version_compatible = false, exclude_runtime = false;
};
void add_build_options(CLI::App& command, BuildOptions& o);
void add_plugin_options(CLI::App& command, std::vector<std::string>& libraries, std::vector<std::string>& kept);
// "KEY=VALUE"
void add_options(const std::vector<std::string>& pairs, std::map<std::string, std::string>* options);
void finish(BuildOptions& o, Logger& logger);  // the request, once the command line is read
void add_input_options(CLI::App& command, InputRequest& inputs);
bool is_onnx(const std::string& path);

void add_build(CLI::App& app, Logger& logger);
void add_run(CLI::App& app, Logger& logger);
void add_bench(CLI::App& app, Logger& logger);
void add_inspect(CLI::App& app, Logger& logger);
void add_diff(CLI::App& app, Logger& logger);
void add_compare(CLI::App& app, Logger& logger);
void add_quantize(CLI::App& app, Logger& logger);
void add_refit(CLI::App& app, Logger& logger);
void add_plugin(CLI::App& app);
void add_devices(CLI::App& app);
// `wootz exec`, also installed as trtexec: trtexec's flags and report. Parses its own arguments.
int run_exec(int argc, char** argv, Logger& logger);

}  // namespace wootz_cli
