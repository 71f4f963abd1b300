// Executable graphs: made of a graph as it is, launched, changed.
#include <unordered_map>
#include <utility>

#include "calls.h"
#include "capture.h"
#include "memory.h"
#include "order.h"

namespace wootz::hostcuda {
namespace {

// What the event nodes of this launch stand for: a new mark for each that records, what each other waits for. order()
// is held. Null: what this launch itself records, earlier in its order.
std::shared_ptr<Launch> make_launch(const Executable& executable) {
  auto launch = std::make_shared<Launch>();
  launch->operations = executable.operations;
  std::unordered_map<const Event*, bool> recorded;
  for (const Operation& operation : *executable.operations) {
    if (const auto* const node = std::get_if<RecordNode>(&operation)) {
      launch->marks.push_back(std::make_shared<Mark>());
      recorded[node->event.get()] = true;
    } else if (const auto* const wait = std::get_if<WaitNode>(&operation)) {
      launch->marks.push_back(recorded.contains(wait->event.get()) ? nullptr : wait->event->last());
    }
  }
  return launch;
}

// The events stand for this launch from now on.
void publish(const Launch& launch, const Point& point) {
  size_t next = 0;
  for (const Operation& operation : *launch.operations) {
    if (const auto* const node = std::get_if<RecordNode>(&operation)) {
      launch.marks[next]->point = point;
      node->event->set(launch.marks[next]);
    }
    next += std::holds_alternative<RecordNode>(operation) || std::holds_alternative<WaitNode>(operation) ? 1 : 0;
  }
}

// Replaces the operation of a node in an executable, for launches to come.
template <typename Operator>
cudaError_t replace(cudaGraphExec_t exec, cudaGraphNode_t node, Operator operation) {
  const auto found = Executables::get().find(exec);
  if (found == nullptr || node == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  for (size_t i = 0; i < found->steps.size(); ++i) {
    if (found->steps[i].node != node) continue;
    if (!std::holds_alternative<Operator>((*found->operations)[i])) return cudaErrorInvalidValue;
    auto changed = std::make_shared<std::vector<Operation>>(*found->operations);
    (*changed)[i] = std::move(operation);
    found->operations = std::move(changed);
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

// What keeps an executable from doing what another says; both are in the same order if nothing does.
cudaGraphExecUpdateResult compare(const Executable& now, const Executable& wanted, size_t* step) {
  *step = 0;
  if (now.steps.size() != wanted.steps.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  for (; *step < now.steps.size(); ++*step) {
    const Executable::Step &a = now.steps[*step], &b = wanted.steps[*step];
    if (a.after != b.after) return cudaGraphExecUpdateErrorTopologyChanged;
    if (a.type != b.type) return cudaGraphExecUpdateErrorNodeTypeChanged;
  }
  return cudaGraphExecUpdateSuccess;
}

}  // namespace

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  cudaGraphInstantiateParams parameters{};
  parameters.flags = flags & ~static_cast<unsigned long long>(cudaGraphInstantiateFlagUpload);
  return cudaGraphInstantiateWithParams(exec, graph, &parameters);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t instantiate11(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t* error, char* log, size_t bytes) {
  if (error != nullptr) *error = nullptr;
  if (log != nullptr && bytes > 0) *log = '\0';
  return cudaGraphInstantiate(exec, graph, 0);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  constexpr unsigned long long kKnown = cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
                                        cudaGraphInstantiateFlagUseNodePriority;
  const auto found = Graphs::get().find(graph);
  if (exec == nullptr || found == nullptr || parameters == nullptr) return cudaErrorInvalidValue;
  parameters->result_out = cudaGraphInstantiateError;
  parameters->errNode_out = nullptr;
  if ((parameters->flags & ~kKnown) != 0) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(order());
  const std::shared_ptr<Executable> made = make_executable(*found);
  if (made == nullptr) {
    parameters->result_out = cudaGraphInstantiateInvalidStructure;
    return cudaErrorInvalidValue;
  }
  made->flags = parameters->flags;
  parameters->result_out = cudaGraphInstantiateSuccess;
  *exec = Executables::get().add(made);
  return cudaSuccess;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  const auto found = Executables::get().find(exec);
  if (found == nullptr || flags == nullptr) return cudaErrorInvalidValue;
  *flags = found->flags;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  if (Executables::get().find(exec) == nullptr) return cudaErrorInvalidValue;
  return queue_of(stream) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const auto found = Executables::get().find(exec);
  const auto queue = queue_of(stream);
  if (found == nullptr) return cudaErrorInvalidValue;
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  std::shared_ptr<Launch> launch;
  {
    const std::lock_guard<std::mutex> lock(order());
    launch = make_launch(*found);
    if (!within(queue)) {
      if (queue->capture != nullptr)  // a node, unless events would stand for each launch of the outer graph
        return launch->marks.empty() ? capture_operation(*queue, launch)
                                     : invalidate(queue->capture, cudaErrorStreamCaptureUnsupported);
      if (const cudaError_t error = check_default_stream(queue); error != cudaSuccess) return error;
      publish(*launch, submit_now(queue, launch));
      return cudaSuccess;
    }
    publish(*launch, Point());
  }
  run(launch);
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  const auto found = Executables::get().find(exec);
  const auto from = Graphs::get().find(graph);
  if (found == nullptr || from == nullptr) return cudaErrorInvalidValue;
  std::shared_ptr<const std::vector<Operation>> old;  // ends after the lock does
  const std::lock_guard<std::mutex> lock(order());
  const std::shared_ptr<Executable> wanted = make_executable(*from);
  size_t step = 0;
  const cudaGraphExecUpdateResult outcome =
      wanted == nullptr ? cudaGraphExecUpdateErrorTopologyChanged : compare(*found, *wanted, &step);
  if (result != nullptr) *result = {outcome, nullptr, nullptr};
  if (outcome != cudaGraphExecUpdateSuccess) {
    if (result != nullptr && wanted != nullptr && step < wanted->steps.size())
      result->errorNode = wanted->steps[step].node;
    return cudaErrorGraphExecUpdateFailure;
  }
  old = std::exchange(found->operations, wanted->operations);
  return cudaSuccess;
}

cudaError_t execUpdate11(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t* error,
                         cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info{};
  const cudaError_t status = cudaGraphExecUpdate(exec, graph, &info);
  if (error != nullptr) *error = info.errorNode;
  if (result != nullptr) *result = info.result;
  return status;
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from,
                                               size_t bytes, cudaMemcpyKind kind) {
  Copy copy{.to = to, .from = from, .width = bytes, .kind = kind};
  if (const cudaError_t error = check_copy(copy); error != cudaSuccess) return error;
  return replace(exec, node, std::move(copy));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  Fill fill;
  if (const cudaError_t error = read_fill(parameters, &fill); error != cudaSuccess) return error;
  return replace(exec, node, fill);
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaHostNodeParams* host) {
  if (host == nullptr || host->fn == nullptr) return cudaErrorInvalidValue;
  return replace(exec, node, HostCall{host->fn, host->userData});
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return Executables::get().take(exec) == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}

}  // namespace wootz::hostcuda
