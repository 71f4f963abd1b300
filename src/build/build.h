// The compiler: a graph and settings in, a program and a report out. IBuilder, and through it the command line and
// Python, stand on this; so do tests, without the API.
#pragma once

#include <memory>

#include "backend/program.h"
#include "build/settings.h"
#include "ir/graph.h"
#include "report/record.h"

namespace wootz {

struct BuildOutput {
  std::shared_ptr<Program> program;
  BuildReport report;
};

// Rewrites the graph, stage by stage (stages.h). Errors name the layer, input or profile. Code::kCancelled when the
// progress said so.
Result<BuildOutput> build_program(Graph& graph, const BuildSettings& settings, const BuildServices& services = {});

}  // namespace wootz
