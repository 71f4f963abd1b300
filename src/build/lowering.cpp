// Stages from the graph to the program: lower, name.
#include "build/session.h"
#include "build/stages.h"
#include "lower/lower.h"
#include "lower/step_names.h"
#include "runtime/report/memory_json.h"
#include "runtime/report/properties.h"
#include "runtime/shape_plan.h"

namespace wootz {
namespace {

// Lines speak of nodes of the graph; users know the steps that were made of them.
void name_quantization(const Lowered& lowered, std::vector<QdqLine>* lines) {
  std::map<std::string, std::string> step_of, holder_of;
  for (const StepIndex s : lowered.nodes.indices()) {
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

void add_units(const Lowered& lowered, Program* program, bool body, std::vector<BuildUnit>* units) {
  if (!body) units->push_back({program, &lowered, false, nullptr});
  for (size_t b = 0; b < lowered.bodies.size(); ++b) add_units(lowered.bodies[b], &program->bodies[b], true, units);
  if (body) units->push_back({program, &lowered, true, nullptr});
}

}  // namespace

Status lower_network(BuildSession& session) {
  const BuildSettings& settings = session.settings;
  const Backend& backend = *session.target.backend;
  session.threads.emplace(session.limits.threads);
  LowerOptions lower;
  lower.backend = backend.name;
  WOOTZ_ASSIGN_OR_RETURN(lower.profiles, symbol_ranges(session.graph, settings.profiles));
  lower.providers = session.providers();
  lower.limits = session.limits;
  lower.reference_only = settings.backend == "reference";
  if (!backend.can.own_memory && !lower.reference_only)
    lower.optimize_body = [&](Graph& body) { return run_pipeline(body, pipeline_options(session)).status(); };
  WOOTZ_ASSIGN_OR_RETURN(session.lowered, lower_graph(session.graph, lower));
  Program& program = session.lowered.program;
  program.name = session.graph.name();
  program.backend = backend.name;
  program.device = session.target.description.to_json();
  program.properties = settings.properties;
  if (settings.threads > 0) program.properties[property::kThreads] = std::to_string(settings.threads);
  return Status();
}

Status name_network_steps(BuildSession& session) {
  name_steps(session.order, &session.lowered.program);
  name_quantization(session.lowered, &session.quantization);
  session.program = std::make_shared<Program>(session.lowered.program);
  WOOTZ_RETURN_IF_ERROR(
      set_border_layouts(session.program.get(), session.settings.border, session.providers(), session.limits));
  add_units(session.lowered, session.program.get(), false, &session.units);
  session.report.estimated_memory = memory_reports(*session.program, {});
  for (const MemoryReport& memory : session.report.estimated_memory)
    session.log.info("Memory, before tactics are chosen: " + memory_line(memory));
  return Status();
}

}  // namespace wootz
