// A cache of keys or values, and steps that write into it: in its place, or into another one.
#pragma once

#include <algorithm>
#include <random>

#include "api/on_backend.h"
#include "base/testing.h"

namespace wootz_test {

constexpr int64_t kBatch = 2, kHeads = 3, kPlaces = 8, kWidth = 5, kNew = 2;
constexpr size_t kLine = kPlaces * kWidth, kLines = kBatch * kHeads;

struct CacheNet : Bench {
  explicit CacheNet(nvinfer1::DataType type, const char* backend) : Bench(strongly_typed()) {
    EXPECT_EQ(wootz_config_set_option(config.get(), "backend", backend), 0);
    cache = input("cache", {kBatch, kHeads, kPlaces, kWidth}, type);
    nvinfer1::ITensor* const fresh = input("fresh", {kBatch, kHeads, kNew, kWidth}, type);
    nvinfer1::ITensor* const at = input("at", {kBatch}, nvinfer1::DataType::kINT32);
    output(network->addKVCacheUpdate(*cache, *fresh, *at, nvinfer1::KVCacheMode::kLINEAR), "updated");
  }
  static uint32_t strongly_typed() {
    return 1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  }
  nvinfer1::ITensor* cache = nullptr;
};

template <class T>
std::vector<T> small_numbers(size_t count, std::mt19937_64& rng) {
  std::vector<T> values(count);
  for (T& v : values) v = static_cast<T>(rng() % 50);
  return values;
}

// Steps of one context, some in place and some from one cache into the other.
template <class T>
void check_cache_steps(nvinfer1::DataType type, const char* backend) {
  SCOPED_TRACE(std::string(backend) + ", elements of " + std::to_string(sizeof(T)));
  std::mt19937_64 rng(wootz::test_seed());
  CacheNet net(type, backend);
  const Owned<nvinfer1::ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  EXPECT_STREQ(engine->getAliasedInputTensor("updated"), "cache");
  const Owned<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  std::vector<T> want = small_numbers<T>(kLines * kLine, rng);
  EngineArray<T> one(*engine, want), other(*engine, std::vector<T>(want.size())),
      fresh(*engine, std::vector<T>(kLines * kNew * kWidth));
  EngineArray<int32_t> at(*engine, {0, 0});
  EngineArray<T>*here = &one, *there = &other;
  ASSERT_TRUE(context->setTensorAddress("fresh", fresh.data()) && context->setTensorAddress("at", at.data()));
  for (const bool in_place : {true, true, false, true, false, false, true}) {
    const auto values = small_numbers<T>(kLines * kNew * kWidth, rng);
    const std::vector<int32_t> starts = {static_cast<int32_t>(rng() % (kPlaces - kNew + 1)), kPlaces - kNew};
    const std::vector<T> before = here->get();
    fresh.set(values);
    at.set(starts);
    ASSERT_TRUE(context->setTensorAddress("cache", here->data()));
    ASSERT_TRUE(context->setTensorAddress("updated", (in_place ? here : there)->data()));
    ASSERT_TRUE(context->enqueueV3(nullptr)) << net.logger.errors();
    for (size_t line = 0; line < kLines; ++line)
      std::copy_n(&values[line * kNew * kWidth], kNew * kWidth,
                  &want[line * kLine + static_cast<size_t>(starts[line / kHeads]) * kWidth]);
    EXPECT_EQ((in_place ? here : there)->get(), want);
    if (in_place) continue;
    EXPECT_EQ(here->get(), before) << "the cache itself was written";
    std::swap(here, there);
  }
  EXPECT_EQ(net.logger.errors(), "");
}

}  // namespace wootz_test
