// The provider "selecting": ops whose results are as many as they find. The host waits to learn how many.
#include <algorithm>

#include "backend/device.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/generate/kernel_files.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/launches.h"
#include "backends/cuda/generate/special/select.h"
#include "backends/cuda/providers.h"

namespace wootz::cuda {
namespace {

constexpr const char* kKernelName = "op_generated_select";

Status select_at(const Problem& p, const BindArgs& args, Selection* selection) {
  const auto& op = p.as<OpParams>();
  const Select select = find_select(p);
  if (select == nullptr) return unsupported("op {}", op.op);
  if (!op.own_sizes) return unsupported("{} with results of known size", op.op);
  if (args.inputs.size() != p.inputs.size() || args.outputs.size() != p.outputs.size() || p.inputs.empty())
    return invalid_argument("{} inputs and {} outputs to bind, the problem has {} and {}", args.inputs.size(),
                            args.outputs.size(), p.inputs.size(), p.outputs.size());
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    if (p.inputs[i].layout != Layout::kLinear) return unsupported("layout {}", layout_name(p.inputs[i].layout));
    WOOTZ_RETURN_IF_ERROR(checked_volume(args.inputs[i].span()).status());
  }
  return select(p, args, selection);
}

Status select_at(const Problem& p, Dims TensorDesc::*extents, Selection* selection) {
  std::vector<Dims> in, out;
  for (const TensorDesc& t : p.inputs) in.push_back(t.*extents);
  for (const TensorDesc& t : p.outputs) out.push_back(t.*extents);
  return select_at(p, {in, out, {}}, selection);
}

class SelectingCall final : public Call {
 public:
  const Gpu* gpu = nullptr;
  std::vector<LoadedLaunch> find, write;
  std::vector<std::vector<int64_t>> results;
  std::vector<bool> wanted;
  int64_t most = 0;
  size_t bytes = 0;
  size_t workspace() const override { return bytes; }
  bool outputs_known() const override { return false; }
  bool recordable() const override { return false; }

  Status run(const RunArgs& args) const override {
    if (args.allocator == nullptr) return invalid_argument("nobody says where as many results as are found go");
    auto* const stream = static_cast<CUstream>(args.stream == nullptr ? nullptr : args.stream->native());
    int64_t count = 0;
    if (most > 0) {
      WOOTZ_RETURN_IF_ERROR(run_launches(find, {args.inputs, nullptr, args.workspace}, stream));
      WOOTZ_CUDA_RETURN_IF_ERROR(*gpu->api, cuMemcpyAsync, reinterpret_cast<CUdeviceptr>(&count),
                                 reinterpret_cast<CUdeviceptr>(args.workspace), sizeof count, stream);
      WOOTZ_CUDA_RETURN_IF_ERROR(*gpu->api, cuStreamSynchronize, stream);
    }
    if (count < 0 || count > most) return internal_error("{} results were found, of at most {}", count, most);
    std::vector<void*> outputs;
    bool any = false;
    for (size_t o = 0; o < results.size(); ++o) {
      outputs.push_back(nullptr);
      if (!wanted[o]) continue;
      Dims dims;
      for (const int64_t d : results[o]) dims.push_back(d < 0 ? count : d);
      outputs[o] = args.allocator->allocate(static_cast<int>(o), dims);
      if (dims.volume() == 0) continue;
      any = true;
      if (outputs[o] == nullptr)
        return make_error(Code::kResourceExhausted, "no memory for results {}", dims.to_string());
    }
    return any ? run_launches(write, {args.inputs, outputs.data(), args.workspace}, stream) : Status();
  }
};

class SelectingKernel final : public Kernel {
 public:
  SelectingKernel(Problem problem, Result<const Gpu*> gpu) : problem_(std::move(problem)), gpu_(std::move(gpu)) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    Selection selection;
    WOOTZ_RETURN_IF_ERROR(select_at(problem_, args, &selection));
    auto call = std::make_unique<SelectingCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->gpu, gpu_);
    call->bytes = std::max(workspace_of(selection.find), workspace_of(selection.write));
    call->results = std::move(selection.results);
    for (const TensorDesc& t : problem_.outputs) call->wanted.push_back(t.dtype != DType::kInvalid);
    call->most = selection.most;
    WOOTZ_ASSIGN_OR_RETURN(call->find, load_launches(*call->gpu, std::move(selection.find)));
    WOOTZ_ASSIGN_OR_RETURN(call->write, load_launches(*call->gpu, std::move(selection.write)));
    return std::unique_ptr<Call>(std::move(call));
  }
  Status native_code(const BindArgs& args, const DeviceDescription& device, KeepNative keep,
                     std::vector<NativeCode>* code) const override {
    if (keep == KeepNative::kNone) return Status();
    Selection selection;
    WOOTZ_RETURN_IF_ERROR(select_at(problem_, args, &selection));
    WOOTZ_RETURN_IF_ERROR(add_native_code(selection.find, device, code));
    return add_native_code(selection.write, device, code);
  }

 private:
  Problem problem_;
  Result<const Gpu*> gpu_;
};

class SelectingProvider final : public Provider {
 public:
  const char* name() const override { return "selecting"; }
  std::string version() const override { return kernel_files_version(); }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (problem.family() != Family::kOp || find_select(problem) == nullptr) return;
    Selection at_most, selection;
    Status status = select_at(problem, &TensorDesc::max_dims, &at_most);
    if (status.ok()) status = select_at(problem, &TensorDesc::dims, &selection);
    if (!status.ok()) {
      refusals->push_back({kKernelName, status.message()});
      return;
    }
    Candidate c;
    c.tactic = {name(), kKernelName, ""};
    c.input_layouts.assign(problem.inputs.size(), Layout::kLinear);
    c.output_layouts.assign(problem.outputs.size(), Layout::kLinear);
    c.workspace = std::max(workspace_of(at_most.find), workspace_of(at_most.write));
    c.estimate_us = 30;  // a few launches, and the host that waits
    offers->push_back(std::move(c));
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    if (tactic.kernel != kKernelName || problem.family() != Family::kOp)
      return invalid_argument("the provider selecting has no kernel '{}' of family '{}'", tactic.kernel,
                              family_name(problem.family()));
    Selection selection;
    WOOTZ_RETURN_IF_ERROR(select_at(problem, &TensorDesc::dims, &selection).with_prefix(tactic.kernel));
    return std::unique_ptr<Kernel>(std::make_unique<SelectingKernel>(problem, gpu_of(limits)));
  }
};

}  // namespace

Status select_at_optimum(const Problem& problem, Selection* selection) {
  return select_at(problem, &TensorDesc::dims, selection);
}

const Provider& selecting_provider() {
  static const SelectingProvider provider;
  return provider;
}

}  // namespace wootz::cuda
