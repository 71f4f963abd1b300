#include "backends/reference/reference_provider.h"

#include <cstring>

#include "backend/plugin.h"
#include "backend/random_state.h"
#include "backend/relayout.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/interpreter.h"
#include "ops/registry.h"

namespace wootz {
namespace {

constexpr const char* kKernelName = "op_any_reference";
constexpr const char* kReformatKernel = "reformat_any_reference";

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

// Another layout of a tensor, as inputs and outputs of networks may have it.
class ReformatKernel final : public Kernel {
 public:
  explicit ReformatKernel(Problem problem) : problem_(std::move(problem)) {}
  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != 1 || args.outputs.size() != 1 || !(args.inputs[0] == args.outputs[0]))
      return invalid_argument("reformat: unequal extents to bind");
    return std::unique_ptr<Call>(std::make_unique<ReformatCall>(problem_, args.inputs[0]));
  }

 private:
  class ReformatCall final : public Call {
   public:
    ReformatCall(const Problem& problem, const Dims& dims) : problem_(problem), dims_(dims) {}
    Status run(const RunArgs& args) const override {
      return move_to_layout(args.inputs[0], problem_.inputs[0].layout, args.outputs[0], problem_.outputs[0].layout,
                            problem_.inputs[0].dtype, dims_);
    }

   private:
    const Problem& problem_;
    Dims dims_;
  };
  Problem problem_;
};

Status check_reformat(const Problem& p) {
  if (p.num_main != 1 || p.inputs.size() != 1 || p.outputs.size() != 1 || !p.epilogue.empty())
    return invalid_argument("reformat: {} inputs, {} outputs", p.inputs.size(), p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  if (!(x.dims == y.dims)) return invalid_argument("reformat of {} gives {}", x.dims.to_string(), y.dims.to_string());
  if (x.dtype != y.dtype) return unsupported("{} to {}", dtype_name(x.dtype), dtype_name(y.dtype));
  if (dtype_bits(x.dtype) < 8) return unsupported("reformat of {}", dtype_name(x.dtype));
  if (x.layout == Layout::kOpaque || y.layout == Layout::kOpaque) return unsupported("reformat of packed tensors");
  return Status();
}

class ReferenceProvider final : public Provider {
 public:
  const char* name() const override { return "reference"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    if (problem.is(Family::kReformat)) {
      if (const Status status = check_reformat(problem); !status.ok())
        return refusals->push_back({kReformatKernel, status.message()});
      offers->push_back({{name(), kReformatKernel, ""}, {problem.inputs[0].layout}, {problem.outputs[0].layout}});
      return;
    }
    if (problem.family() != Family::kOp) {
      refusals->push_back({kKernelName, "only steps of families 'op' and 'reformat'"});
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
    if (tactic.kernel == kReformatKernel && problem.is(Family::kReformat)) {
      WOOTZ_RETURN_IF_ERROR(check_reformat(problem).with_prefix(tactic.kernel));
      return std::unique_ptr<Kernel>(std::make_unique<ReformatKernel>(problem));
    }
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
