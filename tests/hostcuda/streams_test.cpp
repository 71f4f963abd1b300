// Streams and events: order, the default streams, time, misuse.
#include <atomic>
#include <vector>

#include "hostcuda/common.h"

namespace hostcuda_test {
namespace {

TEST(Streams, AreOrderedAndDoNotHoldTheHost) {
  const Stream stream;
  Gate gate;
  std::vector<int> order;
  const std::function<void()> first = [&] { order.push_back(1); }, second = [&] { order.push_back(2); };
  gate.hold(stream);
  OK(call(stream, first));
  OK(call(stream, second));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  cudaGetLastError();
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  OK(cudaStreamQuery(stream));
}

TEST(Streams, TellWhatTheyAre) {
  int least = 1, greatest = 1, priority = 9;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_LT(greatest, least);
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100));
  OK(cudaStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, greatest);
  unsigned flags = 0;
  OK(cudaStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  unsigned long long one = 0, two = 0;
  OK(cudaStreamGetId(stream, &one));
  OK(cudaStreamGetId(nullptr, &two));
  EXPECT_NE(one, two);
  int device = -1;
  OK(cudaStreamGetDevice(stream, &device));
  EXPECT_EQ(device, 0);
  OK(cudaStreamDestroy(stream));
  FAILS(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  FAILS(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  FAILS(cudaMemsetAsync(&device, 0, 1, stream), cudaErrorInvalidResourceHandle);
  FAILS(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  FAILS(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
  FAILS(cudaStreamCreateWithFlags(&stream, 6), cudaErrorInvalidValue);
  FAILS(cudaStreamQuery(reinterpret_cast<cudaStream_t>(&device)), cudaErrorInvalidResourceHandle);
}

// The default stream waits for blocking streams, they wait for it, and others do neither.
TEST(Streams, TheDefaultStreamIsInStepWithBlockingOnes) {
  const Stream blocking, after, free(cudaStreamNonBlocking);
  Gate gate;
  std::atomic<int> in_default{0}, in_after{0}, in_free{0};
  const std::function<void()> default_one = [&] { in_default = 1; }, after_one = [&] { in_after = in_default.load(); },
                              free_one = [&] { in_free = 1; };
  gate.hold(blocking);
  OK(call(nullptr, default_one));
  OK(call(after, after_one));
  OK(call(free, free_one));
  OK(cudaStreamSynchronize(free));
  EXPECT_EQ(in_free, 1);
  EXPECT_EQ(in_default, 0);
  EXPECT_EQ(cudaStreamQuery(after), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
  cudaGetLastError();
  gate.open();
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(in_default, 1);
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(in_after, 1);
}

TEST(Streams, EachThreadHasItsOwnDefaultStream) {
  Gate gate;
  gate.hold(cudaStreamPerThread);
  std::thread other([] {
    unsigned long long id = 0;
    EXPECT_EQ(cudaStreamGetId(cudaStreamPerThread, &id), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  });
  other.join();
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  cudaGetLastError();
  gate.open();
  OK(cudaStreamSynchronize(cudaStreamPerThread));
}

TEST(Streams, CallbacksGetTheirStream) {
  const Stream stream;
  struct Seen {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
  } seen;
  const auto callback = [](cudaStream_t of, cudaError_t status, void* data) {
    *static_cast<Seen*>(data) = {of, status};
  };
  OK(cudaStreamAddCallback(stream, callback, &seen, 0));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(seen.stream, stream.handle);
  EXPECT_EQ(seen.status, cudaSuccess);
  FAILS(cudaStreamAddCallback(stream, nullptr, &seen, 0), cudaErrorInvalidValue);
  FAILS(cudaLaunchHostFunc(stream, nullptr, nullptr), cudaErrorInvalidValue);
}

// A host function's own copies are done at once; waiting for others is not allowed to it.
TEST(Streams, HostFunctionsMayCallTheApi) {
  const Stream stream, held;
  Gate gate;
  gate.hold(held);
  int* memory = nullptr;
  OK(cudaMalloc(&memory, sizeof(int)));
  cudaError_t waited = cudaSuccess;
  int value = 0;
  const std::function<void()> work = [&] {
    const int source = 7;
    EXPECT_EQ(cudaMemcpyAsync(memory, &source, sizeof(int), cudaMemcpyHostToDevice, stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&value, memory, sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    waited = cudaStreamSynchronize(held);
  };
  OK(call(stream, work));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(value, 7);
  EXPECT_EQ(waited, cudaErrorNotPermitted);
  gate.open();
  OK(cudaFree(memory));
}

TEST(Streams, WorkOutlivesTheHandle) {
  std::atomic<int> done{0};
  const std::function<void()> work = [&] { ++done; };
  Gate gate;
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  gate.hold(stream);
  OK(call(stream, work));
  OK(cudaStreamDestroy(stream));
  gate.open();
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(done, 1);
}

TEST(Events, TellTimeAndOrder) {
  const Stream one, two(cudaStreamNonBlocking);
  const Event start, end, untimed(cudaEventDisableTiming);
  int value = 0, seen = 0;
  const std::function<void()> slow = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    value = 1;
  };
  const std::function<void()> look = [&] { seen = value; };
  OK(cudaEventQuery(start));
  OK(cudaEventSynchronize(start));
  OK(cudaEventRecord(start, one));
  OK(call(one, slow));
  OK(cudaEventRecord(end, one));
  OK(cudaStreamWaitEvent(two, end));
  OK(call(two, look));
  OK(cudaStreamSynchronize(two));
  EXPECT_EQ(seen, 1);
  OK(cudaEventQuery(end));
  float milliseconds = 0;
  OK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 19.0F);
  EXPECT_LT(milliseconds, 2000.0F);
  OK(cudaEventRecord(untimed, one));
  OK(cudaEventSynchronize(untimed));
  FAILS(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
}

TEST(Events, MisuseIsAnError) {
  const Stream stream;
  const Event never, held, done;
  float milliseconds = 0;
  FAILS(cudaEventCreate(nullptr), cudaErrorInvalidValue);
  cudaEvent_t event = nullptr;
  FAILS(cudaEventCreateWithFlags(&event, 0x40), cudaErrorInvalidValue);
  FAILS(cudaEventRecord(nullptr, stream), cudaErrorInvalidResourceHandle);
  FAILS(cudaEventElapsedTime(&milliseconds, never, never), cudaErrorInvalidResourceHandle);
  FAILS(cudaEventElapsedTime(nullptr, never, never), cudaErrorInvalidValue);
  Gate gate;
  OK(cudaEventRecord(done, stream));
  gate.hold(stream);
  OK(cudaEventRecord(held, stream));
  FAILS(cudaEventQuery(held), cudaErrorNotReady);
  FAILS(cudaEventElapsedTime(&milliseconds, done, held), cudaErrorNotReady);
  gate.open();
  OK(cudaEventCreate(&event));
  OK(cudaEventDestroy(event));
  FAILS(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
  FAILS(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
  FAILS(cudaStreamWaitEvent(stream, event), cudaErrorInvalidResourceHandle);
}

}  // namespace
}  // namespace hostcuda_test
