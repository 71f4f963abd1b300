// What was found for graphs, and their plans: proposed, built, kept, run.
#include "backends/cuda/cudnn/plans.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "backend/device.h"
#include "backends/cuda/cudnn/engines.h"
#include "backends/cuda/cudnn/lowering.h"
#include "backends/cuda/jit/code_store.h"
#include "backends/cuda/support/held.h"
#include "backends/cuda/support/workspace.h"
#include "backends/cuda/targets/devices.h"
#include "base/function_ref.h"
#include "base/tasks.h"

namespace wootz::cuda {
namespace {

using Operations = std::shared_ptr<const CudnnOperations>;

// Kernels that cuDNN 9.19 compiles for Hopper under this name begin while the kernel ahead of them still runs
// (programmatic dependent launch). The warps that load images and weights wait for its end; those that end a tile load
// the epilogue's operands before, and get what was there before where the kernel ahead makes them.
bool loads_too_early(const CudnnGraph& g, const CudnnBuilt& built) {
  if (std::none_of(g.operands.begin(), g.operands.end(), [](const CudnnTensor& t) { return t.made; })) return false;
  const Result<std::vector<char>> text = save_plan(built);
  return text.ok() && std::string_view(text->data(), text->size()).find("fort_native_sm90") != std::string_view::npos;
}

class Plan final : public CudnnPlan {
 public:
  // `operations` may be null: of a plan that was built before.
  Plan(const Gpu& gpu, const CudnnLibrary& library, const CudnnGraph& g, Operations operations, CudnnBuilt built)
      : gpu_(gpu),
        library_(library),
        operations_(std::move(operations)),
        bindings_(cudnn_bindings(g, library)),
        aligned_(g.attention),
        built_(std::move(built)),
        stop_before_(loads_too_early(g, built_)) {
    for (size_t i = 0; i < bindings_.size(); ++i) ids_.push_back(static_cast<int64_t>(i) + 1);
  }
  size_t workspace() const override { return workspace_room(built_.workspace + (stop_before_ ? 1 : 0)); }

  Status run(const RunArgs& args) const override {
    std::vector<void*> addresses(bindings_.size());
    for (size_t i = 0; i < bindings_.size(); ++i) WOOTZ_RETURN_IF_ERROR(bind(i, args, &addresses[i]));
    void* const workspace = built_.workspace == 0 ? nullptr : aligned_workspace(args.workspace);
    const auto count = static_cast<int64_t>(ids_.size());
    CudnnDescriptor pack(library_, cudnn::Kind::kVariantPack);
    pack.set(cudnn::Attribute::kPackWorkspace, workspace)
        .set(cudnn::Attribute::kPackPointers, cudnn::ValueType::kPointer, count, addresses.data())
        .set(cudnn::Attribute::kPackIds, ids_);
    WOOTZ_RETURN_IF_ERROR(pack.finish("addresses"));
    auto* const stream = static_cast<CUstream>(args.stream == nullptr ? nullptr : args.stream->native());
    if (stop_before_) WOOTZ_RETURN_IF_ERROR(wait_for_all_before(args.workspace, stream));
    const std::lock_guard<std::mutex> lock(library_.mutex);
    cudnn::Code code = library_.cudnnSetStream(library_.handle, stream);
    if (code != cudnn::kSuccess) return internal_error("{}", library_.error("the stream", code).message());
    code = library_.cudnnBackendExecute(library_.handle, built_.plan.raw(), pack.raw());
    return code == cudnn::kSuccess ? Status() : internal_error("{}", library_.error("running", code).message());
  }

 private:
  // What is no kernel lets no kernel begin early, neither itself nor the one after it.
  Status wait_for_all_before(void* workspace, CUstream stream) const {
    const auto at = reinterpret_cast<CUdeviceptr>(static_cast<char*>(aligned_workspace(workspace)) + built_.workspace);
    return check(gpu_.api->cuMemsetD8Async(at, 0, 1, stream), "cuMemsetD8Async");
  }
  Status bind(size_t i, const RunArgs& args, void** address) const {
    const CudnnBinding& b = bindings_[i];
    if (b.number) {
      *address = const_cast<float*>(&b.value);
      return Status();
    }
    void* const given = b.output ? args.outputs[b.index] : const_cast<void*>(args.inputs[b.index]);
    *address = static_cast<char*>(given) + b.offset;
    if (aligned_ && reinterpret_cast<uintptr_t>(*address) % 16 != 0)
      return invalid_argument("attention: {} {} is not at a multiple of 16 bytes", b.output ? "output" : "input",
                              b.index);
    return Status();
  }

  const Gpu& gpu_;
  const CudnnLibrary& library_;
  Operations operations_;
  std::vector<CudnnBinding> bindings_;
  std::vector<int64_t> ids_;
  bool aligned_;
  CudnnBuilt built_;
  bool stop_before_;  // the kernel must not begin before what is ahead of it has ended
};

using Choices = Once<Result<std::vector<std::string>>>;
// One thread makes the plan while others wait for it.
struct Slot {
  std::mutex mutex;
  std::weak_ptr<const CudnnPlan> plan;
};

// What was found for graphs. Of one GPU, or of all devices that are only described.
class Memory {
 public:
  std::shared_ptr<Choices> choices(const std::string& key) { return of(key, &choices_); }
  std::shared_ptr<Slot> slot(const std::string& key) { return of(key, &slots_); }
  Held<std::vector<std::shared_ptr<const CudnnPlan>>> plans;

 private:
  template <typename T>
  std::shared_ptr<T> of(const std::string& key, std::map<std::string, std::shared_ptr<T>>* all) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<T>& found = (*all)[key];
    if (found == nullptr) found = std::make_shared<T>();
    return found;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Choices>> choices_;
  std::map<std::string, std::shared_ptr<Slot>> slots_;
};
Memory& memory_of(const CudnnTarget& target) {
  static auto* described = new Memory;
  return target.gpu == nullptr ? *described : target.gpu->part<Memory>();
}

Result<CudnnBuilt> build_choice(const CudnnOperations& ops, const std::string& choice) {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnDescriptor config, engine_from_text(choice, ops));
  return build_engine(config, ops.library());
}

// The choice, or where the library takes it no longer, its own first one that can be built.
Result<CudnnBuilt> build(const CudnnGraph& g, const CudnnOperations& ops, const std::string& choice) {
  if (!choice.empty())
    if (Result<CudnnBuilt> built = build_choice(ops, choice); built.ok()) return built;
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<CudnnDescriptor> all, propose_engines(ops, g));
  Status first;
  for (const CudnnDescriptor& config : all) {
    Result<CudnnBuilt> built = build_engine(config, ops.library());
    if (built.ok()) return built;
    if (first.ok()) first = built.status();
  }
  return first;
}

// Of a built plan, for this version of the library and this architecture.
std::string code_key(const CudnnGraph& g, const CudnnLibrary& library, const std::string& choice, int capability) {
  return fmt::format("cudnn plan {} sm_{} {}", library.version, capability, digest_text(g.key() + choice));
}

Result<CudnnBuilt> find_built(const std::string& key, const Gpu& gpu) {
  std::optional<std::vector<char>> code = find_offered(key);
  if (!code) code = find_kept(key);
  if (!code) return unsupported("nothing was kept");
  WOOTZ_ASSIGN_OR_RETURN(const CudnnLease lease, CudnnLease::take(&gpu));
  return load_plan(*code, lease.library());
}

}  // namespace

Result<std::string> cudnn_version() {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnLibrary* library, cudnn_library(nullptr));
  return std::to_string(library->version);
}

namespace {

struct Proposal {
  std::string text;
  bool compiled;
};

// What the library's heuristics have for a graph, best first.
Result<std::vector<Proposal>> propose(const CudnnGraph& g, const CudnnTarget& target) {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnLease lease, CudnnLease::take(target.gpu));
  WOOTZ_ASSIGN_OR_RETURN(const Operations ops, cudnn_operations(g, lease.library(), target));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<CudnnDescriptor> all, propose_engines(*ops, g));
  std::vector<Proposal> proposals;
  for (const CudnnDescriptor& config : all) {
    Result<std::string> text = engine_text(config, lease.library());
    const auto is_it = [&](const Proposal& p) { return p.text == *text; };
    if (!text.ok() || std::any_of(proposals.begin(), proposals.end(), is_it)) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool compiled, compiles(config, lease.library()));
    proposals.push_back({std::move(*text), compiled});
  }
  return proposals;
}

using Build = FunctionRef<Result<CudnnBuilt>(const CudnnOperations&)>;

// Of the graph's own description and by a handle of its own: no two threads share anything of the library's.
Result<CudnnBuilt> build_apart(const CudnnGraph& g, const CudnnTarget& target, Operations* ops, Build build) {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnLease lease, CudnnLease::take(target.gpu));
  WOOTZ_ASSIGN_OR_RETURN(*ops, cudnn_operations(g, lease.library(), target));
  return build(**ops);
}

// As it is there, as it was kept, or as it is built now; it stays for as long as a build holds on.
Result<std::shared_ptr<const CudnnPlan>> plan_of(const Gpu& gpu, const CudnnGraph& g, const std::string& choice,
                                                 Build build) {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnLibrary* const library, cudnn_library(&gpu));
  Memory& known = memory_of(gpu);
  const std::shared_ptr<Slot> slot = known.slot(g.key() + choice);
  const std::lock_guard<std::mutex> lock(slot->mutex);
  if (std::shared_ptr<const CudnnPlan> plan = slot->plan.lock()) return plan;
  const GpuScope scope(gpu);
  const std::string kept = code_key(g, *library, choice, gpu.arch());
  Operations ops;
  Result<CudnnBuilt> built = find_built(kept, gpu);
  if (!built.ok()) {  // or what was kept does not load, whatever is wrong with it
    built = build_apart(g, gpu, &ops, build);
    if (!built.ok()) return built.status();
    if (const Result<std::vector<char>> code = save_plan(*built); code.ok()) keep(kept, *code);
  }
  std::shared_ptr<const CudnnPlan> plan = std::make_shared<Plan>(gpu, *library, g, ops, std::move(built).value());
  slot->plan = plan;
  known.plans.with([&](auto& all) { all.push_back(plan); });
  return plan;
}

// Whether a proposal can be built.
Status try_to_build(const CudnnGraph& g, const CudnnTarget& target, const std::string& choice) {
  const auto build = [&](const CudnnOperations& ops) { return build_choice(ops, choice); };
  if (target.gpu != nullptr) return plan_of(*target.gpu, g, choice, build).status();
  Operations ops;
  return build_apart(g, target, &ops, build).status();
}

// Takes out of `left` what is to be tried next: as many as are wanted, if all of them can be built.
std::vector<Proposal> take(std::vector<Proposal>* left, CudnnMost wanted) {
  std::vector<Proposal> taken;
  std::erase_if(*left, [&](Proposal& p) {
    if (taken.size() == wanted.all || (p.compiled && wanted.compiled == 0)) return false;
    if (p.compiled) --wanted.compiled;
    taken.push_back(std::move(p));
    return true;
  });
  return taken;
}

// The first that can be built: what is refused late is refused here. Within run_tasks() several are built at once.
Result<std::vector<std::string>> find_choices(const CudnnGraph& g, const CudnnTarget& target, CudnnMost most) {
  const GpuScope scope(target.gpu);
  WOOTZ_ASSIGN_OR_RETURN(std::vector<Proposal> left, propose(g, target));
  const bool kept = KeptCodeScope::allowed();
  std::vector<std::string> choices;
  Status refused;
  for (std::vector<Proposal> tried; !(tried = take(&left, most)).empty();) {
    std::vector<Status> built(tried.size());
    run_tasks(built.size(), 1, [&](size_t i) {
      const KeptCodeScope same(kept);
      built[i] = try_to_build(g, target, tried[i].text);
    });
    for (size_t i = 0; i < tried.size(); ++i) {
      if (!built[i].ok()) {
        refused = built[i];
        continue;
      }
      --most.all;
      if (tried[i].compiled) --most.compiled;
      choices.push_back(std::move(tried[i].text));
    }
  }
  if (choices.empty()) return refused.ok() ? unsupported("cuDNN has no engine for it") : refused;
  return choices;
}

}  // namespace

std::shared_ptr<const void> hold_cudnn_plans(const Gpu& gpu) { return memory_of(gpu).plans.hold(); }

Result<std::vector<std::string>> cudnn_choices(const CudnnGraph& g, const CudnnTarget& target, CudnnMost most) {
  const DeviceDescription* const described = target.described;
  const std::string key =
      fmt::format("{} of {} {}{}", most.compiled, most.all, g.key(), described == nullptr ? "" : described->properties);
  return memory_of(target).choices(key)->get([&] { return find_choices(g, target, most); });
}

Result<std::shared_ptr<const CudnnPlan>> cudnn_plan(const Gpu& gpu, const CudnnGraph& g, const std::string& choice) {
  return plan_of(gpu, g, choice, [&](const CudnnOperations& ops) { return build(g, ops, choice); });
}

Result<NativeCode> cudnn_code(const CudnnGraph& g, const std::string& choice, const DeviceDescription& device) {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnLibrary* const library, cudnn_library(nullptr));
  WOOTZ_ASSIGN_OR_RETURN(const Operations ops, cudnn_operations(g, *library, device));
  WOOTZ_ASSIGN_OR_RETURN(const CudnnBuilt built, build(g, *ops, choice));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<char> code, save_plan(built));
  return make_native(code_key(g, *library, choice, capability_of(device)), std::move(code));
}

}  // namespace wootz::cuda
