// Engines on two GPUs from one process: real ones where there are two, otherwise those of the emulator.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using testing::AllOf;
using testing::HasSubstr;

class CudaTwoDevices : public testing::Test {
 protected:
  void SetUp() override {
    if (!real_gpu()) {
      ASSERT_TRUE(cuda::use_emulator(2).ok());
      return;
    }
    const auto all = cuda::list_gpus();
    ASSERT_TRUE(all.ok()) << all.status().to_string();
    if (all->size() < 2) GTEST_SKIP() << "ONE GPU ON THIS MACHINE";
    if ((*all)[0].isa != (*all)[1].isa) GTEST_SKIP() << "THE GPUS ARE OF TWO KINDS";
  }
};

CUcontext current_context() {
  CUcontext current = nullptr;
  EXPECT_EQ((*cuda::driver())->cuCtxGetCurrent(&current), CUDA_SUCCESS);
  return current;
}
CUcontext context_of(int device) { return (*cuda::gpu(device))->context; }

// What cudaSetDevice does: the GPU is current on this thread; while this lives.
class SetDevice {
 public:
  explicit SetDevice(int device) {
    EXPECT_EQ((*cuda::driver())->cuCtxPushCurrent_v2(context_of(device)), CUDA_SUCCESS);
  }
  ~SetDevice() {
    CUcontext popped = nullptr;
    (*cuda::driver())->cuCtxPopCurrent_v2(&popped);
  }
  SetDevice(const SetDevice&) = delete;
  SetDevice& operator=(const SetDevice&) = delete;
};

// On a thread where no GPU is current yet.
template <typename Work>
void on_new_thread(Work work) {
  std::thread thread(work);
  thread.join();
}

// An engine of a plan on a GPU, with a context, a stream and batches of its own.
struct OnDevice {
  OnDevice(SmallNet& net, int device) : device(device) {
    const SetDevice current(device);
    runtime.reset(createInferRuntime(net.bench.logger));
    engine.reset(runtime->deserializeCudaEngine(net.plan->data(), net.plan->size()));
    EXPECT_NE(engine, nullptr) << net.bench.logger.errors();
    if (engine == nullptr) return;
    EXPECT_EQ(wootz_engine_device(engine.get()), device);
    context.reset(engine->createExecutionContext());
    EXPECT_NE(context, nullptr) << net.bench.logger.errors();
    stream = std::make_unique<Stream>();
    for (const int64_t count : {4, 1, 7}) batches.push_back(std::make_unique<Batch>(*engine, count));
  }
  bool enqueue(size_t batch) { return batches[batch]->enqueue(*context, stream->handle); }
  std::vector<float> results(size_t batch) {
    EXPECT_EQ(wootz_device_wait(engine.get(), stream->handle), 0);
    return batches[batch]->results();
  }

  int device;
  Owned<IRuntime> runtime;
  Owned<ICudaEngine> engine;
  Owned<IExecutionContext> context;
  std::unique_ptr<Stream> stream;
  std::vector<std::unique_ptr<Batch>> batches;
};

TEST_F(CudaTwoDevices, OnePlanRunsOnBothInTurns) {
  SmallNet net;
  ASSERT_NE(net.plan, nullptr);
  OnDevice first(net, 0), second(net, 1);
  ASSERT_TRUE(first.context != nullptr && second.context != nullptr);
  for (int round = 0; round < 5; ++round)
    for (size_t b = 0; b < first.batches.size(); ++b) {
      // Whichever GPU is current on the thread.
      const SetDevice current(round % 2);
      first.batches[b]->clear();
      second.batches[b]->clear();
      ASSERT_TRUE(first.enqueue(b)) << net.bench.logger.errors();
      ASSERT_TRUE(second.enqueue(b)) << net.bench.logger.errors();
      const std::vector<float> a = first.results(b);
      EXPECT_EQ(a, second.results(b)) << "round " << round;
      EXPECT_GT(a[0], 0);
    }
  if (!real_gpu()) EXPECT_EQ(cuda::emulator_faults(), "");
}

TEST_F(CudaTwoDevices, OnePlanRunsOnBothFromTwoThreads) {
  SmallNet net;
  ASSERT_NE(net.plan, nullptr);
  OnDevice first(net, 0), second(net, 1);
  ASSERT_TRUE(first.context != nullptr && second.context != nullptr);
  ASSERT_TRUE(first.enqueue(0)) << net.bench.logger.errors();
  const std::vector<float> want = first.results(0);
  const auto work = [&](OnDevice& on) {
    for (int i = 0; i < (real_gpu() ? 2000 : 30); ++i) {
      ASSERT_TRUE(on.enqueue(0)) << net.bench.logger.errors();
      if (i % 10 == 0) ASSERT_EQ(on.results(0), want) << "GPU " << on.device << ", run " << i;
    }
    EXPECT_EQ(on.results(0), want);
    EXPECT_EQ(current_context(), nullptr) << "the thread had no GPU, and has none";
  };
  std::thread a([&] { work(first); }), b([&] { work(second); });
  a.join();
  b.join();
}

TEST_F(CudaTwoDevices, WhatIsCurrentStaysAsItWas) {
  for (const int current : {wootz::kCurrentDevice, 0, 1})
    on_new_thread([current] {
      std::unique_ptr<SetDevice> set;
      if (current >= 0) set = std::make_unique<SetDevice>(current);
      const CUcontext before = current_context();
      SmallNet net;
      EXPECT_EQ(current_context(), before) << "after a build and a load";
      ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
      EXPECT_EQ(wootz_engine_device(net.engine.get()), std::max(current, 0));
      {
        Owned<IExecutionContext> context(net.engine->createExecutionContext());
        EXPECT_EQ(current_context(), before) << "after a context";
        Batch batch(*net.engine, 4);
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(batch.enqueue(*context, nullptr)) << net.bench.logger.errors();
        EXPECT_EQ(current_context(), before) << "after inferences";
        EXPECT_GT(batch.results()[0], 0);
      }
      net.engine.reset();
      EXPECT_EQ(current_context(), before) << "when all is gone";
    });
}

TEST_F(CudaTwoDevices, StreamsAndAddressesOfTheOtherAreRefusedByName) {
  SmallNet net;
  ASSERT_NE(net.plan, nullptr);
  OnDevice first(net, 0), second(net, 1);
  ASSERT_TRUE(first.enqueue(0)) << net.bench.logger.errors();
  net.bench.logger.take_errors();
  EXPECT_FALSE(first.context->enqueueV3(reinterpret_cast<cudaStream_t>(second.stream->handle)));
  EXPECT_THAT(net.bench.logger.take_errors(), HasSubstr("the stream is of GPU 1, and the engine is on GPU 0"));
  void* const other = wootz_device_allocate(second.engine.get(), 4096);
  ASSERT_NE(other, nullptr);
  EXPECT_FALSE(first.context->setTensorAddress("y", other));
  EXPECT_THAT(net.bench.logger.take_errors(),
              AllOf(HasSubstr("output 'y'"), HasSubstr("lies on GPU 1, and the engine is on GPU 0")));
  EXPECT_TRUE(second.context->setTensorAddress("y", other)) << net.bench.logger.errors();
  wootz_device_free(second.engine.get(), other);
  EXPECT_TRUE(first.enqueue(0)) << net.bench.logger.errors() << "nothing is broken";
}

TEST_F(CudaTwoDevices, MemoryIsOfTheDeviceThatTheEngineIsOn) {
  if (real_gpu()) GTEST_SKIP() << "counted on the emulator";
  SmallNet net;
  ASSERT_NE(net.plan, nullptr);
  const size_t on_first = cuda::emulator_bytes(0), on_second = cuda::emulator_bytes(1);
  {
    const OnDevice second(net, 1);
    EXPECT_EQ(cuda::emulator_bytes(0), on_first);
    EXPECT_GT(cuda::emulator_bytes(1), on_second);
  }
  EXPECT_EQ(cuda::emulator_bytes(0), on_first);
  EXPECT_EQ(cuda::emulator_bytes(1), on_second);
}

TEST_F(CudaTwoDevices, ABuilderStaysWithTheDeviceThatWasCurrent) {
  on_new_thread([] {
    Bench bench;
    bench.config.reset();
    bench.network.reset();
    {
      const SetDevice current(1);
      bench.builder.reset(createInferBuilder(bench.logger));
    }
    bench.network.reset(bench.builder->createNetworkV2(0));
    bench.config.reset(bench.builder->createBuilderConfig());
    ASSERT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
    bench.output(bench.network->addActivation(*bench.input("x", {4, 4}), ActivationType::kRELU), "y");
    const SetDevice current(0);
    const Owned<ICudaEngine> engine(bench.builder->buildEngineWithConfig(*bench.network, *bench.config));
    ASSERT_NE(engine, nullptr) << bench.logger.errors();
    EXPECT_EQ(wootz_engine_device(engine.get()), 1);
    for (const char* device : {"0", "cuda:0"}) {
      ASSERT_EQ(wootz_config_set_option(bench.config.get(), "device", device), 0);
      const Owned<ICudaEngine> asked(bench.builder->buildEngineWithConfig(*bench.network, *bench.config));
      ASSERT_NE(asked, nullptr) << bench.logger.errors();
      EXPECT_EQ(wootz_engine_device(asked.get()), 0) << device;
    }
  });
}

TEST_F(CudaTwoDevices, ANumberIsTakenOrRefusedWithTheList) {
  SmallNet net;
  ASSERT_NE(net.plan, nullptr);
  const auto load = [&] {
    return Owned<ICudaEngine>(net.runtime->deserializeCudaEngine(net.plan->data(), net.plan->size()));
  };
  ASSERT_EQ(wootz_runtime_set_device(net.runtime.get(), 1), 0);
  const Owned<ICudaEngine> second = load();
  ASSERT_NE(second, nullptr) << net.bench.logger.errors();
  EXPECT_EQ(wootz_engine_device(second.get()), 1);
  ASSERT_EQ(wootz_runtime_set_device(net.runtime.get(), 77), 0);
  EXPECT_EQ(load(), nullptr);
  EXPECT_THAT(net.bench.logger.take_errors(), AllOf(HasSubstr("there is no device 77 of backend cuda; there are 0: "),
                                                    HasSubstr(", 1: "), HasSubstr("sm_")));
  ASSERT_EQ(wootz_config_set_option(net.bench.config.get(), "device", "77"), 0);
  EXPECT_EQ(net.bench.builder->buildSerializedNetwork(*net.bench.network, *net.bench.config), nullptr);
  EXPECT_THAT(net.bench.logger.take_errors(), HasSubstr("there is no device 77 of backend cuda"));
  EXPECT_NE(wootz_runtime_set_device(net.runtime.get(), -2), 0);
}

TEST_F(CudaTwoDevices, TheEnvironmentChoosesForThreadsWithoutOne) {
  const char* const was = std::getenv("WOOTZ_DEVICE");
  const std::string before = was == nullptr ? "" : was;
  ::setenv("WOOTZ_DEVICE", "1", 1);
  on_new_thread([] {
    SmallNet net;
    ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
    EXPECT_EQ(wootz_engine_device(net.engine.get()), 1);
    const SetDevice current(0);
    ASSERT_TRUE(net.load(nullptr)) << net.bench.logger.errors();
    EXPECT_EQ(wootz_engine_device(net.engine.get()), 0) << "what is current counts more";
  });
  ::setenv("WOOTZ_DEVICE", "one", 1);
  on_new_thread([] {
    const auto refused = cuda::gpu();
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.status().message(), HasSubstr("WOOTZ_DEVICE: 'one' is not the number of a GPU"));
  });
  before.empty() ? ::unsetenv("WOOTZ_DEVICE") : ::setenv("WOOTZ_DEVICE", before.c_str(), 1);
}

TEST_F(CudaTwoDevices, APlanForAnotherKindIsRefused) {
  Bench bench;
  bench.output(bench.network->addActivation(*bench.input("x", {4, 4}), ActivationType::kRELU), "y");
  for (const auto& [key, value] : {std::pair{"device", "a100"}, std::pair{"native_code", "0"}})
    ASSERT_EQ(wootz_config_set_option(bench.config.get(), key, value), 0) << bench.logger.errors();
  if ((*cuda::gpu(0))->arch() == 80) GTEST_SKIP() << "this is such a GPU";
  EXPECT_EQ(bench.engine(), nullptr);
  EXPECT_THAT(bench.logger.take_errors(),
              AllOf(HasSubstr("the plan was built for sm_80"), HasSubstr("and device 0 of backend cuda is sm_")));
}

}  // namespace
}  // namespace wootz_test
