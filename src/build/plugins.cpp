// Stage `plugins`.
#include "backends/plugin_steps.h"
#include "build/session.h"
#include "build/stages.h"

namespace wootz {
namespace {

Status serialize_plugin(const PluginSource& source, Step* step) {
  WOOTZ_ASSIGN_OR_RETURN(const PluginTactic tactic, read_plugin_tactic(step->tactic));
  WOOTZ_ASSIGN_OR_RETURN(PluginParams params, read_plugin(step->problem));
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<PluginObject> plugin,
                         source.make(step->problem, params, tactic.number, tactic.workspace));
  Result<std::string> bytes = plugin->serialize();
  if (!bytes.ok()) return bytes.status().with_prefix(plugin_place(params));
  params.data = to_hex(*bytes);
  write_plugin(params, &step->problem);
  return Status();
}

}  // namespace

// Last of all: what is written here distinguishes kernels.
Status serialize_plugins(BuildSession& session) {
  if (session.services.plugins == nullptr) return Status();
  for (const BuildUnit& unit : session.units)
    for (Step& step : unit.program->steps)
      if (is_plugin(step.problem)) WOOTZ_RETURN_IF_ERROR(serialize_plugin(*session.services.plugins, &step));
  return Status();
}

}  // namespace wootz
