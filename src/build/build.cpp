// The list of stages, and who runs them.
#include "build/build.h"

#include <chrono>

#include "build/memory_monitor.h"
#include "build/refit/recipe.h"
#include "build/session.h"
#include "build/stages.h"

namespace wootz {
namespace {

using enum StageResult;

constexpr BuildStage kStages[] = {
    {"target", "opens the backend and the device that is built for", open_target, kNothing},
    {"infer", "types and extents of every value, under the profiles", infer_network, kGraph},
    {"calibrate", "convolutions and products by scales in 8 bits, where that is allowed", calibrate_network, kGraph},
    {"passes", "rewrites the graph: passes/passes.def has their order", optimize_network, kGraph},
    {"precision", "keeps FP32 values in 16 bits, where that is allowed", narrow_values, kGraph},
    {"group", "nodes that one kernel may compute together: what passes/passes.def has last", group_nodes, kGraph},
    {"lower", "nodes become steps of kernel families", lower_network, kProgram},
    {"name", "steps are named after the model's nodes", name_network_steps, kProgram},
    {"offer", "asks every provider who can compute which step", offer_tactics, kNothing, StageRefit::kNothing},
    {"measure", "times what is offered, or recalls its time", measure_tactics, kNothing, StageRefit::kNothing},
    {"choose", "one kernel a step and one layout a tensor, with reformats between them", select_tactics, kProgram,
     StageRefit::kFixed},
    {"pack", "constants in the form that the kernels want", pack_weights, kProgram},
    {"place", "results are made inside of the tensors that they become part of", place_tensors, kProgram},
    {"streams", "steps that run concurrently", assign_streams, kProgram, StageRefit::kNothing},
    {"debug", "debug tensors are ordinary tensors again", demote_debug_tensors, kNothing},
    {"native", "machine code of the kernels, for the plan", keep_native_code, kNothing, StageRefit::kNothing},
    {"plugins", "what the plugins' creators need to make them again, for the plan", serialize_plugins, kNothing},
    {"report", "memory, and what became of the model's nodes and values", account_for_all, kProgram,
     StageRefit::kNothing},
};

constexpr const char* kPhase = "Build";

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Status dump_result(const BuildStage& stage, BuildSession& session) {
  if (!session.dump.wanted() || stage.result == kNothing) return Status();
  if (stage.result == kGraph) return session.dump.graph(stage.name, session.graph);
  return session.dump.program(stage.name, session.program == nullptr ? session.lowered.program : *session.program);
}

}  // namespace

std::span<const BuildStage> build_stages() { return kStages; }

namespace {

Result<BuildOutput> run_stages(Graph& graph, const BuildSettings& settings, const BuildServices& services,
                               FixedChoices* choices, TensorScales* scales) {
  const Stopwatch total;
  ProgressPhase phase(services.progress, kPhase, nullptr, static_cast<int>(std::size(kStages)));
  BuildSession session(graph, settings, services);  // ends first: its phases are within this one
  int done = 0;
  MemoryMonitor memory(session);
  memory.after("start");
  for (const BuildStage& stage : kStages) {
    const Stopwatch watch;
    WOOTZ_RETURN_IF_ERROR(stage.run(session));
    session.report.stages.push_back({stage.name, watch.ms()});
    memory.after(stage.name);
    WOOTZ_RETURN_IF_ERROR(dump_result(stage, session));
    if (!phase.step(done++)) return phase.status();
  }
  session.report.total_ms = total.ms();
  WOOTZ_RETURN_IF_ERROR(session.dump.finish(session.report.stages));
  *choices = std::move(session.choices);
  *scales = std::move(session.scales);
  return BuildOutput{std::move(session.program), std::move(session.report)};
}

}  // namespace

Result<BuildOutput> build_program(Graph& graph, const BuildSettings& settings, const BuildServices& services) {
  FixedChoices choices;
  TensorScales scales;
  if (!settings.refit) return run_stages(graph, settings, services, &choices, &scales);
  // Of the recipe's graph, so that a refit builds of exactly the same.
  PluginRecorder plugins;
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<RefitRecipe> recipe, make_recipe(graph, settings, &plugins));
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> read, recipe_graph(*recipe, plugins));
  WOOTZ_ASSIGN_OR_RETURN(BuildOutput output, run_stages(*read, settings, services, &choices, &scales));
  set_recipe_scales(scales, recipe.get());
  set_recipe_plugins(plugins, recipe.get());
  recipe->choices = choices_to_json(choices);
  output.program->refit = recipe;
  return output;
}

}  // namespace wootz
