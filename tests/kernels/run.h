// A kernel with everything it needs to run on a case: packed constants, memory of the device, a bound call.
#pragma once

#include <functional>
#include <memory>

#include "backend/device.h"
#include "backend/plugin.h"
#include "kernels/cases.h"
#include "tuner/measure/benchmark_run.h"

namespace wootz::kernels {

class KernelRun {
 public:
  // `problem` has the layouts filled in. In host memory there is a guard after every tensor, and with `odd` tensors
  // lie at odd multiples of their elements' size, as parts of other tensors may.
  static Result<KernelRun> prepare(const Provider& provider, const Tactic& tactic, const Problem& problem,
                                   const KernelCase& c, const Limits& limits, Device& device, Stream* stream,
                                   bool odd = false);
  KernelRun(KernelRun&&) noexcept = default;
  Status run();
  // Of the last run, row-major.
  Result<std::vector<HostTensor>> results() const;
  // From now on an input that the kernel may overwrite lies where the result does. False: it may overwrite none. Only
  // one run after that has the case's operands.
  Result<bool> share_in_place();
  // Empty unless a run wrote beyond a tensor.
  std::string overrun() const;

 private:
  struct Memory {
    std::unique_ptr<void, std::function<void(void*)>> data;
    size_t end = 0;  // of the tensor in it
  };
  class Found;
  KernelRun() = default;
  Result<void*> allocate(size_t bytes, size_t offset = 0);
  size_t offset_of(DType type) const { return odd_ ? dtype_bytes(type, 1) : 0; }
  Status place_inputs(const KernelCase& c);

  Problem problem_;
  Device* device_ = nullptr;
  Stream* stream_ = nullptr;
  bool odd_ = false;
  std::shared_ptr<Kernel> kernel_;
  std::unique_ptr<Call> call_;
  std::unique_ptr<KernelState> state_;
  PackedConstants constants_;
  std::vector<Memory> memory_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Dims> output_dims_;
  std::shared_ptr<Found> found_;  // results whose sizes only running tells
  void* workspace_ = nullptr;
};

}  // namespace wootz::kernels
