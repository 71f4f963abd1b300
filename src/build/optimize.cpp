// Stages on the graph: infer, passes, precision.
#include "build/session.h"
#include "build/stages.h"
#include "ir/verify.h"
#include "passes/precision/assign_precision.h"

namespace wootz {
namespace {

// Debug tensors stay whole as outputs, after the network's own.
void mark_debug_tensors(BuildSession& session) {
  Graph& graph = session.graph;
  session.num_outputs = graph.outputs().size();
  std::set<std::string, std::less<>> debug = session.settings.debug_tensors;
  for (const Value* v : graph.outputs()) debug.erase(v->name());
  for (const Node* node = graph.first(); node != nullptr && !debug.empty(); node = node->next())
    for (Value* v : node->outputs())
      if (v != nullptr && debug.count(v->name()) != 0) graph.mark_output(v);
}

}  // namespace

PipelineOptions pipeline_options(const BuildContext& context) {
  PipelineOptions pipeline;
  pipeline.disabled = context.settings.disabled_passes;
  if (!context.target.backend->can.chains) pipeline.disabled.insert("fuse_chains");
  pipeline.verify = context.settings.verify_passes;
  return pipeline;
}

Status infer_network(BuildSession& session) {
  WOOTZ_RETURN_IF_ERROR(session.dump.graph("import", session.graph));
  mark_debug_tensors(session);
  WOOTZ_RETURN_IF_ERROR(infer_with_profiles(session.graph, session.settings.profiles));
  WOOTZ_RETURN_IF_ERROR(verify_graph(session.graph));
  session.order = NodeOrder(session.graph, session.settings.absent);
  session.trace.emplace(session.graph, session.settings.absent, session.order);
  return Status();
}

Status optimize_network(BuildSession& session) {
  PipelineOptions pipeline = pipeline_options(session);
  ProgressPhase phase(session.services.progress, "Optimize graph", "Build", static_cast<int>(all_passes().size()));
  int done = 0;
  QdqRecorder recorder(session.graph);
  Status dumped;
  pipeline.observer = [&](const PassReport& pass, const Graph& after) {
    phase.step(done++);
    session.trace->after_pass(pass, after);
    recorder.after_pass(pass.name, after);
    if (pass.changed && dumped.ok()) dumped = session.dump.graph("passes." + pass.name, after);
    session.log.verbose(
        fmt::format("pass {}: {} to {} nodes, {:.2f} ms", pass.name, pass.nodes_before, pass.nodes_after, pass.ms));
  };
  WOOTZ_ASSIGN_OR_RETURN(session.report.passes, run_pipeline(session.graph, pipeline));
  WOOTZ_RETURN_IF_ERROR(dumped);
  session.quantization = recorder.lines(session.graph);
  return phase.status();
}

// Not one of the passes: they take a graph alone, and this takes the type that the settings allow and the device
// computes fast in. It must see the finished graph, since later passes would make FP32 values again.
Status narrow_values(BuildSession& session) {
  const BuildSettings& settings = session.settings;
  if (!settings.fp16 && !settings.bf16) return Status();
  const DType narrow = settings.fp16 ? DType::kF16 : DType::kBF16;
  if (!session.target.backend->computes_fast_in(narrow)) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const int nodes, assign_precision(session.graph, narrow));
  session.log.verbose(fmt::format("precision: {} nodes in {}", nodes, dtype_name(narrow)));
  return Status();
}

}  // namespace wootz
