// A normalization and the product that reads it (family chain), one after the other in one step: by a generated kernel
// and whatever kernel a provider offers for the product. Offered beside kernels that compute both at once, so that the
// measured times say which is better; nothing is offered where there is no such kernel, since these are two steps then.
#include <algorithm>
#include <array>

#include "backend/chain.h"
#include "backend/concurrent.h"
#include "backend/shared_memory.h"
#include "backends/cuda/providers.h"

namespace wootz::cuda {
namespace {

constexpr const char* kName = "chain_apart";
constexpr size_t kAlign = 256, kMostOperands = 32;

constexpr size_t kMostCompiled = 2;

bool is_faster(const Candidate& a, const Candidate& b) { return a.estimate_us < b.estimate_us; }

constexpr std::array<const Provider& (*)(), 2> kParts = {cublaslt_provider, generated_provider};

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

Result<ChainParts> parts_of(const Problem& problem) {
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(problem));
  if (!parts.first.is(Family::kNorm) || !parts.second.is(Family::kGemm))
    return unsupported("another chain than a normalization and a product");
  const auto linear = [](const TensorDesc& t) { return t.constant || t.layout == Layout::kLinear; };
  if (!std::all_of(problem.inputs.begin(), problem.inputs.end(), linear) ||
      !std::all_of(problem.outputs.begin(), problem.outputs.end(), linear))
    return unsupported("rows in another layout than row-major");
  return parts;
}

// "provider:kernel?config" of both, one after the other.
std::string config_of(const Tactic& first, const Tactic& second) {
  return fmt::format("{}|{}", first.to_string(), second.to_string());
}

Result<Tactic> parse_tactic(std::string_view text) {
  const size_t colon = text.find(':'), mark = text.find('?');
  if (colon == std::string_view::npos || (mark != std::string_view::npos && mark < colon))
    return invalid_argument("{}: no provider in '{}'", kName, text);
  Tactic t{std::string(text.substr(0, colon)), "", ""};
  t.kernel = text.substr(colon + 1, mark == std::string_view::npos ? mark : mark - colon - 1);
  if (mark != std::string_view::npos) t.config = text.substr(mark + 1);
  return t;
}

Result<std::unique_ptr<Kernel>> create_part(std::string_view text, const Problem& problem, const Limits& limits) {
  WOOTZ_ASSIGN_OR_RETURN(const Tactic tactic, parse_tactic(text));
  for (const auto& provider : kParts)
    if (provider().name() == tactic.provider) return provider().create(tactic, problem, limits);
  return invalid_argument("{}: no provider is called '{}'", kName, tactic.provider);
}

// Operands and constants of a part, as its own kernel has them; what is in between stands in front of the second's.
struct PartArgs {
  std::vector<Dims> inputs;
  std::vector<const void*> constants;
  std::vector<size_t> bytes;
  PartArgs(const BindArgs& args, size_t begin, size_t end, const Dims* middle) {
    const auto take = [&](const auto& list, auto* to, const auto& in_front) {
      if (list.size() < end) return;
      if (middle != nullptr) to->push_back(in_front);
      to->insert(to->end(), list.begin() + static_cast<ptrdiff_t>(begin), list.begin() + static_cast<ptrdiff_t>(end));
    };
    take(args.inputs, &inputs, middle == nullptr ? Dims{} : *middle);
    take(args.constants, &constants, nullptr);
    take(args.constant_bytes, &bytes, 0);
  }
  BindArgs with(const Dims& output) const { return {inputs, {&output, 1}, constants, bytes}; }
};

class ApartCall final : public Call, public SharedMemoryUser {
 public:
  std::unique_ptr<Call> first, second;
  size_t operands = 0, all = 0;  // of the first, of both
  size_t middle = 0;             // bytes of the workspace for what is in between
  bool kept = false;             // that is a result
  size_t workspace() const override { return middle + std::max(first->workspace(), second->workspace()) + kAlign; }
  bool recordable() const override { return first->recordable() && second->recordable(); }
  std::optional<size_t> shared_memory() const override {
    size_t most = 0;
    for (const Call* call : {first.get(), second.get()}) {
      const auto* const user = dynamic_cast<const SharedMemoryUser*>(call);
      const std::optional<size_t> own = user == nullptr ? std::nullopt : user->shared_memory();
      if (!own) return std::nullopt;
      most = std::max(most, *own);
    }
    return most;
  }
  Status run(const RunArgs& args) const override {
    const auto start = reinterpret_cast<uintptr_t>(args.workspace);
    auto* const own = static_cast<std::byte*>(args.workspace) + (aligned(start) - start);
    void* between = kept ? args.outputs[1] : own;
    WOOTZ_RETURN_IF_ERROR(first->run({args.inputs, &between, own + middle, nullptr, args.stream}));
    std::array<const void*, kMostOperands> inputs{between};
    std::copy(args.inputs + operands, args.inputs + all, inputs.begin() + 1);
    return second->run({inputs.data(), args.outputs, own + middle, nullptr, args.stream});
  }
};

class ApartKernel final : public Kernel, public PreparedKernel {
 public:
  ApartKernel(ChainParts parts, size_t outputs) : parts_(std::move(parts)), outputs_(outputs) {}
  std::unique_ptr<Kernel> first, second;

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    const int operands = static_cast<int>(this->operands());
    return input < operands ? first->pack(input, source) : second->pack(input - operands + 1, source);
  }
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    WOOTZ_RETURN_IF_ERROR(check(args));
    auto call = std::make_unique<ApartCall>();
    call->operands = operands();
    call->all = args.inputs.size();
    call->kept = outputs_ == 2;
    if (!call->kept)
      call->middle = aligned(layout_bytes(Layout::kLinear, parts_.first.outputs[0].dtype, args.inputs[0]));
    WOOTZ_ASSIGN_OR_RETURN(call->first, first->bind(first_args(args).with(args.inputs[0])));
    WOOTZ_ASSIGN_OR_RETURN(call->second, second->bind(second_args(args).with(args.outputs[0])));
    return std::unique_ptr<Call>(std::move(call));
  }
  void prepare(const BindArgs& args) const override {
    if (!check(args).ok()) return;
    if (const auto* const ahead = dynamic_cast<const PreparedKernel*>(first.get()))
      ahead->prepare(first_args(args).with(args.inputs[0]));
    if (const auto* const ahead = dynamic_cast<const PreparedKernel*>(second.get()))
      ahead->prepare(second_args(args).with(args.outputs[0]));
  }
  Status native_code(const BindArgs& args, const DeviceDescription& device, KeepNative keep,
                     std::vector<NativeCode>* code) const override {
    WOOTZ_RETURN_IF_ERROR(check(args));
    WOOTZ_RETURN_IF_ERROR(first->native_code(first_args(args).with(args.inputs[0]), device, keep, code));
    return second->native_code(second_args(args).with(args.outputs[0]), device, keep, code);
  }

 private:
  size_t operands() const { return parts_.first.inputs.size(); }
  Status check(const BindArgs& args) const {
    if (args.inputs.size() == operands() + parts_.second.inputs.size() - 1 && args.inputs.size() <= kMostOperands &&
        args.outputs.size() == outputs_ && (outputs_ == 1 || args.outputs[1] == args.inputs[0]))
      return Status();
    return invalid_argument("{}: {} operands and {} results", kName, args.inputs.size(), args.outputs.size());
  }
  PartArgs first_args(const BindArgs& args) const { return {args, 0, operands(), nullptr}; }
  PartArgs second_args(const BindArgs& args) const { return {args, operands(), args.inputs.size(), &args.inputs[0]}; }

  ChainParts parts_;
  size_t outputs_;
};

class ApartProvider final : public Provider, public ConcurrentProvider {
 public:
  const char* name() const override { return "apart"; }
  std::string version() const override {
    return fmt::format("{} {}", cublaslt_provider().version(), generated_provider().version());
  }

  void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (!problem.is(Family::kChain)) return;
    const Result<ChainParts> parts = parts_of(problem);
    if (!parts.ok()) return refusals->push_back({kName, parts.status().message()});
    std::vector<Candidate> whole, first;
    std::array<std::vector<Candidate>, kParts.size()> second;
    generated_provider().tactics(problem, limits, &whole, refusals);
    if (whole.empty() || problem.inputs.size() > kMostOperands)
      return refusals->push_back({kName, "no kernel computes both at once"});
    generated_provider().tactics(parts->first, limits, &first, refusals);
    std::erase_if(first, [](const Candidate& c) { return c.output_layouts[0] != Layout::kLinear; });
    const auto best = std::min_element(first.begin(), first.end(), is_faster);
    if (best == first.end()) return;
    const auto& left_out = limits.left_out;
    for (size_t i = 0; i < kParts.size(); ++i) {
      if (std::find(left_out.begin(), left_out.end(), kParts[i]().name()) != left_out.end()) continue;
      kParts[i]().tactics(parts->second, limits, &second[i], refusals);
      // What is compiled is measured as a part where it is likely to be the fastest.
      std::stable_sort(second[i].begin(), second[i].end(), is_faster);
      if (&kParts[i]() == &generated_provider() && second[i].size() > kMostCompiled) second[i].resize(kMostCompiled);
      for (const Candidate& own : second[i]) offers->push_back(offer(problem, *parts, *best, own));
    }
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    const size_t bar = tactic.config.find('|');
    if (tactic.kernel != kName || bar == std::string::npos)
      return invalid_argument("the provider apart has no kernel '{}'", tactic.to_string());
    WOOTZ_ASSIGN_OR_RETURN(const ChainParts parts, parts_of(problem));
    const std::string_view config = tactic.config;
    auto kernel = std::make_unique<ApartKernel>(parts, problem.outputs.size());
    WOOTZ_ASSIGN_OR_RETURN(kernel->first, create_part(config.substr(0, bar), parts.first, limits));
    WOOTZ_ASSIGN_OR_RETURN(kernel->second, create_part(config.substr(bar + 1), parts.second, limits));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  std::shared_ptr<const void> hold(const Limits& limits) const override {
    return std::static_pointer_cast<const void>(
        dynamic_cast<const ConcurrentProvider&>(generated_provider()).hold(limits));
  }

 private:
  static Candidate offer(const Problem& problem, const ChainParts& parts, const Candidate& first,
                         const Candidate& second) {
    const TensorDesc& middle = parts.first.outputs[0];
    Candidate c;
    c.tactic = {"apart", kName, config_of(first.tactic, second.tactic)};
    c.input_layouts.assign(problem.inputs.size(), Layout::kLinear);
    c.output_layouts.assign(problem.outputs.size(), Layout::kLinear);
    const size_t between =
        problem.outputs.size() > 1 ? 0 : layout_bytes(Layout::kLinear, middle.dtype, middle.max_dims);
    c.workspace = aligned(between) + std::max(first.workspace, second.workspace) + kAlign;
    c.estimate_us = first.estimate_us > 0 && second.estimate_us > 0 ? first.estimate_us + second.estimate_us : 0;
    return c;
  }
};

}  // namespace

const Provider& apart_provider() {
  static const ApartProvider provider;
  return provider;
}

}  // namespace wootz::cuda
