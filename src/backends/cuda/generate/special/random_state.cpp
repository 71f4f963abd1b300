#include "backend/random_state.h"

#include "backend/device.h"
#include "backend/plugin.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/generate/launches.h"
#include "backends/cuda/generate/special/random.h"
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

struct State final : KernelState {
  ~State() override { device->free(memory); }
  State(std::shared_ptr<Device> of, void* at) : device(std::move(of)), memory(at) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  std::shared_ptr<Device> device;
  void* memory;
};

class StateCall final : public StatefulCall {
 public:
  explicit StateCall(std::vector<LoadedLaunch> launches) : launches_(std::move(launches)) {}
  Status run_with(const RunArgs& args, KernelState* kept) const override {
    const void* const state[] = {static_cast<State*>(kept)->memory};
    auto* const stream = static_cast<CUstream>(args.stream == nullptr ? nullptr : args.stream->native());
    return run_launches(launches_, {state, args.outputs, args.workspace}, stream);
  }

 private:
  std::vector<LoadedLaunch> launches_;
};

class StateKernel final : public StatefulKernel {
 public:
  StateKernel(Problem problem, const Limits& limits)
      : problem_(std::move(problem)), gpu_(gpu_of(limits)), device_(limits.at) {}

  Result<std::unique_ptr<KernelState>> attach(const ContextServices*) const override {
    if (device_ == nullptr) return unsupported("random numbers of a device that is not here");
    WOOTZ_ASSIGN_OR_RETURN(const RandomState first, first_random_state(problem_));
    const int64_t values[] = {first.key, first.drawn};
    WOOTZ_ASSIGN_OR_RETURN(void* const memory, device_->allocate(sizeof values, alignof(int64_t)));
    auto state = std::make_unique<State>(device_, memory);
    WOOTZ_RETURN_IF_ERROR(device_->copy(memory, values, sizeof values, nullptr));
    return std::unique_ptr<KernelState>(std::move(state));
  }
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    std::vector<Launch> launches;
    WOOTZ_RETURN_IF_ERROR(generate_random_state(problem_, args, &launches));
    WOOTZ_ASSIGN_OR_RETURN(const Gpu* gpu, gpu_);
    WOOTZ_ASSIGN_OR_RETURN(std::vector<LoadedLaunch> loaded, load_launches(*gpu, std::move(launches)));
    return std::unique_ptr<Call>(std::make_unique<StateCall>(std::move(loaded)));
  }
  Status native_code(const BindArgs& args, const DeviceDescription& device, KeepNative keep,
                     std::vector<NativeCode>* code) const override {
    if (keep == KeepNative::kNone) return Status();
    std::vector<Launch> launches;
    WOOTZ_RETURN_IF_ERROR(generate_random_state(problem_, args, &launches));
    return add_native_code(launches, device, code);
  }

 private:
  Problem problem_;
  Result<const Gpu*> gpu_;
  std::shared_ptr<Device> device_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_random_state_kernel(const Problem& problem, const Limits& limits) {
  WOOTZ_RETURN_IF_ERROR(first_random_state(problem).status());
  return std::unique_ptr<Kernel>(std::make_unique<StateKernel>(problem, limits));
}

}  // namespace wootz::cuda
