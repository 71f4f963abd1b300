#include "conformance/run_graph_on.h"

#include "backend/device.h"
#include "lower/lower.h"
#include "ops/infer.h"
#include "passes/pass.h"
#include "plan/verify.h"
#include "runtime/executor.h"
#include "tuner/choose.h"
#include "tuner/place_moves.h"

namespace wootz::conformance {
namespace {

class Sink final : public OutputSink {
 public:
  explicit Sink(DType dtype) : dtype_(dtype) {}
  void* reallocate(int, size_t, const Dims& dims) override {
    Result<HostTensor> made = HostTensor::allocate(dtype_, dims);
    if (!made.ok()) return nullptr;
    tensor = std::move(made).value();
    return tensor.mutable_data();
  }
  HostTensor tensor;

 private:
  DType dtype_;
};

}  // namespace

Result<RunResult> run_graph_on(Graph& graph, const std::vector<HostTensor>& inputs, const RunOptions& options) {
  if (options.passes) {
    PipelineOptions pipeline;
    pipeline.verify = true;
    WOOTZ_RETURN_IF_ERROR(run_pipeline(graph, pipeline).status());
  }
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(options.backend));
  const std::vector<const Provider*> providers = backend_providers(*backend);
  LowerOptions lower;
  lower.backend = options.backend;
  lower.providers = backend->providers();
  lower.reference_only = options.backend == "reference";
  lower.limits.threads = options.threads;
  lower.limits.isa_cap = options.isa_cap;
  std::vector<SymbolRange> ranges(graph.symbols().size(), SymbolRange{1, 8, 4096});
  lower.profiles = {ranges};
  WOOTZ_ASSIGN_OR_RETURN(Lowered lowered, lower_graph(graph, lower));
  auto program = std::make_shared<Program>(std::move(lowered.program));
  ChooseOptions choose;
  choose.limits = lower.limits;
  WOOTZ_RETURN_IF_ERROR(choose_tactics(program.get(), providers, choose).status());
  WOOTZ_RETURN_IF_ERROR(pack_constants(program.get(), providers, lower.limits));
  WOOTZ_RETURN_IF_ERROR(place_moves(program.get(), providers, lower.limits).status());
  WOOTZ_RETURN_IF_ERROR(verify_program(*program));
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, backend->open(nullptr));
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<EngineCore> engine,
                         EngineCore::create(program, device, providers, engine_options));
  Executor executor(engine);
  for (size_t i = 0; i < inputs.size(); ++i) {
    WOOTZ_RETURN_IF_ERROR(executor.set_input_dims(i, inputs[i].dims()));
    executor.set_input_address(i, inputs[i].data());
  }
  std::vector<std::unique_ptr<Sink>> sinks;
  for (size_t o = 0; o < program->outputs.size(); ++o) {
    sinks.push_back(std::make_unique<Sink>(program->tensors[static_cast<size_t>(program->outputs[o].tensor)].dtype));
    executor.set_output_sink(o, sinks.back().get());
  }
  WOOTZ_RETURN_IF_ERROR(executor.run());
  RunResult result;
  for (const auto& sink : sinks) result.outputs.push_back(sink->tensor);
  result.steps = program->steps.size();
  for (const Step& step : program->steps) result.reference_steps += step.tactic.provider == "reference";
  return result;
}

}  // namespace wootz::conformance
