#include "backends/host_steps.h"

#include "backend/plugin.h"
#include "backends/reference/reference_provider.h"

namespace wootz {
namespace {

// Results whose sizes are found by running, on the host until the device's memory for them is known.
class HostResults final : public OutputAllocator {
 public:
  explicit HostResults(const std::vector<DType>& types) : dims(types.size()), memory(types.size()), types_(types) {}
  void* allocate(int output, const Dims& extents) override {
    const auto o = static_cast<size_t>(output);
    if (output < 0 || o >= memory.size()) return nullptr;
    dims[o] = extents;
    memory[o].resize(dtype_bytes(types_[o], extents.volume()) + 1);
    return memory[o].data();
  }
  std::vector<Dims> dims;
  std::vector<std::vector<std::byte>> memory;  // empty: never asked for

 private:
  const std::vector<DType>& types_;
};

class HostCall final : public Call {
 public:
  HostCall(std::unique_ptr<Call> call, std::shared_ptr<Device> device, std::vector<size_t> in, std::vector<size_t> out,
           std::vector<DType> types)
      : call_(std::move(call)),
        device_(std::move(device)),
        in_(std::move(in)),
        out_(std::move(out)),
        types_(std::move(types)) {}
  bool outputs_known() const override { return call_->outputs_known(); }
  bool recordable() const override { return false; }

  Status run(const RunArgs& args) const override {
    std::vector<std::vector<std::byte>> memory;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (size_t i = 0; i < in_.size(); ++i) {
      memory.emplace_back(in_[i] + 1);
      if (args.inputs[i] != nullptr)
        WOOTZ_RETURN_IF_ERROR(device_->copy(memory.back().data(), args.inputs[i], in_[i], args.stream));
      inputs.push_back(args.inputs[i] == nullptr ? nullptr : memory.back().data());
    }
    if (args.stream != nullptr) WOOTZ_RETURN_IF_ERROR(args.stream->synchronize());
    if (args.allocator != nullptr) return run_unsized(inputs, args);
    for (size_t o = 0; o < out_.size(); ++o) {
      memory.emplace_back(out_[o] + 1);
      outputs.push_back(args.outputs[o] == nullptr ? nullptr : memory.back().data());
    }
    WOOTZ_RETURN_IF_ERROR(call_->run({inputs.data(), outputs.data(), nullptr, nullptr, nullptr}));
    for (size_t o = 0; o < out_.size(); ++o)
      if (outputs[o] != nullptr)
        WOOTZ_RETURN_IF_ERROR(device_->copy(args.outputs[o], outputs[o], out_[o], args.stream));
    return args.stream == nullptr ? Status() : args.stream->synchronize();  // the copies' source goes away
  }

 private:
  Status run_unsized(const std::vector<const void*>& inputs, const RunArgs& args) const {
    HostResults results(types_);
    const std::vector<void*> nowhere(types_.size(), nullptr);
    WOOTZ_RETURN_IF_ERROR(call_->run({inputs.data(), nowhere.data(), nullptr, &results, nullptr}));
    for (size_t o = 0; o < types_.size(); ++o) {
      if (results.memory[o].empty()) continue;
      const size_t bytes = results.memory[o].size() - 1;
      void* const to = args.allocator->allocate(static_cast<int>(o), results.dims[o]);
      if (bytes == 0) continue;
      if (to == nullptr) return make_error(Code::kResourceExhausted, "no memory for output {} of {} bytes", o, bytes);
      WOOTZ_RETURN_IF_ERROR(device_->copy(to, results.memory[o].data(), bytes, args.stream));
    }
    return args.stream == nullptr ? Status() : args.stream->synchronize();  // the copies' source goes away
  }

  std::unique_ptr<Call> call_;
  std::shared_ptr<Device> device_;
  std::vector<size_t> in_, out_;
  std::vector<DType> types_;  // of the results
};

class HostKernel final : public Kernel {
 public:
  HostKernel(std::unique_ptr<Kernel> kernel, Problem problem, std::shared_ptr<Device> device)
      : kernel_(std::move(kernel)), problem_(std::move(problem)), device_(std::move(device)) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (device_ == nullptr) return unsupported("the device whose memory it would copy is not here");
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Call> call, kernel_->bind(args));
    std::vector<size_t> in, out;
    std::vector<DType> types;
    for (size_t i = 0; i < problem_.inputs.size(); ++i)
      in.push_back(dtype_bytes(problem_.inputs[i].dtype, args.inputs[i].volume()));
    for (size_t o = 0; o < problem_.outputs.size(); ++o)
      out.push_back(dtype_bytes(problem_.outputs[o].dtype, args.outputs[o].volume()));
    for (const TensorDesc& t : problem_.outputs) types.push_back(t.dtype);
    return std::unique_ptr<Call>(
        std::make_unique<HostCall>(std::move(call), device_, std::move(in), std::move(out), std::move(types)));
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  Problem problem_;
  std::shared_ptr<Device> device_;
};

// What goes one way or another by a value, or no further: there is no kernel for that, and the build warns of it.
bool is_control(std::string_view op) { return op == "If" || op == "Loop" || op == "Scan" || op == "Assert"; }

class HostStepsProvider final : public Provider {
 public:
  const char* name() const override { return "host"; }
  std::string version() const override { return reference_provider()->version(); }
  void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (is_plugin(problem)) return;
    if (!problem.is(Family::kOp)) {
      refusals->push_back({"host", "only steps of family 'op'"});
      return;
    }
    if (!limits.host_steps && !is_control(problem.as<OpParams>().op)) {
      refusals->push_back({"host",
                           "the device has no kernel for this, and computing it on the host was not allowed: "
                           "option host_steps=1 allows it"});
      return;
    }
    const size_t before = offers->size();
    reference_provider()->tactics(problem, limits, offers, refusals);
    for (size_t i = before; i < offers->size(); ++i) {
      (*offers)[i].tactic.provider = name();
      (*offers)[i].estimate_us = 1000;
    }
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    // Operands are copied as they are in rows.
    if (!problem.is(Family::kOp))
      return unsupported("the host computes no step of family '{}'", family_name(problem.family()));
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, reference_provider()->create(tactic, problem, limits));
    return std::unique_ptr<Kernel>(std::make_unique<HostKernel>(std::move(kernel), problem, limits.at));
  }
};

}  // namespace

const Provider& host_steps_provider() {
  static const HostStepsProvider provider;
  return provider;
}

}  // namespace wootz
