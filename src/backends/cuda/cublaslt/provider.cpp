// The provider "cublaslt": products, each of the library's proposals a tactic of its own.
#include <charconv>
#include <mutex>

#include "backend/concurrent.h"
#include "backend/device.h"
#include "backend/operand_dims.h"
#include "backend/shared_memory.h"
#include "backends/cuda/cublaslt/fp8.h"
#include "backends/cuda/cublaslt/gemm.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/providers.h"
#include "backends/cuda/support/packed.h"
#include "backends/cuda/support/tf32.h"
#include "backends/cuda/support/workspace.h"
#include "backends/cuda/targets/devices.h"

namespace wootz::cuda {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20;
constexpr int kProposals = 8;
constexpr int kFp8Proposals = 4;  // of either way to sum up
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

// What a kernel may do coarser than its operands' types would have it.
struct Arithmetic {
  bool tf32 = false;  // of f32
  bool fast = false;  // of floats of 8 bits: sums as the tensor cores keep them
};

std::string kernel_name(const Problem& p, const Arithmetic& how) {
  const DType type = p.inputs[0].dtype;
  return fmt::format("{}_{}{}_cublaslt", family_name(p.family()),
                     type == DType::kF32 && how.tf32 ? "tf32" : dtype_name(type),
                     is_fp8_product(p) && how.fast ? "_fast" : "");
}

// Which of them a tactic's kernel is. Nullopt: none of this problem.
std::optional<Arithmetic> arithmetic_of(const Problem& p, const std::string& kernel) {
  const Arithmetic ways[] = {{}, {.tf32 = true}, {.fast = true}};
  for (const Arithmetic& how : ways)
    if (kernel == kernel_name(p, how)) return how;
  return std::nullopt;
}

// Ok: the device that is built for multiplies such operands; one that is elsewhere, whatever its library will be.
Status check_device(const Product& product, const Result<const Gpu*>& gpu, const Limits& limits) {
  if (!product.fp8) return Status();
  if (gpu.ok()) return check_fp8_device((*gpu)->arch());
  const int capability = limits.device == nullptr ? 0 : capability_of(*limits.device);
  WOOTZ_RETURN_IF_ERROR(check_fp8_device(capability));
  if (product.by_column && capability != 90) return unsupported("scales by column on sm_{}", capability);
  return Status();
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
  LtKernel(Problem problem, Result<const Gpu*> gpu, Arithmetic how, bool given, const cublasLtMatmulAlgo_t& algo)
      : problem_(std::move(problem)), gpu_(std::move(gpu)), how_(how), given_(given), algo_(algo) {}
  // A constant matrix holds what the tensor cores will read.
  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (is_fp8_product(problem_)) return pack_fp8(problem_, input, source);
    if (input > 1 || !how_.tf32) return std::optional<PackedForm>{};
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
    WOOTZ_ASSIGN_OR_RETURN(Product product, describe_product(problem_, args.inputs, args.outputs[0], how_.tf32));
    product.fast = how_.fast;
    if (product.fp8) WOOTZ_RETURN_IF_ERROR(check_fp8_constants(product, args));
    auto call = std::make_unique<LtCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->plan, ProductPlan::create(*lt, product, how_.tf32));
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
  Arithmetic how_;
  bool given_;
  cublasLtMatmulAlgo_t algo_;
};

class CublasLtProvider final : public Provider, public ConcurrentProvider {
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
    const std::vector<Dims> in = operand_dims(problem.inputs);
    if (problem.outputs.size() != 1) return refuse(invalid_argument("{} outputs", problem.outputs.size()));
    Problem placed = problem;
    const int rank = problem.outputs[0].dims.rank();
    const Layout images = problem.family() == Family::kConv ? Layout::kChannelsLast : Layout::kLinear;
    for (TensorDesc& t : placed.inputs) t.layout = !t.constant && t.dims.rank() == rank ? images : Layout::kLinear;
    for (TensorDesc& t : placed.outputs) t.layout = images;
    Result<Product> product = describe_product(placed, in, problem.outputs[0].dims, limits.tf32);
    if (!product.ok()) return refuse(product.status());
    if (const Status able = check_device(*product, gpu, limits); !able.ok()) return refuse(able);
    Candidate offer;
    for (const TensorDesc& t : placed.inputs) offer.input_layouts.push_back(t.layout);
    offer.output_layouts.assign(1, images);
    const double flops = 2.0 * static_cast<double>(product->m) * static_cast<double>(product->n) *
                         static_cast<double>(product->k) * static_cast<double>(product->batch);
    offer.estimate_us = 3 + flops / (product->fp8 ? 4e8 : 2e8);
    offer.workspace = std::min(kWorkspace, limits.workspace);
    if (elsewhere) {  // the library cannot be asked for another device: chosen when the plan is loaded
      offer.tactic = {name(), kernel_name(problem, {.tf32 = limits.tf32}), ""};
      offers->push_back(std::move(offer));
      return;
    }
    if ((*lt)->handle == nullptr) return refuse(unsupported("cublasLtCreate failed"));
    const GpuScope scope(**gpu);
    static std::mutex mutex;  // the handle is one for all; asking takes next to no time
    const std::lock_guard<std::mutex> lock(mutex);
    for (const bool fast : {true, false}) {
      if (fast && !product->fp8) continue;
      product->fast = fast;
      const Arithmetic how{.tf32 = limits.tf32, .fast = fast};
      offer.tactic = {name(), kernel_name(problem, how), ""};
      if (const Status asked = offer_proposals(**lt, *product, limits, offer, offers); !asked.ok()) refuse(asked);
    }
  }

  // The library's proposals, each as a tactic of its own.
  static Status offer_proposals(const CublasLt& lt, const Product& product, const Limits& limits, Candidate offer,
                                std::vector<Candidate>* offers) {
    WOOTZ_ASSIGN_OR_RETURN(const auto plan, ProductPlan::create(lt, product, limits.tf32));
    const size_t least = kWorkspaceAlignment - 1, most = limits.workspace > least ? limits.workspace - least : 0;
    WOOTZ_ASSIGN_OR_RETURN(const auto proposals,
                           plan->proposals(std::min(kWorkspace, most), product.fp8 ? kFp8Proposals : kProposals));
    offer.ranked = true;
    for (size_t i = 0; i < proposals.size(); ++i) {
      const cublasLtMatmulHeuristicResult_t& r = proposals[i];
      offer.tactic.config = to_text(r.algo);
      offer.workspace = workspace_room(r.workspaceSize);
      offer.estimate_us += 0.01 * static_cast<double>(i);
      offers->push_back(offer);
    }
    return Status();
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    if ((problem.family() != Family::kGemm && problem.family() != Family::kConv) || problem.inputs.empty() ||
        problem.outputs.size() != 1)
      return invalid_argument("cublaslt computes products only");
    const std::optional<Arithmetic> how = arithmetic_of(problem, tactic.kernel);
    if (!how)
      return invalid_argument("the provider cublaslt has no kernel '{}' for {}", tactic.kernel,
                              dtype_name(problem.inputs[0].dtype));
    cublasLtMatmulAlgo_t algo{};
    if (!tactic.config.empty() && !from_text(tactic.config, &algo))
      return invalid_argument("'{}' is no algorithm of cuBLASLt", tactic.config.substr(0, 100));
    const std::vector<Dims> in = operand_dims(problem.inputs);
    WOOTZ_RETURN_IF_ERROR(describe_product(problem, in, problem.outputs[0].dims, how->tf32).status());
    return std::unique_ptr<Kernel>(
        std::make_unique<LtKernel>(problem, gpu_of(limits), *how, !tactic.config.empty(), algo));
  }
};

}  // namespace

const Provider& cublaslt_provider() {
  static const CublasLtProvider provider;
  return provider;
}

}  // namespace wootz::cuda
