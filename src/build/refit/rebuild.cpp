#include "build/refit/rebuild.h"

#include "backend/pack_constants.h"
#include "build/refit/recipe.h"
#include "build/refit/same_form.h"
#include "build/session.h"
#include "build/stages.h"

namespace wootz {
namespace {

Status check_sparsity(const BuildSession& session) {
  for (size_t u = 0; u < session.units.size() && u < session.choices.size(); ++u)
    WOOTZ_RETURN_IF_ERROR(check_sparsity(session.choices[u], *session.units[u].program));
  return Status();
}

Status fix_choices(BuildSession& session) {
  if (session.choices.size() != session.units.size())
    return make_error(Code::kInvalidState, "the network has {} bodies, it had {}", session.units.size(),
                      session.choices.size());
  for (size_t u = 0; u < session.units.size(); ++u)
    WOOTZ_RETURN_IF_ERROR(
        apply_choices(session.choices[u], session.providers(), session.limits, session.units[u].program));
  return Status();
}

// Where the values of weights decided something, the reason is ours to tell.
Status explain(const Status& status) {
  return make_error(Code::kInvalidState,
                    "the build made use of the values of weights that are now others (a zero, a factor of 1, equal "
                    "values): build the network anew with these weights: {}",
                    status.message());
}

}  // namespace

Result<ProgramUpdate> rebuild(const Program& program, std::shared_ptr<const RefitRecipe> recipe, int device_number,
                              const BuildServices& services) {
  WOOTZ_ASSIGN_OR_RETURN(BuildSettings settings, recipe_settings(*recipe));
  WOOTZ_ASSIGN_OR_RETURN(DeviceDescription device, DeviceDescription::from_json(program.device));
  if (device.backend == settings.backend) settings.device = std::move(device);  // the reference has another's
  settings.device_number = device_number;
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, recipe_graph(*recipe));
  BuildServices of_plan = services;
  of_plan.plugins = plugins_of_plan(program);
  BuildSession session(*graph, settings, of_plan);
  WOOTZ_ASSIGN_OR_RETURN(session.choices, choices_from_json(recipe->choices));
  for (const BuildStage& stage : build_stages()) {
    if (stage.refit == StageRefit::kAgain) WOOTZ_RETURN_IF_ERROR(stage.run(session));
    if (stage.refit != StageRefit::kFixed) continue;
    WOOTZ_RETURN_IF_ERROR(check_sparsity(session));
    if (const Status status = fix_choices(session); !status.ok()) return explain(status);
  }
  ProgramUpdate update;
  if (Status status = compare_forms(program, *session.program, &update); !status.ok()) return explain(status);
  WOOTZ_RETURN_IF_ERROR(add_changed_constants(program, *session.program, &update));
  update.recipe = std::move(recipe);
  return update;
}

}  // namespace wootz
