// Engines that tools make for themselves, of graphs.
#pragma once

#include <memory>

#include "api/runtime/engine.h"
#include "api/tools/batches.h"
#include "build/build.h"
#include "report/record.h"

namespace wootz::api {

struct ToolEngine {
  std::unique_ptr<EngineImpl> engine;
  Json report;  // of its build
};

// `settings` as they are; the graph is rewritten.
Result<ToolEngine> make_engine(Graph& graph, const BuildSettings& settings, const BuildServices& services,
                               const Reporter& reporter);

// Errors name the input: one that is missing or unknown, another type or shape. Extents that are open are the first
// batch's, which all batches have.
Status check_batches(const Graph& graph, const std::vector<Batch>& batches);
// One profile, of the batches' shapes.
std::vector<BuildProfile> profile_of(const Graph& graph, const Batch& batch);

}  // namespace wootz::api
