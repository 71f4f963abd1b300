#include "backends/cpu/onednn/provider.h"

#include <algorithm>

#include "backends/cpu/onednn/dense.h"
#include "backends/cpu/onednn/estimate.h"
#include "backends/cpu/onednn/pool.h"
#include "backends/cpu/onednn/rest.h"
#include "base/thread_pool.h"

namespace wootz::cpu {
namespace {

using namespace dnn;

// "conv_u8i8_channels_last_avx512_core_amx". The layout is the output's.
std::string kernel_name(const Problem& p) {
  std::string types = dtype_name(p.inputs[0].dtype);
  if (p.family() != Family::kPool && p.inputs.size() > 1 && p.inputs[1].dtype != p.inputs[0].dtype)
    types += dtype_name(p.inputs[1].dtype);
  return fmt::format("{}_{}_{}_{}", family_name(p.family()), types, layout_name(p.outputs[0].layout),
                     effective_isa_text());
}

// An operand of the epilogue lies like the result where it has spatial extents of its own.
void lay_out_operands(Problem* p) {
  const TensorDesc& out = p->outputs[0];
  for (size_t i = static_cast<size_t>(std::max(p->num_main, 0)); i < p->inputs.size(); ++i) {
    TensorDesc& t = p->inputs[i];
    t.layout = Layout::kLinear;
    if (t.dims.rank() != out.dims.rank() || t.dims.rank() < 3) continue;
    for (size_t d = 2; d < t.dims.size(); ++d)
      if (t.max_dims[d] != 1 || t.dims[d] != 1) t.layout = out.layout;
  }
}

Status check_limits(const Limits& limits) {
  WOOTZ_RETURN_IF_ERROR(engine().status());
  if (effective_isa() > usable_isa(limits.isa_cap))
    return unsupported("oneDNN runs {} in this process, the cap is {}: set WOOTZ_ISA before the first use",
                       effective_isa_text(), isa_name(usable_isa(limits.isa_cap)));
  if (runs_amx() && !amx_allowed(limits.isa_cap))
    return unsupported("oneDNN runs {} in this process, the cap has no AMX: set WOOTZ_ISA before the first use",
                       effective_isa_text());
  return Status();
}

Result<Candidate> offer_dense(const DenseFamily& family, const Problem& p, const Limits& limits) {
  WOOTZ_ASSIGN_OR_RETURN(DenseTraits traits, family.traits(p));
  WOOTZ_ASSIGN_OR_RETURN(const WeightsChoice weights, choose_weights(family, p, &traits));
  Candidate c;
  c.tactic.config = weights.config;
  const Extents max = extents_of(p, true), opt = extents_of(p, false);
  WOOTZ_ASSIGN_OR_RETURN(const DenseSpec large, family.specify(p, max));
  const memory::desc& at_max = p.inputs[1].constant ? weights.desc : large.weights;
  WOOTZ_ASSIGN_OR_RETURN(const DensePlan plan, plan_dense(p, traits, large, at_max, max, true));
  if (!plan.rest.empty()) WOOTZ_RETURN_IF_ERROR(Rest::make(p, traits, plan.rest, max).status());
  c.workspace = plan.primitive.query_md(dnnl::query::scratchpad_md).get_size() + 64;
  if (plan.to_intermediate) c.workspace += layout_bytes(p.outputs[0].layout, DType::kF32, max.output) + 64;
  WOOTZ_ASSIGN_OR_RETURN(const DenseSpec spec, family.specify(p, opt));
  c.estimate_us = estimate_us(p, spec.flops, plan.implementation, limits.threads);
  if (!plan.rest.empty())  // one more pass over the result
    c.estimate_us += static_cast<double>(layout_bytes(p.outputs[0].layout, DType::kF32, opt.output)) / 20e3;
  return c;
}

// What the provider can do, a line a family. `problem` comes with the layouts of the offer.
struct Module {
  Family family;
  size_t min_inputs;
  std::vector<std::pair<Layout, Layout>> (*layouts)(const Problem& problem);  // of the first input and of the output
  Result<Candidate> (*offer)(const Problem& problem, const Limits& limits);
  Result<std::unique_ptr<Kernel>> (*create)(const Problem& problem, const std::string& config);
};
template <const DenseFamily& family>
Module dense_module() {
  return {family.family, 2, family.layouts,
          [](const Problem& p, const Limits& limits) { return offer_dense(family, p, limits); },
          [](const Problem& p, const std::string& config) { return create_dense(family, p, config); }};
}
const Module* find_module(Family family) {
  static const Module kModules[] = {
      dense_module<kConvFamily>(),
      dense_module<kGemmFamily>(),
      {Family::kPool, 1, pool_layouts, offer_pool, create_pool},
  };
  for (const Module& module : kModules)
    if (module.family == family) return &module;
  return nullptr;
}

class OnednnProvider final : public Provider {
 public:
  const char* name() const override { return "onednn"; }
  std::string version() const override { return version_text(); }

  void tactics(const Problem& problem, const Limits& limits, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    const Module* module = find_module(problem.family());
    if (module == nullptr) return;
    const std::string short_name = fmt::format("{}_onednn", family_name(problem.family()));
    if (const Status status = check_limits(limits);
        !status.ok() || problem.inputs.size() < module->min_inputs || problem.outputs.empty()) {
      refusals->push_back({short_name, status.ok() ? "inputs or outputs are missing" : status.message()});
      return;
    }
    const ParallelScope threads(limits.threads);
    for (const auto& [in, out] : module->layouts(problem)) {
      Problem filled = problem;
      for (TensorDesc& t : filled.inputs) t.layout = Layout::kLinear;
      filled.inputs[0].layout = in;
      filled.outputs[0].layout = out;
      lay_out_operands(&filled);
      Result<Candidate> made = guarded("looking for implementations", [&] { return module->offer(filled, limits); });
      if (!made.ok()) {
        refusals->push_back({kernel_name(filled), made.status().message()});
        continue;
      }
      made->tactic.provider = "onednn";
      made->tactic.kernel = kernel_name(filled);
      for (const TensorDesc& t : filled.inputs) made->input_layouts.push_back(t.layout);
      for (const TensorDesc& t : filled.outputs) made->output_layouts.push_back(t.layout);
      offers->push_back(std::move(made).value());
    }
  }

  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem,
                                         const Limits& limits) const override {
    const Module* module = find_module(problem.family());
    if (module == nullptr) return invalid_argument("oneDNN: no kernel for family {}", family_name(problem.family()));
    WOOTZ_RETURN_IF_ERROR(check_limits(limits));
    if (problem.inputs.size() < module->min_inputs || problem.outputs.empty())
      return invalid_argument("oneDNN: {} inputs and {} outputs", problem.inputs.size(), problem.outputs.size());
    if (tactic.kernel != kernel_name(problem))
      return invalid_argument("oneDNN: the kernel '{}' was asked for; for this problem and processor it is '{}'",
                              tactic.kernel, kernel_name(problem));
    const ParallelScope threads(limits.threads);
    return guarded("creating a kernel", [&] { return module->create(problem, tactic.config); });
  }
};

}  // namespace

const Provider& onednn_provider() {
  static const OnednnProvider provider;
  return provider;
}

}  // namespace wootz::cpu
