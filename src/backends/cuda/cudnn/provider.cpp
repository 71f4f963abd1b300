// The provider "cudnn": convolutions with what follows them, and attention. Every configuration that the library
// proposes is a tactic of its own.
#include <algorithm>

#include "backend/concurrent.h"
#include "backend/device.h"
#include "backend/operand_dims.h"
#include "backend/quantized.h"
#include "backend/relayout.h"
#include "backend/shared_memory.h"
#include "backends/cuda/cudnn/describe.h"
#include "backends/cuda/cudnn/plans.h"
#include "backends/cuda/generate/kernels.h"
#include "backends/cuda/providers.h"
#include "backends/cuda/support/packed.h"
#include "backends/cuda/support/tf32.h"

namespace wootz::cuda {
namespace {

constexpr CudnnMost kProposals{8, 8};  // twice as many found nothing faster, and took twice as long to build
// What is compiled takes a processor up to two seconds.
constexpr CudnnMost kBesideTiles{5, 1};
// Layers of 8 bits that differ in their scales alone are problems of their own: every proposal costs.
constexpr CudnnMost kInt8Proposals{3, 3};
// Without the device nothing is timed: the library's first choice is all that its heuristics have to say.
constexpr CudnnMost kUntimed{1, 1};
constexpr size_t kWorkspaceGuess = size_t{32} << 20;

std::string kernel_name(const Problem& p, bool tf32) {
  const DType type = p.inputs.empty() ? DType::kF32 : p.inputs[0].dtype;
  return fmt::format("{}_{}_cudnn", family_name(p.family()), type == DType::kF32 && tf32 ? "tf32" : dtype_name(type));
}

Result<CudnnGraph> describe(const Problem& p, std::span<const Dims> in, std::span<const Dims> out, bool tf32) {
  if (out.size() != 1) return invalid_argument("{} outputs", out.size());
  if (has_scales(p) && (p.family() == Family::kConv || p.family() == Family::kGemm))
    return describe_int8(p, in, out[0]);
  if (p.family() == Family::kConv) return describe_conv(p, in, out[0], tf32);
  if (p.family() == Family::kAttention) return describe_attention(p, in, out[0]);
  return invalid_argument("cudnn is not asked for family {}", family_name(p.family()));
}

Result<CudnnGraph> describe_optimum(const Problem& p, bool tf32) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  return describe(p, in, out, tf32);
}

CudnnMost most_for(const Problem& p, const CudnnGraph& g, const CudnnTarget& target) {
  if (target.described != nullptr) return kUntimed;
  if (g.int8()) return kInt8Proposals;
  return has_half_tiles(p) ? kBesideTiles : kProposals;
}

double flops_of(const Problem& p, const CudnnGraph& g) {
  double flops = 2.0 * static_cast<double>(p.outputs[0].dims.volume());
  if (g.attention) return flops * 2.0 * static_cast<double>(g.w.dims[2]);  // a row of scores and one of values
  for (size_t a = 1; a < g.w.dims.size(); ++a) flops *= static_cast<double>(g.w.dims[a]);
  return flops;
}

// Of a kernel in a graph on an H200: a start, then arithmetic at what such kernels reach, and bytes.
double estimate_us(const Problem& p, const CudnnGraph& g) {
  double bytes = 0;
  for (const TensorDesc& t : p.inputs) bytes += static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
  if (g.attention) return 4 + flops_of(p, g) / 2e8 + bytes / 3e6;
  if (g.int8()) return 3 + flops_of(p, g) / 2e8 + bytes / 3e6;
  return 3 + flops_of(p, g) / 1e8 + bytes / 3e6 + (p.outputs[0].layout == Layout::kLinear ? 2 : 0);
}

class CudnnCall final : public Call, public SharedMemoryUser {
 public:
  explicit CudnnCall(std::shared_ptr<const CudnnPlan> plan) : plan_(std::move(plan)) {}
  size_t workspace() const override { return plan_->workspace(); }
  std::optional<size_t> shared_memory() const override { return std::nullopt; }
  Status run(const RunArgs& args) const override { return plan_->run(args); }

 private:
  std::shared_ptr<const CudnnPlan> plan_;
};

class CudnnKernel final : public Kernel, public PreparedKernel {
 public:
  CudnnKernel(Problem problem, Result<const Gpu*> gpu, bool tf32, std::string choice)
      : problem_(std::move(problem)), gpu_(std::move(gpu)), tf32_(tf32), choice_(std::move(choice)) {}

  // Weights lie as the activations do, and hold what the tensor cores will read.
  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (has_scales(problem_)) {
      if (input != 1) return std::optional<PackedForm>{};
      WOOTZ_ASSIGN_OR_RETURN(PackedForm packed, pack_int8_for_cudnn(problem_, source));
      return std::optional(std::move(packed));
    }
    const bool images = problem_.family() == Family::kConv && problem_.inputs[0].layout == Layout::kChannelsLast;
    if (input != 1 || problem_.family() != Family::kConv || (!images && !tf32_)) return std::optional<PackedForm>{};
    return std::optional(packed_by(source.bytes(), [this, input, source, images]() -> Result<std::vector<std::byte>> {
      std::vector<std::byte> plain;
      if (tf32_) plain = round_to_tf32(problem_, input, source);
      if (!images) return plain;
      std::vector<std::byte> packed(source.bytes());
      WOOTZ_RETURN_IF_ERROR(move_to_layout(tf32_ ? plain.data() : source.data(), Layout::kLinear, packed.data(),
                                           Layout::kChannelsLast, source.dtype(), source.dims()));
      return packed;
    }));
  }

  void prepare(const BindArgs& args) const override {
    const Result<CudnnGraph> graph = describe(problem_, args.inputs, args.outputs, tf32_);
    if (graph.ok() && gpu_.ok()) (void)cudnn_plan(**gpu_, *graph, choice_);
  }

  Status native_code(const BindArgs& args, const DeviceDescription& device, KeepNative keep,
                     std::vector<NativeCode>* code) const override {
    if (keep != KeepNative::kAll) return Status();
    WOOTZ_ASSIGN_OR_RETURN(const CudnnGraph graph, describe(problem_, args.inputs, args.outputs, tf32_));
    WOOTZ_ASSIGN_OR_RETURN(NativeCode made, cudnn_code(graph, choice_, device));
    code->push_back(std::move(made));
    return Status();
  }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    WOOTZ_RETURN_IF_ERROR(check_packed(problem_, args));
    WOOTZ_ASSIGN_OR_RETURN(const CudnnGraph graph, describe(problem_, args.inputs, args.outputs, tf32_));
    if (graph.int8() && args.constant_bytes.size() > 1 && args.constant_bytes[1] < packed_bytes(graph))
      return invalid_argument("{} bytes of packed weights, {} are read", args.constant_bytes[1], packed_bytes(graph));
    WOOTZ_ASSIGN_OR_RETURN(const Gpu* gpu, gpu_);
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const CudnnPlan> plan, cudnn_plan(*gpu, graph, choice_));
    return std::unique_ptr<Call>(std::make_unique<CudnnCall>(std::move(plan)));
  }

 private:
  Problem problem_;
  Result<const Gpu*> gpu_;
  bool tf32_;
  std::string choice_;
};

class CudnnProvider final : public Provider, public ConcurrentProvider {
 public:
  const char* name() const override { return "cudnn"; }
  std::string version() const override {
    const Result<std::string> version = cudnn_version();
    return version.ok() ? *version : "none";
  }
  std::shared_ptr<const void> hold(const Limits& limits) const override {
    const Result<const Gpu*> gpu = gpu_of(limits);
    return gpu.ok() ? hold_cudnn_plans(**gpu) : nullptr;
  }

  void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    const bool product = problem.family() == Family::kGemm && has_scales(problem);
    if (problem.family() != Family::kConv && problem.family() != Family::kAttention && !product) return;
    const auto refuse = [&](Layout layout, const Status& why) {
      refusals->push_back(
          {kernel_name(problem, limits.tf32), fmt::format("{}: {}", layout_name(layout), why.message())});
    };
    if (problem.outputs.size() != 1)
      return refuse(Layout::kLinear, invalid_argument("{} outputs", problem.outputs.size()));
    const Result<const Gpu*> gpu = gpu_of(limits);
    if (!gpu.ok() && limits.device == nullptr) return refuse(Layout::kLinear, gpu.status());
    const CudnnTarget target = gpu.ok() ? CudnnTarget(**gpu) : CudnnTarget(*limits.device);
    const int rank = problem.outputs[0].dims.rank();
    for (const Layout layout : {Layout::kChannelsLast, Layout::kLinear}) {
      if (layout == Layout::kChannelsLast && (rank < 3 || problem.family() != Family::kConv)) continue;
      Problem p = problem;
      const auto fill = [&](TensorDesc& t) {
        t.layout = !t.constant && t.dims.rank() == rank ? layout : Layout::kLinear;
      };
      for (TensorDesc& t : p.inputs) fill(t);
      for (TensorDesc& t : p.outputs) fill(t);
      if (p.family() == Family::kConv && p.inputs.size() > 1 && !p.inputs[1].constant &&
          layout == Layout::kChannelsLast) {
        refuse(layout, unsupported("weights that are not constant"));
        continue;
      }
      const Result<CudnnGraph> graph = describe_optimum(p, limits.tf32);
      if (!graph.ok()) {
        refuse(layout, graph.status());
        continue;
      }
      const Result<std::vector<std::string>> choices = cudnn_choices(*graph, target, most_for(p, *graph, target));
      if (!choices.ok()) {
        refuse(layout, choices.status());
        continue;
      }
      const double best = estimate_us(p, *graph);
      for (size_t i = 0; i < choices->size(); ++i) {
        Candidate c;
        c.tactic = {name(), kernel_name(problem, limits.tf32), (*choices)[i]};
        for (const TensorDesc& t : p.inputs) c.input_layouts.push_back(t.layout);
        for (const TensorDesc& t : p.outputs) c.output_layouts.push_back(t.layout);
        c.workspace = std::min(kWorkspaceGuess, limits.workspace);
        c.estimate_us = best + 0.01 * static_cast<double>(i);
        c.ranked = true;
        offers->push_back(std::move(c));
      }
    }
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    if (problem.inputs.size() < 2 || problem.outputs.size() != 1) return invalid_argument("a problem without operands");
    const bool tf32 = problem.inputs[0].dtype == DType::kF32 && tactic.kernel == kernel_name(problem, true);
    if (!tf32 && tactic.kernel != kernel_name(problem, false))
      return invalid_argument("the provider cudnn has no kernel '{}' for this", tactic.kernel);
    Problem p = problem;
    if (p.family() == Family::kConv && p.inputs[1].layout == Layout::kOpaque) p.inputs[1].layout = Layout::kLinear;
    WOOTZ_RETURN_IF_ERROR(describe_optimum(p, tf32).status());
    return std::unique_ptr<Kernel>(std::make_unique<CudnnKernel>(std::move(p), gpu_of(limits), tf32, tactic.config));
  }
};

}  // namespace

const Provider& cudnn_provider() {
  static const CudnnProvider provider;
  return provider;
}

}  // namespace wootz::cuda
