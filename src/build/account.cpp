// Stage `report`: what the build tells of itself.
#include <map>

#include <fmt/ranges.h>

#include "backend/sparsity.h"
#include "build/session.h"
#include "build/stages.h"
#include "runtime/report/memory_json.h"
#include "runtime/report/properties.h"
#include "runtime/shape_plan.h"

namespace wootz {
namespace {

void add_memory(BuildSession& session) {
  std::map<const Program*, StepKernels> kernels;
  for (const BuildUnit& unit : session.units) {
    if (unit.kind == UnitKind::kBody) continue;
    for (const Step& step : unit.program->steps) {
      Result<std::shared_ptr<const Kernel>> kernel = session.kernels->get(step);
      if (!kernel.ok()) return;  // built for another device
      kernels[unit.program].push_back(std::move(kernel).value());
    }
  }
  const auto of = [&](const Program& program) { return kernels[&program]; };
  session.report.memory = memory_reports(*session.program, of);
  for (const MemoryReport& memory : session.report.memory) session.log.info("Memory: " + memory_line(memory));
}

// A line for each step that stands for several nodes, at kINFO as TensorRT has it; the details at kVERBOSE.
void log_fusions(const BuildSession& session) {
  for (const Step& step : session.program->steps)
    if (step.provenance.size() > 1)
      session.log.info(fmt::format("fused {} nodes: {}", step.provenance.size(), step.name));
  for (const Fusion& fusion : session.report.fusions)
    session.log.verbose(fmt::format("{} made one of: {}", fusion.pass, fmt::join(fusion.members, ", ")));
  for (const ModelNode& node : session.report.nodes)
    if (!node.removed_by.empty())
      session.log.verbose(fmt::format("node '{}' ({}) needs no step after {}", node.name, node.op, node.removed_by));
}

// What has weights with 2:4 zeros, and which of it gains from them.
void account_for_sparsity(BuildSession& session) {
  if (!session.settings.sparse_weights) return;
  std::vector<std::string> found, chosen;
  for (const Step& step : session.program->steps) {
    if (!has_sparse_weights(step.problem)) continue;
    const bool used = uses_sparsity(step.tactic);
    found.push_back(step.name);
    if (used) chosen.push_back(step.name);
    session.report.notes.push_back({step.name, "2:4 weights", used ? "zeros left out" : "computed as dense ones",
                                    step.name, "tactic " + step.tactic.to_string()});
  }
  const auto line = [&](const char* what, const std::vector<std::string>& names) {
    session.log.info(fmt::format("(Sparsity) {} layer{} {}{}{}", names.size(), names.size() == 1 ? "" : "s", what,
                                 names.empty() ? "" : ": ", fmt::join(names, ", ")));
  };
  line("with 2:4 zeros in the weights, eligible for sparse tactics", found);
  line("computed by sparse tactics", chosen);
}

}  // namespace

Status account_for_all(BuildSession& session) {
  const BuildSettings& settings = session.settings;
  BuildReport& report = session.report;
  Program& program = *session.program;
  add_memory(session);
  report.nodes = session.trace->nodes();
  report.fusions = session.trace->fusions();
  report.notes = quantization_notes(session.quantization);
  account_for_sparsity(session);
  report.disabled_passes.assign(settings.disabled_passes.begin(), settings.disabled_passes.end());
  report.workspace_limit = settings.workspace;
  report.kernels_created = session.kernels->created();
  session.trace->locate_values(session.lowered, program);
  if (settings.keep_values) program.properties[property::kValues] = session.trace->values_json();
  if (settings.keep_record) program.properties[property::kReport] = stored_record(report);
  log_fusions(session);
  return Status();
}

}  // namespace wootz
