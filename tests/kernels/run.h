// A kernel with everything it needs to run on a case: packed constants, memory of the device, a bound call.
#pragma once

#include <functional>
#include <memory>

#include "backend/device.h"
#include "kernels/cases.h"
#include "tuner/trial.h"

namespace wootz::kernels {

class KernelRun {
 public:
  // `problem` has the layouts filled in. In host memory there is a guard behind every tensor.
  static Result<KernelRun> prepare(const Provider& provider, const Tactic& tactic, const Problem& problem,
                                   const KernelCase& c, const Limits& limits, Device& device, Stream* stream);
  KernelRun(KernelRun&&) noexcept = default;
  Status run();
  // Of the last run, row-major.
  Result<std::vector<HostTensor>> results() const;
  // From now on an input that the kernel may overwrite lies where the result does. False: it may overwrite none. Only
  // one run after that has the case's operands.
  Result<bool> share_in_place();
  // Empty unless a run wrote behind a tensor.
  std::string overrun() const;

 private:
  struct Memory {
    std::unique_ptr<void, std::function<void(void*)>> data;
    size_t bytes = 0;
  };
  class Found;
  KernelRun() = default;
  Result<void*> allocate(size_t bytes);
  Status place_inputs(const KernelCase& c);

  Problem problem_;
  Device* device_ = nullptr;
  Stream* stream_ = nullptr;
  std::shared_ptr<Kernel> kernel_;
  std::unique_ptr<Call> call_;
  PackedConstants constants_;
  std::vector<Memory> memory_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Dims> output_dims_;
  std::shared_ptr<Found> found_;  // results whose sizes only running tells
  void* workspace_ = nullptr;
};

}  // namespace wootz::kernels
