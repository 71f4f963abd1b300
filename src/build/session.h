// What one build has: made by build_program(), completed by stage after stage (stages.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "build/context.h"
#include "build/refit/fixed_choices.h"
#include "build/stage_dump.h"
#include "build/tactic_selection.h"
#include "lower/lowered.h"
#include "passes/pass.h"
#include "passes/quantization/qdq_report.h"
#include "report/record.h"

namespace wootz {

// What a program of a build is: the network, the network as it is tuned for another profile, or the body of a control
// step.
enum class UnitKind : uint8_t { kNetwork, kProfile, kBody };

// A program whose kernels are chosen by themselves.
struct BuildUnit {
  Program* program;
  const Lowered* lowered;
  UnitKind kind;
  std::unique_ptr<TacticSelection> selection;  // while kernels are chosen
  Choice choice;                               // of another profile; the network's is in the report
};

struct BuildSession : BuildContext {
  BuildSession(Graph& graph, const BuildSettings& settings, const BuildServices& services)
      : BuildContext(settings, services), graph(graph), dump(settings.dump_stages) {}
  BuildSession(const BuildSession&) = delete;
  BuildSession& operator=(const BuildSession&) = delete;

  Graph& graph;
  StageDump dump;

  // From stage `infer`.
  size_t num_outputs = 0;  // of the network; debug tensors are kept after them
  NodeOrder order;
  std::optional<ModelTrace> trace;

  // From stage `calibrate`.
  TensorScales scales;

  // From stages `passes`, `lower` and `name`.
  std::vector<QdqLine> quantization;
  std::optional<ParallelScope> threads;  // kernels are created and measured with the threads of an inference
  Lowered lowered;
  std::shared_ptr<Program> program;
  // The network first, then what it has as bodies; a body comes after the bodies that it has itself.
  std::vector<BuildUnit> units;

  FixedChoices choices;  // where the settings ask for a refittable plan; given, where it is refitted

  BuildReport report;
};

// Whether stage `calibrate` is to say what is computed in 8 bits: the application gives scales, and the network none.
bool takes_scales(const BuildSession& session);

// What the passes get from the settings and the backend, for the network and for bodies.
PipelineOptions pipeline_options(const BuildContext& context);
// Leaves out the passes whose results no provider of such a backend computes.
void leave_out_passes_for(const Capabilities& can, PipelineOptions* pipeline);

}  // namespace wootz
