// Caches of keys and values: a step writes what is new, in the cache's own memory where the output has its address.
#include <algorithm>
#include <cstring>
#include <random>

#include "api/harness.h"
#include "base/testing.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

constexpr int64_t kBatch = 2, kHeads = 3, kPlaces = 8, kWidth = 5, kNew = 2;
constexpr size_t kLine = kPlaces * kWidth, kLines = kBatch * kHeads;

// A cache and what a step makes of it.
struct Cache : Bench {
  explicit Cache(DataType element, const char* backend = "cpu") : Bench(strongly_typed()), type(element) {
    EXPECT_EQ(wootz_config_set_option(config.get(), "backend", backend), 0);
    cache = input("cache", {kBatch, kHeads, kPlaces, kWidth}, type);
    ITensor* const fresh = input("fresh", {kBatch, kHeads, kNew, kWidth}, type);
    ITensor* const at = input("at", {kBatch}, DataType::kINT32);
    updated = network->addKVCacheUpdate(*cache, *fresh, *at, KVCacheMode::kLINEAR)->getOutput(0);
    output(updated, "updated");
  }
  static uint32_t strongly_typed() {
    return 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  }
  ITensor *cache = nullptr, *updated = nullptr;
  DataType type;
};

template <class T>
std::vector<T> random_values(size_t count, std::mt19937_64& rng) {
  std::vector<T> values(count);
  for (T& v : values) v = static_cast<T>(rng() % 50);
  return values;
}

template <class T>
void write(std::vector<T>* cache, const std::vector<T>& fresh, const std::vector<int32_t>& at) {
  for (size_t line = 0; line < kLines; ++line)
    std::copy_n(&fresh[line * kNew * kWidth], kNew * kWidth,
                &(*cache)[line * kLine + static_cast<size_t>(at[line / kHeads]) * kWidth]);
}

template <class T>
void check_steps(DataType type, const char* backend, bool in_place) {
  SCOPED_TRACE(std::string(backend) + (in_place ? " in place" : " apart"));
  std::mt19937_64 rng(wootz::test_seed());
  Cache net(type, backend);
  const Owned<ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  EXPECT_STREQ(engine->getAliasedInputTensor("updated"), "cache");
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  std::vector<T> here = random_values<T>(kLines * kLine, rng), there(here.size()), want = here;
  T* const first = here.data();
  for (int step = 0; step < 5; ++step) {
    const auto fresh = random_values<T>(kLines * kNew * kWidth, rng);
    const std::vector<int32_t> at = {static_cast<int32_t>(rng() % (kPlaces - kNew + 1)),
                                     static_cast<int32_t>(kPlaces - kNew)};
    ASSERT_TRUE(context->setInputTensorAddress("fresh", fresh.data()) &&
                context->setInputTensorAddress("at", at.data()));
    ASSERT_TRUE(context->setInputTensorAddress("cache", here.data()));
    ASSERT_TRUE(context->setOutputTensorAddress("updated", in_place ? here.data() : there.data()));
    const std::vector<T> before = here;
    ASSERT_TRUE(context->enqueueV3(nullptr)) << net.logger.errors();
    write(&want, fresh, at);
    EXPECT_EQ(in_place ? here : there, want);
    if (!in_place) {
      EXPECT_EQ(here, before) << "the cache itself was written";
      std::swap(here, there);
    }
  }
  EXPECT_EQ(in_place, here.data() == first);
  EXPECT_EQ(net.logger.errors(), "");
}

TEST(KvCache, InPlaceAndApart) {
  for (const char* backend : {"cpu", "reference"})
    for (const bool in_place : {true, false}) {
      check_steps<float>(DataType::kFLOAT, backend, in_place);
      check_steps<uint16_t>(DataType::kHALF, backend, in_place);
      check_steps<int8_t>(DataType::kINT8, backend, in_place);
    }
}

TEST(KvCache, AStartOutsideIsRefusedAndNothingIsWritten) {
  Cache net(DataType::kFLOAT);
  const Owned<ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> cache(kLines * kLine, 1), fresh(kLines * kNew * kWidth, 2);
  ASSERT_TRUE(context->setTensorAddress("cache", cache.data()) && context->setTensorAddress("updated", cache.data()));
  ASSERT_TRUE(context->setTensorAddress("fresh", fresh.data()));
  for (const int32_t wrong : {-1, static_cast<int32_t>(kPlaces - kNew + 1)}) {
    std::vector<int32_t> at = {0, wrong};
    ASSERT_TRUE(context->setTensorAddress("at", at.data()));
    EXPECT_FALSE(context->enqueueV3(nullptr));
    EXPECT_NE(net.logger.take_errors().find("positions from"), std::string::npos);
    EXPECT_EQ(cache, std::vector<float>(cache.size(), 1));
  }
}

TEST(KvCache, WhatElseIsReadIsNotOverwritten) {
  Cache net(DataType::kFLOAT);
  ITensor* const negative = net.network->addUnary(*net.cache, UnaryOperation::kNEG)->getOutput(0);
  net.output(negative, "negative");
  const Owned<ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  EXPECT_EQ(engine->getAliasedInputTensor("updated"), nullptr) << "its old values are read as well";
  EXPECT_EQ(engine->getAliasedInputTensor("negative"), nullptr);
  EXPECT_EQ(engine->getAliasedInputTensor("cache"), nullptr);
  EXPECT_EQ(net.logger.errors(), "");
}

}  // namespace
}  // namespace wootz_test
