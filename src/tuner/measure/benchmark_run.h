// A kernel with everything it needs to run once at given extents: packed constants, bound call, memory on the device.
#pragma once

#include <memory>
#include <vector>

#include "backend/device.h"
#include "backend/plugin.h"

namespace wootz {

// A kernel's constants in the form that it wants them.
struct PackedConstants {
  std::vector<const void*> data;  // by input; null: no constant
  std::vector<size_t> bytes;
  std::vector<std::shared_ptr<const void>> owners;
};
// `inputs` holds the row-major value of every constant input (others are not looked at).
Result<PackedConstants> pack_for(const Kernel& kernel, const Problem& problem, const std::vector<HostTensor>& inputs);

class BenchmarkRun {
 public:
  // `inputs`: row-major, invalid where omitted; `outputs`: extents. Every buffer has room for the problem's own extents
  // even when the run's are smaller. Errors: the kernel does not bind, no memory, outputs sized only by running.
  static Result<BenchmarkRun> prepare(const Kernel& kernel, const Problem& problem, const PackedConstants& constants,
                                      const std::vector<HostTensor>& inputs, const std::vector<Dims>& outputs,
                                      Device& device, Stream* stream);
  // From now on an input that the kernel can overwrite lies where the output does, as in a plan. Runs then see each
  // other's results: for timing only. True where there is such an input.
  bool share_in_place(const Kernel& kernel);
  // From now on each run reads its constants at the next of as many places in `memory` as copies of them fit there; how
  // many those are. For timing only.
  Result<int> rotate_constants(std::byte* memory, size_t bytes);
  Status run() const;
  // Row-major copies of what run() wrote; invalid where the output is omitted.
  Result<std::vector<HostTensor>> results() const;
  // False where a result holds an infinity or no number, or is of a type that is not looked at as it lies in memory.
  Result<bool> finite() const;

 private:
  using Memory = std::unique_ptr<void, std::function<void(void*)>>;
  BenchmarkRun() = default;
  Result<void*> allocate(size_t bytes);

  const Problem* problem_ = nullptr;
  Device* device_ = nullptr;
  Stream* stream_ = nullptr;
  std::unique_ptr<Call> call_;
  std::unique_ptr<KernelState> state_;
  std::vector<Memory> memory_;
  std::vector<const void*> inputs_;
  std::vector<size_t> constant_bytes_;             // by input; 0: no constant
  std::vector<std::vector<const void*>> rotated_;  // inputs of runs in turn; empty: inputs_ of all
  mutable size_t turn_ = 0;
  std::vector<void*> outputs_;
  std::vector<Dims> output_dims_;
  void* workspace_ = nullptr;
};

}  // namespace wootz
