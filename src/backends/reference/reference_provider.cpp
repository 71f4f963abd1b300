#include "backends/reference/reference_provider.h"

#include <cstring>

#include "backend/plugin.h"
#include "backend/random_state.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/interpreter.h"
#include "ops/registry.h"

namespace wootz {
namespace {

constexpr const char* kKernelName = "op_any_reference";

// Unlike other calls this one allocates: the interpreter makes its results itself.
class ReferenceCall final : public Call {
 public:
  ReferenceCall(const Node& node, const Problem& problem, const BindArgs& args)
      : node_(node),
        problem_(problem),
        inputs_(args.inputs.begin(), args.inputs.end()),
        outputs_(args.outputs.begin(), args.outputs.end()) {}

  Status run(const RunArgs& args) const override {
    std::vector<HostTensor> tensors(inputs_.size());
    std::vector<const HostTensor*> operands(inputs_.size(), nullptr);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (node_.input(static_cast<int>(i)) == nullptr) continue;
      tensors[i] = HostTensor::wrap(problem_.inputs[i].dtype, inputs_[i], args.inputs[i], nullptr);
      operands[i] = &tensors[i];
    }
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, run_node(node_, operands));
    for (size_t o = 0; o < results.size() && o < problem_.outputs.size(); ++o) {
      void* to = args.outputs[o];
      if (args.allocator != nullptr) {
        to = args.allocator->allocate(static_cast<int>(o), results[o].dims());
      } else if (!(results[o].dims() == outputs_[o])) {
        return internal_error("output {} came out as {}, {} was planned", o, results[o].dims().to_string(),
                              outputs_[o].to_string());
      }
      if (results[o].dtype() != problem_.outputs[o].dtype)
        return internal_error("output {} came out as {}, {} was planned", o, dtype_name(results[o].dtype()),
                              dtype_name(problem_.outputs[o].dtype));
      if (results[o].bytes() == 0) continue;
      if (to == nullptr) {
        if (args.allocator == nullptr) continue;  // an output that no step reads
        return make_error(Code::kResourceExhausted, "no memory for output {} of {} bytes", o, results[o].bytes());
      }
      std::memcpy(to, results[o].data(), results[o].bytes());
    }
    return Status();
  }

 private:
  const Node& node_;
  const Problem& problem_;
  std::vector<Dims> inputs_, outputs_;
};

class ReferenceKernel final : public Kernel {
 public:
  ReferenceKernel(std::unique_ptr<Graph> graph, Problem problem)
      : graph_(std::move(graph)), problem_(std::move(problem)) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != problem_.outputs.size())
      return internal_error("{} operands bound, {} expected", args.inputs.size(), problem_.inputs.size());
    return std::unique_ptr<Call>(std::make_unique<ReferenceCall>(*graph_->first(), problem_, args));
  }

 private:
  std::unique_ptr<Graph> graph_;
  Problem problem_;
};

class ReferenceProvider final : public Provider {
 public:
  const char* name() const override { return "reference"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (problem.family() != Family::kOp) {
      refusals->push_back({kKernelName, "only steps of family 'op'"});
      return;
    }
    if (is_plugin(problem)) {
      refusals->push_back({kKernelName, "plugins run by themselves"});
      return;
    }
    if (is_random_state(problem)) {
      refusals->push_back({kKernelName, "it keeps no state"});
      return;
    }
    Candidate candidate;
    candidate.tactic = {name(), kKernelName, ""};
    candidate.input_layouts.assign(problem.inputs.size(), Layout::kLinear);
    candidate.output_layouts.assign(problem.outputs.size(), Layout::kLinear);
    offers->push_back(std::move(candidate));
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem, const Limits&) const override {
    if (tactic.kernel != kKernelName || problem.family() != Family::kOp)
      return unsupported("the reference provider has no kernel '{}' for family '{}'", tactic.kernel,
                         family_name(problem.family()));
    if (is_random_state(problem)) return unsupported("the reference keeps no state to draw random numbers from");
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, parse_graph(problem.as<OpParams>().node, find_op));
    WOOTZ_RETURN_IF_ERROR(verify_graph(*graph));
    if (graph->num_nodes() != 1) return corrupt("an op step of {} nodes, expected 1", graph->num_nodes());
    const Node& node = *graph->first();
    if (static_cast<size_t>(node.num_inputs()) != problem.inputs.size() ||
        static_cast<size_t>(node.num_outputs()) != problem.outputs.size())
      return corrupt("the node's operands do not match the step's");
    return std::unique_ptr<Kernel>(std::make_unique<ReferenceKernel>(std::move(graph), problem));
  }
};

}  // namespace

const Provider* reference_provider() {
  static const ReferenceProvider kProvider;
  return &kProvider;
}

}  // namespace wootz
