// Plans for an H200 on a machine that has none. What the toolkit's libraries do for it needs those libraries: without
// them these tests say so and are skipped.
#include <set>

#include "backends/cuda/cudnn/plans.h"
#include "backends/cuda/device/driver.h"
#include "backends/cuda/jit/compiler.h"
#include "backends/cuda/jit/cubin.h"
#include "base/json.h"
#include "plan/read.h"
#include "steady/real_models.h"
#include "tuner/cache/tactic_text.h"
#include "tuner/cache/timing_cache.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

#define NEEDS(library) \
  if (const auto found = (library); !found.ok()) GTEST_SKIP() << found.status().to_string();

std::vector<std::byte> build(const char* model, const std::vector<std::pair<const char*, const char*>>& options,
                             const std::vector<char>& cache = {}, bool half = true) {
  Bench b;
  parse(b, model_path(model));
  b.profile("x", {1, 3, 48, 192}, {1, 3, 48, 192}, {1, 3, 48, 192});
  if (half) b.config->setFlag(BuilderFlag::kFP16);
  for (const auto& [key, value] : options) EXPECT_EQ(wootz_config_set_option(b.config.get(), key, value), 0);
  Owned<ITimingCache> timings;
  if (!cache.empty()) {
    timings.reset(b.config->createTimingCache(cache.data(), cache.size()));
    EXPECT_NE(timings, nullptr) << b.logger.errors();
    EXPECT_TRUE(b.config->setTimingCache(*timings, false)) << b.logger.errors();
  }
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  EXPECT_NE(plan, nullptr) << b.logger.errors();
  if (plan == nullptr) return {};
  const auto* bytes = static_cast<const std::byte*>(plan->data());
  return {bytes, bytes + plan->size()};
}

TEST(Deviceless, DevicesAreKnownByName) {
  const std::string names = wootz_device_description(nullptr);
  EXPECT_NE(names.find("h200"), std::string::npos);
  std::istringstream list(names);
  for (std::string name; list >> name;) {
    const char* text = wootz_device_description(name.c_str());
    ASSERT_NE(text, nullptr) << name;
    const auto device = wootz::DeviceDescription::from_json(text);
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    EXPECT_EQ(device->backend, "cuda");
    EXPECT_EQ(device->isa.rfind("sm_", 0), 0u);
    const auto properties = wootz::SortedJson::parse(device->properties);
    EXPECT_EQ("sm_" + std::to_string(properties["deviceVer"].get<int>() / 10), device->isa);
    EXPECT_EQ(properties["deviceName"], device->name);
  }
  EXPECT_EQ(wootz_device_description("h300"), nullptr);
  Bench b;
  EXPECT_EQ(wootz_config_set_option(b.config.get(), "device", "h200"), 0);
  EXPECT_NE(wootz_config_set_option(b.config.get(), "device", "h300"), 0);
}

TEST(Deviceless, APlanForAnH200IsBuiltWithItsMachineCode) {
  NEEDS(wootz::cuda::compiler_version());
  NEEDS(wootz::cuda::cudnn_version());
  const std::vector<std::byte> bytes = build("cls", {{"device", "h200"}});
  ASSERT_FALSE(bytes.empty());
  const auto program = wootz::read_plan(bytes);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  EXPECT_EQ((*program)->backend, "cuda");
  std::map<std::string, int> providers;
  for (const wootz::Step& step : (*program)->steps) ++providers[step.tactic.provider];
  EXPECT_GT(providers["generated"], 0);
  for (const auto& [provider, count] : providers) std::printf("%s: %d layers\n", provider.c_str(), count);
  EXPECT_EQ(providers.count("reference") + providers.count("host"), 0u);
  ASSERT_FALSE((*program)->native.empty());
  for (const wootz::NativeCode& code : (*program)->native) {
    EXPECT_EQ(code.key.rfind("cubin sm_90 ", 0), 0u) << code.key;
    const auto* begin = reinterpret_cast<const char*>(code.bytes.data());
    const auto stacks = wootz::cuda::stack_of_functions({begin, begin + code.bytes.size()});
    ASSERT_TRUE(stacks.ok()) << stacks.status().to_string();
    EXPECT_EQ(stacks->count("wootz_kernel"), 1u);
  }
  EXPECT_TRUE(build("cls", {{"device", "h200"}}) == bytes) << "another build gives other bytes";
  const auto wide =
      wootz::read_plan(build("cls", {{"device", "h200"}}, {}, false));  // which tiles of 16 bits do not compute
  ASSERT_TRUE(wide.ok());
  providers.clear();
  for (const wootz::Step& step : (*wide)->steps) ++providers[step.tactic.provider];
  EXPECT_GT(providers["cudnn"], 0);
  EXPECT_GT(providers["cublaslt"], 0);  // convolutions by single pixels
  const auto plain = wootz::read_plan(build("cls", {{"device", "h200"}, {"native_code", "0"}}));
  ASSERT_TRUE(plain.ok());
  EXPECT_TRUE((*plain)->native.empty());
}

// A network of one expression over batches up to 40, tuned for `optimum`.
size_t code_of_batches(int optimum, int least, int most) {
  Bench b;
  ITensor* const x = b.network->addInput("x", DataType::kFLOAT, Dims2(-1, 100));
  IActivationLayer* const y = b.network->addActivation(*x, ActivationType::kSIGMOID);
  ISoftMaxLayer* const z = b.network->addSoftMax(*y->getOutput(0));
  z->setAxes(2);
  b.network->markOutput(*z->getOutput(0));
  b.profile("x", {least, 100}, {optimum, 100}, {most, 100});
  EXPECT_EQ(wootz_config_set_option(b.config.get(), "device", "h200"), 0);
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  EXPECT_NE(plan, nullptr) << b.logger.errors();
  if (plan == nullptr) return 0;
  const auto* bytes = static_cast<const std::byte*>(plan->data());
  const auto program = wootz::read_plan({bytes, bytes + plan->size()});
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  return program.ok() ? (*program)->native.size() : 0;
}

// Of each kernel for the optimum, for one image and for any other number.
TEST(Deviceless, APlanForManyBatchSizesHasTheCodeOfAll) {
  NEEDS(wootz::cuda::compiler_version());
  const size_t alone = code_of_batches(8, 8, 8), some = code_of_batches(8, 8, 40), all = code_of_batches(8, 1, 40);
  EXPECT_GE(alone, 1u);
  EXPECT_EQ(some, 2 * alone);
  EXPECT_GT(all, some);
}

// A cache that was made on the device decides, with tactics that nobody here would have offered too.
TEST(Deviceless, ATimingCacheOfTheDeviceDecides) {
  NEEDS(wootz::cuda::compiler_version());
  NEEDS(wootz::cuda::cudnn_version());
  const auto guess = wootz::read_plan(build("cls", {{"device", "h200"}}, {}, false));
  ASSERT_TRUE(guess.ok());
  const auto device = wootz::DeviceDescription::from_json(wootz_device_description("h200"));
  ASSERT_TRUE(device.ok());
  wootz::TimingCache cache(*device);
  int remembered = 0;
  std::set<std::string> products;
  for (const wootz::Step& step : (*guess)->steps) {
    if (step.tactic.provider != "cublaslt") continue;
    wootz::Tactic other = step.tactic;
    other.config = "1,2,3,4,5,6,7,8";
    const wootz::TimingKey key{wootz::problem_key(wootz::without_layouts(step.problem)),
                               "cublaslt",
                               "130000",
                               wootz::tactic_text(step.problem, other),
                               "sm_90",
                               1};
    wootz::Timing timing;
    timing.median_us = 1.5;
    timing.runs = 3;
    ASSERT_TRUE(cache.update(key, timing).ok());
    ++remembered;
  }
  ASSERT_GT(remembered, 0) << "the network has no product";
  const std::vector<std::byte> kept = cache.serialize();
  const auto* begin = reinterpret_cast<const char*>(kept.data());
  const std::vector<char> file(begin, begin + kept.size());
  const std::vector<std::byte> bytes = build("cls", {{"device", "h200"}}, file, false);
  const auto program = wootz::read_plan(bytes);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  for (const wootz::Step& step : (*program)->steps) {
    if (step.tactic.provider != "cublaslt") continue;
    EXPECT_EQ(step.tactic.config, "1,2,3,4,5,6,7,8");
    EXPECT_FLOAT_EQ(step.measured_us, 1.5F);
  }
  EXPECT_TRUE(build("cls", {{"device", "h200"}}, file, false) == bytes) << "the same cache gives another plan";
}

}  // namespace
}  // namespace wootz_test
