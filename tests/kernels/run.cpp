#include "kernels/run.h"

#include <algorithm>
#include <cstring>

#include "backends/cuda/emulator/memory.h"
#include "backends/cuda/emulator/races.h"
#include "tuner/layout/relayout.h"

namespace wootz::kernels {
namespace {

constexpr size_t kGuard = 64;
constexpr std::byte kUntouched{0xa5};

}  // namespace

// Memory for results as large as the kernel finds them.
class KernelRun::Found final : public OutputAllocator {
 public:
  explicit Found(KernelRun* run) : run_(run) {}
  void* allocate(int output, const Dims& dims) override {
    const auto o = static_cast<size_t>(output);
    const Result<void*> memory = run_->allocate(dtype_bytes(run_->problem_.outputs[o].dtype, dims.volume()));
    if (!memory.ok()) return nullptr;
    run_->output_dims_[o] = dims;
    return run_->outputs_[o] = *memory;
  }
  void belongs_to(KernelRun* run) { run_ = run; }

 private:
  KernelRun* run_;
};

Result<void*> KernelRun::allocate(size_t bytes, size_t offset) {
  const bool guarded = device_->host_memory();
  const size_t end = offset + bytes;
  WOOTZ_ASSIGN_OR_RETURN(void* const made, device_->allocate(std::max<size_t>(guarded ? end + kGuard : end, 1), 64));
  memory_.push_back({{made, [device = device_](void* p) { device->free(p); }}, end});
  if (guarded) std::memset(made, static_cast<int>(kUntouched), end + kGuard);
  return static_cast<std::byte*>(made) + offset;
}

Status KernelRun::place_inputs(const KernelCase& c) {
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs_.push_back(nullptr);
    if (!c.inputs[i].valid()) continue;
    HostTensor placed;
    const void* from = constants_.data[i];
    size_t bytes = constants_.bytes[i];
    if (!problem_.inputs[i].constant) {
      WOOTZ_ASSIGN_OR_RETURN(placed, to_layout(c.inputs[i], problem_.inputs[i].layout));
      from = placed.data();
      bytes = placed.bytes();
    }
    const size_t offset = problem_.inputs[i].constant ? 0 : offset_of(problem_.inputs[i].dtype);
    WOOTZ_ASSIGN_OR_RETURN(void* const memory, allocate(bytes, offset));
    if (bytes != 0) WOOTZ_RETURN_IF_ERROR(device_->copy(memory, from, bytes, stream_));
    if (stream_ != nullptr) WOOTZ_RETURN_IF_ERROR(stream_->synchronize());  // `placed` goes away
    inputs_.back() = memory;
    if (!problem_.inputs[i].constant) cuda::mark_as_made(cuda::host_address(memory), bytes);
  }
  return Status();
}

Result<KernelRun> KernelRun::prepare(const Provider& provider, const Tactic& tactic, const Problem& problem,
                                     const KernelCase& c, const Limits& limits, Device& device, Stream* stream,
                                     bool odd) {
  KernelRun run;
  run.problem_ = problem;
  run.device_ = &device;
  run.stream_ = stream;
  run.odd_ = odd;
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, provider.create(tactic, problem, limits));
  run.kernel_ = std::move(kernel);
  WOOTZ_ASSIGN_OR_RETURN(run.constants_, pack_for(*run.kernel_, problem, c.inputs));
  run.output_dims_ = output_dims(c);
  std::vector<Dims> in;
  for (const HostTensor& t : c.inputs) in.push_back(t.valid() ? t.dims() : Dims{});
  WOOTZ_ASSIGN_OR_RETURN(run.call_,
                         run.kernel_->bind({in, run.output_dims_, run.constants_.data, run.constants_.bytes}));
  WOOTZ_ASSIGN_OR_RETURN(run.state_, attach_kernel(*run.kernel_, nullptr));
  WOOTZ_RETURN_IF_ERROR(run.place_inputs(c));
  if (!run.call_->outputs_known()) run.found_ = std::make_shared<Found>(&run);
  for (size_t o = 0; o < problem.outputs.size(); ++o) {
    const TensorDesc& t = problem.outputs[o];
    run.outputs_.push_back(nullptr);
    if (t.dtype == DType::kInvalid || run.found_ != nullptr) continue;
    WOOTZ_ASSIGN_OR_RETURN(run.outputs_.back(),
                           run.allocate(layout_bytes(t.layout, t.dtype, run.output_dims_[o]), run.offset_of(t.dtype)));
  }
  WOOTZ_ASSIGN_OR_RETURN(run.workspace_, run.allocate(run.call_->workspace()));
  return run;
}

Status KernelRun::run() {
  const DeviceScope current(*device_);
  if (found_ != nullptr) found_->belongs_to(this);
  return run_call(*call_, {inputs_.data(), outputs_.data(), workspace_, found_.get(), stream_}, state_.get());
}

Result<bool> KernelRun::share_in_place() {
  bool shared = false;
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const int place = kernel_->in_place(static_cast<int>(o));
    const auto i = static_cast<size_t>(place);
    if (place < 0 || i >= inputs_.size() || inputs_[i] == nullptr || outputs_[o] == nullptr) continue;
    const TensorDesc &in = problem_.inputs[i], &out = problem_.outputs[o];
    if (in.constant || in.dtype != out.dtype || in.layout != out.layout || !(in.dims == out.dims)) continue;
    const size_t bytes = layout_bytes(out.layout, out.dtype, output_dims_[o]);
    WOOTZ_RETURN_IF_ERROR(device_->copy(outputs_[o], inputs_[i], bytes, stream_));
    inputs_[i] = outputs_[o];
    shared = true;
  }
  return shared;
}

Result<std::vector<HostTensor>> KernelRun::results() const {
  if (stream_ != nullptr) WOOTZ_RETURN_IF_ERROR(stream_->synchronize());
  std::vector<HostTensor> tensors(outputs_.size());
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const TensorDesc& t = problem_.outputs[o];
    if (t.dtype == DType::kInvalid || outputs_[o] == nullptr) continue;
    std::vector<std::byte> bytes(layout_bytes(t.layout, t.dtype, output_dims_[o]));
    if (!bytes.empty()) WOOTZ_RETURN_IF_ERROR(device_->copy(bytes.data(), outputs_[o], bytes.size(), stream_));
    if (stream_ != nullptr) WOOTZ_RETURN_IF_ERROR(stream_->synchronize());
    WOOTZ_ASSIGN_OR_RETURN(tensors[o], from_layout(bytes.data(), t.layout, t.dtype, output_dims_[o]));
    if (t.layout == Layout::kLinear || bytes.empty()) continue;
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor clean, to_layout(tensors[o], t.layout));
    if (std::memcmp(clean.data(), bytes.data(), bytes.size()) != 0)
      return internal_error("output {}: what pads its channels is not zero", o);
  }
  return tensors;
}

std::string KernelRun::overrun() const {
  if (!device_->host_memory()) return "";
  for (const Memory& m : memory_) {
    const auto* const end = static_cast<const std::byte*>(m.data.get()) + m.end;
    if (std::any_of(end, end + kGuard, [](std::byte b) { return b != kUntouched; }))
      return fmt::format("written beyond a tensor that ends at byte {}", m.end);
  }
  return "";
}

}  // namespace wootz::kernels
