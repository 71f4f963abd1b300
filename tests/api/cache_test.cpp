// Caches of keys and values: a step writes what is new, in the cache's own memory where the output has its address.
#include "api/kv_cache.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

TEST(KvCache, InPlaceAndApart) {
  for (const char* backend : {"cpu", "reference"}) {
    check_cache_steps<float>(DataType::kFLOAT, backend);
    check_cache_steps<uint16_t>(DataType::kHALF, backend);
    check_cache_steps<int8_t>(DataType::kINT8, backend);
  }
}

TEST(KvCache, AStartOutsideIsRefusedAndNothingIsWritten) {
  CacheNet net(DataType::kFLOAT, "cpu");
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

TEST(KvCache, WhatElseReadsTheCacheKeepsItApart) {
  CacheNet net(DataType::kFLOAT, "cpu");
  net.output(net.network->addUnary(*net.cache, UnaryOperation::kNEG), "negative");
  const Owned<ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  EXPECT_EQ(engine->getAliasedInputTensor("updated"), nullptr) << "its old values are read as well";
  EXPECT_EQ(engine->getAliasedInputTensor("negative"), nullptr);
  EXPECT_EQ(engine->getAliasedInputTensor("cache"), nullptr);
  EXPECT_EQ(net.logger.errors(), "");
}

}  // namespace
}  // namespace wootz_test
