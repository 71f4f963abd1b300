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

// A program whose kernels are chosen by themselves: the network's, or the body of a control step.
struct BuildUnit {
  Program* program;
  const Lowered* lowered;
  bool body;
  std::unique_ptr<TacticSelection> selection;  // while kernels are chosen
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

  // From stages `passes`, `lower` and `name`.
  std::vector<QdqLine> quantization;
  std::optional<ParallelScope> threads;  // kernels are created and measured with the threads of an inference
  Lowered lowered;
  std::shared_ptr<Program> program;
  std::vector<BuildUnit> units;  // the network first; a body comes after the bodies that it has itself

  FixedChoices choices;  // where the settings ask for a refittable plan; given, where it is refitted

  BuildReport report;
};

// What the passes get from the settings and the backend, for the network and for bodies.
PipelineOptions pipeline_options(const BuildContext& context);

}  // namespace wootz
