// `wootz exec`: trtexec's flags and report, over the same build and run as the other subcommands.
#include "exec.h"

#include <cstdio>

#include "commands.h"

namespace wootz_cli {
namespace {

void execute(Exec& e, Logger& logger) {
  if (e.verbose) logger.least = nvinfer1::ILogger::Severity::kVERBOSE;
  if (e.help_routes) return print_routes();
  choose_device(e);
  if (e.tuning.wanted && !tune_routes(e, logger)) return;
  if (e.version_only) return print_plan_version(e.load_engine, logger);
  if (e.time_deserialize) return time_deserialization(e, logger);
  std::unique_ptr<Session> session = engine_of(e, logger);
  if (e.skip_inference) {
    std::printf("[I] Skipped inference phase since --skipInference is added.\n");
    return;
  }
  run_inferences(std::move(session), e, logger);
}

}  // namespace

int run_exec(int argc, char** argv, Logger& logger) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i ? " " : "") + std::string(argv[i]);
  const auto say = [&](const char* what) {
    std::printf("&&&& %s TensorRT.trtexec [TensorRT v%d] [wootz] # %s\n", what, static_cast<int>(NV_TENSORRT_VERSION),
                line.c_str());
  };
  const auto end = [&](const char* how, int status) {
    say(how);
    return status;
  };
  say("RUNNING");
  try {
    std::optional<Exec> e = parse_exec(argc, argv);
    if (!e) return 0;
    execute(*e, logger);
    return end("PASSED", 0);
  } catch (const Usage& error) {
    std::fprintf(stderr, "wootz exec: %s\n", error.what());
    return end("FAILED", 2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "[E] %s\n", error.what());
    return end("FAILED", 1);
  }
}

}  // namespace wootz_cli
