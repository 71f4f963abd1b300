// Graphs made by hand and by capture: what they compute, what they say of themselves, misuse.
#include <numeric>
#include <vector>

#include "hostcuda/common.h"

namespace hostcuda_test {
namespace {

struct Executable {
  explicit Executable(cudaGraph_t graph) { EXPECT_EQ(cudaGraphInstantiate(&handle, graph), cudaSuccess); }
  ~Executable() { EXPECT_EQ(cudaGraphExecDestroy(handle), cudaSuccess); }
  operator cudaGraphExec_t() const { return handle; }
  cudaGraphExec_t handle = nullptr;
};

TEST(Graphs, ACaptureReplays) {
  const Stream stream, other;
  const Event fork, join;
  int *memory = nullptr, *host = nullptr;
  OK(cudaMalloc(&memory, 2 * sizeof(int)));
  OK(cudaMallocHost(&host, 2 * sizeof(int)));
  int count = 0;
  const std::function<void()> add = [&] { ++count; };
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaMemcpyAsync(memory, host, sizeof(int), cudaMemcpyHostToDevice, stream));
  OK(cudaEventRecord(fork, stream));
  OK(cudaStreamWaitEvent(other, fork));
  OK(cudaMemsetAsync(memory + 1, 1, sizeof(int), other));
  OK(call(stream, add));
  OK(cudaEventRecord(join, other));
  OK(cudaStreamWaitEvent(stream, join));
  OK(cudaMemcpyAsync(host + 1, memory + 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
  cudaStreamCaptureStatus status{};
  OK(cudaStreamIsCapturing(other, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamIsCapturing(other, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(count, 0);  // nothing ran
  size_t nodes = 0, edges = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(nodes, 4U);
  EXPECT_EQ(edges, 4U);
  {
    const Executable exec(graph);
    OK(cudaGraphDestroy(graph));
    for (int i = 1; i <= 3; ++i) {
      host[0] = i;
      host[1] = 0;
      OK(cudaGraphLaunch(exec, stream));
      OK(cudaStreamSynchronize(stream));
      EXPECT_EQ(host[1], 0x01010101);
      EXPECT_EQ(count, i);
      int back = 0;
      OK(cudaMemcpy(&back, memory, sizeof(int), cudaMemcpyDeviceToHost));
      EXPECT_EQ(back, i);
    }
  }
  FAILS(cudaGraphDestroy(graph), cudaErrorInvalidValue);
  OK(cudaFree(memory));
  OK(cudaFreeHost(host));
}

TEST(Graphs, MadeByHand) {
  const Stream stream;
  const Event reached;
  int* memory = nullptr;
  OK(cudaMalloc(&memory, 4 * sizeof(int)));
  cudaGraph_t graph = nullptr, inner = nullptr;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphCreate(&inner, 0));
  cudaGraphNode_t fill = nullptr, copy = nullptr, child = nullptr, record = nullptr, empty = nullptr;
  const cudaMemsetParams four{memory, 0, 7, 4, 4, 1};
  OK(cudaGraphAddMemsetNode(&fill, inner, nullptr, 0, &four));
  int back[4] = {};
  OK(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, back, memory, sizeof(back), cudaMemcpyDeviceToHost));
  OK(cudaGraphAddChildGraphNode(&child, graph, nullptr, 0, inner));
  OK(cudaGraphAddDependencies(graph, &child, &copy, nullptr, 1));  // the later one comes first
  OK(cudaGraphAddEventRecordNode(&record, graph, &copy, 1, reached));
  OK(cudaGraphAddEmptyNode(&empty, graph, &record, 1));
  FAILS(cudaGraphAddDependencies(graph, &child, &copy, nullptr, 1), cudaErrorInvalidValue);
  size_t count = 0;
  OK(cudaGraphGetRootNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 1U);
  cudaGraphNodeType type{};
  OK(cudaGraphNodeGetType(child, &type));
  EXPECT_EQ(type, cudaGraphNodeTypeGraph);
  cudaGraph_t clone = nullptr;
  OK(cudaGraphClone(&clone, graph));
  for (const cudaGraph_t each : {graph, clone}) {
    std::fill(back, back + 4, 0);
    const Executable exec(each);
    OK(cudaGraphUpload(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaEventSynchronize(reached));
    OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(back[0], 7);
    EXPECT_EQ(back[3], 7);
  }
  OK(cudaGraphDestroyNode(empty));
  FAILS(cudaGraphDestroyNode(empty), cudaErrorInvalidValue);
  OK(cudaGraphAddDependencies(graph, &record, &child, nullptr, 1));  // a circle
  cudaGraphExec_t none = nullptr;
  FAILS(cudaGraphInstantiate(&none, graph), cudaErrorInvalidValue);
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(inner));
  OK(cudaGraphDestroy(clone));
  OK(cudaFree(memory));
}

// A graph with two nodes, a fill and a copy, or one.
cudaGraph_t small_graph(int* memory, int* host, int value, bool both) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphNode_t fill = nullptr, copy = nullptr;
  const cudaMemsetParams parameters{memory, 0, static_cast<unsigned>(value), 4, 1, 1};
  EXPECT_EQ(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &parameters), cudaSuccess);
  if (both)
    EXPECT_EQ(cudaGraphAddMemcpyNode1D(&copy, graph, &fill, 1, host, memory, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  return graph;
}

TEST(Graphs, AreUpdated) {
  const Stream stream;
  int *memory = nullptr, host = 0;
  OK(cudaMalloc(&memory, 4));
  const cudaGraph_t first = small_graph(memory, &host, 1, true), second = small_graph(memory, &host, 2, true),
                    third = small_graph(memory, &host, 3, false);
  const Executable exec(first);
  cudaGraphExecUpdateResultInfo result{};
  OK(cudaGraphExecUpdate(exec, second, &result));
  EXPECT_EQ(result.result, cudaGraphExecUpdateSuccess);
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(host, 2);
  FAILS(cudaGraphExecUpdate(exec, third, &result), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(result.result, cudaGraphExecUpdateErrorTopologyChanged);
  cudaGraphNode_t nodes[2] = {};
  size_t count = 2;
  OK(cudaGraphGetNodes(first, nodes, &count));
  const cudaMemsetParams nine{memory, 0, 9, 4, 1, 1};
  OK(cudaGraphExecMemsetNodeSetParams(exec, nodes[0], &nine));
  FAILS(cudaGraphExecMemsetNodeSetParams(exec, nodes[1], &nine), cudaErrorInvalidValue);
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(host, 9);
  for (const cudaGraph_t graph : {first, second, third}) OK(cudaGraphDestroy(graph));
  OK(cudaFree(memory));
}

TEST(Graphs, OwnWhatIsAllocatedInACapture) {
  const Stream stream;
  char *memory = nullptr, host[8] = {};
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  OK(cudaMallocAsync(&memory, 8, stream));
  OK(cudaMemsetAsync(memory, 4, 8, stream));
  OK(cudaMemcpyAsync(host, memory, 8, cudaMemcpyDeviceToHost, stream));
  OK(cudaFreeAsync(memory, stream));
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  {
    const Executable exec(graph);
    OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 2; ++i) {
      host[7] = 0;
      OK(cudaGraphLaunch(exec, stream));
      OK(cudaStreamSynchronize(stream));
      EXPECT_EQ(host[7], 4);
    }
    cudaPointerAttributes attributes{};
    OK(cudaPointerGetAttributes(&attributes, memory));
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  }
  cudaPointerAttributes attributes{};
  OK(cudaPointerGetAttributes(&attributes, memory));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

// Ends a capture that failed.
void expect_invalid(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  cudaGraph_t graph = reinterpret_cast<cudaGraph_t>(&status);
  FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
}

TEST(Capture, WaitingEndsIt) {
  const Stream stream;
  const Event event;
  for (const auto& wait : std::vector<std::function<cudaError_t()>>{[&] { return cudaStreamSynchronize(stream); },
                                                                    [&] { return cudaStreamQuery(stream); },
                                                                    [&] { return cudaDeviceSynchronize(); },
                                                                    [] {
                                                                      void* memory = nullptr;
                                                                      return cudaMalloc(&memory, 8);
                                                                    }}) {
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    FAILS(wait(), cudaErrorStreamCaptureUnsupported);
    FAILS(cudaLaunchHostFunc(
              stream, [](void*) {}, nullptr),
          cudaErrorStreamCaptureInvalidated);
    expect_invalid(stream);
  }
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(event, stream));
  FAILS(cudaEventSynchronize(event), cudaErrorCapturedEvent);
  expect_invalid(stream);
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  FAILS(cudaLaunchHostFunc(
            nullptr, [](void*) {}, nullptr),
        cudaErrorStreamCaptureImplicit);
  expect_invalid(stream);
}

TEST(Capture, RelaxedOnesAndOtherThreadsAllowMore) {
  const Stream stream(cudaStreamNonBlocking);
  cudaGraph_t graph = nullptr;
  void* memory = nullptr;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  OK(cudaMalloc(&memory, 8));
  OK(cudaFree(memory));
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  std::thread([] {
    void* other = nullptr;
    EXPECT_EQ(cudaMalloc(&other, 8), cudaSuccess);
    EXPECT_EQ(cudaFree(other), cudaSuccess);
  }).join();
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  OK(cudaMalloc(&memory, 8));
  OK(cudaFree(memory));
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  std::thread([&] {
    cudaGraph_t none = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &none), cudaErrorStreamCaptureWrongThread);
  }).join();
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphDestroy(graph));
}

TEST(Capture, MisuseIsAnError) {
  const Stream stream, other;
  const Event event, outside;
  cudaGraph_t graph = nullptr;
  FAILS(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  FAILS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  // Work of another stream that is not joined.
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(other, event));
  OK(cudaLaunchHostFunc(
      other, [](void*) {}, nullptr));
  FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  // Its end in a stream that joined.
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(other, event));
  FAILS(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
  expect_invalid(stream);
  // Two captures that would become one.
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(event, stream));
  FAILS(cudaStreamWaitEvent(other, event), cudaErrorStreamCaptureMerge);
  expect_invalid(stream);
  expect_invalid(other);
  // Captured work that would wait for work that is not.
  OK(cudaEventRecord(outside, other));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  FAILS(cudaStreamWaitEvent(stream, outside), cudaErrorStreamCaptureIsolation);
  expect_invalid(stream);
  // The end of the stream where it began: the capture is over, and holds nobody up.
  cudaStream_t ended = nullptr;
  void* memory = nullptr;
  OK(cudaStreamCreate(&ended));
  OK(cudaStreamBeginCapture(ended, cudaStreamCaptureModeGlobal));
  OK(cudaStreamDestroy(ended));
  FAILS(cudaStreamEndCapture(ended, &graph), cudaErrorInvalidResourceHandle);
  OK(cudaMalloc(&memory, 8));
  OK(cudaFree(memory));
  // An event of a capture that is over.
  FAILS(cudaStreamWaitEvent(other, event), cudaErrorCapturedEvent);
  FAILS(cudaGraphLaunch(nullptr, stream), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace hostcuda_test
