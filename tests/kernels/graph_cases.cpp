#include "kernels/graph_cases.h"

#include <map>

#include "backends/registry.h"
#include "build/session.h"
#include "lower/lower.h"
#include "ops/interpreter.h"
#include "passes/pass.h"

namespace wootz::kernels {
namespace {

Result<Lowered> lowered(const Graph& graph, const char* backend) {
  WOOTZ_ASSIGN_OR_RETURN(const Backend* found, find_backend(backend));
  LowerOptions options;
  options.backend = backend;
  options.providers = found->providers();
  options.limits.threads = 2;
  options.sparse_weights = true;  // where constants are so
  options.limits.host_steps = true;
  if (Result<std::shared_ptr<Device>> device = found->open(); device.ok()) options.limits.at = *device;
  const std::vector<SymbolRange> ranges(graph.symbols().size(), SymbolRange{1, 8, 64});
  options.profiles = {ranges};
  return lower_graph(graph, options);
}

// What the program's tensors hold for these inputs; invalid where that is no value of the graph.
Result<IndexedVector<TensorIndex, HostTensor>> tensors_of(const Lowered& l, const Graph& graph,
                                                          const std::vector<HostTensor>& inputs) {
  IndexedVector<TensorIndex, HostTensor> tensors(l.program.tensors.size());
  std::vector<int> ids;
  std::vector<TensorIndex> places;
  for (const auto& [value, tensor] : l.tensors) {
    if (!tensor.exists() || value == nullptr || value->is_constant()) continue;
    if (graph.value_by_id(value->id()) != value) continue;  // of a body's
    ids.push_back(value->id());
    places.push_back(tensor);
  }
  std::vector<HostTensor> taps;
  WOOTZ_RETURN_IF_ERROR(run_graph_taps(graph, inputs, ids, &taps).status());
  for (size_t i = 0; i < taps.size(); ++i) tensors[places[i]] = taps[i];
  for (const TensorIndex t : tensors.indices()) {
    const PlanTensor& tensor = l.program.tensors[t];
    if (tensor.kind != TensorKind::kConstant) continue;
    const PlanConstant& constant = l.program.constants[tensor.constant];
    tensors[t] = HostTensor::wrap(constant.dtype, constant.dims, constant.data, constant.owner);
  }
  return tensors;
}

// False: some operand is not known, or not as the problem describes it.
bool collect(const IndexedVector<TensorIndex, HostTensor>& tensors, const std::vector<TensorIndex>& which,
             const std::vector<TensorDesc>& descs, std::vector<HostTensor>* found) {
  if (which.size() != descs.size()) return false;
  for (size_t i = 0; i < which.size(); ++i) {
    found->emplace_back();
    if (!which[i].exists() || descs[i].dtype == DType::kInvalid) continue;
    const HostTensor& t = tensors[which[i]];
    if (!t.valid() || t.dtype() != descs[i].dtype || t.rank() != descs[i].dims.rank()) return false;
    found->back() = t;
  }
  return true;
}

bool left_out(const Problem& p) {
  if (p.is(Family::kReformat)) return true;  // a copy that lowering adds: reformats.h has them
  if (p.is(Family::kOp)) return p.as<OpParams>().kernel.get() == nullptr;  // no kernel knows it
  return has_trait(p.family(), kRunsItself);
}

}  // namespace

Status optimize(Graph& graph, const char* backend) {
  WOOTZ_ASSIGN_OR_RETURN(const Backend* found, find_backend(backend));
  PipelineOptions options;
  leave_out_passes_for(found->can, &options);
  return run_pipeline(graph, options).status();
}

Result<Taken> add_steps(const GraphSource& source, const char* backend, CaseSet* cases) {
  WOOTZ_ASSIGN_OR_RETURN(const Lowered l, lowered(*source.graph, backend));
  WOOTZ_ASSIGN_OR_RETURN(const auto tensors, tensors_of(l, *source.graph, source.inputs));
  Taken taken;
  for (const StepIndex s : l.program.steps.indices()) {
    const Step& step = l.program.steps[s];
    if (left_out(step.problem)) continue;
    KernelCase c;
    c.name = fmt::format("{} step {}", source.name, s);
    c.problem = step.problem;
    c.tolerance = source.tolerance;
    c.reduction = source.reduction;
    c.written = source.written;
    c.races = source.races;
    if (collect(tensors, step.inputs, step.problem.inputs, &c.inputs) &&
        collect(tensors, step.outputs, step.problem.outputs, &c.expected)) {
      cases->add(std::move(c));
      ++taken.steps;
    } else {
      ++taken.left;
    }
  }
  return taken;
}

Result<std::vector<Problem>> problems_of(const Graph& graph, const char* backend) {
  WOOTZ_ASSIGN_OR_RETURN(const Lowered l, lowered(graph, backend));
  std::vector<Problem> problems;
  for (const Step& step : l.program.steps)
    if (!left_out(step.problem)) problems.push_back(step.problem);
  return problems;
}

}  // namespace wootz::kernels
