// What runtimes, engines and contexts are asked and told.
#include <cstdlib>
#include <cstring>

#include "api/dense.h"
#include "api/recorder.h"

namespace wootz_test {
namespace {

using Ints = std::vector<int64_t>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// An engine of Dense with two profiles.
struct Served : Dense {
  Served() {
    profile("x", {1, 8}, {2, 8}, {2, 8});
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    EXPECT_NE(plan, nullptr) << logger.errors();
    runtime.reset(createInferRuntime(logger));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    EXPECT_NE(engine, nullptr) << logger.errors();
  }
  // Of a batch of four, in memory of the application's if the context has none.
  void expect_works(IExecutionContext& context) {
    EXPECT_TRUE(context.setInputShape("x", dims({4, 8})));
    const Floats x = rows(4, 1);
    expect_near(run(context, {{"x", x.data()}}, "y"), expected(x));
  }
  Owned<IHostMemory> plan;
  Owned<IRuntime> runtime;
  Owned<ICudaEngine> engine;
};

TEST(EngineCalls, TensorsByName) {
  Served b;
  EXPECT_EQ(b.engine->getTensorIOMode("x"), TensorIOMode::kINPUT);
  EXPECT_EQ(b.engine->getTensorIOMode("y"), TensorIOMode::kOUTPUT);
  EXPECT_FALSE(b.engine->hasImplicitBatchDimension());
  for (const int32_t p : {0, 1}) {
    EXPECT_EQ(b.engine->getTensorFormat("x", p), TensorFormat::kLINEAR);
    EXPECT_TRUE(has(b.engine->getTensorFormatDesc("x", p), "Row-major")) << b.engine->getTensorFormatDesc("x", p);
    EXPECT_EQ(b.engine->getTensorVectorizedDim("x", p), -1);
    EXPECT_EQ(b.engine->getTensorComponentsPerElement("x", p), 1);
    EXPECT_EQ(b.engine->getTensorBytesPerComponent("x", p), -1);
  }
  EXPECT_EQ(b.logger.errors(), "");
  EXPECT_EQ(b.engine->getTensorBytesPerComponent("x", 2), -1);
  EXPECT_TRUE(has(b.logger.take_errors(), "2"));
}

TEST(EngineCalls, MemoryByProfile) {
  Served b;
  const size_t large = b.engine->getDeviceMemorySizeForProfile(0), small = b.engine->getDeviceMemorySizeForProfile(1);
  EXPECT_GT(large, small) << "64 rows, and 2";
  EXPECT_EQ(b.engine->getDeviceMemorySize(), large);
  EXPECT_EQ(b.engine->getDeviceMemorySizeV2(), static_cast<int64_t>(large));
}

TEST(EngineCalls, ContextsByRuntimeConfig) {
  Served b;
  const Owned<IRuntimeConfig> config(b.engine->createRuntimeConfig());
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(config->getExecutionContextAllocationStrategy(), ExecutionContextAllocationStrategy::kSTATIC);
  config->setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy::kUSER_MANAGED);
  EXPECT_EQ(config->getExecutionContextAllocationStrategy(), ExecutionContextAllocationStrategy::kUSER_MANAGED);
  for (const bool deprecated : {false, true}) {
    const Owned<IExecutionContext> context(deprecated ? b.engine->createExecutionContextWithoutDeviceMemory()
                                                      : b.engine->createExecutionContext(config.get()));
    ASSERT_NE(context, nullptr) << b.logger.errors();
    EXPECT_EQ(context->getRuntimeConfig()->getExecutionContextAllocationStrategy(),
              ExecutionContextAllocationStrategy::kUSER_MANAGED);
    const Floats x = rows(4, 1);
    Floats y(64);
    EXPECT_TRUE(context->setInputShape("x", dims({4, 8})));
    EXPECT_TRUE(context->setInputTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
    EXPECT_FALSE(context->enqueueV3(nullptr)) << "it has no memory";
    b.logger.take_errors();
    const size_t need = context->updateDeviceMemorySizeForShapes();
    const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(256, (need + 255) / 256 * 256),
                                                             std::free);
    context->setDeviceMemory(memory.get());
    b.expect_works(*context);
  }
}

TEST(EngineCalls, ValuesOfProfiles) {
  Bench b;
  wootz_config_set_option(b.config.get(), "timing", "0");
  ITensor* x = b.input("x", {-1});
  ITensor* shape = b.input("shape", {2}, DataType::kINT32);
  IShuffleLayer* s = b.network->addShuffle(*x);
  s->setInput(1, *shape);
  b.output(b.network->addReduce(*s->getOutput(0), ReduceOperation::kSUM, 1U << 1, false), "y");
  IOptimizationProfile* p = b.builder->createOptimizationProfile();
  const int32_t values[2]{2, 3};
  for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
    EXPECT_TRUE(p->setDimensions("x", select, dims({6})));
    EXPECT_TRUE(p->setShapeValues("shape", select, values, 2));
  }
  ASSERT_EQ(b.config->addOptimizationProfile(p), 0) << b.logger.errors();
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const int32_t* kept = engine->getProfileTensorValues("shape", 0, OptProfileSelector::kOPT);
  ASSERT_NE(kept, nullptr) << b.logger.errors();
  EXPECT_EQ(kept[0], 2);
  EXPECT_EQ(kept[1], 3);
  EXPECT_EQ(engine->getProfileTensorValues("x", 0, OptProfileSelector::kOPT), nullptr);
}

TEST(EngineCalls, RecordersOfEachObject) {
  Served b;
  Recorder recorder;
  const Owned<IEngineInspector> inspector(b.engine->createEngineInspector());
  b.engine->setErrorRecorder(&recorder);
  EXPECT_EQ(b.engine->getErrorRecorder(), &recorder);
  b.runtime->setErrorRecorder(&recorder);
  EXPECT_EQ(b.runtime->getErrorRecorder(), &recorder);
  inspector->setErrorRecorder(&recorder);
  EXPECT_EQ(inspector->getErrorRecorder(), &recorder);
  EXPECT_EQ(recorder.count, 3);
  EXPECT_EQ(b.engine->getIOTensorName(7), nullptr);
  EXPECT_EQ(recorder.getNbErrors(), 1);
  EXPECT_EQ(b.runtime->deserializeCudaEngine(nullptr, 8), nullptr);
  EXPECT_EQ(recorder.getNbErrors(), 2);
  inspector->getLayerInformation(99, LayerInformationFormat::kONELINE);
  EXPECT_EQ(recorder.getNbErrors(), 3);
  EXPECT_EQ(recorder.getErrorCode(2), ErrorCode::kINVALID_ARGUMENT);
  EXPECT_FALSE(recorder.hasOverflowed());
  b.engine->setErrorRecorder(nullptr);
  b.runtime->setErrorRecorder(nullptr);
  inspector->setErrorRecorder(nullptr);
  EXPECT_EQ(recorder.count, 0);
}

TEST(EngineCalls, FlagsOfSerialization) {
  Served b;
  const Owned<ISerializationConfig> config(b.engine->createSerializationConfig());
  EXPECT_EQ(config->getFlags(), 0u);
  EXPECT_TRUE(config->setFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME));
  EXPECT_TRUE(config->getFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME));
  EXPECT_TRUE(config->clearFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME));
  EXPECT_FALSE(config->getFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME));
  EXPECT_FALSE(config->setFlag(static_cast<SerializationFlag>(9)));
  EXPECT_TRUE(has(b.logger.take_errors(), "ISerializationConfig::setFlag"));
  EXPECT_FALSE(config->setFlags(1U << 9));
  EXPECT_TRUE(has(b.logger.take_errors(), "ISerializationConfig::setFlags"));
  // An engine that cannot be refitted has no weights to leave out.
  EXPECT_TRUE(config->setFlags(1U << static_cast<uint32_t>(SerializationFlag::kEXCLUDE_WEIGHTS)));
  const Owned<IHostMemory> without(b.engine->serializeWithConfig(*config));
  EXPECT_EQ(without, nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "ICudaEngine::serializeWithConfig"));
  EXPECT_TRUE(config->setFlags(0));
  const Owned<IHostMemory> whole(b.engine->serializeWithConfig(*config));
  ASSERT_NE(whole, nullptr) << b.logger.errors();
  EXPECT_EQ(whole->size(), b.plan->size());
}

// The first kind of reader: from front to back.
struct Forward final : IStreamReader {
  explicit Forward(const IHostMemory& plan) : from(static_cast<const char*>(plan.data())), left(plan.size()) {}
  int64_t read(void* to, int64_t bytes) noexcept override {
    const size_t count = std::min(left, static_cast<size_t>(bytes));
    std::memcpy(to, from, count);
    from += count;
    left -= count;
    return static_cast<int64_t>(count);
  }
  const char* from;
  size_t left;
};

TEST(EngineCalls, PlansFromReadersThatGoForward) {
  Served b;
  Forward reader(*b.plan);
  EXPECT_STREQ(static_cast<IStreamReader&>(reader).getInterfaceInfo().kind, "IStreamReader");
  const Owned<ICudaEngine> engine(b.runtime->deserializeCudaEngine(static_cast<IStreamReader&>(reader)));
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(reader.left, 0u);
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  b.expect_works(*context);
}

TEST(RuntimeCalls, WhatTheMachineDoesNotHave) {
  Served b;
  EXPECT_EQ(b.runtime->getNbDLACores(), 0);
  b.runtime->setDLACore(3);
  EXPECT_EQ(b.runtime->getDLACore(), 0);
  EXPECT_TRUE(has(b.logger.take_errors(), "IRuntime::setDLACore: ")) << "there is none";
  EXPECT_EQ(b.runtime->getLogger(), &b.logger);
  EXPECT_FALSE(b.runtime->getEngineHostCodeAllowed());
  b.runtime->setEngineHostCodeAllowed(true);
  EXPECT_TRUE(b.runtime->getEngineHostCodeAllowed());
}

TEST(ContextCalls, ContextsKnowTheirEngineAndTheirName) {
  Served b;
  const Owned<IExecutionContext> context(b.engine->createExecutionContext());
  EXPECT_EQ(&context->getEngine(), b.engine.get());
  context->setName("the first");
  EXPECT_STREQ(context->getName(), "the first");
  const Owned<IEngineInspector> inspector(b.engine->createEngineInspector());
  EXPECT_TRUE(inspector->setExecutionContext(context.get()));
  EXPECT_EQ(inspector->getExecutionContext(), context.get());
  EXPECT_TRUE(inspector->setExecutionContext(nullptr));
  EXPECT_EQ(inspector->getExecutionContext(), nullptr);
}

TEST(ContextCalls, StepsAreWaitedForAndTimed) {
  Served b;
  const Owned<IExecutionContext> context(b.engine->createExecutionContext());
  struct Profiler final : IProfiler {
    void reportLayerTime(const char*, float) noexcept override { ++steps; }
    int steps = 0;
  } profiler;
  context->setProfiler(&profiler);
  EXPECT_EQ(context->getProfiler(), &profiler);
  EXPECT_TRUE(context->getEnqueueEmitsProfile());
  context->setEnqueueEmitsProfile(false);
  EXPECT_FALSE(context->getEnqueueEmitsProfile());
  EXPECT_FALSE(context->getDebugSync());
  context->setDebugSync(true);
  EXPECT_TRUE(context->getDebugSync());
  b.expect_works(*context);
  EXPECT_EQ(profiler.steps, 0) << "they are told when they are asked for";
  EXPECT_TRUE(context->reportToProfiler());
  EXPECT_GT(profiler.steps, 0);
}

TEST(ContextCalls, ListenersAreGivenBack) {
  Served b;
  const Owned<IExecutionContext> context(b.engine->createExecutionContext());
  struct Listener final : IDebugListener {
    bool processDebugTensor(void const*, TensorLocation, DataType, Dims const&, char const*, cudaStream_t) override {
      return true;
    }
  } listener;
  EXPECT_EQ(context->getDebugListener(), nullptr);
  EXPECT_TRUE(context->setDebugListener(&listener));
  EXPECT_EQ(context->getDebugListener(), &listener);
  EXPECT_TRUE(context->setDebugListener(nullptr));
  EXPECT_EQ(context->getDebugListener(), nullptr);
  b.expect_works(*context);
}

// A host stream of this library has no events of its own: where no library of events is there, it is said.
TEST(ContextCalls, EventsNeedALibraryThatHasThem) {
  Served b;
  const Owned<IExecutionContext> context(b.engine->createExecutionContext());
  EXPECT_EQ(context->getInputConsumedEvent(), nullptr);
  EXPECT_FALSE(context->setInputConsumedEvent(reinterpret_cast<cudaEvent_t>(&b)));
  EXPECT_TRUE(has(b.logger.take_errors(), "IExecutionContext::setInputConsumedEvent"));
  EXPECT_EQ(context->getInputConsumedEvent(), nullptr);
  EXPECT_TRUE(context->setInputConsumedEvent(nullptr));
  b.expect_works(*context);
}

}  // namespace
}  // namespace wootz_test
