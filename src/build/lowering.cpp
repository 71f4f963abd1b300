// Stages from the graph to the program: lower, name.
#include <algorithm>

#include "base/fp8.h"
#include "build/byte_attention.h"
#include "build/fp8_products.h"
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

void add_units(const Lowered& lowered, Program* program, UnitKind kind, std::vector<BuildUnit>* units) {
  if (kind == UnitKind::kNetwork) units->push_back({program, &lowered, kind, nullptr, {}});
  for (size_t b = 0; b < lowered.bodies.size(); ++b)
    add_units(lowered.bodies[b], &program->bodies[b], runs_profile(*program, b) ? UnitKind::kProfile : UnitKind::kBody,
              units);
  if (kind != UnitKind::kNetwork) units->push_back({program, &lowered, kind, nullptr, {}});
}

bool same_ranges(const std::vector<SymbolRange>& a, const std::vector<SymbolRange>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const SymbolRange& x, const SymbolRange& y) {
    return x.min == y.min && x.opt == y.opt && x.max == y.max;
  });
}

// The same network once more, for a profile whose ranges no profile before it has.
Status lower_profile(const BuildSession& session, const LowerOptions& all, size_t p, Lowered* whole) {
  std::vector<PlanProfile>& profiles = whole->program.profiles;
  for (size_t q = 0; q < p; ++q) {
    if (!same_ranges(all.profiles[q], all.profiles[p])) continue;
    profiles[p].body = profiles[q].body;
    return Status();
  }
  LowerOptions own = all;
  own.profiles = {all.profiles[p]};
  WOOTZ_ASSIGN_OR_RETURN(Lowered lowered, lower_graph(session.graph, own));
  lowered.program.name = fmt::format("profile {}", p);
  profiles[p].body = static_cast<int32_t>(whole->bodies.size());
  whole->program.bodies.push_back(lowered.program);
  whole->bodies.push_back(std::move(lowered));
  return Status();
}

Status lower_profiles(const BuildSession& session, LowerOptions* options, Lowered* whole) {
  const char* const why = why_one_program(session.settings);
  const size_t profiles = options->profiles.size();
  options->served = why == nullptr ? 1 : profiles;
  WOOTZ_ASSIGN_OR_RETURN(*whole, lower_graph(session.graph, *options));
  if (profiles < 2) return Status();
  if (why != nullptr) session.log.info(fmt::format("One set of tactics serves all {} profiles: {}", profiles, why));
  for (size_t p = 1; p < profiles && why == nullptr; ++p)
    WOOTZ_RETURN_IF_ERROR(lower_profile(session, *options, p, whole));
  return Status();
}

// Products of floats of 8 bits that no kernel takes, for want of a library or by its refusal, and what becomes of them.
void note_wider_products(const BuildSession& session, const Program& program) {
  size_t count = 0;
  std::string first;
  for (const Step& step : program.steps) {
    const bool made = step.name.rfind("dequantize ", 0) == 0 && step.problem.is(Family::kPointwise);
    if (!made || step.problem.inputs.empty() || !is_fp8(step.problem.inputs[0].dtype)) continue;
    if (count++ == 0) first = step.name.substr(11);
  }
  if (count > 0)
    session.log.info(fmt::format(
        "{} tensors of floats of 8 bits ('{}') are dequantized for their products: no kernel multiplies these", count,
        first));
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
  lower.sparse_weights = settings.sparse_weights;
  if (!backend.can.own_memory && !lower.reference_only)
    lower.optimize_body = [&](Graph& body) {
      PipelineOptions pipeline = pipeline_options(session);
      choose_fp8_products(session, body, &pipeline);
      choose_byte_attention(session, body, &pipeline);
      return run_pipeline(body, pipeline).status();
    };
  WOOTZ_RETURN_IF_ERROR(lower_profiles(session, &lower, &session.lowered));
  Program& program = session.lowered.program;
  note_wider_products(session, program);
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
  for (size_t b = 0; b < session.lowered.bodies.size(); ++b) {
    if (!runs_profile(session.lowered.program, b)) continue;
    name_steps(session.order, &session.lowered.bodies[b].program);
    session.lowered.program.bodies[b] = session.lowered.bodies[b].program;
  }
  session.program = std::make_shared<Program>(session.lowered.program);
  add_units(session.lowered, session.program.get(), UnitKind::kNetwork, &session.units);
  for (const BuildUnit& unit : session.units)
    if (unit.kind != UnitKind::kBody)
      WOOTZ_RETURN_IF_ERROR(
          set_border_layouts(unit.program, session.settings.border, session.providers(), session.limits));
  session.report.estimated_memory = memory_reports(*session.program, {});
  for (const MemoryReport& memory : session.report.estimated_memory)
    session.log.info("Memory, before tactics are chosen: " + memory_line(memory));
  return Status();
}

}  // namespace wootz
