#include "build/refit/rebuild.h"

#include "build/refit/recipe.h"
#include "build/refit/same_form.h"
#include "build/session.h"
#include "build/stages.h"
#include "tuner/layout/pack.h"

namespace wootz {
namespace {

Status fix_choices(BuildSession& session) {
  if (session.choices.size() != session.units.size())
    return make_error(Code::kInvalidState, "the network has {} bodies, it had {}", session.units.size(),
                      session.choices.size());
  for (size_t u = 0; u < session.units.size(); ++u)
    WOOTZ_RETURN_IF_ERROR(
        apply_choices(session.choices[u], session.providers(), session.limits, session.units[u].program));
  return Status();
}

// Those of build.cpp that decide what the program is. Nothing is offered or measured; streams and machine code stay.
constexpr BuildStage kStages[] = {
    {"target", "", open_target, StageResult::kNothing},      {"infer", "", infer_network, StageResult::kNothing},
    {"passes", "", optimize_network, StageResult::kNothing}, {"precision", "", narrow_values, StageResult::kNothing},
    {"lower", "", lower_network, StageResult::kNothing},     {"name", "", name_network_steps, StageResult::kNothing},
    {"choices", "", fix_choices, StageResult::kNothing},     {"pack", "", pack_weights, StageResult::kNothing},
    {"place", "", place_tensors, StageResult::kNothing},     {"debug", "", demote_debug_tensors, StageResult::kNothing},
};

// Where the values of weights decided something, the reason is ours to tell.
Status explain(const Status& status) {
  return make_error(Code::kInvalidState,
                    "the build made use of the values of weights that are now others (a zero, a factor of 1, equal "
                    "values): build the network anew with these weights: {}",
                    status.message());
}

}  // namespace

Result<RefitChange> rebuild(const Program& program, std::shared_ptr<const RefitRecipe> recipe, int device_number,
                            const BuildServices& services) {
  WOOTZ_ASSIGN_OR_RETURN(BuildSettings settings, recipe_settings(*recipe));
  WOOTZ_ASSIGN_OR_RETURN(DeviceDescription device, DeviceDescription::from_json(program.device));
  if (device.backend == settings.backend) settings.device = std::move(device);  // the reference has another's
  settings.device_number = device_number;
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, recipe_graph(*recipe));
  BuildSession session(*graph, settings, services);
  WOOTZ_ASSIGN_OR_RETURN(session.choices, choices_from_json(recipe->choices));
  for (const BuildStage& stage : kStages) {
    const Status status = stage.run(session);
    if (!status.ok()) return stage.run == fix_choices ? explain(status) : status;
  }
  RefitChange change;
  if (Status status = compare_forms(program, *session.program, &change.steps); !status.ok()) return explain(status);
  WOOTZ_ASSIGN_OR_RETURN(change.constants, changed_constants(program, *session.program));
  change.recipe = std::move(recipe);
  return change;
}

std::shared_ptr<Program> changed_program(const Program& program, RefitChange change) {
  auto changed = std::make_shared<Program>(program);
  for (auto& [number, constant] : change.constants) changed->constants[number] = std::move(constant);
  for (auto& [number, problem] : change.steps) changed->steps[number].problem = std::move(problem);
  changed->refit = std::move(change.recipe);
  return changed;
}

}  // namespace wootz
