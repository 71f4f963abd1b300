// Runs a kernel whose results are as many as it finds.
#pragma once

#include "backends/cpu/native_provider.h"
#include "backends/cpu/testing/kernel_runner.h"
#include "base/cpu_info.h"
#include "base/tolerance.h"

namespace wootz::cpu::rig {

class FoundResult final : public OutputAllocator {
 public:
  explicit FoundResult(DType type) : type_(type) {}
  void* allocate(int, const Dims& dims) override {
    tensor = HostTensor::allocate(type_, dims).value();
    return tensor.mutable_data();
  }
  HostTensor tensor;

 private:
  DType type_;
};

// The one result of the problem's only offer of a width, for inputs that may be invalid: left out.
inline Result<HostTensor> run_found_in(Isa width, const Problem& problem, const std::vector<HostTensor>& inputs,
                                       int threads) {
  Limits limits;
  limits.threads = threads;
  limits.isa_cap = isa_name(width);
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  native_provider().tactics(problem, limits, &offers, &refusals);
  if (offers.size() != 1) return unsupported("{} offers", offers.size());
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                         native_provider().create(offers[0].tactic, problem, limits));
  std::vector<Dims> in, out{problem.outputs[0].dims};
  std::vector<const void*> data;
  for (const HostTensor& t : inputs) {
    in.push_back(t.valid() ? t.dims() : Dims{});
    data.push_back(t.valid() ? t.data() : nullptr);
  }
  const std::vector<const void*> constants(in.size(), nullptr);
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Call> call, kernel->bind({in, out, constants}));
  EXPECT_FALSE(call->outputs_known());
  std::vector<std::byte> workspace(call->workspace() + 64);
  void* const aligned = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64) % 64;
  FoundResult result(problem.outputs[0].dtype);
  void* const nowhere = nullptr;
  WOOTZ_RETURN_IF_ERROR(call->run({data.data(), &nowhere, aligned, &result, nullptr}));
  return result.tensor;
}

// In every width that the processor has; they find the same. For what the caller compares with its definition.
inline Result<HostTensor> run_found(const Problem& problem, const std::vector<HostTensor>& inputs, int threads) {
  Result<HostTensor> narrow = run_found_in(Isa::kAvx2, problem, inputs, threads);
  if (!narrow.ok() || usable_isa() < Isa::kAvx512) return narrow;
  WOOTZ_ASSIGN_OR_RETURN(HostTensor wide, run_found_in(Isa::kAvx512, problem, inputs, threads));
  if (!(wide.dims() == narrow->dims()) || compare(wide, *narrow).max_abs != 0)
    return internal_error("{} found with AVX-512, {} without", wide.dims().to_string(), narrow->dims().to_string());
  return wide;
}

}  // namespace wootz::cpu::rig
