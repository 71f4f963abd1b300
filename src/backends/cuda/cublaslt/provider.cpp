// The provider "cublaslt": products, each of the library's proposals a tactic of its own.
#include <charconv>

#include "backend/device.h"
#include "backend/shared_memory.h"
#include "backends/cuda/cublaslt/gemm.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/providers.h"
#include "backends/cuda/support/packed.h"
#include "backends/cuda/support/tf32.h"
#include "backends/cuda/support/workspace.h"

namespace wootz::cuda {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20;
constexpr int kProposals = 8;
constexpr size_t kWords = sizeof(cublasLtMatmulAlgo_t) / sizeof(uint64_t);

// An algorithm is 64 bytes without meaning to us; the text is plain data in plan and cache.
std::string to_text(const cublasLtMatmulAlgo_t& algo) {
  std::string text;
  for (const uint64_t word : algo.data) text += fmt::format("{}{:x}", text.empty() ? "" : ",", word);
  return text;
}
bool from_text(std::string_view text, cublasLtMatmulAlgo_t* algo) {
  for (size_t i = 0; i < kWords; ++i) {
    const size_t comma = std::min(text.find(','), text.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + comma, algo->data[i], 16);
    if (error != std::errc() || end != text.data() + comma || comma == 0) return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return text.empty();
}

std::string kernel_name(const Problem& p, bool tf32) {
  const DType type = p.inputs[0].dtype;
  return fmt::format("{}_{}_cublaslt", family_name(p.family()),
                     type == DType::kF32 && tf32 ? "tf32" : dtype_name(type));
}

class LtCall final : public Call, public SharedMemoryUser {
 public:
  std::unique_ptr<ProductPlan> plan;
  cublasLtMatmulAlgo_t algo{};
  size_t bytes = 0;
  size_t workspace() const override { return workspace_room(bytes); }
  std::optional<size_t> shared_memory() const override { return std::nullopt; }
  Status run(const RunArgs& args) const override {
    auto* const stream = static_cast<CUstream>(args.stream == nullptr ? nullptr : args.stream->native());
    return plan->run(algo, args, bytes, stream);
  }
};

class LtKernel final : public Kernel {
 public:
  LtKernel(Problem problem, Result<const Gpu*> gpu, bool tf32, bool given, const cublasLtMatmulAlgo_t& algo)
      : problem_(std::move(problem)), gpu_(std::move(gpu)), tf32_(tf32), given_(given), algo_(algo) {}
  // A constant matrix holds what the tensor cores will read.
  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (input > 1 || !tf32_) return std::optional<PackedForm>{};
    return std::optional(packed_by(source.bytes(), [this, input, source]() -> Result<std::vector<std::byte>> {
      return round_to_tf32(problem_, input, source);
    }));
  }
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.outputs.size() != 1) return invalid_argument("{} outputs of a product", args.outputs.size());
    WOOTZ_RETURN_IF_ERROR(check_packed(problem_, args));
    WOOTZ_ASSIGN_OR_RETURN(const Gpu* gpu, gpu_);
    WOOTZ_ASSIGN_OR_RETURN(const CublasLt* lt, cublaslt(gpu));
    if (lt->handle == nullptr) return unsupported("cublasLtCreate failed");
    const GpuScope scope(*gpu);
    WOOTZ_ASSIGN_OR_RETURN(const Product product, describe_product(problem_, args.inputs, args.outputs[0]));
    auto call = std::make_unique<LtCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->plan, ProductPlan::create(*lt, product, tf32_));
    call->algo = algo_;
    // Made by another version of the library, or for other extents: its own first proposal then.
    if (!given_ || !call->plan->accepts(call->algo, &call->bytes)) {
      WOOTZ_ASSIGN_OR_RETURN(const auto proposals, call->plan->proposals(kWorkspace, 1));
      if (proposals.empty()) return unsupported("cuBLASLt has no algorithm for it");
      call->algo = proposals[0].algo;
      call->bytes = proposals[0].workspaceSize;
    }
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  Problem problem_;
  Result<const Gpu*> gpu_;
  bool tf32_, given_;
  cublasLtMatmulAlgo_t algo_;
};

class CublasLtProvider final : public Provider {
 public:
  const char* name() const override { return "cublaslt"; }
  std::string version() const override {
    const Result<const CublasLt*> lt = cublaslt(nullptr);
    return lt.ok() ? std::to_string((*lt)->cublasLtGetVersion()) : "none";
  }

  void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (problem.family() != Family::kGemm && problem.family() != Family::kConv) return;
    const auto refuse = [&](const Status& why) {
      refusals->push_back({fmt::format("{}_cublaslt", family_name(problem.family())), why.message()});
    };
    const Result<const Gpu*> gpu = gpu_of(limits);
    const Result<const CublasLt*> lt = cublaslt(gpu.ok() ? *gpu : nullptr);
    // Without the library a described device may still be built for: it is the target that needs it.
    const bool elsewhere = !gpu.ok();
    if (!lt.ok() && !elsewhere) return refuse(lt.status());
    std::vector<Dims> in;
    for (const TensorDesc& t : problem.inputs) in.push_back(t.dims);
    if (problem.outputs.size() != 1) return refuse(invalid_argument("{} outputs", problem.outputs.size()));
    Problem placed = problem;
    const int rank = problem.outputs[0].dims.rank();
    const Layout images = problem.family() == Family::kConv ? Layout::kChannelsLast : Layout::kLinear;
    for (TensorDesc& t : placed.inputs) t.layout = !t.constant && t.dims.rank() == rank ? images : Layout::kLinear;
    for (TensorDesc& t : placed.outputs) t.layout = images;
    Result<Product> product = describe_product(placed, in, problem.outputs[0].dims);
    if (!product.ok()) return refuse(product.status());
    Candidate offer;
    offer.tactic = {name(), kernel_name(problem, limits.tf32), ""};
    for (const TensorDesc& t : placed.inputs) offer.input_layouts.push_back(t.layout);
    offer.output_layouts.assign(1, images);
    const double flops = 2.0 * static_cast<double>(product->m) * static_cast<double>(product->n) *
                         static_cast<double>(product->k) * static_cast<double>(product->batch);
    offer.estimate_us = 3 + flops / 2e8;
    offer.workspace = std::min(kWorkspace, limits.workspace);
    if (elsewhere) {  // the library cannot be asked for another device: chosen when the plan is loaded
      offers->push_back(std::move(offer));
      return;
    }
    if ((*lt)->handle == nullptr) return refuse(unsupported("cublasLtCreate failed"));
    const GpuScope scope(**gpu);
    Result<std::unique_ptr<ProductPlan>> plan = ProductPlan::create(**lt, *product, limits.tf32);
    if (!plan.ok()) return refuse(plan.status());
    const size_t least = kWorkspaceAlignment - 1, most = limits.workspace > least ? limits.workspace - least : 0;
    const auto proposals = (*plan)->proposals(std::min(kWorkspace, most), kProposals);
    if (!proposals.ok()) return refuse(proposals.status());
    for (size_t i = 0; i < proposals->size(); ++i) {
      const cublasLtMatmulHeuristicResult_t& r = (*proposals)[i];
      offer.tactic.config = to_text(r.algo);
      offer.workspace = workspace_room(r.workspaceSize);
      offer.estimate_us += 0.01 * static_cast<double>(i);
      offers->push_back(offer);
    }
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    if ((problem.family() != Family::kGemm && problem.family() != Family::kConv) || problem.inputs.empty() ||
        problem.outputs.size() != 1)
      return invalid_argument("cublaslt computes products only");
    const bool tf32 = tactic.kernel == kernel_name(problem, true) && problem.inputs[0].dtype == DType::kF32;
    if (!tf32 && tactic.kernel != kernel_name(problem, false))
      return invalid_argument("the provider cublaslt has no kernel '{}' for {}", tactic.kernel,
                              dtype_name(problem.inputs[0].dtype));
    cublasLtMatmulAlgo_t algo{};
    if (!tactic.config.empty() && !from_text(tactic.config, &algo))
      return invalid_argument("'{}' is no algorithm of cuBLASLt", tactic.config.substr(0, 100));
    std::vector<Dims> in;
    for (const TensorDesc& t : problem.inputs) in.push_back(t.dims);
    WOOTZ_RETURN_IF_ERROR(describe_product(problem, in, problem.outputs[0].dims).status());
    return std::unique_ptr<Kernel>(
        std::make_unique<LtKernel>(problem, gpu_of(limits), tf32, !tactic.config.empty(), algo));
  }
};

}  // namespace

const Provider& cublaslt_provider() {
  static const CublasLtProvider provider;
  return provider;
}

}  // namespace wootz::cuda
