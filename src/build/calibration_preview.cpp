#include "build/calibration_preview.h"

#include "build/calibration_run.h"
#include "build/stages.h"
#include "quant/insert_qdq.h"

namespace wootz {
namespace {

// Types that the application asks for are in the graph already.
BuildSettings settings_of(const BuildSession& session) {
  BuildSettings settings = session.settings;
  settings.int8 = false;
  settings.layer_types.clear();
  settings.refit.reset();
  settings.dump_stages.clear();
  settings.keep_record = false;
  settings.tell_memory = false;
  return settings;
}

// By a kernel, also one of two steps, or, where the reference computes all, by that.
bool reads_8_bits(const Step& step, const Node* node) {
  if (step.problem.is(Family::kOp)) return node != nullptr && node->has_attr("x_scale");
  if (step.problem.is(Family::kChain)) return is_int8(step.problem.inputs[0].dtype);
  return computes_in_8_bits(step);
}

// Convolutions by groups, where rounding for them is not worth it.
bool is_left_alone(const Step& step, const Backend& backend) {
  const Problem& p = step.problem;
  return !backend.calibrates_groups() && p.is(Family::kConv) && p.as<ConvParams>().groups > 1;
}

}  // namespace

Result<CalibrationPreview> try_quantized(const BuildSession& session,
                                         const std::function<bool(const Node&)>& stays_float) {
  const BuildSettings settings = settings_of(session);
  BuildServices services;
  services.plugins = session.services.plugins;
  services.allocator = session.services.allocator;
  const std::shared_ptr<Graph> graph = copy_of_network(session.graph);
  BuildSession preview(*graph, settings, services);
  WOOTZ_RETURN_IF_ERROR(open_target(preview));
  WOOTZ_RETURN_IF_ERROR(infer_network(preview));
  WOOTZ_ASSIGN_OR_RETURN(InsertedQdq inserted, insert_qdq(preview.graph, session.scales, stays_float));
  WOOTZ_RETURN_IF_ERROR(optimize_network(preview));
  WOOTZ_RETURN_IF_ERROR(lower_network(preview));
  CalibrationPreview result;
  result.unscaled = std::move(inserted.unscaled);
  for (const StepIndex s : preview.lowered.nodes.indices())
    if (const Step& step = preview.lowered.program.steps[s];
        reads_8_bits(step, preview.lowered.nodes[s]) && !is_left_alone(step, *preview.target.backend))
      result.in_8_bits.insert(step.provenance.begin(), step.provenance.end());
  return result;
}

}  // namespace wootz
