// A graph built for the CPU without measuring, and run.
#pragma once

#include "backends/registry.h"
#include "build/build.h"
#include "ir/text.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "plan/read.h"
#include "plan/verify.h"
#include "plan/write.h"
#include "runtime/create_engine.h"
#include "runtime/executor.h"

namespace wootz::memory_test {

struct Built {
  std::shared_ptr<const Program> program;
  std::shared_ptr<EngineCore> engine;
  BuildReport report;

  size_t moves(MoveKind kind) const {
    size_t count = 0;
    for (const Step& s : program->steps)
      count += s.problem.is(Family::kMove) && s.problem.as<MoveParams>().kind == kind;
    return count;
  }
};

inline Result<std::unique_ptr<Graph>> parse(std::string_view text) {
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, parse_graph(text, find_op));
  WOOTZ_RETURN_IF_ERROR(infer_graph(*graph));
  return graph;
}

// By way of the plan file.
inline Result<Built> build(Graph& graph, BuildSettings options = {}, const BuildServices& services = {}) {
  options.measure = false;
  options.threads = 2;
  WOOTZ_ASSIGN_OR_RETURN(BuildOutput output, build_program(graph, options, services));
  WOOTZ_RETURN_IF_ERROR(verify_program(*output.program));
  WOOTZ_ASSIGN_OR_RETURN(const RawBytes file, write_plan(*output.program));
  Built built;
  WOOTZ_ASSIGN_OR_RETURN(built.program, read_plan(file));
  built.report = std::move(output.report);
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend("cpu"));
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, backend->open());
  EngineOptions engine_options;
  engine_options.threads = 2;
  WOOTZ_ASSIGN_OR_RETURN(built.engine,
                         create_engine(built.program, device, backend_providers(*backend), engine_options));
  return built;
}

// Outputs of known extents.
inline Result<std::vector<HostTensor>> run(Executor& executor, Bindings& bindings,
                                           const std::vector<HostTensor>& inputs) {
  const Program& program = executor.engine().program();
  for (size_t i = 0; i < inputs.size(); ++i) {
    WOOTZ_RETURN_IF_ERROR(bindings.set_input_dims(i, inputs[i].dims()));
    bindings.set_input_address(i, inputs[i].data());
  }
  WOOTZ_RETURN_IF_ERROR(bindings.resolve_shapes());
  std::vector<HostTensor> outputs;
  for (size_t o = 0; o < program.outputs.size(); ++o) {
    const TensorIndex t = program.outputs[o].tensor;
    if (!bindings.plan()->known[t]) return invalid_argument("output {} has no extents before the run", o);
    WOOTZ_ASSIGN_OR_RETURN(HostTensor out, HostTensor::allocate(program.tensors[t].dtype, bindings.plan()->dims[t]));
    outputs.push_back(std::move(out));
    bindings.set_output_address(o, outputs.back().mutable_data());
  }
  WOOTZ_RETURN_IF_ERROR(executor.run(bindings));
  return outputs;
}

}  // namespace wootz::memory_test
