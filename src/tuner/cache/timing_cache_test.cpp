#include "tuner/cache/timing_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <thread>

#include "base/json.h"
#include "base/testing.h"

namespace wootz {
namespace {

const DeviceDescription kDevice{"cpu", "A CPU", "avx2", 4, 0};

TimingKey key(const std::string& problem, const std::string& tactic, int threads = 1) {
  return {problem, "native", "1", tactic, "avx2", threads};
}

Timing timing(double us) {
  Timing t;
  t.median_us = us;
  t.runs = 10;
  return t;
}

TEST(TimingCache, KeepsWhatItIsTold) {
  TimingCache cache(kDevice);
  ASSERT_TRUE(cache.update(key("p", "a"), timing(5)).ok());
  ASSERT_TRUE(cache.update(key("p", "a"), timing(6)).ok());
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.query(key("p", "a"))->median_us, 6);
  // Every part of the key counts.
  EXPECT_FALSE(cache.query(key("q", "a")));
  EXPECT_FALSE(cache.query(key("p", "b")));
  EXPECT_FALSE(cache.query(key("p", "a", 2)));
  for (auto part : {&TimingKey::provider, &TimingKey::version, &TimingKey::isa}) {
    TimingKey other = key("p", "a");
    other.*part += "x";
    EXPECT_FALSE(cache.query(other));
  }
  cache.reset();
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_FALSE(cache.query(key("p", "a")));
}

TEST(TimingCache, RefusesTimesThatAreNone) {
  TimingCache cache(kDevice);
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(cache.update(key("p", "a"), timing(bad)).ok()) << bad;
  EXPECT_FALSE(cache.update(key("p", "a", 0), timing(1)).ok());
  EXPECT_FALSE(cache.update(key(std::string(100'000, 'x'), "a"), timing(1)).ok());
  EXPECT_EQ(cache.size(), 0u);
}

std::unique_ptr<TimingCache> random_cache(unsigned seed, int count) {
  std::mt19937 rng(seed);
  auto cache = std::make_unique<TimingCache>(kDevice);
  for (int i = 0; i < count; ++i) {
    Timing t = timing(static_cast<double>(rng() % 1000) / 7);
    t.spread = static_cast<double>(rng() % 100) / 100;
    t.error = rng() % 2 ? -1 : 1e-6;
    if (rng() % 5 == 0) t.refusal = "NaN at element 3";
    (void)cache->update(key("problem" + std::to_string(rng() % 9), "k" + std::to_string(rng() % 9), 1 + rng() % 2), t);
  }
  return cache;
}

TEST(TimingCache, RoundTripInAnyOrderOfEntry) {
  const auto seed = static_cast<unsigned>(test_seed());
  const auto cache = random_cache(seed, 100);
  const std::vector<std::byte> bytes = cache->serialize();
  auto back = TimingCache::deserialize(bytes);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ((*back)->device().name, kDevice.name);
  EXPECT_EQ((*back)->to_json(), cache->to_json());
  TimingCache reversed(kDevice);
  auto entries = cache->entries();
  for (size_t i = entries.size(); i-- > 0;) ASSERT_TRUE(reversed.update(entries[i].first, entries[i].second).ok());
  EXPECT_TRUE(reversed.serialize() == bytes);
  EXPECT_TRUE(TimingCache(kDevice).serialize().size() > 0);
}

TEST(TimingCache, RefusesEveryChangeAndTruncation) {
  const std::vector<std::byte> good = random_cache(1, 30)->serialize();
  for (size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> bad = good;
    bad[at] ^= static_cast<std::byte>(1 << at % 8);
    ASSERT_FALSE(TimingCache::deserialize(bad).ok()) << at;
    ASSERT_FALSE(TimingCache::deserialize(std::span(good).first(at)).ok()) << at;
  }
  std::vector<std::byte> other = good;
  other[8] = std::byte{9};
  EXPECT_EQ(TimingCache::deserialize(other).status().message(), "timing cache format 9, this build reads 2");
}

std::filesystem::path corpus() {
  return std::filesystem::path(std::getenv("WOOTZ_SOURCE_DIR")) / "src/tuner/cache/timing_cache_fuzz_corpus";
}

TEST(TimingCache, OldCachesStayReadable) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus())) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    EXPECT_TRUE(TimingCache::deserialize(std::as_bytes(std::span(bytes))).ok()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 1);
}

TEST(TimingCache, DISABLED_WriteTodaysCache) {  // by hand, after a change of the schema
  const std::vector<std::byte> bytes = random_cache(5, 12)->serialize();
  std::ofstream(corpus() / "format2", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
}

TEST(TimingCache, CombinesWhatItLacks) {
  TimingCache ours(kDevice), theirs(kDevice);
  ASSERT_TRUE(ours.update(key("p", "a"), timing(1)).ok());
  ASSERT_TRUE(theirs.update(key("p", "a"), timing(2)).ok());
  ASSERT_TRUE(theirs.update(key("p", "b"), timing(3)).ok());
  ASSERT_TRUE(ours.combine(theirs, false).ok());
  EXPECT_EQ(ours.query(key("p", "a"))->median_us, 1);
  EXPECT_EQ(ours.query(key("p", "b"))->median_us, 3);
  EXPECT_TRUE(ours.combine(ours, false).ok());
}

TEST(TimingCache, AnotherDeviceOnlyWhenTold) {
  for (const auto part : {&DeviceDescription::backend, &DeviceDescription::name, &DeviceDescription::isa}) {
    DeviceDescription other = kDevice;
    other.*part += "x";
    TimingCache ours(kDevice), theirs(other);
    ASSERT_TRUE(theirs.update(key("p", "a"), timing(2)).ok());
    const Status status = ours.combine(theirs, false);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(other.*part), std::string::npos) << status.message();
    EXPECT_EQ(ours.size(), 0u);
    EXPECT_TRUE(ours.combine(theirs, true).ok());
    EXPECT_EQ(ours.size(), 1u);
  }
}

TEST(TimingCache, NumbersForThePublicApi) {
  TimingCache cache(kDevice);
  ASSERT_TRUE(cache.update(key("p", "fast"), timing(1)).ok());
  ASSERT_TRUE(cache.update(key("p", "slow"), timing(9)).ok());
  ASSERT_TRUE(cache.update(key("p", "slow", 2), timing(5)).ok());
  Timing wrong = timing(0.5);
  wrong.refusal = "wrong";
  ASSERT_TRUE(cache.update(key("p", "wrong"), wrong).ok());
  const auto ids = cache.problems();
  ASSERT_EQ(ids.size(), 2u);  // one thread, two threads
  const auto fast = cache.best(ids[0]);
  const auto slow = cache.best(ids[1]);
  ASSERT_TRUE(fast && slow);
  EXPECT_EQ(fast->us, 1);
  EXPECT_EQ(slow->us, 5);
  EXPECT_FALSE(cache.pinned(key("p", "")));
  ASSERT_TRUE(cache.pin(ids[0], slow->tactic, 8).ok());
  EXPECT_EQ(cache.best(ids[0])->tactic, slow->tactic);
  EXPECT_EQ(cache.best(ids[0])->us, 8);
  EXPECT_EQ(cache.pinned(key("p", ""))->tactic, "slow");
  EXPECT_FALSE(cache.pinned(key("p", "", 2)));
  const auto back = TimingCache::deserialize(cache.serialize());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ((*back)->pinned(key("p", ""))->tactic, "slow");
  ASSERT_TRUE(cache.pin(ids[0], fast->tactic, 1).ok());  // one at a time
  EXPECT_EQ(cache.pinned(key("p", ""))->tactic, "fast");
  EXPECT_FALSE(cache.pin(ids[0], 12345, 1).ok());
  EXPECT_FALSE(cache.best(TimingCache::ProblemId{}));
}

TEST(TimingCache, JsonIsJson) {
  const auto json = SortedJson::parse(random_cache(3, 10)->to_json(), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["device"]["isa"], "avx2");
  EXPECT_FALSE(json["timings"].empty());
}

TEST(TimingCache, LongProblemsHaveShortDistinctKeys) {
  Problem a;
  a.as<OpParams>().node = std::string(100'000, 'x');
  Problem b = a;
  b.as<OpParams>().node.back() = 'y';
  EXPECT_LT(problem_key(a).size(), 5000u);
  EXPECT_NE(problem_key(a), problem_key(b));
  EXPECT_EQ(problem_key(Problem()), Problem().key());
}

TEST(TimingCache, ProblemsThatNobodyCouldHaveAreRefused) {
  const auto refusal = [](const std::string& problem) {
    TimingCache cache(kDevice);
    EXPECT_TRUE(cache.update(key(problem, "a"), timing(5)).ok());
    const auto back = TimingCache::deserialize(cache.serialize());
    return back.ok() ? "" : back.status().message();
  };
  Problem p;
  p.params = ConvParams{.strides = {2, 2}};
  EXPECT_EQ(refusal(p.key()), "");
  EXPECT_EQ(refusal("pool{kind=median}()->()"),
            "timing cache: pool: parameter 'kind' is median; allowed: one of max, avg, lp");
  p.params = OpParams{.node = std::string(100'000, 'x')};
  EXPECT_EQ(refusal(problem_key(p)), "");
}

TEST(TimingCache, ManyThreads) {
  TimingCache cache(kDevice);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        (void)cache.update(key("p" + std::to_string(i), std::to_string(t)), timing(i));
        (void)cache.query(key("p" + std::to_string(i), "0"));
        if (i % 50 == 0) (void)cache.serialize();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(cache.size(), 800u);
}

}  // namespace
}  // namespace wootz
