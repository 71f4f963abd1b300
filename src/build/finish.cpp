// Stages on the chosen program: pack, place, streams, debug.
#include "backend/pack_constants.h"
#include "build/choose_streams.h"
#include "build/measuring.h"
#include "build/session.h"
#include "build/stages.h"
#include "runtime/report/properties.h"

namespace wootz {
namespace {

// Names and provenance of the steps.
IndexedVector<StepIndex, Step> steps_for_trace(const Program& program) {
  IndexedVector<StepIndex, Step> steps(program.steps.size());
  for (const StepIndex s : steps.indices()) {
    steps[s].name = program.steps[s].name;
    steps[s].provenance = program.steps[s].provenance;
  }
  return steps;
}

}  // namespace

Status pack_weights(BuildSession& session) {
  if (session.settings.portable) return Status();  // loading the plan does it
  for (const BuildUnit& unit : session.units) WOOTZ_RETURN_IF_ERROR(pack_constants(unit.program, *session.kernels));
  return Status();
}

Status place_tensors(BuildSession& session) {
  std::vector<const Program*> programs;
  for (const BuildUnit& unit : session.units) {
    programs.push_back(unit.program);
    const bool parts = !session.target.backend->can.own_memory;
    const bool network = unit.kind == UnitKind::kNetwork;
    const IndexedVector<StepIndex, Step> unplaced =
        network ? steps_for_trace(*unit.program) : IndexedVector<StepIndex, Step>();
    WOOTZ_ASSIGN_OR_RETURN(ElidedCopies placed, elide_copies(unit.program, session.providers(), session.limits, parts));
    if (!network) continue;
    session.trace->note_placed(unplaced, placed.steps);
    session.report.placed = std::move(placed);
  }
  session.kernels->keep_only(programs);  // steps are what they will be: kernels of what they were are of no use
  return Status();
}

// Devices with queues of their own run independent steps concurrently.
Status assign_streams(BuildSession& session) {
  if (!session.target.backend->can.own_memory) return Status();
  for (const BuildUnit& unit : session.units) {
    if (unit.kind == UnitKind::kBody) continue;
    const bool network = unit.kind == UnitKind::kNetwork;
    std::map<std::string_view, double> us;
    for (const StepReport& step : (network ? session.report.choice : unit.choice).steps)
      if (step.chosen >= 0) us[step.step] = step.evaluated[static_cast<size_t>(step.chosen)].us;
    StreamOptions streams;
    streams.most = session.settings.aux_streams;
    streams.measure = session.settings.measure && session.settings.level > 0;
    constexpr double kUnknownUs = 2;
    for (const Step& step : unit.program->steps) streams.us.push_back(us[step.name] > 0 ? us[step.name] : kUnknownUs);
    streams.device = session.target.device;
    streams.before = [&] { return measure_alone(session, [] { return true; }); };
    streams.kernels = &*session.kernels;
    streams.cache = session.services.cache;
    streams.isa = session.target.description.isa;
    streams.log = &session.log;
    WOOTZ_RETURN_IF_ERROR(choose_streams({session.program, unit.program}, streams));
  }
  session.alone = {};  // nothing is measured any more
  return Status();
}

// Debug tensors were outputs while building, which kept them in one piece.
Status demote_debug_tensors(BuildSession& session) {
  if (session.settings.debug_tensors.empty()) return Status();
  for (const BuildUnit& unit : session.units) {
    if (unit.kind == UnitKind::kBody) continue;
    Program& program = *unit.program;
    for (size_t o = session.num_outputs; o < program.outputs.size(); ++o)
      program.tensors[program.outputs[o].tensor].kind = TensorKind::kIntermediate;
    program.outputs.resize(std::min(session.num_outputs, program.outputs.size()));
  }
  session.program->properties[property::kDebugTensors] = dump_report(Json(session.settings.debug_tensors));
  return Status();
}

}  // namespace wootz
