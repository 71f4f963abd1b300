#include "runtime/adapt.h"

#include <algorithm>

#include "backend/control.h"
#include "backend/device.h"
#include "backend/pack_constants.h"
#include "base/thread_pool.h"

namespace wootz {
namespace {

bool same_layouts(const std::vector<TensorDesc>& operands, const std::vector<Layout>& layouts) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorDesc& operand = operands[i];
    if (operand.constant || operand.dtype == DType::kInvalid) continue;
    if (i < layouts.size() && layouts[i] != operand.layout) return false;
  }
  return true;
}

class Adapter {
 public:
  Adapter(const std::vector<const Provider*>& providers, const Limits& limits)
      : providers_(providers), limits_(limits), kernels_(providers, limits) {}

  Status adapt(Program* program) {
    for (Step& step : program->steps) {
      ++steps;
      if (is_control(step) || kernels_.get(step).ok()) continue;
      WOOTZ_RETURN_IF_ERROR(choose(&step));
      ++chosen_anew;
    }
    for (Program& body : program->bodies) WOOTZ_RETURN_IF_ERROR(adapt(&body));
    WOOTZ_RETURN_IF_ERROR(pack_constants(program, kernels_));
    return make_constants(program);
  }

  size_t steps = 0, chosen_anew = 0;

 private:
  Status choose(Step* step) {
    std::vector<Candidate> offers;
    std::vector<Refusal> refusals;
    for (const Provider* provider : providers_) provider->tactics(step->problem, limits_, &offers, &refusals);
    std::erase_if(offers, [&](const Candidate& offer) {
      return !same_layouts(step->problem.inputs, offer.input_layouts) ||
             !same_layouts(step->problem.outputs, offer.output_layouts);
    });
    std::stable_sort(offers.begin(), offers.end(),
                     [](const auto& a, const auto& b) { return a.estimate_us < b.estimate_us; });
    const std::string before = step->tactic.to_string();
    std::string why;
    for (const Candidate& offer : offers) {
      step->tactic = offer.tactic;
      step->workspace = offer.workspace;
      step->measured_us = -1;
      const auto kernel = kernels_.get(*step);
      if (kernel.ok()) return Status();
      why = kernel.status().message();
    }
    for (const Refusal& refusal : refusals)
      if (why.empty()) why = fmt::format("{}: {}", refusal.kernel, refusal.reason);
    return unsupported("layer '{}' was built for {}, which is not there, and no other kernel takes its place{}{}",
                       step->name, before, why.empty() ? "" : ": ", why);
  }

  const std::vector<const Provider*>& providers_;
  const Limits& limits_;
  KernelCache kernels_;
};

}  // namespace

Result<Adapted> adapt_to_device(const Program& program, const std::shared_ptr<Device>& device,
                                const std::vector<const Provider*>& providers, int threads) {
  Limits limits;
  limits.threads = threads > 0 ? threads : ThreadPool::process().size();
  limits.at = device;
  const ParallelScope scope(limits.threads);
  const DeviceScope current(*device);
  const auto own = std::make_shared<Program>(program);
  Adapter adapter(providers, limits);
  WOOTZ_RETURN_IF_ERROR(adapter.adapt(own.get()));
  return Adapted{own, adapter.steps, adapter.chosen_anew};
}

}  // namespace wootz
