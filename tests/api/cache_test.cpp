// Caches of keys and values: a step writes what is new, in the cache's own memory where the output has its address.
#include "api/kv_cache.h"

#include <cmath>

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

// A decoder's attention over caches in 8 bits, which a step writes in place: new rows are rounded, and bytes are read.
struct ByteDecoder : Bench {
  static constexpr float kScale = 0.02F;
  explicit ByteDecoder(const char* backend) : Bench(CacheNet::strongly_typed()) {
    EXPECT_EQ(wootz_config_set_option(config.get(), "backend", backend), 0);
    ITensor* const at = input("at", {kBatch}, DataType::kINT32);
    ITensor* const query = input("query", {kBatch, kHeads, 1, kWidth});
    static const std::vector<float> scales = {kScale};
    ITensor* const scale = constant({}, scales);
    ITensor* seen[2];
    for (const int i : {0, 1}) {
      ITensor* const cache = input(i == 0 ? "keys" : "values", {kBatch, kHeads, kPlaces, kWidth}, DataType::kINT8);
      ITensor* const fresh = input(i == 0 ? "key" : "value", {kBatch, kHeads, 1, kWidth});
      ITensor* const bytes = network->addQuantize(*fresh, *scale, DataType::kINT8)->getOutput(0);
      ILayer* const update = network->addKVCacheUpdate(*cache, *bytes, *at, KVCacheMode::kLINEAR);
      output(update, i == 0 ? "keys_updated" : "values_updated");
      seen[i] = network->addDequantize(*update->getOutput(0), *scale, DataType::kFLOAT)->getOutput(0);
    }
    ITensor* const scores =
        network->addMatrixMultiply(*query, MatrixOperation::kNONE, *seen[0], MatrixOperation::kTRANSPOSE)->getOutput(0);
    ISoftMaxLayer* const softmax = network->addSoftMax(*scores);
    softmax->setAxes(1U << 3);
    output(network->addMatrixMultiply(*softmax->getOutput(0), MatrixOperation::kNONE, *seen[1], MatrixOperation::kNONE),
           "y");
  }
};

std::vector<float> attended(const std::vector<float>& query, const std::vector<int8_t>& keys,
                            const std::vector<int8_t>& values) {
  std::vector<float> y(query.size());
  for (size_t line = 0; line < kLines; ++line) {
    std::vector<double> weights(kPlaces);
    double sum = 0;
    for (int64_t t = 0; t < kPlaces; ++t) {
      double score = 0;
      for (int64_t d = 0; d < kWidth; ++d)
        score += query[line * kWidth + d] * ByteDecoder::kScale * keys[line * kLine + t * kWidth + d];
      sum += weights[t] = std::exp(score);
    }
    for (int64_t d = 0; d < kWidth; ++d) {
      double mean = 0;
      for (int64_t t = 0; t < kPlaces; ++t)
        mean += weights[t] / sum * ByteDecoder::kScale * values[line * kLine + t * kWidth + d];
      y[line * kWidth + d] = static_cast<float>(mean);
    }
  }
  return y;
}

TEST(KvCache, AttentionReadsBytesInPlace) {
  std::mt19937_64 rng(wootz::test_seed());
  for (const char* backend : {"cpu", "reference"}) {
    ByteDecoder net(backend);
    const Owned<ICudaEngine> engine = net.engine();
    ASSERT_NE(engine, nullptr) << net.logger.errors();
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    std::vector<int8_t> caches[2];
    std::vector<float> fresh[2], query(kLines * kWidth), y(query.size());
    std::vector<int32_t> at(kBatch);
    for (const int i : {0, 1}) {
      caches[i] = small_numbers<int8_t>(kLines * kLine, rng);
      fresh[i].resize(query.size());
      ASSERT_TRUE(context->setTensorAddress(i == 0 ? "keys" : "values", caches[i].data()));
      ASSERT_TRUE(context->setTensorAddress(i == 0 ? "keys_updated" : "values_updated", caches[i].data()));
      ASSERT_TRUE(context->setTensorAddress(i == 0 ? "key" : "value", fresh[i].data()));
    }
    ASSERT_TRUE(context->setTensorAddress("query", query.data()) && context->setTensorAddress("y", y.data()));
    ASSERT_TRUE(context->setTensorAddress("at", at.data()));
    for (int step = 0; step < 4; ++step) {
      std::uniform_real_distribution<float> values(-2, 2);
      for (std::vector<float>* list : {&query, &fresh[0], &fresh[1]})
        for (float& v : *list) v = std::round(values(rng) / ByteDecoder::kScale) * ByteDecoder::kScale;
      std::fill(at.begin(), at.end(), step);
      std::vector<int8_t> want[2] = {caches[0], caches[1]};
      for (const int i : {0, 1})
        for (size_t e = 0; e < query.size(); ++e)
          want[i][e / kWidth * kLine + static_cast<size_t>(step) * kWidth + e % kWidth] =
              static_cast<int8_t>(std::lround(fresh[i][e] / ByteDecoder::kScale));
      ASSERT_TRUE(context->enqueueV3(nullptr)) << net.logger.errors();
      EXPECT_EQ(caches[0], want[0]) << backend;
      EXPECT_EQ(caches[1], want[1]) << backend;
      const std::vector<float> exact = attended(query, want[0], want[1]);
      for (size_t e = 0; e < y.size(); ++e) EXPECT_NEAR(y[e], exact[e], 1e-5) << backend << ", step " << step;
    }
    EXPECT_EQ(net.logger.errors(), "");
  }
}

}  // namespace
}  // namespace wootz_test
