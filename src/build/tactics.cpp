// Stages that choose kernels, for the network and for the bodies of its control steps: offer, measure, choose.
#include "build/session.h"
#include "build/stages.h"

namespace wootz {
namespace {

Status of_unit(const BuildUnit& unit, Status status) {
  if (unit.kind == UnitKind::kNetwork) return status;
  return status.with_prefix(unit.kind == UnitKind::kBody ? "body of '" + unit.program->name + "'" : unit.program->name);
}

// What came of running choices that were not measured.
void log_proofs(const BuildSession& session) {
  const BuildReport& report = session.report;
  if (report.choice.proved == 0) return;
  const EvaluatedCandidate* worst = nullptr;
  const std::string* layer = nullptr;
  for (const StepReport& step : report.choice.steps)
    for (const EvaluatedCandidate& c : step.evaluated)
      if (!c.measured && c.refusal.empty() && c.error > (worst == nullptr ? 0 : worst->error))
        worst = &c, layer = &step.step;
  session.log.info(fmt::format(
      "{} choices that were not measured were run once, {} of them compared with the reference, {} refused: {:.0f} "
      "ms{}",
      report.choice.proved, report.measured.proved, report.choice.disproved, report.measured.proof_us * 1e-3,
      worst == nullptr ? ""
                       : fmt::format("; largest difference {:.2g}: layer '{}', {}", worst->error, *layer,
                                     worst->candidate.tactic.to_string())));
}

void log_measuring(const BuildSession& session, const MeasureStats& stats) {
  if (stats.timed == 0) return;
  session.log.verbose(
      fmt::format("{} tactics were timed in {:.0f} ms: {:.0f} making operands, {:.0f} kernels, {:.0f} comparing, "
                  "{:.0f} timing, {:.0f} "
                  "of that running; {} were known to the timing cache",
                  stats.timed, 1e-3 * (stats.operands_us + stats.kernels_us + stats.checks_us + stats.sampling_us),
                  1e-3 * stats.operands_us, 1e-3 * stats.kernels_us, 1e-3 * stats.checks_us, 1e-3 * stats.sampling_us,
                  1e-3 * stats.timed_us, stats.from_cache));
}

std::string cost_of(const EvaluatedCandidate& c) {
  return fmt::format("{:.2f} us {}", c.us, c.measured ? "measured" : "estimated");
}

// A line a layer, and one for each tactic that was not chosen: its layout and time, or why it is out of the question.
void log_choices(const BuildSession& session, const Choice& choice) {
  if (!session.log.wants(LogLevel::kVerbose)) return;
  for (const StepReport& step : choice.steps) {
    if (step.chosen < 0) continue;
    const EvaluatedCandidate& chosen = step.evaluated[static_cast<size_t>(step.chosen)];
    session.log.verbose(fmt::format("layer '{}': {} of {} tactics, {}", step.step, chosen.candidate.tactic.to_string(),
                                    step.evaluated.size(), cost_of(chosen)));
    for (const EvaluatedCandidate& other : step.evaluated) {
      if (&other == &chosen) continue;
      const std::vector<Layout>& made = other.candidate.output_layouts;
      session.log.verbose(fmt::format("layer '{}': not {} ({}): {}", step.step, other.candidate.tactic.to_string(),
                                      made.empty() ? "no result" : layout_name(made[0]),
                                      other.refusal.empty() ? cost_of(other) : "refused: " + other.refusal));
    }
  }
}

// What each Quantize and Dequantize costs, and a line about it in the log.
void log_quantization(const BuildSession& session) {
  if (!session.log.wants(LogLevel::kVerbose)) return;
  std::map<std::string, double> us;
  for (const StepReport& step : session.report.choice.steps)
    if (step.chosen >= 0) us[step.step] = step.evaluated[static_cast<size_t>(step.chosen)].us;
  for (QdqLine line : session.quantization) {
    if (line.fate == "kept") line.us = us[line.step];
    session.log.verbose(to_string(line));
  }
}

// What tuning for each profile came to.
void log_profiles(const BuildSession& session) {
  std::map<std::string_view, const Tactic*> first;
  for (const Step& step : session.program->steps) first[step.name] = &step.tactic;
  for (const BuildUnit& unit : session.units) {
    if (unit.kind != UnitKind::kProfile) continue;
    size_t others = 0;
    for (const Step& step : unit.program->steps) {
      const auto found = first.find(step.name);
      others += found == first.end() || !(*found->second == step.tactic);
    }
    session.log.info(fmt::format("{}: {} of {} layers are computed by other tactics than in profile 0",
                                 unit.program->name, others, unit.program->steps.size()));
  }
}

std::string op_name(const Problem& problem) {
  const auto* op = problem.as_if<OpParams>();
  return op == nullptr ? family_name(problem.family()) : op->op;
}

// Never silently: what a device leaves to the host is named.
void warn_of_host_steps(const BuildSession& session) {
  for (const Step& step : session.program->steps)
    if (step.tactic.provider == "host")
      session.log.warning(fmt::format("layer '{}' ({}) is computed by the host, with copies from and to the device",
                                      step.name, op_name(step.problem)));
}

}  // namespace

Status offer_tactics(BuildSession& session) {
  for (BuildUnit& unit : session.units) {
    const bool body = unit.kind == UnitKind::kBody;
    Progress* const progress = body ? nullptr : session.services.progress;
    unit.selection = std::make_unique<TacticSelection>(session, *unit.lowered, unit.program, progress, body);
    WOOTZ_RETURN_IF_ERROR(of_unit(unit, unit.selection->offer()));
  }
  return Status();
}

Status measure_tactics(BuildSession& session) {
  for (BuildUnit& unit : session.units) WOOTZ_RETURN_IF_ERROR(of_unit(unit, unit.selection->measure()));
  return Status();
}

Status select_tactics(BuildSession& session) {
  for (BuildUnit& unit : session.units) {
    WOOTZ_RETURN_IF_ERROR(of_unit(unit, unit.selection->choose()));
    const MeasureStats stats = unit.selection->stats();
    Choice choice = unit.selection->take_choice();
    if (session.settings.refit) session.choices.push_back(choices_of(choice, unit.lowered->program.steps.size()));
    unit.selection.reset();
    log_choices(session, choice);
    log_measuring(session, stats);
    if (unit.kind == UnitKind::kProfile) unit.choice = std::move(choice);
    if (unit.kind != UnitKind::kNetwork) continue;
    session.report.choice = std::move(choice);
    session.report.measured = stats;
    log_proofs(session);
  }
  log_profiles(session);
  log_quantization(session);
  warn_of_host_steps(session);
  return Status();
}

}  // namespace wootz
