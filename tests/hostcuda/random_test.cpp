// Random programs on four streams: whatever the order in which threads get to run, memory ends as it does when the
// program is done one operation after the other. Once plain, with the default stream among the four, and once captured.
#include <array>
#include <memory>
#include <random>
#include <vector>

#include "base/testing.h"
#include "hostcuda/common.h"

namespace hostcuda_test {
namespace {

constexpr size_t kStreams = 4, kCells = 6, kOperations = 60;

struct Operation {
  enum Kind { kFill, kCopy, kMix } kind;
  size_t stream, to, from;
  unsigned value;
};

std::vector<Operation> draw(std::mt19937_64& random) {
  std::vector<Operation> program(kOperations);
  for (Operation& o : program)
    o = {static_cast<Operation::Kind>(random() % 3), random() % kStreams, random() % kCells, random() % kCells,
         static_cast<unsigned>(random() % 200)};
  return program;
}

uint32_t mix(uint32_t to, uint32_t from, unsigned value) { return to * 31 + from * 7 + value; }

std::array<uint32_t, kCells> one_after_the_other(const std::vector<Operation>& program, size_t times) {
  std::array<uint32_t, kCells> cells{};
  for (size_t t = 0; t < times; ++t)
    for (const Operation& o : program) {
      if (o.kind == Operation::kFill) cells[o.to] = o.value * 0x01010101U;
      if (o.kind == Operation::kCopy) cells[o.to] = cells[o.from];
      if (o.kind == Operation::kMix) cells[o.to] = mix(cells[o.to], cells[o.from], o.value);
    }
  return cells;
}

// Puts a program into streams, with an event wherever an operation depends on one of another stream.
class Submitted {
 public:
  Submitted(const std::vector<Operation>& program, const std::array<cudaStream_t, kStreams>& streams, bool with_default)
      : streams_(streams), with_default_(with_default) {
    EXPECT_EQ(cudaMalloc(&cells_, kCells * sizeof(uint32_t)), cudaSuccess);
    EXPECT_EQ(cudaMemset(cells_, 0, kCells * sizeof(uint32_t)), cudaSuccess);
    calls_.reserve(program.size());
    program_ = program;
  }
  ~Submitted() {
    EXPECT_EQ(cudaFree(cells_), cudaSuccess);
    for (const cudaEvent_t event : events_) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  }
  void submit() {
    for (size_t n = 0; n < program_.size(); ++n) {
      const Operation& o = program_[n];
      if (touched_[o.to]) after(n, *touched_[o.to]);
      for (const size_t reader : readers_[o.to]) after(n, reader);
      if (o.kind != Operation::kFill && touched_[o.from]) after(n, *touched_[o.from]);
      put(o);
      touched_[o.to] = std::make_unique<size_t>(n);
      readers_[o.to].clear();
      if (o.kind != Operation::kFill && o.from != o.to) readers_[o.from].push_back(n);
    }
  }
  std::array<uint32_t, kCells> result() const {
    std::array<uint32_t, kCells> cells{};
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(cells.data(), cells_, sizeof(cells), cudaMemcpyDeviceToHost), cudaSuccess);
    return cells;
  }

 private:
  void after(size_t n, size_t earlier) {
    const size_t from = program_[earlier].stream, to = program_[n].stream;
    // Stream 0 is the default stream then, and 1 and 2 are in step with it.
    if (from == to || (with_default_ && (from == 0 || to == 0) && from != 3 && to != 3)) return;
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    events_.push_back(event);
    EXPECT_EQ(cudaEventRecord(event, streams_[from]), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(streams_[to], event), cudaSuccess);
  }
  void put(const Operation& o) {
    uint32_t *const to = cells_ + o.to, *const from = cells_ + o.from;
    const cudaStream_t stream = streams_[o.stream];
    if (o.kind == Operation::kFill)
      EXPECT_EQ(cudaMemsetAsync(to, static_cast<int>(o.value), sizeof(uint32_t), stream), cudaSuccess);
    if (o.kind == Operation::kCopy)
      EXPECT_EQ(cudaMemcpyAsync(to, from, sizeof(uint32_t), cudaMemcpyDeviceToDevice, stream), cudaSuccess);
    if (o.kind != Operation::kMix) return;
    calls_.push_back([to, from, value = o.value] {
      if (value % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      *to = mix(*to, *from, value);
    });
    EXPECT_EQ(call(stream, calls_.back()), cudaSuccess);
  }

  std::array<cudaStream_t, kStreams> streams_;
  bool with_default_;
  uint32_t* cells_ = nullptr;
  std::vector<Operation> program_;
  std::vector<std::function<void()>> calls_;
  std::vector<cudaEvent_t> events_;
  std::array<std::unique_ptr<size_t>, kCells> touched_;
  std::array<std::vector<size_t>, kCells> readers_;
};

TEST(Random, StreamsAndEvents) {
  std::mt19937_64 random(wootz::test_seed());
  for (int round = 0; round < 40; ++round) {
    const std::vector<Operation> program = draw(random);
    const Stream one, two, three(cudaStreamNonBlocking);
    Submitted submitted(program, {nullptr, one, two, three}, true);
    submitted.submit();
    ASSERT_EQ(submitted.result(), one_after_the_other(program, 1)) << "round " << round;
  }
}

TEST(Random, Captured) {
  std::mt19937_64 random(wootz::test_seed() + 1);
  for (int round = 0; round < 25; ++round) {
    const std::vector<Operation> program = draw(random);
    const Stream zero, one, two(cudaStreamNonBlocking), three;
    const std::array<cudaStream_t, kStreams> streams{zero, one, two, three};
    Submitted submitted(program, streams, false);
    const Event fork;
    OK(cudaStreamBeginCapture(zero, cudaStreamCaptureModeThreadLocal));
    OK(cudaEventRecord(fork, zero));
    for (size_t s = 1; s < kStreams; ++s) OK(cudaStreamWaitEvent(streams[s], fork));
    submitted.submit();
    for (size_t s = 1; s < kStreams; ++s) {
      const Event join;
      OK(cudaEventRecord(join, streams[s]));
      OK(cudaStreamWaitEvent(zero, join));
    }
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(zero, &graph));
    cudaGraphExec_t exec = nullptr;
    OK(cudaGraphInstantiate(&exec, graph));
    OK(cudaGraphDestroy(graph));
    for (int launch = 0; launch < 3; ++launch) OK(cudaGraphLaunch(exec, zero));
    OK(cudaGraphExecDestroy(exec));  // what was launched goes on
    ASSERT_EQ(submitted.result(), one_after_the_other(program, 3)) << "round " << round;
  }
}

// Many threads at once, each with a stream of its own.
TEST(Random, Threads) {
  std::vector<std::thread> threads;
  const uint64_t seed = wootz::test_seed() + 2;
  for (uint64_t t = 0; t < 8; ++t)
    threads.emplace_back([seed, t] {
      std::mt19937_64 random(seed + t);
      for (int round = 0; round < 5; ++round) {
        const std::vector<Operation> program = draw(random);
        const Stream one(cudaStreamNonBlocking), two(cudaStreamNonBlocking), three(cudaStreamNonBlocking);
        Submitted submitted(program, {cudaStreamPerThread, one, two, three}, false);
        submitted.submit();
        EXPECT_EQ(submitted.result(), one_after_the_other(program, 1)) << "thread " << t << ", round " << round;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hostcuda_test
