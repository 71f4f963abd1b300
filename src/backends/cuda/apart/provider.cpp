// Two problems of a chain, one after the other in one step: a normalization and the product that reads it (or siblings
// of one), a depthwise convolution and the gate of its image, or two convolutions (the second of them by a
// concatenation of what is in between and another image, too), or these as one and a third, or two whose results are
// added up; the one part by the kernel that is likely to be the fastest, the other by whatever its providers offer.
// Offered beside kernels that compute both at once, so that the measured times say which is better; nothing is offered
// where there is no such kernel, since these are two steps then.
#include <algorithm>
#include <array>

#include "backend/chain_sum.h"
#include "backend/concurrent.h"
#include "backend/shared_memory.h"
#include "backend/siblings.h"
#include "backends/cuda/providers.h"

namespace wootz::cuda {
namespace {

constexpr const char* kName = "chain_apart";
constexpr size_t kAlign = 256, kMostOperands = 32;

bool is_faster(const Candidate& a, const Candidate& b) { return a.estimate_us < b.estimate_us; }

// Who computes a part, and how many of its kernels are taken, those first that are likely to be the fastest: what is
// compiled takes a while.
struct Source {
  const Provider& (*provider)() = nullptr;
  size_t most = 0;
};
struct Pair {
  Family first, second;
  Layout layout;  // of everything that is no constant
  std::array<Source, 2> of_first;
  std::array<Source, 3> of_second;
  bool adds = false;  // the second does not read what the first makes, but adds it
};
constexpr size_t kAll = SIZE_MAX;
constexpr Pair kPairs[] = {
    {Family::kNorm,
     Family::kGemm,
     Layout::kLinear,
     {{{generated_provider, 1}}},
     {{{cublaslt_provider, kAll}, {generated_provider, 2}}}},
    {Family::kNorm, Family::kSiblings, Layout::kLinear, {{{generated_provider, 1}}}, {{{generated_provider, 2}}}},
    {Family::kConv,
     Family::kSqueezeExcite,
     Layout::kChannelsLast,
     {{{generated_provider, 4}, {cudnn_provider, 1}}},
     {{{generated_provider, 1}}}},
    {Family::kConv,
     Family::kConv,
     Layout::kChannelsLast,
     {{{generated_provider, 1}, {cudnn_provider, 2}}},
     {{{cublaslt_provider, 3}, {generated_provider, 1}}}},
    {Family::kConv,
     Family::kConv,
     Layout::kChannelsLast,
     {{{generated_provider, 3}, {cudnn_provider, 1}}},
     {{{cublaslt_provider, 2}, {generated_provider, 3}, {cudnn_provider, 1}}},
     true},
    {Family::kConv,
     Family::kChain,
     Layout::kChannelsLast,
     {{{generated_provider, 1}, {cudnn_provider, 2}}},
     {{{generated_provider, 3}}}},
    {Family::kChain,
     Family::kConv,
     Layout::kChannelsLast,
     {{{generated_provider, 1}}},
     {{{cublaslt_provider, 3}, {generated_provider, 1}}}},
};

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

struct Parts : ChainParts {
  const Pair* pair = nullptr;
  // Of what is in between, among the second's operands.
  size_t place() const { return pair->adds ? second.inputs.size() - 1 : 0; }
};

// Of siblings of chains, the one first problem, and the second ones as siblings.
Result<ChainParts> split(const Problem& problem) {
  if (adds_results(problem)) return sum_parts(problem);
  if (!problem.is(Family::kSiblings)) return chain_parts(problem);
  WOOTZ_ASSIGN_OR_RETURN(const Problem joint, joint_of(problem));
  WOOTZ_ASSIGN_OR_RETURN(ChainParts parts, chain_parts(joint));
  parts.second.params = SiblingsParams{.joint = box_params(parts.second.params)};
  parts.second.outputs = problem.outputs;
  return parts;
}

// Whether what is in between is a result.
bool keeps_middle(const Problem& problem) { return problem.is(Family::kChain) && problem.outputs.size() == 2; }

const Pair* pair_for(const ChainParts& parts, bool adds) {
  const auto* const found = std::find_if(std::begin(kPairs), std::end(kPairs), [&](const Pair& pair) {
    return parts.first.is(pair.first) && parts.second.is(pair.second) && pair.adds == adds;
  });
  return found == std::end(kPairs) ? nullptr : found;
}

Result<Parts> parts_of(const Problem& problem) {
  WOOTZ_ASSIGN_OR_RETURN(ChainParts chain, split(problem));
  Parts parts{std::move(chain)};
  parts.pair = pair_for(parts, adds_results(problem));
  if (parts.pair == nullptr)
    return unsupported("{} and {} are not computed one after the other", family_name(parts.first.family()),
                       family_name(parts.second.family()));
  const auto as_pair = [&](const TensorDesc& t) { return t.constant || t.layout == parts.pair->layout; };
  if (!std::all_of(problem.inputs.begin(), problem.inputs.end(), as_pair) ||
      !std::all_of(problem.outputs.begin(), problem.outputs.end(), as_pair))
    return unsupported("operands in another layout than {}", layout_name(parts.pair->layout));
  parts.first.outputs[0].layout = parts.second.inputs[parts.place()].layout = parts.pair->layout;
  return parts;
}

// The problem in the pair's layout, as it is offered.
Problem in_layout(Problem problem, Layout layout) {
  for (std::vector<TensorDesc>* list : {&problem.inputs, &problem.outputs})
    for (TensorDesc& t : *list) t.layout = t.constant ? Layout::kLinear : layout;
  return problem;
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
  for (const auto& provider : {cublaslt_provider, cudnn_provider, generated_provider})
    if (provider().name() == tactic.provider) return provider().create(tactic, problem, limits);
  return invalid_argument("{}: no provider is called '{}'", kName, tactic.provider);
}

// Operands and constants of a part, as its own kernel has them; what is in between, if it is among them, stands at
// `place`.
struct PartArgs {
  std::vector<Dims> inputs;
  std::vector<const void*> constants;
  std::vector<size_t> bytes;
  PartArgs(const BindArgs& args, size_t begin, size_t end, const Dims* middle, size_t place) {
    const auto take = [&](const auto& list, auto* to, const auto& between) {
      if (list.size() < end) return;
      to->assign(list.begin() + static_cast<ptrdiff_t>(begin), list.begin() + static_cast<ptrdiff_t>(end));
      if (middle != nullptr) to->insert(to->begin() + static_cast<ptrdiff_t>(place), between);
    };
    take(args.inputs, &inputs, middle == nullptr ? Dims{} : *middle);
    take(args.constants, &constants, nullptr);
    take(args.constant_bytes, &bytes, 0);
  }
  BindArgs with(std::span<const Dims> outputs) const { return {inputs, outputs, constants, bytes}; }
};

class ApartCall final : public Call, public SharedMemoryUser {
 public:
  std::unique_ptr<Call> first, second;
  size_t operands = 0, all = 0;  // of the first, of both
  size_t middle = 0;             // bytes of the workspace for what is in between
  bool kept = false;             // that is a result
  size_t place = 0;              // of what is in between, among the second's operands
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
    std::array<const void*, kMostOperands> inputs{};
    const void* const* const rest = args.inputs + operands;
    std::copy_n(rest, place, inputs.begin());
    inputs[place] = between;
    std::copy(rest + place, args.inputs + all, inputs.begin() + static_cast<ptrdiff_t>(place) + 1);
    return second->run({inputs.data(), args.outputs, own + middle, nullptr, args.stream});
  }
};

class ApartKernel final : public Kernel, public PreparedKernel {
 public:
  ApartKernel(Parts parts, size_t outputs, bool kept) : parts_(std::move(parts)), outputs_(outputs), kept_(kept) {}
  std::unique_ptr<Kernel> first, second;

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    const int own = input - static_cast<int>(operands());
    if (own < 0) return first->pack(input, source);
    return second->pack(own < static_cast<int>(parts_.place()) ? own : own + 1, source);
  }
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    WOOTZ_ASSIGN_OR_RETURN(const Dims middle, middle_of(args));
    auto call = std::make_unique<ApartCall>();
    call->operands = operands();
    call->all = args.inputs.size();
    call->kept = kept_;
    call->place = parts_.place();
    if (!call->kept) call->middle = aligned(layout_bytes(parts_.pair->layout, parts_.first.outputs[0].dtype, middle));
    WOOTZ_ASSIGN_OR_RETURN(call->first, first->bind(first_args(args).with({&middle, 1})));
    WOOTZ_ASSIGN_OR_RETURN(call->second, second->bind(second_args(args, middle).with(results(args))));
    return std::unique_ptr<Call>(std::move(call));
  }
  void prepare(const BindArgs& args) const override {
    const Result<Dims> middle = middle_of(args);
    if (!middle.ok()) return;
    if (const auto* const ahead = dynamic_cast<const PreparedKernel*>(first.get()))
      ahead->prepare(first_args(args).with({&*middle, 1}));
    if (const auto* const ahead = dynamic_cast<const PreparedKernel*>(second.get()))
      ahead->prepare(second_args(args, *middle).with(results(args)));
  }
  Status native_code(const BindArgs& args, const DeviceDescription& device, KeepNative keep,
                     std::vector<NativeCode>* code) const override {
    WOOTZ_ASSIGN_OR_RETURN(const Dims middle, middle_of(args));
    WOOTZ_RETURN_IF_ERROR(first->native_code(first_args(args).with({&middle, 1}), device, keep, code));
    return second->native_code(second_args(args, middle).with(results(args)), device, keep, code);
  }

 private:
  size_t operands() const { return parts_.first.inputs.size(); }
  Result<Dims> middle_of(const BindArgs& args) const {
    if (args.inputs.size() != operands() + parts_.second.inputs.size() - 1 || args.inputs.size() > kMostOperands ||
        args.outputs.size() != outputs_)
      return invalid_argument("{}: {} operands and {} results", kName, args.inputs.size(), args.outputs.size());
    WOOTZ_ASSIGN_OR_RETURN(const Dims middle, chain_middle(parts_.first, args.inputs.first(operands())));
    if (kept_ && !(args.outputs[1] == middle))
      return invalid_argument("{}: {} as a result, {} in between", kName, args.outputs[1].to_string(),
                              middle.to_string());
    return middle;
  }
  std::span<const Dims> results(const BindArgs& args) const {
    return args.outputs.first(kept_ ? 1 : args.outputs.size());
  }
  PartArgs first_args(const BindArgs& args) const { return {args, 0, operands(), nullptr, 0}; }
  PartArgs second_args(const BindArgs& args, const Dims& middle) const {
    return {args, operands(), args.inputs.size(), &middle, parts_.place()};
  }

  Parts parts_;
  size_t outputs_;
  bool kept_;
};

class ApartProvider final : public Provider, public ConcurrentProvider {
 public:
  const char* name() const override { return "apart"; }
  std::string version() const override {
    return fmt::format("{} {} {}", cublaslt_provider().version(), cudnn_provider().version(),
                       generated_provider().version());
  }

  void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (!problem.is(Family::kChain) && !problem.is(Family::kSiblings)) return;
    const Result<ChainParts> chain = split(problem);
    const Pair* const known = chain.ok() ? pair_for(*chain, adds_results(problem)) : nullptr;
    if (known == nullptr) return refusals->push_back({kName, "no pair of these"});
    const Pair& pair = *known;
    const Result<Parts> parts = parts_of(in_layout(problem, pair.layout));
    if (!parts.ok()) return refusals->push_back({kName, parts.status().message()});
    std::vector<Candidate> whole;
    generated_provider().tactics(problem, limits, &whole, refusals);
    if (whole.empty() || problem.inputs.size() > kMostOperands)
      return refusals->push_back({kName, "no kernel computes both at once"});
    const std::vector<Candidate> seconds = kernels_of(parts->second, pair.of_second, pair.layout, limits, refusals);
    for (const Candidate& first : kernels_of(parts->first, pair.of_first, pair.layout, limits, refusals))
      for (const Candidate& second : seconds) offers->push_back(offer(problem, *parts, first, second));
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    const size_t bar = tactic.config.find('|');
    if (tactic.kernel != kName || bar == std::string::npos)
      return invalid_argument("the provider apart has no kernel '{}'", tactic.to_string());
    WOOTZ_ASSIGN_OR_RETURN(const Parts parts, parts_of(problem));
    const std::string_view config = tactic.config;
    auto kernel = std::make_unique<ApartKernel>(parts, problem.outputs.size(), keeps_middle(problem));
    WOOTZ_ASSIGN_OR_RETURN(kernel->first, create_part(config.substr(0, bar), parts.first, limits));
    WOOTZ_ASSIGN_OR_RETURN(kernel->second, create_part(config.substr(bar + 1), parts.second, limits));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  std::shared_ptr<const void> hold(const Limits& limits) const override {
    return std::static_pointer_cast<const void>(
        dynamic_cast<const ConcurrentProvider&>(generated_provider()).hold(limits));
  }

 private:
  // Of a part, by everyone who may compute it.
  static std::vector<Candidate> kernels_of(const Problem& part, std::span<const Source> sources, Layout layout,
                                           const Limits& limits, std::vector<Refusal>* refusals) {
    std::vector<Candidate> all;
    const auto& left_out = limits.left_out;
    for (const Source& source : sources) {
      if (source.provider == nullptr ||
          std::find(left_out.begin(), left_out.end(), source.provider().name()) != left_out.end())
        continue;
      std::vector<Candidate> own;
      source.provider().tactics(part, limits, &own, refusals);
      std::erase_if(own,
                    [&](const Candidate& c) { return c.input_layouts[0] != layout || c.output_layouts[0] != layout; });
      std::stable_sort(own.begin(), own.end(), is_faster);
      if (own.size() > source.most) own.resize(source.most);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  static Candidate offer(const Problem& problem, const Parts& parts, const Candidate& first, const Candidate& second) {
    const TensorDesc& middle = parts.first.outputs[0];
    Candidate c;
    c.tactic = {"apart", kName, config_of(first.tactic, second.tactic)};
    for (const TensorDesc& t : problem.inputs)
      c.input_layouts.push_back(t.constant ? Layout::kLinear : parts.pair->layout);
    c.output_layouts.assign(problem.outputs.size(), parts.pair->layout);
    const size_t between = keeps_middle(problem) ? 0 : layout_bytes(parts.pair->layout, middle.dtype, middle.max_dims);
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
