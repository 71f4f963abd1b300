// `wootz exec`: trtexec's flags and report, over the same build and run as the other subcommands.
#include "exec.h"

#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "refit.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

void warn(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::printf("[W] %s\n", line.c_str());
}

bool is_number(const std::string& device) {
  return !device.empty() && device.find_first_not_of("0123456789") == std::string::npos;
}

// As wootz_runtime_set_device() takes it.
int device_number(const Exec& e) { return is_number(e.device) ? std::stoi(e.device) : -1; }

// A GPU that was asked for by number and is not there is an error, but for the first: scripts name it on any machine.
void choose_device(Exec& e) {
  if (e.device.empty()) return;
  const bool number = is_number(e.device);
  e.build.options[number ? "device" : "backend"] = e.device;
  if (!number || !e.load_engine.empty()) return;
  const char* reason = "";
  if (std::strcmp(wootz_default_backend(&reason), "cuda") == 0) return;
  const std::string what = "--device=" + e.device;
  if (e.device != "0") throw Failure(what + " cannot be used: " + reason);
  e.build.options.erase("device");
  e.warnings.push_back(what + " has no effect: " + reason);
}

// Which backend, in one line.
bool say_backend(const Exec& e) {
  const auto asked = e.build.options.find("backend");
  const char* reason = "--device says so";
  const char* name = asked != e.build.options.end() ? asked->second.c_str() : wootz_default_backend(&reason);
  std::printf("[I] Backend: %s (%s)\n", name, reason);
  return std::strcmp(name, "cuda") == 0;
}

void say_backend_of_plan(const Session& session) {
  const nlohmann::json made = nlohmann::json::parse(session.report("json"))["configuration"];
  const std::string backend = made.value("backend", "");
  const nlohmann::json& device = made["device"];
  std::printf("[I] Backend: %s (the plan's, made for %s)\n", backend.c_str(),
              device.is_object() ? device.value("name", "").c_str() : "another device");
}

std::map<std::string, Array> read_inputs(const std::string& list) {
  std::map<std::string, Array> inputs;
  for (size_t at = 0; at < list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string part = list.substr(at, comma - at);
    const size_t colon = part.find(':');
    if (colon == std::string::npos) throw Usage("--loadInputs: '" + part + "' is not NAME:FILE.npy");
    inputs[part.substr(0, colon)] = read_npy(part.substr(colon + 1));
    at = comma + 1;
  }
  return inputs;
}

void show_layers(Session& session, const Exec& e) {
  if (!e.dump_layers && e.export_layers.empty()) return;
  const std::unique_ptr<nvinfer1::IEngineInspector> inspector(session.engine().createEngineInspector());
  using nvinfer1::LayerInformationFormat;
  if (inspector == nullptr) throw Failure("the engine cannot be inspected");
  if (e.dump_layers)
    std::printf("[I] Layer Information:\n%s\n", inspector->getEngineInformation(LayerInformationFormat::kONELINE));
  if (e.export_layers.empty()) return;
  const char* text = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  write_file(e.export_layers, text, std::strlen(text));
}

std::unique_ptr<Session> build(const Exec& e, Logger& logger) {
  BuildRequest request = e.build;
  request.output = e.save_engine;
  const Built built = build_plan(request, logger);
  std::printf("[I] Engine built in %g sec.\n[I] Created engine with size: %g MiB\n", built.seconds,
              static_cast<double>(built.plan_bytes) / 1048576);
  const bool needed =
      !e.skip_inference || e.time_refit || !e.refit_model.empty() || e.dump_layers || !e.export_layers.empty();
  if (!needed) return nullptr;
  if (built.plan == nullptr) return std::make_unique<Session>(e.save_engine, logger, /*native=*/true, device_number(e));
  return std::make_unique<Session>(*built.plan, logger, device_number(e));
}

std::unique_ptr<Session> load(const Exec& e, Logger& logger) {
  auto session = std::make_unique<Session>(e.load_engine, logger, /*native=*/false, device_number(e));
  struct stat file {};
  const double size = ::stat(e.load_engine.c_str(), &file) == 0 ? static_cast<double>(file.st_size) : 0;
  std::printf("[I] Loaded engine with size: %g MiB\n", size / 1048576);
  say_backend_of_plan(*session);
  if (!e.device.empty() && session->on_device() == (e.device == "cpu" || e.device == "reference"))
    std::printf("[W] --device=%s has no effect: the plan says what it runs on\n", e.device.c_str());
  return session;
}

void refit(Session& session, const Exec& e, Logger& logger) {
  const std::string& model = e.refit_model.empty() && e.time_refit ? e.build.model : e.refit_model;
  if (e.time_refit && model.empty()) throw Usage("--timeRefit: give --refitFromOnnx or --onnx");
  if (model.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  refit_from_model(session.engine(), model, logger);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("[I] Engine refitted in %g sec.\n", took.count());
}

void execute(Exec& e, Logger& logger) {
  if (e.verbose) logger.least = nvinfer1::ILogger::Severity::kVERBOSE;
  choose_device(e);
  std::unique_ptr<Session> session;
  if (e.load_engine.empty()) {
    warn(remarks_on(e, say_backend(e)));
    session = build(e, logger);
  } else {
    session = load(e, logger);
    warn(remarks_on(e, session->on_device()));
  }
  if (session != nullptr) {
    std::printf("[I] Engine deserialized in %g sec.\n", session->load_ms / 1e3);
    refit(*session, e, logger);
    show_layers(*session, e);
  }
  if (e.skip_inference) {
    std::printf("[I] Skipped inference phase since --skipInference is added.\n");
    return;
  }
  session->prepare(parse_shapes(e.shapes, "--shapes"), read_inputs(e.load_inputs));
  const Trace trace = trace_inferences(*session, e.timing);
  print_trace(trace, e);
  if (!e.export_times.empty()) export_trace(trace, e.export_times);
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
