// A CUDA runtime library of which only what an inference of a CPU engine takes is there: streams that run host
// functions when they are asked to, or note them for a graph.
#include <deque>

#include "api/dense.h"

namespace wootz_test {

using HostFunction = void (*)(void*);

struct ForeignStream {
  int capturing = 0;  // cudaStreamCaptureStatus
  int error = 0;      // of asking
  std::deque<std::pair<HostFunction, void*>> queue, graph;
  int events = 0;

  void run() {
    for (; !queue.empty(); queue.pop_front()) queue.front().first(queue.front().second);
  }
  cudaStream_t handle() { return reinterpret_cast<cudaStream_t>(this); }
};

namespace {

class ForeignRuntime : public testing::Test {
 protected:
  ForeignRuntime() : engine(net.engine()) {
    EXPECT_NE(engine, nullptr) << net.logger.errors();
    context.reset(engine->createExecutionContext());
    EXPECT_TRUE(context->setInputShape("x", dims({2, 8})));
    EXPECT_TRUE(context->setInputTensorAddress("x", x.data()));
    EXPECT_TRUE(context->setTensorAddress("y", y.data()));
  }
  Dense net;
  Owned<ICudaEngine> engine;
  Owned<IExecutionContext> context;
  const Floats nothing = Floats(32, -1);
  Floats x = rows(2, 1), y = nothing;
  ForeignStream stream;
};

TEST_F(ForeignRuntime, InferencesTakeTheirTurnInItsStreams) {
  ASSERT_TRUE(context->enqueueV3(stream.handle())) << net.logger.errors();
  EXPECT_EQ(y, nothing) << "not yet";
  stream.run();
  expect_near(y, net.expected(x));
}

TEST_F(ForeignRuntime, CapturesAreRefused) {
  stream.capturing = 1;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(context->enqueueV3(stream.handle()));
    const std::string why = net.logger.take_errors();
    for (const char* part : {"enqueueV3", "captured into a graph", "libwootz_hostcuda"})
      EXPECT_NE(why.find(part), std::string::npos) << part << ": " << why;
  }
  EXPECT_TRUE(stream.queue.empty() && stream.graph.empty());
  EXPECT_EQ(stream.events, 0);
  EXPECT_EQ(y, nothing) << "nothing ran";
  // One that is broken off, and one that cannot be asked.
  stream.capturing = 2;
  EXPECT_FALSE(context->enqueueV3(stream.handle()));
  stream.capturing = 0, stream.error = 900;
  EXPECT_FALSE(context->enqueueV3(stream.handle()));
  EXPECT_NE(net.logger.take_errors().find("CUDA error 900"), std::string::npos);
  stream.error = 0;
  EXPECT_TRUE(context->enqueueV3(stream.handle())) << net.logger.errors();
  stream.run();
  EXPECT_NE(y, nothing);
}

}  // namespace
}  // namespace wootz_test

using wootz_test::ForeignStream;

// By the names that the library looks for; a toolkit's headers, where they are there, declare them with types of their
// own.
#define SHOWN_AS(name) __asm__(name) __attribute__((visibility("default"), used))
extern "C" {
int foreign_launch(ForeignStream* stream, void (*function)(void*), void* data) SHOWN_AS("cudaLaunchHostFunc");
int foreign_capturing(ForeignStream* stream, int* status) SHOWN_AS("cudaStreamIsCapturing");
int foreign_record(void* event, ForeignStream* stream) SHOWN_AS("cudaEventRecord");
}

int foreign_launch(ForeignStream* stream, void (*function)(void*), void* data) {
  (stream->capturing == 0 ? stream->queue : stream->graph).emplace_back(function, data);
  return 0;
}
int foreign_capturing(ForeignStream* stream, int* status) {
  *status = stream->capturing;
  return stream->error;
}
int foreign_record(void*, ForeignStream* stream) { return ++stream->events, 0; }
