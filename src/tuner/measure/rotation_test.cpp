#include "tuner/measure/rotation.h"

#include <gtest/gtest.h>

#include "tuner/cache/cache_only_selector.h"
#include "tuner/measure/measure_testing.h"

namespace wootz {
namespace {

using namespace measure_testing;  // NOLINT: what this file is about

constexpr size_t kConstants = 64 * 1000 * sizeof(float);  // of the fixture's layer

// One kernel is the faster while its constants are in the cache, the other where they have to be fetched.
struct Rotated : Fixture {
  Rotated()
      : Fixture({{"warm", 1, Behavior::kRight, Layout::kLinear, 0, false, 4},
                 {"cold", 1.5, Behavior::kRight, Layout::kLinear, 0, false, 0.25}}) {
    TensorDesc x = problem.inputs[0];
    x.dims = x.max_dims = Dims{16, 16};  // of many runs
    problem.inputs[0] = problem.outputs[0] = x;
  }
};

TEST(Rotation, ConstantsAreTimedAsTheyComeFromMemory) {
  Rotated f;
  f.device->cache = 4 * kConstants;
  f.clock.cached = 500;  // of as many places as memory for two caches has room for: 2 x 4 x 1000
  std::vector<EvaluatedCandidate> c = f.measure();
  ASSERT_EQ(c.size(), 2u) << f.status.to_string();
  EXPECT_NEAR(c[0].us, 1, 1e-6) << "not asked for";
  EXPECT_NEAR(c[1].us, 1.5, 1e-6);

  f.cache.reset();
  f.options.rotation = SIZE_MAX;
  c = f.measure();
  ASSERT_EQ(c.size(), 2u) << f.status.to_string();
  EXPECT_NEAR(c[0].us, 5, 1e-6);
  EXPECT_NEAR(c[1].us, 1.75, 1e-6);
  EXPECT_EQ(c[0].refusal + c[1].refusal, "");
  EXPECT_EQ(f.device->live, 0);
}

TEST(Rotation, ConcernsConstantsThatMatterAndFit) {
  const auto device = std::make_shared<HostDevice>();
  const Problem problem = Fixture({}).problem;
  const auto concerns = [&](size_t cache, size_t limit) {
    device->cache = cache;
    return ConstantRotation(device, limit).concerns(problem);
  };
  EXPECT_TRUE(concerns(kConstants, 2 * kConstants));
  EXPECT_FALSE(concerns(kConstants, 2 * kConstants - 1)) << "more memory than allowed";
  EXPECT_FALSE(concerns(kConstants - 1, SIZE_MAX)) << "they do not fit into the cache themselves";
  EXPECT_TRUE(concerns(100 * kConstants, SIZE_MAX));
  EXPECT_FALSE(concerns(200 * kConstants, SIZE_MAX)) << "too few to matter";
  EXPECT_FALSE(concerns(0, SIZE_MAX)) << "the host's memory";
  EXPECT_FALSE(concerns(size_t{1} << 28, SIZE_MAX)) << "a cache larger than what is taken";
  Problem none = problem;
  none.inputs[1].constant = false;
  device->cache = kConstants;
  EXPECT_FALSE(ConstantRotation(device, SIZE_MAX).concerns(none));
}

TEST(Rotation, WithoutMemoryTheyAreTimedAsTheCacheHasThem) {
  Rotated f;
  f.options.rotation = SIZE_MAX;
  f.device->cache = 16 * kConstants;
  f.device->room = 16 * kConstants;  // enough for the layer, but not for two caches' worth
  const std::vector<EvaluatedCandidate> c = f.measure();
  ASSERT_EQ(c.size(), 2u) << f.status.to_string();
  EXPECT_NEAR(c[0].us, 1, 1e-6);
  for (const auto& [key, timing] : f.cache.entries()) EXPECT_TRUE(key.problem.starts_with("norm{")) << key.problem;
}

// A time of the other kind says nothing: the cache knows them apart.
TEST(Rotation, TheCacheKnowsHowTheyWereTimed) {
  Rotated f;
  f.device->cache = 4 * kConstants;
  f.clock.cached = 500;
  f.measure();
  f.options.rotation = SIZE_MAX;
  f.measure();
  EXPECT_EQ(f.stats.from_cache, 0u);
  EXPECT_EQ(f.cache.size(), 4u);
  const std::vector<EvaluatedCandidate> again = f.measure();
  EXPECT_EQ(f.stats.from_cache, 2u);
  EXPECT_NEAR(again[0].us, 5, 1e-6);
  const auto read = TimingCache::deserialize(f.cache.serialize());
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ((*read)->to_json(), f.cache.to_json());

  // Who chooses for this device without it goes by them.
  CacheOnlySelector selector(f.cache, {&f.provider}, f.options.limits, f.device->describe().isa);
  EvaluatedCandidate c = again[0];
  c.us = 0;
  ASSERT_TRUE(selector.cost(f.problem, &c).ok());
  EXPECT_NEAR(c.us, 5, 1e-6);
}

// Rivals in turn have copies of their own; and on a host, a part of what the network has.
TEST(Rotation, OnTheHostInTurn) {
  Rotated f;
  f.device->cache = 4 * kConstants;
  f.device->host = true;
  f.clock.cached = 500;
  f.options.rotation = SIZE_MAX;
  f.options.in_turn = true;
  f.options.network_constants = 40 * kConstants;
  const std::vector<EvaluatedCandidate> c = f.measure();
  ASSERT_EQ(c.size(), 2u) << f.status.to_string();
  EXPECT_NEAR(c[0].us, 5, 1e-6);
  EXPECT_NEAR(c[1].us, 1.75, 1e-6);
  EXPECT_EQ(c[0].refusal + c[1].refusal, "");
  EXPECT_EQ(f.device->live, 0);

  const auto bytes = [&](size_t network) { return ConstantRotation(f.device, SIZE_MAX, 0, network).bytes(); };
  EXPECT_EQ(bytes(20 * kConstants), 0u) << "as little as the cache has";
  EXPECT_EQ(bytes(100 * kConstants), 20 * kConstants);
  EXPECT_EQ(bytes(size_t{1} << 40), size_t{64} << 20);
  f.device->host = false;
  EXPECT_EQ(bytes(120 * kConstants), 8 * kConstants);
}

// Of as many cores as there are threads.
TEST(Rotation, CachesOfTheCoresInUse) {
  HostDevice device;
  device.cache = 4096;
  device.host = true;
  device.cores(4);
  EXPECT_EQ(cache_of(device, 0), 4096u);
  EXPECT_EQ(cache_of(device, 1), 1024u);
  EXPECT_EQ(cache_of(device, 3), 3072u);
  EXPECT_EQ(cache_of(device, 9), 4096u);
  device.host = false;
  EXPECT_EQ(cache_of(device, 1), 4096u);
}

}  // namespace
}  // namespace wootz
