#include "conformance/run_graph_on.h"

#include "backend/pack_constants.h"
#include "backend/quantized.h"
#include "backends/cuda/emulator/emulator.h"
#include "backends/registry.h"
#include "ir/text.h"
#include "lower/lower.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "plan/verify.h"
#include "runtime/create_engine.h"
#include "runtime/executor.h"
#include "tuner/choose.h"
#include "tuner/layout/copy_elision.h"

namespace wootz::conformance {
namespace {

// An output's memory, on the device where that has its own, and what is in it in the end.
class Sink final : public OutputSink {
 public:
  Sink(DType dtype, Device* device) : dtype_(dtype), device_(device) {}
  ~Sink() override { release(); }
  void* reallocate(int, void*, size_t bytes, const Dims& dims) override {
    Result<HostTensor> made = HostTensor::allocate(dtype_, dims);
    if (!made.ok()) return nullptr;
    tensor_ = std::move(made).value();
    if (device_ == nullptr) return tensor_.mutable_data();
    if (memory_ != nullptr && bytes <= bytes_) return memory_;
    release();
    Result<void*> memory = device_->allocate(bytes, 64);
    if (memory.ok()) memory_ = *memory;
    bytes_ = bytes;
    return memory_;
  }
  Result<HostTensor> fetch() {
    if (device_ != nullptr && memory_ != nullptr && tensor_.bytes() != 0)
      WOOTZ_RETURN_IF_ERROR(device_->copy(tensor_.mutable_data(), memory_, tensor_.bytes(), nullptr));
    return tensor_;
  }

 private:
  void release() {
    if (memory_ != nullptr) device_->free(memory_);
    memory_ = nullptr;
  }
  DType dtype_;
  Device* device_;
  HostTensor tensor_;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

// Of a step that the reference computes: its op, or its family where it has kernels of its own for that.
std::string op_or_family(const Problem& problem) {
  if (!problem.is(Family::kOp)) return std::string(family_name(problem.family()));
  const Result<std::unique_ptr<Graph>> node = parse_graph(problem.as<OpParams>().node, find_op);
  return node.ok() ? std::string((*node)->first()->op().name) : "?";
}

std::string op_and_types(const Problem& problem) {
  std::string text = op_or_family(problem);
  for (const TensorDesc& t : problem.inputs)
    text += t.dtype == DType::kInvalid ? " -" : fmt::format(" {}", dtype_name(t.dtype));
  return text;
}

// Kernels chosen by estimate, weights packed, moves placed; of bodies too.
Status finish(Program* program, const Backend& backend, const std::vector<const Provider*>& providers,
              const Limits& limits) {
  for (Program& body : program->bodies) WOOTZ_RETURN_IF_ERROR(finish(&body, backend, providers, limits));
  ChooseOptions choose;
  choose.limits = limits;
  WOOTZ_RETURN_IF_ERROR(choose_tactics(program, providers, choose).status());
  KernelCache kernels(providers, limits);
  WOOTZ_RETURN_IF_ERROR(pack_constants(program, kernels));
  WOOTZ_RETURN_IF_ERROR(make_constants(program));
  return elide_copies(program, providers, limits, !backend.can.own_memory).status();
}

void count_body_steps(const Program& program, RunResult* result) {
  for (const Program& body : program.bodies) {
    result->body_steps += body.steps.size();
    for (const Step& step : body.steps) result->body_reference_steps += step.tactic.provider == "reference";
    count_body_steps(body, result);
  }
}

}  // namespace

struct PreparedRun::State {
  std::shared_ptr<Program> program;
  std::shared_ptr<Device> device;
  std::vector<void*> memory;
  std::vector<HostTensor> inputs;
  std::vector<std::shared_ptr<Sink>> sinks;
  std::unique_ptr<Bindings> bindings;
  std::unique_ptr<Executor> executor;
  ~State() {
    executor.reset();
    bindings.reset();
    sinks.clear();
    for (void* m : memory) device->free(m);
  }
};

PreparedRun::PreparedRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
PreparedRun::PreparedRun(PreparedRun&&) noexcept = default;
PreparedRun::~PreparedRun() = default;

Result<bool> open_cuda() {
  static bool stands_in = false;  // then it opens like a device from the second time on
  if (stands_in) return true;
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend("cuda"));
  const Result<std::shared_ptr<Device>> device = backend->open();
  if (device.ok()) return false;
  std::printf("no GPU: %s\n", device.status().to_string().c_str());
  WOOTZ_RETURN_IF_ERROR(cuda::use_emulator());
  stands_in = true;
  return true;
}

Result<PreparedRun> prepare_graph_on(Graph& graph, const std::vector<HostTensor>& inputs, const RunOptions& options) {
  if (options.passes) {
    PipelineOptions pipeline;
    pipeline.verify = true;
    pipeline.disabled.insert(options.without.begin(), options.without.end());
    WOOTZ_RETURN_IF_ERROR(run_pipeline(graph, pipeline).status());
  }
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(options.backend));
  const std::vector<const Provider*> providers = backend_providers(*backend);
  auto state = std::make_unique<PreparedRun::State>();
  LowerOptions lower;
  lower.backend = options.backend;
  lower.providers = backend->providers();
  lower.reference_only = options.backend == "reference";
  lower.limits.threads = options.threads;
  lower.limits.isa_cap = options.isa_cap;
  lower.limits.host_steps = true;
  WOOTZ_ASSIGN_OR_RETURN(state->device, backend->open());
  lower.limits.at = state->device;
  if (!backend->can.own_memory && !lower.reference_only)
    lower.optimize_body = [&](Graph& body) { return options.passes ? run_pipeline(body, {}).status() : Status(); };
  std::vector<SymbolRange> ranges(graph.symbols().size(), SymbolRange{1, 8, 4096});
  lower.profiles = {ranges};
  WOOTZ_ASSIGN_OR_RETURN(Lowered lowered, lower_graph(graph, lower));
  state->program = std::make_shared<Program>(std::move(lowered.program));
  Program* const program = state->program.get();
  WOOTZ_RETURN_IF_ERROR(finish(program, *backend, providers, lower.limits));
  if (options.stream)
    for (const StepIndex s : program->steps.indices()) program->steps[s].stream = options.stream(s);
  WOOTZ_RETURN_IF_ERROR(verify_program(*program));
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<EngineCore> engine,
                         create_engine(state->program, state->device, providers, engine_options));
  state->executor = std::make_unique<Executor>(engine);
  state->bindings = std::make_unique<Bindings>(engine);
  Bindings& bindings = *state->bindings;
  state->inputs = inputs;
  Device* const device = state->device->host_memory() ? nullptr : state->device.get();
  for (size_t i = 0; i < inputs.size(); ++i) {
    WOOTZ_RETURN_IF_ERROR(bindings.set_input_dims(i, inputs[i].dims()));
    const void* address = inputs[i].data();
    if (device != nullptr && !program->inputs[i].is_shape_tensor) {
      WOOTZ_ASSIGN_OR_RETURN(void* memory, device->allocate(inputs[i].bytes() + 1, 64));
      state->memory.push_back(memory);
      WOOTZ_RETURN_IF_ERROR(device->copy(memory, address, inputs[i].bytes(), nullptr));
      address = memory;
    }
    bindings.set_input_address(i, address);
  }
  for (size_t o = 0; o < program->outputs.size(); ++o) {
    const DType dtype = program->tensors[program->outputs[o].tensor].dtype;
    state->sinks.push_back(std::make_shared<Sink>(dtype, device));
    bindings.set_output_sink(o, state->sinks.back());
  }
  WOOTZ_RETURN_IF_ERROR(bindings.resolve_shapes());
  return PreparedRun(std::move(state));
}

Status PreparedRun::feed(const std::vector<HostTensor>& inputs) {
  Device& device = *state_->device;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!(inputs[i].dims() == state_->inputs[i].dims())) return invalid_argument("another shape");
    state_->inputs[i] = inputs[i];
    if (device.host_memory() || state_->program->inputs[i].is_shape_tensor) {
      state_->bindings->set_input_address(i, inputs[i].data());
      continue;
    }
    void* const to = const_cast<void*>(state_->bindings->input_address(i));
    WOOTZ_RETURN_IF_ERROR(device.copy(to, inputs[i].data(), inputs[i].bytes(), nullptr));
  }
  return Status();
}

Result<RunResult> PreparedRun::run() {
  WOOTZ_RETURN_IF_ERROR(state_->executor->run(*state_->bindings));
  RunResult result;
  for (const auto& sink : state_->sinks) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, sink->fetch());
    result.outputs.push_back(std::move(tensor));
  }
  result.steps = state_->program->steps.size();
  count_body_steps(*state_->program, &result);
  for (const Step& step : state_->program->steps) {
    result.byte_steps += has_scales(step.problem);
    if (step.tactic.provider == "reference" || step.tactic.provider == "host")
      result.reference_steps.push_back(op_and_types(step.problem));
  }
  return result;
}

Result<RunResult> run_graph_on(Graph& graph, const std::vector<HostTensor>& inputs, const RunOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(PreparedRun prepared, prepare_graph_on(graph, inputs, options));
  return prepared.run();
}

}  // namespace wootz::conformance
