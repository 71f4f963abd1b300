// The provider "generated": a kernel is its problem; bound to extents it becomes source, machine code and launches.
#include <algorithm>

#include "backend/concurrent.h"
#include "backend/device.h"
#include "backend/random_state.h"
#include "backend/relayout.h"
#include "backend/shared_memory.h"
#include "backend/work.h"
#include "backends/cuda/generate/kernel_files.h"
#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/generate/kernels.h"
#include "backends/cuda/generate/launches.h"
#include "backends/cuda/generate/nibbles.h"
#include "backends/cuda/generate/special/random.h"
#include "backends/cuda/generate/special/special.h"
#include "backends/cuda/jit/compiler.h"
#include "backends/cuda/providers.h"
#include "backends/cuda/support/packed.h"
#include "backends/cuda/targets/devices.h"

namespace wootz::cuda {
namespace {

constexpr KernelEntry kKernels[] = {
#define KERNEL(...) {__VA_ARGS__},
#include "backends/cuda/generate/kernels.inc"
#undef KERNEL
};

// The first of a family, or the one of this name.
const KernelEntry* find_entry(Family family, std::string_view name = {}) {
  for (const KernelEntry& e : kKernels)
    if (e.family == family && (name.empty() || name == e.name)) return &e;
  return nullptr;
}

class GeneratedCall final : public Call, public SharedMemoryUser {
 public:
  std::vector<LoadedLaunch> launches;
  size_t bytes = 0;
  size_t workspace() const override { return bytes; }
  std::optional<size_t> shared_memory() const override { return shared_memory_of(launches); }
  Status run(const RunArgs& args) const override {
    auto* const stream = static_cast<CUstream>(args.stream == nullptr ? nullptr : args.stream->native());
    return run_launches(launches, {args.inputs, args.outputs, args.workspace}, stream);
  }
};

Status check_problem(const Problem& p) {
  if (p.outputs.empty()) return invalid_argument("a problem without outputs");
  if (p.inputs.size() + p.outputs.size() > kMostArguments)
    return unsupported("{} operands; at most {} go to one kernel", p.inputs.size() + p.outputs.size(), kMostArguments);
  const auto check = [&](const TensorDesc& t) -> Status {
    const bool may_omit = has_trait(p.family(), kMayOmit);
    if (t.dtype == DType::kInvalid && may_omit) return Status();
    if (t.dtype == DType::kInvalid || t.dtype == DType::kString) return unsupported("an omitted operand");
    if (t.layout == Layout::kOpaque && !t.constant) return invalid_argument("a packed operand");
    if (at_border_only(t.layout) && !p.is(Family::kReformat))
      return invalid_argument("an operand in layout {}, which is for inputs and outputs of networks",
                              layout_name(t.layout));
    WOOTZ_RETURN_IF_ERROR(checked_volume(t.dims.span()).status());
    return checked_volume(t.max_dims.span()).status();
  };
  for (const TensorDesc& t : p.inputs) WOOTZ_RETURN_IF_ERROR(check(t));
  for (const TensorDesc& t : p.outputs) WOOTZ_RETURN_IF_ERROR(check(t));
  if (p.num_main < 0 || static_cast<size_t>(p.num_main) > p.inputs.size())
    return invalid_argument("{} main inputs of {}", p.num_main, p.inputs.size());
  if (!p.epilogue.empty()) WOOTZ_RETURN_IF_ERROR(p.epilogue.verify());
  return Status();
}

Status generate(const KernelEntry& entry, const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (args.inputs.size() != p.inputs.size() || args.outputs.size() != p.outputs.size())
    return invalid_argument("{} inputs and {} outputs to bind, the problem has {} and {}", args.inputs.size(),
                            args.outputs.size(), p.inputs.size(), p.outputs.size());
  return entry.generate(p, args, launches);
}

Status generate_at(const KernelEntry& entry, const Problem& p, Dims TensorDesc::*extents,
                   std::vector<Launch>* launches) {
  std::vector<Dims> in, out;
  for (const TensorDesc& t : p.inputs) in.push_back(t.*extents);
  for (const TensorDesc& t : p.outputs) out.push_back(t.*extents);
  return generate(entry, p, {in, out, {}}, launches);
}

// A kernel that is offered must also do the profile's maximum: some are for small extents only.
Status generate_at_optimum(const KernelEntry& entry, const Problem& p, std::vector<Launch>* launches) {
  const auto dynamic = [](const TensorDesc& t) { return t.dynamic(); };
  if (std::any_of(p.inputs.begin(), p.inputs.end(), dynamic) ||
      std::any_of(p.outputs.begin(), p.outputs.end(), dynamic)) {
    std::vector<Launch> at_most;
    WOOTZ_RETURN_IF_ERROR(generate_at(entry, p, &TensorDesc::max_dims, &at_most));
  }
  return generate_at(entry, p, &TensorDesc::dims, launches);
}

class GeneratedKernel final : public Kernel, public PreparedKernel {
 public:
  GeneratedKernel(const KernelEntry& entry, Problem problem, Result<const Gpu*> gpu)
      : entry_(entry), problem_(std::move(problem)), gpu_(std::move(gpu)) {}
  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (entry_.pack == nullptr) return std::optional<PackedForm>{};
    return entry_.pack(problem_, input, source);
  }
  Result<std::optional<PackedForm>> pack_among(int input, std::span<const HostTensor> sources) const override {
    if (entry_.pack_among == nullptr) return Kernel::pack_among(input, sources);
    return entry_.pack_among(problem_, input, sources);
  }
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    std::vector<Launch> launches;
    WOOTZ_RETURN_IF_ERROR(check_packed(problem_, args, entry_.compressed));
    WOOTZ_RETURN_IF_ERROR(generate(entry_, problem_, args, &launches));
    auto call = std::make_unique<GeneratedCall>();
    call->bytes = workspace_of(launches);
    WOOTZ_ASSIGN_OR_RETURN(const Gpu* gpu, gpu_);
    WOOTZ_ASSIGN_OR_RETURN(call->launches, load_launches(*gpu, std::move(launches)));
    return std::unique_ptr<Call>(std::move(call));
  }
  void prepare(const BindArgs& args) const override {
    std::vector<Launch> launches;
    if (!gpu_.ok() || !generate(entry_, problem_, args, &launches).ok()) return;
    for (const Launch& l : launches) prepare_module(**gpu_, l.source);
  }
  Status native_code(const BindArgs& args, const DeviceDescription& device, KeepNative keep,
                     std::vector<NativeCode>* code) const override {
    if (keep == KeepNative::kNone) return Status();
    std::vector<Launch> launches;
    WOOTZ_RETURN_IF_ERROR(generate(entry_, problem_, args, &launches));
    return add_native_code(launches, device, code);
  }
  int in_place(int output) const override {
    if (output != 0 || problem_.outputs.size() != 1 || !(entry_.in_place || special_in_place(problem_))) return -1;
    const TensorDesc& y = problem_.outputs[0];
    for (size_t i = 0; i < problem_.inputs.size(); ++i) {
      const TensorDesc& x = problem_.inputs[i];
      if (x.constant || x.dtype != y.dtype || x.layout != y.layout || !(x.dims == y.dims) ||
          !(x.max_dims == y.max_dims))
        continue;
      if (entry_.family == Family::kPointwise || i == 0) return static_cast<int>(i);
    }
    return -1;
  }

 private:
  const KernelEntry& entry_;
  Problem problem_;
  Result<const Gpu*> gpu_;
};

// A device that is known must have what the kernel is made of.
Status check_capability(const KernelEntry& entry, const Limits& limits) {
  int capability = limits.device == nullptr ? 0 : capability_of(*limits.device);
  if (const Result<const Gpu*> gpu = gpu_of(limits); capability == 0 && gpu.ok()) capability = (*gpu)->arch();
  if (capability > entry.newest)
    return unsupported("its instructions are those of compute capability {}.{} alone", entry.newest / 10,
                       entry.newest % 10);
  if (capability == 0 || capability >= entry.capability) return Status();
  return unsupported("it needs compute capability {}.{}", entry.capability / 10, entry.capability % 10);
}

// A launch, and bytes at the memory's speed.
double rough_cost_us(const Problem& p, double overhead) {
  const wootz::Work work = work_of(p);
  return overhead * (2.0 + (work.bytes_read + work.bytes_written) / 3e6);
}

// A library computes the product or convolution but not with this expression: then the two are better steps of their
// own than one of our general kernels, which are for what no library takes.
bool better_apart(const Problem& problem, const Limits& limits) {
  if (problem.epilogue.empty() || (problem.family() != Family::kGemm && problem.family() != Family::kConv))
    return false;
  const Provider& library = problem.family() == Family::kGemm ? cublaslt_provider() : cudnn_provider();
  const auto& left_out = limits.left_out;
  if (std::find(left_out.begin(), left_out.end(), library.name()) != left_out.end()) return false;
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  library.tactics(problem, limits, &offers, &refusals);
  if (!offers.empty()) return true;
  Problem alone = problem;
  alone.epilogue = {};
  alone.inputs.resize(static_cast<size_t>(problem.num_main));
  alone.outputs[0].dtype = problem.acc_dtype;
  library.tactics(alone, limits, &offers, &refusals);
  return !offers.empty();
}

// Of a transposition between images with their channels first and last: the layouts in which it moves nothing.
std::vector<std::pair<Layout, Layout>> layouts_of_unmoved(const Problem& p) {
  if (!p.is(Family::kMove) || p.as<MoveParams>().kind != MoveKind::kTranspose || p.inputs.size() != 1) return {};
  std::vector<std::pair<Layout, Layout>> layouts;
  const auto is_one = [&](size_t axis) { return p.inputs[0].dims[axis] == 1 && p.inputs[0].max_dims[axis] == 1; };
  for (const auto& [from, to] :
       {std::pair(Layout::kChannelsLast, Layout::kLinear), std::pair(Layout::kLinear, Layout::kChannelsLast)})
    if (stays_in_place(p.as<MoveParams>().perm, from, to, is_one)) layouts.emplace_back(from, to);
  return layouts;
}

class GeneratedProvider final : public Provider, public ConcurrentProvider {
 public:
  const char* name() const override { return "generated"; }
  std::string version() const override { return kernel_files_version(); }
  std::shared_ptr<const void> hold(const Limits&) const override { return hold_compiled(); }

  void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    const KernelEntry* entry = find_entry(problem.family());
    if (entry == nullptr) {
      if (problem.family() != Family::kOp)
        refusals->push_back({"generated", fmt::format("no kernel of family '{}'", family_name(problem.family()))});
      return;
    }
    if (const Status usable = check_problem(problem); !usable.ok()) {
      refusals->push_back({entry->name, usable.message()});
      return;
    }
    const int rank = problem.outputs[0].dims.rank();
    const size_t before = offers->size();
    for (const KernelEntry& each : kKernels)
      if (each.family == problem.family() && !each.last) offer_entry(each, problem, rank, offers, refusals, limits);
    for (const KernelEntry& each : kKernels) {
      if (each.family != problem.family() || !each.last) continue;
      if (offers->size() != before)
        refusals->push_back({each.name, "a special kernel computes it"});
      else if (better_apart(problem, limits))
        refusals->push_back({each.name, "a library computes it, with this expression or with it as a step of its own"});
      else
        offer_entry(each, problem, rank, offers, refusals, limits);
    }
  }

  void offer_entry(const KernelEntry& each, const Problem& problem, int rank, std::vector<Candidate>* offers,
                   std::vector<Refusal>* refusals, const Limits& limits) const {
    const KernelEntry* const entry = &each;
    if (const Status able = check_capability(each, limits); !able.ok()) {
      refusals->push_back({each.name, able.message()});
      return;
    }
    if (each.tf32 && !limits.tf32) {
      refusals->push_back({each.name, "TF32 is not allowed"});
      return;
    }
    if (each.short_sums && !limits.tf32 && problem.outputs[0].dtype == DType::kF32) {
      refusals->push_back({each.name, "its sums have some 14 bits, and less than FP32 (TF32) is not allowed"});
      return;
    }
    const auto offer = [&](Layout layout, Layout made) {
      Problem p = problem;
      const auto fill = [&](TensorDesc& t, Layout own) {
        t.layout = !t.constant && t.dims.rank() == rank ? own : Layout::kLinear;
      };
      if (entry->layouts != Offered::kGiven) {
        for (TensorDesc& t : p.inputs) fill(t, layout);
        for (TensorDesc& t : p.outputs) fill(t, made);
      }
      if (entry->layouts == Offered::kIntoImages) p.inputs[0].layout = Layout::kLinear;
      std::vector<Launch> launches;
      if (const Status status = generate_at_optimum(*entry, p, &launches); !status.ok()) {
        refusals->push_back({entry->name, fmt::format("{}: {}", layout_name(layout), status.message())});
        return;
      }
      const double estimate = entry->estimate != nullptr ? entry->estimate(p) : rough_cost_us(problem, entry->overhead);
      if (estimate <= 0) {
        refusals->push_back({entry->name, fmt::format("{}: another tile suits it better", layout_name(layout))});
        return;
      }
      Candidate c;
      c.tactic = {name(), entry->name, ""};
      for (const TensorDesc& t : p.inputs) c.input_layouts.push_back(t.layout);
      for (const TensorDesc& t : p.outputs) c.output_layouts.push_back(t.layout);
      c.workspace = workspace_of(launches);
      c.estimate_us = estimate;
      offers->push_back(std::move(c));
    };
    const bool into_images = entry->layouts == Offered::kIntoImages;
    if (!into_images) offer(Layout::kLinear, Layout::kLinear);
    const bool or_planes = entry->layouts == Offered::kOrPlanes;
    if ((entry->layouts != Offered::kImages && !into_images && !or_planes) || rank < 3 || any_few_bits(problem)) return;
    offer(Layout::kChannelsLast, Layout::kChannelsLast);
    if (or_planes && makes_planes(problem)) offer(Layout::kChannelsLast, Layout::kLinear);
    for (const auto& [from, to] : layouts_of_unmoved(problem)) offer(from, to);
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    const KernelEntry* entry = find_entry(problem.family(), tactic.kernel.empty() ? "?" : tactic.kernel);
    if (entry == nullptr)
      return invalid_argument("the provider generated has no kernel '{}' of family '{}'", tactic.kernel,
                              family_name(problem.family()));
    WOOTZ_RETURN_IF_ERROR(check_problem(problem).with_prefix(tactic.kernel));
    WOOTZ_RETURN_IF_ERROR(check_capability(*entry, limits).with_prefix(tactic.kernel));
    std::vector<Launch> launches;
    WOOTZ_RETURN_IF_ERROR(generate_at_optimum(*entry, problem, &launches).with_prefix(tactic.kernel));
    if (is_random_state(problem)) return make_random_state_kernel(problem, limits);
    return std::unique_ptr<Kernel>(std::make_unique<GeneratedKernel>(*entry, problem, gpu_of(limits)));
  }
};

}  // namespace

std::span<const KernelEntry> kernel_table() { return kKernels; }

Status generate_at_optimum(const Problem& problem, std::vector<Launch>* launches) {
  Status status = unsupported("family {}", family_name(problem.family()));
  WOOTZ_RETURN_IF_ERROR(check_problem(problem));
  bool any = false;
  for (const KernelEntry& entry : kKernels) {
    if (entry.family != problem.family()) continue;
    status = generate_at_optimum(entry, problem, launches);
    any = any || status.ok();
  }
  return any ? Status() : status;
}

const Provider& generated_provider() {
  static const GeneratedProvider provider;
  return provider;
}

}  // namespace wootz::cuda
