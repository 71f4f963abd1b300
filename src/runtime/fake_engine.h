// An engine for tests and benchmarks of the runtime alone: devices without hardware, kernels that do next to nothing.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>

#include "backend/index_literals.h"
#include "runtime/create_engine.h"

namespace wootz::fake {

class FakeStream final : public Stream {
 public:
  Status enqueue(std::function<Status()> work) override { return work(); }
  Status synchronize() override { return Status(); }
  bool capturing() const override { return capture; }
  bool capture = false;
};

// Its memory is the host's; `own_memory` says otherwise, and then runs are recorded.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(bool own_memory = false) : own_memory_(own_memory) {}
  const DeviceDescription& describe() const override { return description_; }
  bool host_memory() const override { return !own_memory_; }
  Result<void*> allocate(size_t bytes, size_t alignment) override {
    return std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  }
  void free(void* memory) override { std::free(memory); }
  Status copy(void* to, const void* from, size_t bytes, Stream*) override {
    std::memcpy(to, from, bytes);
    return Status();
  }
  Result<std::unique_ptr<Stream>> create_stream() override {
    return std::unique_ptr<Stream>(std::make_unique<FakeStream>());
  }
  Result<std::unique_ptr<Stream>> adopt_stream(void*) override { return create_stream(); }
  Result<std::unique_ptr<Recording>> record(Stream&, FunctionRef<Status(Stream&)> work,
                                            std::unique_ptr<Recording>) override {
    FakeStream recorder;
    WOOTZ_RETURN_IF_ERROR(work(recorder));
    ++recorded;
    return std::unique_ptr<Recording>(std::make_unique<FakeRecording>(&replayed));
  }
  int recorded = 0, replayed = 0;

 private:
  struct FakeRecording final : Recording {
    explicit FakeRecording(int* count) : count(count) {}
    Status replay(Stream&) override {
      ++*count;
      return Status();
    }
    int* count;
  };
  bool own_memory_;
  DeviceDescription description_;
};

// "nothing" does nothing; "copy" copies 32-bit elements, as many as its operand has.
class FakeProvider final : public Provider {
 public:
  const char* name() const override { return "fake"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem&, const Limits&, std::vector<Candidate>*, std::vector<Refusal>*) const override {}
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem&, const Limits&) const override {
    return std::unique_ptr<Kernel>(std::make_unique<FakeKernel>(tactic.kernel == "copy"));
  }

 private:
  struct FakeCall final : Call {
    explicit FakeCall(size_t bytes) : bytes(bytes) {}
    Status run(const RunArgs& args) const override {
      if (bytes != 0) std::memcpy(args.outputs[0], args.inputs[0], bytes);
      return Status();
    }
    size_t bytes;
  };
  struct FakeKernel final : Kernel {
    explicit FakeKernel(bool copies) : copies(copies) {}
    Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
      return std::unique_ptr<Call>(
          std::make_unique<FakeCall>(copies ? static_cast<size_t>(args.inputs[0].volume()) * 4 : 0));
    }
    bool copies;
  };
};

// x [n] -> step -> ... -> step -> y [n], of 32-bit integers; n from 0 to 16.
inline std::shared_ptr<Program> chain(size_t steps, const std::string& kernel) {
  auto program = std::make_shared<Program>();
  program->name = "chain";
  program->exprs = {{ShapeOp::kSymbol, 0, {}}};
  program->symbols = {{"n", SymbolSource::kInputDim, 0_tensor, 0}};
  program->profiles = {{{SymbolRange{0, 8, 16}}}};
  TensorDesc desc;
  desc.dtype = DType::kI32;
  desc.dims = {8};
  desc.max_dims = {16};
  for (size_t t = 0; t <= steps; ++t) {
    PlanTensor tensor;
    tensor.name = t == 0 ? "x" : t == steps ? "y" : "t" + std::to_string(t);
    tensor.kind = t == 0 ? TensorKind::kInput : t == steps ? TensorKind::kOutput : TensorKind::kIntermediate;
    tensor.dtype = DType::kI32;
    tensor.dims = {0_expr};
    program->tensors.push_back(std::move(tensor));
    if (t == 0) continue;
    Step step;
    step.name = "step" + std::to_string(t);
    step.tactic = {"fake", kernel, ""};
    step.inputs = {TensorIndex(t - 1)};
    step.outputs = {TensorIndex(t)};
    step.problem.num_main = 1;
    step.problem.inputs = {desc};
    step.problem.outputs = {desc};
    program->steps.push_back(std::move(step));
  }
  program->inputs = {{TensorIndex(0), false}};
  program->outputs = {{TensorIndex(steps), false}};
  return program;
}

inline Result<std::shared_ptr<EngineCore>> engine(std::shared_ptr<Program> program, std::shared_ptr<Device> device) {
  static const FakeProvider provider;
  EngineOptions options;
  options.threads = 1;
  return create_engine(std::move(program), std::move(device), {&provider}, options);
}

}  // namespace wootz::fake
