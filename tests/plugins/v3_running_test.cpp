// Networks with V3 plugins: how they run, and in what.
#include <thread>

#include "base/testing.h"
#include "plugins/script_plugin.h"

namespace wootz_test {
namespace {

uint32_t seed() { return static_cast<uint32_t>(wootz::test_seed()); }

TEST_P(Plugins, FastestTacticIsChosenAndRemembered) {
  script.tactics = {7, 4, 9};
  script.timing = "script of the test";
  std::atomic<int> of_tactic[10] = {};
  script.work = [&](const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const* outputs, void*,
                    cudaStream_t) {
    // The tactic of the object that runs was set last.
    ++of_tactic[script.tactic];
    if (script.tactic.load() != 4) std::this_thread::sleep_for(std::chrono::microseconds(300));
    *static_cast<float*>(outputs[0]) = static_cast<float>(script.tactic.load());
    return 0;
  };
  Bench b;
  b.output(add_script(b, {b.input("x", {1})}), "y");
  ITimingCache* cache = b.config->createTimingCache(nullptr, 0);
  ASSERT_TRUE(b.config->setTimingCache(*cache, false));
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  for (const int t : {4, 7, 9}) EXPECT_GT(of_tactic[t], 0) << t;
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const float x = 1;
  EXPECT_EQ(run(*context, {{"x", &x}}, "y"), std::vector<float>{4});
  // Known by now, and on a device only tried; without an ID it is timed again.
  script.enqueues = 0;
  EXPECT_NE(b.engine(), nullptr);
  EXPECT_LE(script.enqueues, place()->is_host() ? 0 : 1);
  script.timing = nullptr;
  EXPECT_NE(b.engine(), nullptr);
  EXPECT_GT(script.enqueues, 3);
  delete cache;
}

TEST_P(Plugins, BadTacticsAreRefused) {
  for (const std::vector<int32_t>& tactics : {std::vector<int32_t>{0}, {3, 3}, {-1}}) {
    script.tactics = tactics;
    Bench b;
    b.output(add_script(b, {b.input("x", {1})}), "y");
    EXPECT_EQ(b.engine(), nullptr);
    EXPECT_NE(b.logger.errors().find("getValidTactics gave tactic"), std::string::npos) << b.logger.errors();
  }
}

TEST_P(Plugins, WorkspaceIsThere) {
  script.workspace = 1 << 20;
  script.work = [](const PluginTensorDesc*, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                   void* workspace, cudaStream_t) {
    if (workspace == nullptr) return 1;
    std::memset(workspace, 0x5a, 1 << 20);
    std::memcpy(outputs[0], inputs[0], 4 * sizeof(float));
    return 0;
  };
  Bench b;
  ITensor* x = b.input("x", {4});
  ITensor* kept = b.network->addActivation(*x, ActivationType::kRELU)->getOutput(0);
  ITensor* y = add_script(b, {x})->getOutput(0);
  b.output(b.network->addElementWise(*y, *kept, ElementWiseOperation::kSUM), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_GE(engine->getDeviceMemorySizeV2(), 1 << 20);
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input{1, 2, 3, 4};
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), (std::vector<float>{2, 4, 6, 8}));
  // More than the builder may use.
  b.config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 1 << 16);
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_NE(b.logger.errors().find("bytes of workspace, the limit is"), std::string::npos) << b.logger.errors();
}

TEST_P(Plugins, ChannelsLastWhereThePluginWantsIt) {
  script.supports = [](int32_t pos, const DynamicPluginTensorDesc* all) {
    return all[pos].desc.format == TensorFormat::kHWC && all[pos].desc.type == DataType::kFLOAT;
  };
  script.work = [](const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                   void* const* outputs, void*, cudaStream_t) {
    if (in[0].format != TensorFormat::kHWC || out[0].format != TensorFormat::kHWC) return 1;
    // Adds the channel's number, which is innermost.
    for (size_t i = 0; i < volume(in[0].dims); ++i)
      static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] + static_cast<float>(i % 3);
    return 0;
  };
  Bench b;
  b.output(add_script(b, {b.input("x", {1, 3, 2, 2})}), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input = numbers(12, seed());
  std::vector<float> want = input;
  for (size_t i = 0; i < 12; ++i) want[i] += static_cast<float>(i / 4);
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), want);
}

TEST_P(Plugins, FormatsThatAreNotOfferedAreNamed) {
  script.supports = [](int32_t pos, const DynamicPluginTensorDesc* all) {
    return pos == 0 ? all[0].desc.format == TensorFormat::kLINEAR : all[pos].desc.format == TensorFormat::kCHW2;
  };
  Bench b;
  b.output(add_script(b, {b.input("x", {1, 32, 2, 2})}), "y");
  EXPECT_EQ(b.engine(), nullptr);
  const std::string errors = b.logger.errors();
  for (const char* part : {"the_plugin", "output 0 is f32", "kLINEAR, kHWC, kCHW32", "supportsFormatCombination",
                           "would take f16 kCHW2, bf16 kCHW2"})
    EXPECT_NE(errors.find(part), std::string::npos) << errors;
}

TEST_P(Plugins, TypesOfResultsAreThePlugins) {
  script.outputs = 2;
  script.types = [](DataType* out, const DataType*) { out[0] = DataType::kHALF, out[1] = DataType::kINT32; };
  script.shapes = [](const DimsExprs* in, const DimsExprs*, DimsExprs* out, IExprBuilder&) {
    return out[0] = out[1] = *in, 0;
  };
  script.supports = [](int32_t pos, const DynamicPluginTensorDesc* all) {
    return all[pos].desc.format == TensorFormat::kLINEAR;
  };
  script.work = [](const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                   void* const* outputs, void*, cudaStream_t) {
    if (out[0].type != DataType::kHALF || out[1].type != DataType::kINT32) return 1;
    for (size_t i = 0; i < volume(in[0].dims); ++i) {
      static_cast<uint16_t*>(outputs[0])[i] = 0x3c00;  // 1
      static_cast<int32_t*>(outputs[1])[i] = static_cast<int32_t>(static_cast<const float*>(inputs[0])[i]);
    }
    return 0;
  };
  Bench b;
  IPluginV3Layer* layer = add_script(b, {b.input("x", {3})});
  EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kHALF);
  EXPECT_EQ(layer->getOutput(1)->getType(), DataType::kINT32);
  b.output(b.network->addCast(*layer->getOutput(0), DataType::kFLOAT), "ones");
  b.output(layer->getOutput(1), "whole");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const Array<int32_t> whole(3);
  ASSERT_TRUE(context->setTensorAddress("whole", whole.data()));
  const std::vector<float> input{5, -6, 7};
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "ones"), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(whole.values(), (std::vector<int32_t>{5, -6, 7}));
}

TEST_P(Plugins, OptionalInputsMayBeNull) {
  script.supports = [](int32_t, const DynamicPluginTensorDesc*) { return true; };
  script.work = [](const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                   void*, cudaStream_t) {
    if (inputs[1] != nullptr) return 1;
    for (size_t i = 0; i < volume(in[0].dims); ++i)
      static_cast<float*>(outputs[0])[i] =
          static_cast<const float*>(inputs[0])[i] + static_cast<const float*>(inputs[2])[i];
    return 0;
  };
  Bench b;
  ITensor* x = b.input("x", {3});
  b.output(add_script(b, {x, nullptr, x}), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input = numbers(3, seed());
  expect_near(run(*context, {{"x", input.data()}}, "y"), scaled(input, 2));
}

TEST_P(Plugins, ContextsHaveObjectsOfTheirOwn) {
  Bench b;
  b.output(add_script(b, {b.input("x", {-1})}), "y");
  b.profile("x", {1}, {4}, {64});
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const int alive = script.alive, attached = script.attached;
  std::vector<Owned<IExecutionContext>> contexts;
  for (int c = 0; c < 4; ++c) contexts.emplace_back(engine->createExecutionContext());
  EXPECT_EQ(script.attached, attached + 4);
  EXPECT_EQ(script.alive, alive + 4);
  std::vector<std::thread> threads;
  for (size_t c = 0; c < contexts.size(); ++c)
    threads.emplace_back([&, c] {
      for (int round = 0; round < 20; ++round) {
        const size_t length = 1 + (c * 7 + static_cast<size_t>(round) * 5) % 64;
        const std::vector<float> input = numbers(length, seed() + static_cast<uint32_t>(c));
        EXPECT_TRUE(contexts[c]->setInputShape("x", dims({static_cast<int64_t>(length)})));
        expect_near(run(*contexts[c], {{"x", input.data()}}, "y"), scaled(input, 2));
      }
    });
  for (std::thread& t : threads) t.join();
  contexts.clear();
  EXPECT_EQ(script.alive, alive);
}

class CountingAllocator final : public IGpuAllocator {
 public:
  void* allocate(uint64_t const size, uint64_t const, AllocatorFlags const) noexcept override {
    return place()->allocate(size);
  }
  void* allocateAsync(uint64_t const size, uint64_t const alignment, AllocatorFlags const flags,
                      cudaStream_t) noexcept override {
    return allocate(size, alignment, flags);
  }
  bool deallocate(void* const memory) noexcept override { return place()->release(memory), true; }
  bool deallocateAsync(void* const memory, cudaStream_t) noexcept override { return deallocate(memory); }
};

TEST_P(Plugins, ResourcesOfTheContextAreLent) {
  CountingAllocator allocator;
  Bench b;
  b.output(add_script(b, {b.input("x", {4})}), "y");
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  ASSERT_NE(plan, nullptr) << b.logger.errors();
  {
    Owned<IRuntime> runtime(createInferRuntime(b.logger));
    runtime->setGpuAllocator(&allocator);
    Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_EQ(script.allocator, &allocator);
    EXPECT_EQ(script.recorder, nullptr);
  }
}

TEST_P(Plugins, MetadataIsShownByTheInspector) {
  script.metadata = "what the plugin says of itself";
  Bench b;
  b.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  b.output(add_script(b, {b.input("x", {4})}), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IEngineInspector> inspector(engine->createEngineInspector());
  const std::string text = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  EXPECT_NE(text.find("what the plugin says of itself"), std::string::npos) << text;
}

TEST_P(Plugins, RunsInsideABranch) {
  Bench b;
  ITensor* x = b.input("x", {4});
  ITensor* big = b.input("big", {}, DataType::kBOOL);
  IIfConditional* fork = b.network->addIfConditional();
  fork->setCondition(*big);
  ITensor* inside = fork->addInput(*x)->getOutput(0);
  ITensor* then = add_script(b, {inside}, {}, 5)->getOutput(0);
  ITensor* other = b.network->addActivation(*inside, ActivationType::kRELU)->getOutput(0);
  b.output(fork->addOutput(*then, *other), "y");
  Owned<ICudaEngine> engine = b.engine();
  if (!place()->is_host()) {  // there such a body is the host's to compute, which has no device memory
    EXPECT_EQ(engine, nullptr);
    const std::string errors = b.logger.errors();
    for (const char* part : {"the_plugin", "ConditionalOutput", "whose bodies the host interprets"})
      EXPECT_NE(errors.find(part), std::string::npos) << errors;
    return;
  }
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input{-1, 2, -3, 4};
  const bool yes = true, no = false;
  EXPECT_EQ(run(*context, {{"x", input.data()}, {"big", &yes}}, "y"), (std::vector<float>{-5, 10, -15, 20}));
  EXPECT_EQ(run(*context, {{"x", input.data()}, {"big", &no}}, "y"), (std::vector<float>{0, 2, 0, 4}));
}

TEST_P(Plugins, EqualLayersAreDifferentPlugins) {
  Bench b;
  ITensor* x = b.input("x", {4});
  ITensor* once = add_script(b, {x}, {}, 2)->getOutput(0);
  ITensor* twice = add_script(b, {once}, {}, 3)->getOutput(0);
  b.output(add_script(b, {twice}, {}, 3), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input{1, 2, 3, 4};
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), (std::vector<float>{18, 36, 54, 72}));
}

}  // namespace
}  // namespace wootz_test
