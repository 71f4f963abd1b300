// Stages on the graph: infer, passes, precision, group.
#include <algorithm>

#include "build/byte_attention.h"
#include "build/fp8_products.h"
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

// Why a layer that asks for the type does not get it; empty: it does.
std::string refuses_type(const BuildSession& session, DType type) {
  const BuildSettings& settings = session.settings;
  if (type == DType::kF32) return "";
  const Backend& backend = *session.target.backend;
  if (!backend.computes_fast_in(type))
    return fmt::format("backend {} computes floats in FP32 here, not in {}", backend.name, dtype_name(type));
  if (!(type == DType::kF16 ? settings.fp16 : settings.bf16))
    return fmt::format("{} is not among the types that the build allows", dtype_name(type));
  return "";
}

// Where a layer is asked to compute in a type: before the passes, which then see what it reads and gives.
Status set_layer_types(BuildSession& session) {
  const BuildSettings& settings = session.settings;
  std::vector<AskedType> types = settings.layer_types;
  // What is to compute in INT8 gets its types by stage `calibrate`.
  if (takes_scales(session)) std::erase_if(types, [](const AskedType& t) { return t.type == DType::kI8; });
  WOOTZ_ASSIGN_OR_RETURN(
      const std::vector<TypeRefusal> refused,
      apply_layer_types(session.graph, types, [&](DType type) { return refuses_type(session, type); }));
  for (const TypeRefusal& r : refused) {
    const auto asked = std::find_if(settings.layer_types.begin(), settings.layer_types.end(),
                                    [&](const AskedType& t) { return t.layer == r.layer; });
    std::string text = fmt::format("layer '{}' is asked to compute in {}: {}", r.layer, dtype_name(asked->type), r.why);
    if (settings.obey_layer_types)
      return unsupported("{}; the build is to obey the types of layers: ask for another, or only prefer them", text);
    session.log.warning(text);
  }
  return Status();
}

// `seen`: called for each pass, after the trace, the log and the dump.
Status run_passes(BuildSession& session, PipelinePart part,
                  const std::function<void(const PassReport&, const Graph&)>& seen) {
  PipelineOptions pipeline = pipeline_options(session);
  pipeline.part = part;
  if (part == PipelinePart::kRounds) {
    choose_fp8_products(session, session.graph, &pipeline);
    choose_byte_attention(session, session.graph, &pipeline);
  }
  Status dumped;
  pipeline.observer = [&](const PassReport& pass, const Graph& after) {
    session.trace->after_pass(pass, after);
    if (seen) seen(pass, after);
    if (pass.changed && dumped.ok()) dumped = session.dump.graph("passes." + pass.name, after);
    session.log.verbose(
        fmt::format("pass {}: {} to {} nodes, {:.2f} ms", pass.name, pass.nodes_before, pass.nodes_after, pass.ms));
  };
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<PassReport> reports, run_pipeline(session.graph, pipeline));
  session.report.passes.insert(session.report.passes.end(), reports.begin(), reports.end());
  return dumped;
}

}  // namespace

void leave_out_passes_for(const Capabilities& can, PipelineOptions* pipeline) {
  constexpr std::pair<const char*, bool Capabilities::*> kNeeds[] = {
      {"fuse_chains", &Capabilities::chains},
      {"fuse_squeeze_excite", &Capabilities::squeeze_excite},
      {"fuse_concat", &Capabilities::fused_moves},
      {"fuse_concat_reads", &Capabilities::fused_moves},
      {"fuse_embedding", &Capabilities::fused_moves},
      {"fuse_stem", &Capabilities::stems},
      {"fuse_norms", &Capabilities::norm_products},
      {"join_siblings", &Capabilities::siblings},
      {"join_concats", &Capabilities::fused_moves},
      {"fuse_caches", &Capabilities::fused_moves},
      {"fuse_gates", &Capabilities::gate_sums},
      {"unfold_patches", &Capabilities::patch_products},
      {"fuse_bottlenecks", &Capabilities::convolution_pairs},
      {"fuse_shortcuts", &Capabilities::convolution_sums}};
  for (const auto& [pass, needed] : kNeeds)
    if (!(can.*needed)) pipeline->disabled.insert(pass);
}

PipelineOptions pipeline_options(const BuildContext& context) {
  PipelineOptions pipeline;
  pipeline.disabled = context.settings.disabled_passes;
  leave_out_passes_for(context.target.backend->can, &pipeline);
  pipeline.relaxed = context.settings.int8;
  if (!context.target.backend->prefers_unsigned_bytes()) pipeline.disabled.insert("unsigned_bytes");
  const Backend& backend = *context.target.backend;
  if (!backend.computes_fast_in(DType::kF16) && !backend.computes_fast_in(DType::kBF16))
    pipeline.disabled.insert("fuse_casts");
  pipeline.verify = context.settings.verify_passes;
  return pipeline;
}

Status infer_network(BuildSession& session) {
  WOOTZ_RETURN_IF_ERROR(session.dump.graph("import", session.graph));
  mark_debug_tensors(session);
  WOOTZ_RETURN_IF_ERROR(infer_with_profiles(session.graph, session.settings.profiles));
  WOOTZ_RETURN_IF_ERROR(verify_graph(session.graph));
  WOOTZ_RETURN_IF_ERROR(set_layer_types(session));
  session.order = NodeOrder(session.graph, session.settings.absent);
  session.trace.emplace(session.graph, session.settings.absent, session.order);
  return Status();
}

Status optimize_network(BuildSession& session) {
  ProgressPhase phase(session.services.progress, "Optimize graph", "Build", static_cast<int>(all_passes().size()));
  int done = 0;
  QdqRecorder recorder(session.graph);
  WOOTZ_RETURN_IF_ERROR(run_passes(session, PipelinePart::kRounds, [&](const PassReport& pass, const Graph& after) {
    phase.step(done++);
    recorder.after_pass(pass.name, after);
  }));
  session.quantization = recorder.lines(session.graph);
  return phase.status();
}

Status group_nodes(BuildSession& session) { return run_passes(session, PipelinePart::kLast, {}); }

// Not one of the passes: they take a graph alone, and this takes the type that the settings allow and the device
// computes fast in. It must see the graph that the rounds of passes leave, since these would make FP32 values again.
Status narrow_values(BuildSession& session) {
  const BuildSettings& settings = session.settings;
  const auto taken = [&](bool allowed, DType type) {
    return allowed && session.target.backend->computes_fast_in(type);
  };
  const bool half = taken(settings.fp16, DType::kF16);
  if (!half && !taken(settings.bf16, DType::kBF16)) return Status();
  const DType narrow = half ? DType::kF16 : DType::kBF16;
  WOOTZ_ASSIGN_OR_RETURN(const int nodes, assign_precision(session.graph, narrow, kept_in_f32(settings.layer_types)));
  session.log.verbose(fmt::format("precision: {} nodes in {}", nodes, dtype_name(narrow)));
  return Status();
}

}  // namespace wootz
