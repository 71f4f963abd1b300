#include "backends/cpu/native_provider.h"

#include <algorithm>
#include <string_view>

#include "backends/cpu/kernel_entry.h"

namespace wootz::cpu {
namespace {

struct Named {
  std::string_view name;
  const KernelEntry* entry;
};
const std::vector<Named>& table() {
  static const std::vector<Named> all = {
#define KERNEL(name) {#name, &name},
#include "backends/cpu/kernels.inc"
#undef KERNEL
  };
  return all;
}

Layout layout_of(unsigned scheme) {
  return scheme == kSchemeChannelsLast || scheme == kSchemeIntoChannelsLast ? Layout::kChannelsLast
         : scheme == kSchemeBlocked8                                        ? Layout::kBlocked8
         : scheme == kSchemeBlocked16                                       ? Layout::kBlocked16
                                                                            : Layout::kLinear;
}

// What everything below may rely on, whatever a plan file says.
Status check_problem(const Problem& p) {
  const auto check = [&](const TensorDesc& t, const char* what, size_t i) -> Status {
    if (t.dtype == DType::kInvalid || static_cast<int>(t.dtype) >= kDTypeCount || t.dtype == DType::kString)
      return invalid_argument("{} {} has no usable type", what, i);
    if (static_cast<int>(t.layout) >= kLayoutCount) return invalid_argument("{} {} has an unknown layout", what, i);
    if (t.layout != Layout::kLinear && t.layout != Layout::kOpaque && t.dims.rank() < 3)
      return invalid_argument("{} {} of shape {} cannot have layout {}", what, i, t.dims.to_string(),
                              layout_name(t.layout));
    if (at_border_only(t.layout) && !p.is(Family::kReformat))
      return invalid_argument("{} {} has layout {}, which is for inputs and outputs of networks", what, i,
                              layout_name(t.layout));
    WOOTZ_RETURN_IF_ERROR(checked_volume(t.dims.span()).status());
    return checked_volume(t.max_dims.span()).status();
  };
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i].dtype != DType::kInvalid) WOOTZ_RETURN_IF_ERROR(check(p.inputs[i], "input", i));
  if (p.outputs.empty()) return invalid_argument("a problem without outputs");
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    const bool omitted = p.family() == Family::kRnn && p.outputs[i].dtype == DType::kInvalid;
    if (!omitted) WOOTZ_RETURN_IF_ERROR(check(p.outputs[i], "output", i));
  }
  if (p.num_main < 0 || static_cast<size_t>(p.num_main) > p.inputs.size())
    return invalid_argument("{} main inputs of {}", p.num_main, p.inputs.size());
  if (!p.epilogue.empty()) WOOTZ_RETURN_IF_ERROR(p.epilogue.verify());
  return {};
}

// Bytes moved at a usual bandwidth, plus a launch: only to rank our offers among others without timing.
double rough_cost_us(const Problem& p) {
  double read = 0, written = 0;
  for (const TensorDesc& t : p.outputs) written += static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
  for (const TensorDesc& t : p.inputs) {
    const auto bytes = static_cast<double>(dtype_bytes(t.dtype, t.dims.volume()));
    // Of a table only what is gathered is read.
    read += p.family() == Family::kGather && &t == p.inputs.data() ? std::min(bytes, written) : bytes;
  }
  return 1.0 + (read + written) / 20e3;
}

// At the largest extents.
Result<size_t> workspace_of(const KernelEntry& entry, const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel, entry.create(p, options));
  std::vector<Dims> in, out;
  for (const TensorDesc& t : p.inputs) in.push_back(t.max_dims);
  for (const TensorDesc& t : p.outputs) out.push_back(t.max_dims);
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Call> call, kernel->bind({in, out, {}}));
  return call->workspace();
}

KernelOptions options_for(Isa isa, const Limits& limits) {
  return {isa, std::max(1, limits.threads), amx_allowed(limits.isa_cap)};
}

class NativeProvider final : public Provider {
 public:
  const char* name() const override { return "native"; }
  std::string version() const override { return "1"; }

  void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    const Isa isa = usable_isa(limits.isa_cap);
    const KernelOptions options = options_for(isa, limits);
    const Status usable = check_problem(problem);
    for (const Named& kernel : table()) {
      if (kernel.entry->family != problem.family()) continue;
      const std::string name = fmt::format("{}_{}", kernel.name, isa_name(isa));
      if (isa == Isa::kNone || !usable.ok()) {
        refusals->push_back({name, isa == Isa::kNone ? "the processor, or the cap, is below AVX2" : usable.message()});
        continue;
      }
      if (const Status has = check_needs(kernel.entry->needs, options); !has.ok()) {
        refusals->push_back({name, has.message()});
        continue;
      }
      for (unsigned scheme = 1; scheme <= kSchemeGiven; scheme <<= 1) {
        if ((kernel.entry->schemes & scheme) == 0) continue;
        Problem filled = problem;
        if (scheme != kSchemeGiven && !apply_scheme(scheme, &filled)) continue;
        const Status status = kernel.entry->applies(filled);
        if (!status.ok()) {
          refusals->push_back({name, fmt::format("{}: {}", layout_name(filled.outputs[0].layout), status.message())});
          continue;
        }
        Candidate offer;
        offer.tactic = {"native", name, ""};
        for (const TensorDesc& t : filled.inputs) offer.input_layouts.push_back(t.layout);
        for (const TensorDesc& t : filled.outputs) offer.output_layouts.push_back(t.layout);
        offer.estimate_us =
            kernel.entry->cost_us != nullptr ? kernel.entry->cost_us(filled, options) : rough_cost_us(problem);
        if (kernel.entry->scratch) {
          const Result<size_t> bytes = workspace_of(*kernel.entry, filled, options);
          if (!bytes.ok() || *bytes > limits.workspace) {
            refusals->push_back({name, bytes.ok() ? fmt::format("it needs {} bytes of workspace, allowed are {}",
                                                                *bytes, limits.workspace)
                                                  : bytes.status().message()});
            continue;
          }
          offer.workspace = *bytes;
        }
        offers->push_back(std::move(offer));
      }
    }
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    const size_t cut = tactic.kernel.rfind('_');
    const std::string_view suffix = cut == std::string::npos ? "" : std::string_view(tactic.kernel).substr(cut + 1);
    const Result<Isa> isa = isa_from_name(suffix);
    if (suffix.empty() || !isa.ok() || isa.value() == Isa::kNone)
      return invalid_argument("kernel '{}': its name does not end in an instruction set", tactic.kernel);
    for (const Named& kernel : table()) {
      if (kernel.name != std::string_view(tactic.kernel).substr(0, cut)) continue;
      if (isa.value() > usable_isa(limits.isa_cap))
        return unsupported("kernel '{}' needs {}; this machine and its cap allow {}", tactic.kernel,
                           isa_name(isa.value()), isa_name(usable_isa(limits.isa_cap)));
      if (kernel.entry->family != problem.family())
        return invalid_argument("kernel '{}' does not compute family {}", tactic.kernel, family_name(problem.family()));
      const KernelOptions options = options_for(isa.value(), limits);
      WOOTZ_RETURN_IF_ERROR(check_needs(kernel.entry->needs, options).with_prefix(tactic.kernel));
      WOOTZ_RETURN_IF_ERROR(check_problem(problem).with_prefix(tactic.kernel));
      WOOTZ_RETURN_IF_ERROR(kernel.entry->applies(problem).with_prefix(tactic.kernel));
      return kernel.entry->create(problem, options);
    }
    return invalid_argument("the provider own has no kernel '{}'", tactic.kernel);
  }
};

}  // namespace

bool apply_scheme(unsigned scheme, Problem* problem) {
  const Layout layout = layout_of(scheme);
  const int rank = problem->outputs[0].dims.rank();
  if (layout != Layout::kLinear && rank < 3) return false;
  const auto fill = [&](TensorDesc& t) { t.layout = !t.constant && t.dims.rank() == rank ? layout : Layout::kLinear; };
  for (TensorDesc& t : problem->inputs)
    if (scheme == kSchemeIntoChannelsLast)
      t.layout = Layout::kLinear;
    else
      fill(t);
  for (TensorDesc& t : problem->outputs) fill(t);
  return true;
}

Status check_needs(Needs needs, const KernelOptions& options) {
  const CpuInfo& cpu = cpu_info();
  struct Row {
    bool has;
    const char* name;
  };
  const Row rows[] = {{true, ""},
                      {cpu.avx512_vnni, "VNNI"},
                      {cpu.amx_int8 && options.amx, "AMX for 8 bits"},
                      {cpu.amx_bf16 && cpu.avx512_bf16 && options.amx, "AMX for BF16"}};
  const Row& row = rows[static_cast<int>(needs)];
  if (needs == Needs::kNothing || (row.has && options.isa == Isa::kAvx512)) return {};
  return unsupported("the processor, or the cap, has no {}", row.name);
}

const Provider& native_provider() {
  static const NativeProvider provider;
  return provider;
}

}  // namespace wootz::cpu
