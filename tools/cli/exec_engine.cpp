// `wootz exec` up to the engine: from a model or a plan, refitted, and what is told of it.
#include <sys/stat.h>
#include <algorithm>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/json.h"
#include "exec.h"
#include "files.h"
#include "refit.h"
#include "wootz/extensions.h"

namespace wootz_cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool is_number(const std::string& device) {
  return !device.empty() && device.find_first_not_of("0123456789") == std::string::npos;
}

void warn(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::printf("[W] %s\n", line.c_str());
}

LoadOptions load_options(const Exec& e) {
  LoadOptions options;
  options.device = is_number(e.device) ? std::stoi(e.device) : -1;
  options.stream_reader = e.stream_reader;
  options.temporary_directory = e.temporary_directory;
  options.temporary_files = e.temporary_files;
  options.plugins = e.plugins;
  options.runtime = e.runtime;
  options.lean_library = e.lean_library;
  // As trtexec: who asks for a plan's own runtime trusts where the plan is from.
  const auto& flags = e.build.flags;
  options.native = e.runtime == RuntimeKind::kDispatch ||
                   std::find(flags.begin(), flags.end(), nvinfer1::BuilderFlag::kVERSION_COMPATIBLE) != flags.end();
  return options;
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
  const wootz::SortedJson made = wootz::SortedJson::parse(session.report("json"))["configuration"];
  const std::string backend = made.value("backend", "");
  const wootz::SortedJson& device = made["device"];
  std::printf("[I] Backend: %s (the plan's, made for %s)\n", backend.c_str(),
              device.is_object() ? device.value("name", "").c_str() : "another device");
}

ContextOptions context_options(const Exec& e) {
  ContextOptions options;
  options.allocation = e.allocation;
  options.profile = e.profile;
  options.managed = e.managed;
  options.replay = e.replay;
  return options;
}

bool needs_engine(const Exec& e) {
  return !e.skip_inference || e.time_refit || !e.refit_model.empty() || e.dump_layers || !e.export_layers.empty() ||
         e.dump_profiles || e.dump_refit;
}

// Bytes, or what ends in K, M or G; "20%" of all, "-1": what is free allows, "-2": all.
int64_t budget_of(const std::string& text, const nvinfer1::ICudaEngine& engine) {
  const int64_t all = engine.getStreamableWeightsSize();
  if (text == "-2") return all;
  if (text == "-1") return engine.getWeightStreamingAutomaticBudget();
  const std::string flag = "--weightStreamingBudget";
  if (text.back() == '%')
    return static_cast<int64_t>(parse_number(text.substr(0, text.size() - 1), flag, 0, 100) / 100 *
                                static_cast<double>(all));
  const bool plain = text.find_first_not_of("0123456789.") == std::string::npos;
  return static_cast<int64_t>(parse_size(plain ? text + "B" : text, flag));
}

// Before there is a context.
void stream_weights(nvinfer1::ICudaEngine& engine, const Exec& e, Logger& logger) {
  if (e.weight_budget.empty()) return;
  const int64_t all = engine.getStreamableWeightsSize();
  if (!engine.setWeightStreamingBudgetV2(budget_of(e.weight_budget, engine)))
    fail("--weightStreamingBudget=" + e.weight_budget + " was refused", logger);
  std::printf("[I] Weight streaming: %lld of %lld bytes of weights stay in memory, scratch memory %lld bytes\n",
              static_cast<long long>(engine.getWeightStreamingBudgetV2()), static_cast<long long>(all),
              static_cast<long long>(engine.getWeightStreamingScratchMemorySize()));
}

std::shared_ptr<Loaded> build(const Exec& e, Logger& logger) {
  BuildRequest request = e.build;
  request.output = e.save_engine;
  const Built built = build_plan(request, logger);
  std::printf("[I] Engine built in %g sec.\n[I] Created engine with size: %g MiB\n", built.seconds,
              static_cast<double>(built.plan_bytes) / 1048576);
  if (!needs_engine(e)) return nullptr;
  LoadOptions options = load_options(e);
  options.native = true;  // made just now
  std::shared_ptr<Loaded> loaded =
      built.plan == nullptr ? load_engine(e.save_engine, options, logger) : load_engine(*built.plan, options, logger);
  stream_weights(*loaded->engine, e, logger);
  return loaded;
}

std::unique_ptr<Session> load(const Exec& e, Logger& logger) {
  const std::shared_ptr<Loaded> loaded = load_engine(e.load_engine, load_options(e), logger);
  stream_weights(*loaded->engine, e, logger);
  auto session = std::make_unique<Session>(loaded, context_options(e), logger);
  struct stat file {};
  const double size = ::stat(e.load_engine.c_str(), &file) == 0 ? static_cast<double>(file.st_size) : 0;
  std::printf("[I] Loaded engine with size: %g MiB\n", size / 1048576);
  if (const PlanHeader header = plan_header(e.load_engine, logger);
      e.runtime == RuntimeKind::kFull && !header.of_another())
    say_backend_of_plan(*session);
  else
    std::printf("[I] Runtime: %s\n", e.lean_library.empty()
                                         ? (e.runtime == RuntimeKind::kLean ? "lean" : "the plan's own")
                                         : e.lean_library.c_str());
  if (!e.device.empty() && session->on_device() == (e.device == "cpu" || e.device == "reference"))
    std::printf("[W] --device=%s has no effect: the plan says what it runs on\n", e.device.c_str());
  return session;
}

// Refits before the inferences: one, or as many as are timed.
void refit(Session& session, const Exec& e, Logger& logger) {
  // What was built without weights runs with those of its model, unless another one is named.
  const auto& flags = e.build.flags;
  const bool stripped = std::find(flags.begin(), flags.end(), nvinfer1::BuilderFlag::kSTRIP_PLAN) != flags.end();
  const bool own = e.time_refit || (stripped && e.load_engine.empty() && !e.skip_inference);
  const std::string& model = e.refit_model.empty() && own ? e.build.model : e.refit_model;
  if (e.time_refit && model.empty()) throw Usage("--timeRefit: give --refitFromOnnx or --onnx");
  if (model.empty()) return;
  constexpr int kTimes = 10;
  const Clock::time_point first = Clock::now();
  refit_from_model(session.engine(), model, logger);
  std::printf("[I] Engine refitted in %g sec.\n", seconds_since(first));
  if (!e.time_refit) return;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < kTimes; ++i) refit_from_model(session.engine(), model, logger);
  const double ms = seconds_since(start) * 1e3;
  std::printf("[I] Refit: %d in %g ms, average %g ms\n", kTimes, ms, ms / kTimes);
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

}  // namespace

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

std::unique_ptr<Session> engine_of(Exec& e, Logger& logger) {
  std::unique_ptr<Session> session;
  if (e.load_engine.empty()) {
    warn(remarks_on(e, say_backend(e)));
    if (const std::shared_ptr<Loaded> loaded = build(e, logger); loaded != nullptr)
      session = std::make_unique<Session>(loaded, context_options(e), logger);
  } else {
    session = load(e, logger);
    warn(remarks_on(e, session->on_device()));
  }
  if (session == nullptr) return nullptr;
  std::printf("[I] Engine deserialized in %g sec.\n", session->load_ms / 1e3);
  refit(*session, e, logger);
  show_layers(*session, e);
  if (e.dump_profiles) print_profiles(session->engine());
  if (e.dump_refit) print_refittable(session->engine(), logger);
  return session;
}

void time_deserialization(const Exec& e, Logger& logger) {
  constexpr int kTimes = 10;
  const Clock::time_point first = Clock::now();
  load_engine(e.load_engine, load_options(e), logger);
  std::printf("[I] First deserialization time = %g milliseconds\n", seconds_since(first) * 1e3);
  double total = 0;
  for (int i = 0; i < kTimes; ++i) {
    const Clock::time_point start = Clock::now();
    const std::shared_ptr<Loaded> loaded = load_engine(e.load_engine, load_options(e), logger);
    total += seconds_since(start) * 1e3;
  }
  std::printf("[I] Total deserialization time = %g milliseconds in %d iterations, average time = %g milliseconds\n",
              total, kTimes, total / kTimes);
}

void print_plan_version(const std::string& path, Logger& logger) {
  const PlanHeader header = plan_header(path, logger);
  std::string more;
  if (!header.version.empty()) {
    more = ", version-compatible, by Wootz " + header.version;
    more += header.runtime_bytes == 0 ? " without its runtime"
                                      : " with its runtime (" + std::to_string(header.runtime_bytes) + " bytes)";
  }
  std::printf("[I] Plan was created with plan format %d%s; this is Wootz with the interface of TensorRT %d.%d.%d\n",
              header.format, more.c_str(), getInferLibMajorVersion(), getInferLibMinorVersion(),
              getInferLibPatchVersion());
}

void print_profiles(nvinfer1::ICudaEngine& engine) {
  using nvinfer1::OptProfileSelector;
  static constexpr std::pair<const char*, OptProfileSelector> kEnds[] = {
      {"MIN", OptProfileSelector::kMIN}, {"OPT", OptProfileSelector::kOPT}, {"MAX", OptProfileSelector::kMAX}};
  std::printf("[I] Optimization Profiles:\n");
  for (int32_t p = 0; p < engine.getNbOptimizationProfiles(); ++p) {
    std::printf("[I] Optimization Profile %d:\n", p);
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      if (engine.getTensorIOMode(name) != nvinfer1::TensorIOMode::kINPUT) continue;
      std::string line = std::string("  ") + name + ":";
      for (const auto& [end, select] : kEnds)
        line += std::string(" ") + end + "=" + shape_text(to_shape(engine.getProfileShape(name, p, select)));
      std::printf("[I] %s\n", line.c_str());
    }
  }
}

void print_refittable(nvinfer1::ICudaEngine& engine, Logger& logger) {
  if (!engine.isRefittable()) throw Failure("--dumpRefit: the engine was built without --refit");
  const std::unique_ptr<nvinfer1::IRefitter> refitter(nvinfer1::createInferRefitter(engine, logger));
  if (refitter == nullptr) fail("the engine cannot be refitted", logger);
  const int32_t count = refitter->getAllWeights(0, nullptr);
  std::vector<const char*> names(static_cast<size_t>(std::max(0, count)));
  refitter->getAllWeights(count, names.data());
  std::printf("[I] Refittable weights: %d\n", count);
  for (const char* name : names) std::printf("[I]   %s\n", name);
}

}  // namespace wootz_cli
