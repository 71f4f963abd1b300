#include "api/build.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "api/measuring.h"
#include "api/runtime/engine_info.h"
#include "api/runtime/memory_json.h"
#include "backend/kernel_cache.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "runtime/shape_plan.h"

namespace wootz::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kBuildPhase = "Build";
constexpr const char* kPassPhase = "Optimize graph";
constexpr const char* kTacticPhase = "Choose tactics";
constexpr int kBuildSteps = 5;

class Timer {
 public:
  double ms() {
    const auto now = std::chrono::steady_clock::now();
    const double passed = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return passed;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// One phase of the progress; ends itself.
class Phase {
 public:
  Phase(const BuildProgress& progress, const char* name, const char* parent, int steps)
      : progress_(progress), name_(name) {
    if (progress_.start) progress_.start(name, parent, steps);
  }
  ~Phase() {
    if (progress_.finish) progress_.finish(name_);
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  bool step(int number) {
    if (progress_.step && !progress_.step(name_, number)) cancelled_ = true;
    return !cancelled_;
  }
  Status status() const {
    return cancelled_ ? make_error(Code::kCancelled, "the progress monitor stopped the build in phase '{}'", name_)
                      : Status();
  }

 private:
  const BuildProgress& progress_;
  const char* name_;
  bool cancelled_ = false;
};

Status run_passes(Graph& graph, const BuildOptions& options, BuildReport* report) {
  PipelineOptions pipeline;
  pipeline.disabled = options.disabled_passes;
  pipeline.verify = options.verify_passes;
  Phase phase(options.progress, kPassPhase, kBuildPhase, static_cast<int>(all_passes().size()));
  int done = 0;
  pipeline.observer = [&](const PassReport& pass, const Graph&) {
    phase.step(done++);
    if (options.verbose)
      options.verbose(
          fmt::format("pass {}: {} to {} nodes, {:.2f} ms", pass.name, pass.nodes_before, pass.nodes_after, pass.ms));
  };
  WOOTZ_ASSIGN_OR_RETURN(report->passes, run_pipeline(graph, pipeline));
  return phase.status();
}

// What the options say of a candidate before it is measured: another one is forced, or enough were measured.
class Rules {
 public:
  Rules(const BuildOptions& options, const Program& program) : options_(options) {
    for (const Step& step : program.steps) names_.push_back(step.name);
  }
  void apply(size_t step, Considered* candidate) {
    const std::string text = candidate->candidate.tactic.to_string();
    for (const ForcedTactic& rule : options_.forced) {
      if (names_[step].find(rule.step) == std::string::npos || text.find(rule.tactic) != std::string::npos) continue;
      candidate->refusal = fmt::format("tactic '{}' is forced for this step", rule.tactic);
      return;
    }
    if (step != step_) count_ = 0;
    step_ = step;
    if (options_.max_tactics > 0 && ++count_ > options_.max_tactics)
      candidate->refusal = fmt::format("{} tactics were measured, as many as the options allow", options_.max_tactics);
  }

 private:
  const BuildOptions& options_;
  std::vector<std::string> names_;
  size_t step_ = SIZE_MAX;
  int count_ = 0;
};

Status choose(const Lowered& lowered, Program* program, const std::vector<const Provider*>& providers,
              std::shared_ptr<Device> device, const Limits& limits, const BuildOptions& options, BuildReport* report) {
  const size_t steps = program->steps.size();
  Phase phase(options.progress, kTacticPhase, kBuildPhase, static_cast<int>(std::max<size_t>(1, steps)));
  std::optional<Measurer> measurer;
  if (options.measure && options.level > 0 && device != nullptr) {
    MeasureOptions measure;
    measure.providers = providers;
    measure.device = std::move(device);
    measure.limits = limits;
    measure.cache = options.cache;
    measure.error_on_miss = options.error_on_cache_miss;
    measure.constants = constants_of(*program);
    measure.reference = reference_of(lowered);
    measure.sampling = sampling_for(options.level, options.timing_iterations);
    measurer.emplace(std::move(measure));
  }
  Rules rules(options, *program);
  ChooseOptions choose;
  choose.limits = limits;
  choose.cost = [&](const Problem& problem, size_t step, Considered* candidate) -> Status {
    candidate->us = candidate->candidate.estimate_us;
    if (step < steps) rules.apply(step, candidate);
    if (!candidate->refusal.empty() || !measurer) return Status();
    return measurer->cost(problem, step, candidate);
  };
  choose.progress = [&](size_t done, size_t, const std::string&) {
    return phase.step(static_cast<int>(std::min(done, steps == 0 ? 0 : steps - 1)));
  };
  Result<Choice> choice = choose_tactics(program, providers, choose);
  if (!choice.ok()) return phase.status().ok() ? choice.status() : phase.status();
  report->choice = std::move(choice).value();
  if (measurer) report->measured = measurer->stats();
  for (const StepReport& step : report->choice.steps) {
    if (!options.verbose || step.chosen < 0) continue;
    const Considered& chosen = step.considered[static_cast<size_t>(step.chosen)];
    options.verbose(fmt::format("layer '{}': {} of {} tactics, {:.2f} us {}", step.step,
                                chosen.candidate.tactic.to_string(), step.considered.size(), chosen.us,
                                chosen.measured ? "measured" : "estimated"));
  }
  return Status();
}

// Debug tensors were outputs while building, which kept them in one piece; now they are ordinary tensors.
void demote_debug_outputs(Program* program, const std::set<std::string, std::less<>>& names, size_t keep) {
  for (size_t o = keep; o < program->outputs.size(); ++o) {
    PlanTensor& tensor = program->tensors[static_cast<size_t>(program->outputs[o].tensor)];
    tensor.kind = TensorKind::kIntermediate;
  }
  program->outputs.resize(std::min(keep, program->outputs.size()));
  program->properties[property::kDebugTensors] = Json(names).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Memory at the maximum of every profile; profiles whose far end is no shape are left out.
std::vector<MemoryReport> memory_of(const Program& program, const std::vector<std::shared_ptr<const Kernel>>& kernels) {
  std::vector<MemoryReport> reports;
  for (size_t p = 0; p < program.profiles.size(); ++p)
    if (Result<MemoryReport> report = report_memory(program, p, kernels); report.ok())
      reports.push_back(std::move(report).value());
  return reports;
}

void report_memory_of(const Program& program, const std::vector<const Provider*>& providers, const Limits& limits,
                      const BuildOptions& options, BuildReport* report) {
  KernelCache cache(providers, limits);
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (const Step& step : program.steps) {
    Result<std::shared_ptr<const Kernel>> kernel = cache.get(step);
    if (!kernel.ok()) return;  // built for another device
    kernels.push_back(std::move(kernel).value());
  }
  report->memory = memory_of(program, kernels);
  for (const MemoryReport& memory : report->memory)
    if (options.info) options.info("Memory: " + memory_line(memory));
}

Json considered_of(const StepReport& step) {
  Json json = {{"Chosen", step.chosen}};
  Json& list = json["Considered"] = Json::array();
  for (const Considered& c : step.considered) {
    Json entry = {{"Tactic", c.candidate.tactic.to_string()}, {"TimeUs", c.us}, {"Measured", c.measured}};
    if (c.error >= 0) entry["Error"] = c.error;
    if (!c.refusal.empty()) entry["Refused"] = c.refusal;
    list.push_back(std::move(entry));
  }
  Json& refused = json["NotApplicable"] = Json::array();
  for (const Refusal& r : step.refused) refused.push_back({{"Kernel", r.kernel}, {"Reason", r.reason}});
  return json;
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

struct TargetDevice {
  DeviceDescription description;
  std::shared_ptr<Device> device;  // to measure on; null: it is not this machine's
};

Result<TargetDevice> target_device(const Backend& backend, const BuildOptions& options) {
  if (options.device && options.device->backend != backend.name)
    return invalid_argument("the device description is of backend '{}', the build is for '{}'", options.device->backend,
                            backend.name);
  Result<std::shared_ptr<Device>> opened = backend.open(options.device ? &*options.device : nullptr);
  if (!options.device) {
    if (!opened.ok()) return opened.status();
    return TargetDevice{(*opened)->describe(), *opened};
  }
  const bool here = opened.ok() && *opened != nullptr && (*opened)->describe().isa == options.device->isa;
  return TargetDevice{*options.device, here ? *opened : nullptr};
}

}  // namespace

std::string BuildReport::considered_json() const {
  Json json = Json::object();
  for (const StepReport& step : choice.steps) json[step.step] = considered_of(step);
  return dump(json);
}

std::string BuildReport::to_json(const Program& program) const {
  Json json = {{"Network", program.name}, {"Backend", program.backend}};
  json["Device"] = Json::parse(program.device, nullptr, false);
  json["Milliseconds"] = {{"Total", total_ms}, {"Infer", infer_ms},   {"Passes", passes_ms},
                          {"Lower", lower_ms}, {"Choose", choose_ms}, {"Pack", pack_ms}};
  Json& list = json["Passes"] = Json::array();
  for (const PassReport& pass : passes)
    list.push_back({{"Name", pass.name},
                    {"Changed", pass.changed},
                    {"NodesBefore", pass.nodes_before},
                    {"NodesAfter", pass.nodes_after},
                    {"Milliseconds", pass.ms}});
  json["Tactics"] = {{"Timed", measured.timed},
                     {"FromCache", measured.from_cache},
                     {"Refused", measured.refused},
                     {"Unchecked", measured.unchecked},
                     {"TimedMicroseconds", measured.timed_us}};
  json["Reformats"] = choice.reformats;
  json["ReformatsBeforeSearch"] = choice.reformats_before;
  json["ReformatsAvoided"] =
      choice.reformats_before > choice.reformats ? choice.reformats_before - choice.reformats : size_t{0};
  json["TotalUs"] = choice.total_us;
  json["InPlace"] = {
      {"Steps", placed.steps}, {"Parts", placed.parts}, {"Copies", placed.copies}, {"Ranges", placed.ranges}};
  for (const auto& [name, reports] : {std::pair("Memory", &memory), std::pair("EstimatedMemory", &estimated_memory)}) {
    Json& profiles = json[name] = Json::array();
    for (const MemoryReport& r : *reports) profiles.push_back(memory_json(r, false));
  }
  Json& steps = json["Steps"] = Json::array();
  for (const StepReport& step : choice.steps) {
    Json entry = considered_of(step);
    entry["Name"] = step.step;
    steps.push_back(std::move(entry));
  }
  return dump(json);
}

Result<BuildOutput> build_program(Graph& graph, const BuildOptions& options) {
  BuildOutput output;
  BuildReport& report = output.report;
  Timer total, timer;
  Phase phase(options.progress, kBuildPhase, nullptr, kBuildSteps);
  if (graph.outputs().empty()) return invalid_argument("the network has no output");
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(options.backend));
  WOOTZ_ASSIGN_OR_RETURN(const TargetDevice target, target_device(*backend, options));
  const DeviceDescription& device = target.description;
  if (Result<Isa> cap = isa_from_name(options.isa_cap); !options.isa_cap.empty() && !cap.ok()) return cap.status();

  // Debug tensors stay whole as outputs, behind the network's own.
  const size_t num_outputs = graph.outputs().size();
  std::set<std::string, std::less<>> debug = options.debug_tensors;
  for (const Value* v : graph.outputs()) debug.erase(v->name());
  for (const Node* node = graph.first(); node != nullptr && !debug.empty(); node = node->next())
    for (Value* v : node->outputs())
      if (v != nullptr && debug.count(v->name()) != 0) graph.mark_output(v);

  WOOTZ_RETURN_IF_ERROR(infer_with_profiles(graph, options.profiles));
  WOOTZ_RETURN_IF_ERROR(verify_graph(graph));
  report.infer_ms = timer.ms();
  phase.step(0);
  WOOTZ_RETURN_IF_ERROR(run_passes(graph, options, &report));
  report.passes_ms = timer.ms();
  phase.step(1);

  Limits limits;
  limits.workspace = options.workspace;
  limits.threads = options.threads > 0 ? options.threads : device.threads;
  limits.isa_cap = options.isa_cap;
  limits.allow_unordered = options.allow_unordered;
  const ParallelScope threads(limits.threads);

  LowerOptions lower;
  lower.backend = backend->name;
  WOOTZ_ASSIGN_OR_RETURN(lower.profiles, symbol_ranges(graph, options.profiles));
  lower.providers = backend_providers(*backend);
  lower.limits = limits;
  lower.reference_only = options.backend == "reference";
  WOOTZ_ASSIGN_OR_RETURN(Lowered lowered, lower_graph(graph, lower));
  output.program = std::make_shared<Program>(lowered.program);
  Program& program = *output.program;
  report.estimated_memory = memory_of(program, {});
  for (const MemoryReport& memory : report.estimated_memory)
    if (options.info) options.info("Memory, before tactics are chosen: " + memory_line(memory));
  report.lower_ms = timer.ms();
  if (!phase.step(2)) return phase.status();

  WOOTZ_RETURN_IF_ERROR(choose(lowered, &program, lower.providers, target.device, limits, options, &report));
  report.choose_ms = timer.ms();
  phase.step(3);
  WOOTZ_RETURN_IF_ERROR(pack_constants(&program, lower.providers, limits));
  WOOTZ_ASSIGN_OR_RETURN(report.placed, place_moves(&program, lower.providers, limits));
  report.pack_ms = timer.ms();
  program.name = graph.name();
  program.backend = backend->name;
  program.device = device.to_json();
  program.properties = options.properties;
  if (options.threads > 0) program.properties[property::kThreads] = std::to_string(options.threads);
  if (!options.debug_tensors.empty()) demote_debug_outputs(&program, options.debug_tensors, num_outputs);
  report_memory_of(program, lower.providers, limits, options, &report);
  if (options.keep_considered) program.properties[property::kReport] = report.considered_json();
  report.total_ms = total.ms();
  if (!phase.step(4)) return phase.status();
  return output;
}

}  // namespace wootz::api
