#include "api/build.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "api/aux_streams.h"
#include "api/libraries.h"
#include "api/measuring.h"
#include "api/runtime/allocator_device.h"
#include "api/runtime/engine_info.h"
#include "api/runtime/memory_json.h"
#include "backend/kernel_cache.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "passes/assign_precision.h"
#include "runtime/shape_plan.h"
#include "tuner/device_timer.h"
#include "tuner/remembered.h"

namespace wootz::api {
namespace {

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

PipelineOptions pipeline_options(const Backend& backend, const BuildOptions& options) {
  PipelineOptions pipeline;
  pipeline.disabled = options.disabled_passes;
  if (!backend.chains) pipeline.disabled.insert("fuse_chains");
  pipeline.verify = options.verify_passes;
  return pipeline;
}

Status run_passes(Graph& graph, const Backend& backend, const BuildOptions& options, ModelTrace* trace,
                  BuildReport* report, std::vector<QdqLine>* quantization) {
  PipelineOptions pipeline = pipeline_options(backend, options);
  Phase phase(options.progress, kPassPhase, kBuildPhase, static_cast<int>(all_passes().size()));
  int done = 0;
  QdqRecorder recorder(graph);
  pipeline.observer = [&](const PassReport& pass, const Graph& after) {
    phase.step(done++);
    trace->after_pass(pass, after);
    recorder.after_pass(pass.name, after);
    if (options.verbose)
      options.verbose(
          fmt::format("pass {}: {} to {} nodes, {:.2f} ms", pass.name, pass.nodes_before, pass.nodes_after, pass.ms));
  };
  WOOTZ_ASSIGN_OR_RETURN(report->passes, run_pipeline(graph, pipeline));
  *quantization = recorder.lines(graph);
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

// What came of running choices that were not measured.
void say_proofs(const BuildOptions& options, const BuildReport& report) {
  if (!options.info || report.choice.proved == 0) return;
  const Considered* worst = nullptr;
  const std::string* layer = nullptr;
  for (const StepReport& step : report.choice.steps)
    for (const Considered& c : step.considered)
      if (!c.measured && c.refusal.empty() && c.error > (worst == nullptr ? 0 : worst->error))
        worst = &c, layer = &step.step;
  options.info(fmt::format(
      "{} choices that were not measured were run once, {} of them compared with the reference, {} refused: {:.0f} "
      "ms{}",
      report.choice.proved, report.measured.proved, report.choice.disproved, report.measured.proof_us * 1e-3,
      worst == nullptr ? ""
                       : fmt::format("; largest difference {:.2g}: layer '{}', {}", worst->error, *layer,
                                     worst->candidate.tactic.to_string())));
}

Status choose(const Lowered& lowered, Program* program, const std::vector<const Provider*>& providers,
              std::shared_ptr<Device> device, bool own_memory, const Limits& limits, const BuildOptions& options,
              BuildReport* report) {
  const size_t steps = program->steps.size();
  const bool elsewhere = device == nullptr;
  Phase phase(options.progress, kTacticPhase, kBuildPhase, static_cast<int>(std::max<size_t>(1, steps)));
  std::optional<Measurer> measurer;
  std::unique_ptr<DeviceTimer> timer;
  const bool timed = options.measure && options.level > 0;
  // A device's library may refuse, fail or be wrong; the host's kernels are the same everywhere and tested as they are.
  const bool proved = device != nullptr && !device->host_memory();
  if (device != nullptr && (timed || proved)) {
    MeasureOptions measure;
    measure.providers = providers;
    if (proved) {
      WOOTZ_ASSIGN_OR_RETURN(timer, DeviceTimer::create(*device));
      measure.timer = timer.get();
      measure.stream = &timer->stream();
      measure.against_rivals = true;
    }
    measure.in_turn = timer == nullptr;
    measure.device = std::move(device);
    measure.limits = limits;
    measure.cache = options.cache;
    measure.error_on_miss = options.error_on_cache_miss;
    measure.constants = constants_of(*program);
    measure.reference = reference_of(lowered);
    measure.sampling = sampling_for(options.level, options.timing_iterations);
    measurer.emplace(std::move(measure));
  }
  std::optional<Remembered> remembered;
  if (timed && elsewhere && options.cache != nullptr && options.cache->size() > 0)
    remembered.emplace(*options.cache, providers, limits, limits.device->isa);
  Rules rules(options, *program);
  ChooseOptions choose;
  choose.limits = limits;
  if (own_memory) choose.reformat_gb_per_s = 2000;
  if (remembered)
    choose.more = [&](const Problem& problem, std::vector<Candidate>* offers) {
      remembered->add_offers(problem, offers);
    };
  choose.cost = [&](const Problem& problem, size_t step, Considered* candidate) -> Status {
    candidate->us = candidate->candidate.estimate_us;
    if (step < steps) rules.apply(step, candidate);
    if (!candidate->refusal.empty()) return Status();
    if (measurer && timed) return measurer->cost(problem, step, candidate);
    if (!remembered) return Status();
    WOOTZ_RETURN_IF_ERROR(remembered->cost(problem, candidate));
    const bool missed = !candidate->measured && candidate->refusal.empty() && candidate->rivals > 0 && step < steps;
    if (missed && options.error_on_cache_miss)
      return make_error(Code::kInvalidState, "the timing cache does not know {}",
                        candidate->candidate.tactic.to_string());
    return Status();
  };
  choose.warn = options.warning;
  choose.by_class = proved && timed;
  if (measurer && proved)
    choose.prove = [&](const Problem& problem, size_t step, Considered* candidate) {
      return measurer->prove(problem, step, candidate);
    };
  choose.progress = [&](size_t done, size_t, const std::string&) {
    return phase.step(static_cast<int>(std::min(done, steps == 0 ? 0 : steps - 1)));
  };
  Result<Choice> choice = choose_tactics(program, providers, choose);
  if (!choice.ok()) return phase.status().ok() ? choice.status() : phase.status();
  report->choice = std::move(choice).value();
  if (measurer) report->measured = measurer->stats();
  if (remembered) report->measured.from_cache = remembered->found();
  say_proofs(options, *report);
  for (const StepReport& step : report->choice.steps) {
    if (!options.verbose || step.chosen < 0) continue;
    const Considered& chosen = step.considered[static_cast<size_t>(step.chosen)];
    options.verbose(fmt::format("layer '{}': {} of {} tactics, {:.2f} us {}", step.step,
                                chosen.candidate.tactic.to_string(), step.considered.size(), chosen.us,
                                chosen.measured ? "measured" : "estimated"));
  }
  return Status();
}

// Bodies of control steps, as the network itself: kernels chosen, weights packed, moves placed.
Status finish_bodies(const Lowered& lowered, Program* program, const std::vector<const Provider*>& providers,
                     const std::shared_ptr<Device>& device, const Limits& limits, const BuildOptions& options) {
  for (size_t b = 0; b < lowered.bodies.size(); ++b) {
    const Lowered& body = lowered.bodies[b];
    Program& inner = program->bodies[b];
    WOOTZ_RETURN_IF_ERROR(finish_bodies(body, &inner, providers, device, limits, options));
    BuildOptions quiet = options;
    quiet.progress = {};
    BuildReport own;
    WOOTZ_RETURN_IF_ERROR(choose(body, &inner, providers, device, false, limits, quiet, &own)
                              .with_prefix("body of '" + inner.name + "'"));
    WOOTZ_RETURN_IF_ERROR(pack_constants(&inner, providers, limits));
    WOOTZ_RETURN_IF_ERROR(place_moves(&inner, providers, limits).status());
  }
  return Status();
}

struct TargetDevice {
  DeviceDescription description;
  std::shared_ptr<Device> device;  // to measure on; null: it is not this machine's
};

// Devices with queues of their own run independent steps beside each other.
Status choose_aux_streams(const std::shared_ptr<Program>& program, const Choice& choice, const TargetDevice& target,
                          const std::vector<const Provider*>& providers, const Limits& limits,
                          const BuildOptions& options) {
  std::map<std::string_view, double> us;
  for (const StepReport& step : choice.steps)
    if (step.chosen >= 0) us[step.step] = step.considered[static_cast<size_t>(step.chosen)].us;
  StreamOptions streams;
  streams.most = options.aux_streams;
  streams.measure = options.measure && options.level > 0;
  constexpr double kUnknownUs = 2;
  for (const Step& step : program->steps) streams.us.push_back(us[step.name] > 0 ? us[step.name] : kUnknownUs);
  streams.device = target.device;
  streams.providers = providers;
  streams.threads = limits.threads;
  streams.cache = options.cache;
  streams.isa = target.description.isa;
  streams.verbose = options.verbose;
  streams.warning = options.warning;
  return choose_streams(program, streams);
}

// Lines speak of nodes of the graph; users know the steps that were made of them.
void name_quantization(const Lowered& lowered, std::vector<QdqLine>* lines) {
  std::map<std::string, std::string> step_of, holder_of;
  for (size_t s = 0; s < lowered.nodes.size(); ++s) {
    const Step& step = lowered.program.steps[s];
    if (lowered.nodes[s] != nullptr) step_of.emplace(lowered.nodes[s]->name(), step.name);
    for (const std::string& name : step.provenance) holder_of.emplace(name, step.name);
  }
  for (QdqLine& line : *lines) {
    if (line.step.empty()) continue;
    if (const auto found = step_of.find(line.step); found != step_of.end())
      line.step = found->second;
    else if (const auto held = holder_of.find(line.node); held != holder_of.end())
      line.step = held->second;  // what was to be one step became several
  }
}

// What each Quantize and Dequantize costs, and a line about it in the log.
void say_quantization(const BuildOptions& options, const Choice& choice, std::vector<QdqLine> lines) {
  if (!options.verbose) return;
  std::map<std::string, double> us;
  for (const StepReport& step : choice.steps)
    if (step.chosen >= 0) us[step.step] = step.considered[static_cast<size_t>(step.chosen)].us;
  for (QdqLine& line : lines) {
    if (line.fate == "kept") line.us = us[line.step];
    options.verbose(to_string(line));
  }
}

// Never silently: what a device leaves to the host is told by its name.
void warn_of_host_steps(const BuildOptions& options, const Program& program) {
  if (!options.warning) return;
  for (const Step& step : program.steps)
    if (step.tactic.provider == "host")
      options.warning(fmt::format("layer '{}' ({}) is computed by the host, with copies from and to the device",
                                  step.name, step.problem.get_string("op", "op")));
}

// Debug tensors were outputs while building, which kept them in one piece; now they are ordinary tensors.
void demote_debug_outputs(Program* program, const std::set<std::string, std::less<>>& names, size_t keep) {
  for (size_t o = keep; o < program->outputs.size(); ++o) {
    PlanTensor& tensor = program->tensors[static_cast<size_t>(program->outputs[o].tensor)];
    tensor.kind = TensorKind::kIntermediate;
  }
  program->outputs.resize(std::min(keep, program->outputs.size()));
  program->properties[property::kDebugTensors] = dump_report(Json(names));
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

Result<TargetDevice> target_device(const Backend& backend, const BuildOptions& options) {
  if (options.device && options.device->backend != backend.name)
    return invalid_argument("the device description is of backend '{}', the build is for '{}'", options.device->backend,
                            backend.name);
  Result<std::shared_ptr<Device>> opened = backend.open(options.device ? &*options.device : nullptr);
  if (!options.device) {
    if (!opened.ok()) return opened.status();
    return TargetDevice{(*opened)->describe(), with_allocator(*opened, options.allocator)};
  }
  const bool here = opened.ok() && *opened != nullptr && (*opened)->describe().isa == options.device->isa;
  return TargetDevice{*options.device, here ? with_allocator(*opened, options.allocator) : nullptr};
}

// Machine code of all steps at the extents of the profiles' optima, made without the device.
Status collect_native(const std::vector<const Provider*>& providers, const Limits& limits, KeepNative keep,
                      const std::function<void(const std::string&)>& say, Program* program) {
  KernelCache cache(providers, limits);
  std::map<std::string, NativeCode> found;  // by key: equal steps have the same
  for (const PlanProfile& profile : program->profiles) {
    std::vector<int64_t> symbols;
    for (const SymbolRange& range : profile.symbols) symbols.push_back(range.opt);
    ShapeValues shapes;
    WOOTZ_RETURN_IF_ERROR(evaluate_shapes(*program, symbols, &shapes));
    for (const Step& step : program->steps) {
      bool known = true;
      const auto extents = [&](const std::vector<int32_t>& tensors) {
        std::vector<Dims> all;
        for (const int32_t t : tensors) {
          const auto dims = t < 0 ? Dims{} : tensor_dims(program->tensors[static_cast<size_t>(t)], shapes);
          known = known && dims.has_value();
          all.push_back(dims.value_or(Dims{}));
        }
        return all;
      };
      const std::vector<Dims> in = extents(step.inputs), out = extents(step.outputs);
      if (!known) continue;
      WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Kernel> kernel, cache.get(step));
      const std::vector<const void*> constants(in.size(), nullptr);
      std::vector<NativeCode> code;
      if (const Status made = kernel->native_code({in, out, constants}, *limits.device, keep, &code); !made.ok()) {
        say(fmt::format("layer '{}': its machine code is left to who loads the plan: {}", step.name, made.message()));
        continue;
      }
      for (NativeCode& c : code) found.try_emplace(c.key, std::move(c));
    }
  }
  for (auto& [key, code] : found) program->native.push_back(std::move(code));
  return Status();
}

// Names and provenance of the steps.
std::vector<Step> steps_for_trace(const Program& program) {
  std::vector<Step> steps(program.steps.size());
  for (size_t s = 0; s < steps.size(); ++s) {
    steps[s].name = program.steps[s].name;
    steps[s].provenance = program.steps[s].provenance;
  }
  return steps;
}

// TensorRT says its fusions at kINFO: so do we, a line for each step that stands for several nodes.
void say_fusions(const Program& program, const BuildReport& record, const BuildOptions& options) {
  for (const Step& step : program.steps)
    if (options.info && step.provenance.size() > 1)
      options.info(fmt::format("fused {} nodes: {}", step.provenance.size(), step.name));
  for (const Fusion& fusion : record.fusions)
    if (options.verbose)
      options.verbose(fmt::format("{} made one of: {}", fusion.pass, fmt::join(fusion.members, ", ")));
  for (const ModelNode& node : record.nodes)
    if (options.verbose && !node.removed_by.empty())
      options.verbose(fmt::format("node '{}' ({}) needs no step after {}", node.name, node.op, node.removed_by));
}

}  // namespace

Result<BuildOutput> build_program(Graph& graph, const BuildOptions& options) {
  BuildOutput output;
  BuildReport& report = output.report;
  Timer total, timer;
  Phase phase(options.progress, kBuildPhase, nullptr, kBuildSteps);
  if (graph.outputs().empty()) return invalid_argument("the network has no output");
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(options.backend));
  WOOTZ_ASSIGN_OR_RETURN(const TargetDevice target, target_device(*backend, options));
  const DeviceDescription& device = target.description;
  report.libraries = backend_libraries(*backend, target.device == nullptr);
  WOOTZ_RETURN_IF_ERROR(check_libraries(backend->name, report.libraries, options.warning));
  if (options.info && !options.backend_reason.empty())
    options.info(
        fmt::format("Backend: {}, {} ({}): {}", backend->name, device.name, device.isa, options.backend_reason));
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
  ModelTrace trace(graph, options.absent);
  std::vector<QdqLine> quantization;
  WOOTZ_RETURN_IF_ERROR(run_passes(graph, *backend, options, &trace, &report, &quantization));
  const auto fast = [&](DType type) { return backend->computes_fast_in != nullptr && backend->computes_fast_in(type); };
  if (const DType narrow = options.fp16 ? DType::kF16 : DType::kBF16; (options.fp16 || options.bf16) && fast(narrow)) {
    WOOTZ_ASSIGN_OR_RETURN(const int nodes, assign_precision(graph, narrow));
    if (options.verbose) options.verbose(fmt::format("precision: {} nodes in {}", nodes, dtype_name(narrow)));
  }
  report.passes_ms = timer.ms();
  phase.step(1);

  Limits limits;
  limits.workspace = options.workspace;
  limits.threads = options.threads > 0 ? options.threads : device.threads;
  limits.isa_cap = options.isa_cap;
  limits.allow_unordered = options.allow_unordered;
  limits.tf32 = options.tf32;
  limits.host_steps = options.host_steps;
  limits.device = &device;
  const ParallelScope threads(limits.threads);

  LowerOptions lower;
  lower.backend = backend->name;
  WOOTZ_ASSIGN_OR_RETURN(lower.profiles, symbol_ranges(graph, options.profiles));
  lower.providers = backend_providers(*backend);
  lower.limits = limits;
  lower.reference_only = options.backend == "reference";
  if (!backend->own_memory && !lower.reference_only)
    lower.optimize_body = [&](Graph& body) { return run_pipeline(body, pipeline_options(*backend, options)).status(); };
  WOOTZ_ASSIGN_OR_RETURN(Lowered lowered, lower_graph(graph, lower));
  trace.name_steps(&lowered.program);
  name_quantization(lowered, &quantization);
  output.program = std::make_shared<Program>(lowered.program);
  Program& program = *output.program;
  report.estimated_memory = memory_of(program, {});
  for (const MemoryReport& memory : report.estimated_memory)
    if (options.info) options.info("Memory, before tactics are chosen: " + memory_line(memory));
  report.lower_ms = timer.ms();
  if (!phase.step(2)) return phase.status();

  WOOTZ_RETURN_IF_ERROR(
      choose(lowered, &program, lower.providers, target.device, backend->own_memory, limits, options, &report));
  WOOTZ_RETURN_IF_ERROR(finish_bodies(lowered, &program, lower.providers, target.device, limits, options));
  say_quantization(options, report.choice, quantization);
  warn_of_host_steps(options, program);
  report.choose_ms = timer.ms();
  phase.step(3);
  WOOTZ_RETURN_IF_ERROR(pack_constants(&program, lower.providers, limits));
  // Parts begin at any element: kernels of a device with memory of its own read vectors, which begin at whole ones.
  if (!backend->own_memory) {
    const std::vector<Step> unplaced = steps_for_trace(program);
    WOOTZ_ASSIGN_OR_RETURN(report.placed, place_moves(&program, lower.providers, limits));
    trace.note_placed(unplaced, report.placed.steps);
  }
  if (backend->own_memory)
    WOOTZ_RETURN_IF_ERROR(choose_aux_streams(output.program, report.choice, target, lower.providers, limits, options));
  report.pack_ms = timer.ms();
  program.name = graph.name();
  program.backend = backend->name;
  program.device = device.to_json();
  program.properties = options.properties;
  if (options.threads > 0) program.properties[property::kThreads] = std::to_string(options.threads);
  if (!options.debug_tensors.empty()) demote_debug_outputs(&program, options.debug_tensors, num_outputs);
  if (const KeepNative keep = options.native.value_or(
          target.device == nullptr && backend->own_memory ? KeepNative::kReproducible : KeepNative::kNone);
      keep != KeepNative::kNone)
    WOOTZ_RETURN_IF_ERROR(collect_native(
        lower.providers, limits, keep,
        [&](const std::string& line) {
          if (options.verbose) options.verbose(line);
        },
        &program));
  report_memory_of(program, lower.providers, limits, options, &report);
  report.nodes = trace.nodes();
  report.fusions = trace.fusions();
  report.notes = quantization_notes(quantization);
  report.disabled_passes.assign(options.disabled_passes.begin(), options.disabled_passes.end());
  report.workspace_limit = options.workspace;
  trace.locate_values(lowered, program);
  if (options.keep_values) program.properties[property::kValues] = trace.values_json();
  if (options.keep_record) program.properties[property::kReport] = stored_record(report);
  say_fusions(program, report, options);
  report.total_ms = total.ms();
  if (!phase.step(4)) return phase.status();
  return output;
}

}  // namespace wootz::api
