#include "backends/random_steps.h"

#include <cstring>

#include "backend/plugin.h"
#include "backend/random_state.h"

namespace wootz {
namespace {

constexpr const char* kKernelName = "op_i64_random_state";

struct State final : KernelState {
  explicit State(RandomState first) : now(first) {}
  RandomState now;
};

class StateCall final : public StatefulCall {
 public:
  Status run_with(const RunArgs& args, KernelState* kept) const override {
    RandomState& now = static_cast<State*>(kept)->now;
    const int64_t values[] = {now.key, now.drawn++};
    std::memcpy(args.outputs[0], values, sizeof values);
    return Status();
  }
};

class StateKernel final : public StatefulKernel {
 public:
  explicit StateKernel(Problem problem) : problem_(std::move(problem)) {}
  Result<std::unique_ptr<KernelState>> attach(const ContextServices*) const override {
    WOOTZ_ASSIGN_OR_RETURN(const RandomState first, first_random_state(problem_));
    return std::unique_ptr<KernelState>(std::make_unique<State>(first));
  }
  Result<std::unique_ptr<Call>> bind(const BindArgs&) const override {
    return std::unique_ptr<Call>(std::make_unique<StateCall>());
  }

 private:
  Problem problem_;
};

class RandomStepsProvider final : public Provider {
 public:
  const char* name() const override { return "random"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>*) const override {
    if (!is_random_state(problem) || !first_random_state(problem).ok()) return;
    Candidate candidate;
    candidate.tactic = {name(), kKernelName, ""};
    candidate.output_layouts = {Layout::kLinear};
    candidate.estimate_us = 0.1;
    offers->push_back(std::move(candidate));
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem, const Limits&) const override {
    if (tactic.kernel != kKernelName) return unsupported("the provider random has no kernel '{}'", tactic.kernel);
    WOOTZ_RETURN_IF_ERROR(first_random_state(problem).status());
    return std::unique_ptr<Kernel>(std::make_unique<StateKernel>(problem));
  }
};

}  // namespace

const Provider& random_steps_provider() {
  static const RandomStepsProvider provider;
  return provider;
}

}  // namespace wootz
