// No memory: whichever allocation fails, of a build or of a run, a call fails with one logged reason or the result is
// right; nothing aborts and nothing leaks.
//
// A test tries some allocations, drawn at random; WOOTZ_ALLOCATIONS=all tries every one, WOOTZ_ALLOCATIONS=N that one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

#include "base/testing.h"
#include "no_memory/life.h"
#include "steady/sanitized.h"

namespace wootz_test {

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

namespace {

constexpr long kForever = 1L << 60;

// What was about to be tried, should the process end.
std::string g_trying;  // NOLINT
void say_what_was_tried() {
  std::fprintf(stderr, "ended by std::terminate(): %s\n", g_trying.c_str());
  std::abort();
}

std::vector<long> allocations_to_try(long all, size_t some) {
  std::vector<long> chosen;
  const char* wish = std::getenv("WOOTZ_ALLOCATIONS");
  if (wish != nullptr && std::string(wish) != "all") return {std::atol(wish)};
  if (wish != nullptr || static_cast<size_t>(all) <= some) {
    for (long i = 1; i <= all; ++i) chosen.push_back(i);
    return chosen;
  }
  std::mt19937_64 rng(wootz::test_seed());
  while (chosen.size() < some) chosen.push_back(std::uniform_int_distribution<long>(1, all)(rng));
  return chosen;
}

class NoMemory : public testing::TestWithParam<Model> {};

void expect_same(const Life& got, const Life& want) {
  for (int32_t o = 0; o < want.num_outputs; ++o) {
    const Room &a = got.outputs[static_cast<size_t>(o)], &b = want.outputs[static_cast<size_t>(o)];
    ASSERT_EQ(a.count, b.count);
    for (size_t i = 0; i < b.count; ++i)
      ASSERT_TRUE(std::abs(a.values()[i] - b.values()[i]) <= 1e-4F * (1 + std::abs(b.values()[i])))
          << "output " << o << ", element " << i << ": " << a.values()[i] << " is not " << b.values()[i];
  }
}

// One life in which the allocations from `first` to `last` fail.
void try_one(const Model& model, const std::string& path, long first, long last, const Life& want) {
  g_trying = std::string(model.name) + ": allocation " + std::to_string(first) + (last > first ? " and all after" : "");
  SCOPED_TRACE(g_trying);
  LastError logger;
  auto life = std::make_unique<Life>();
  fail_allocations(first, last);
  live(model, path, logger, *life);
  fail_allocations(0, 0);
  allocations_counted();
  if (life->failed == nullptr) return expect_same(*life, want);
  EXPECT_GT(logger.errors(), 0) << life->failed << " failed without a word";
}

TEST_P(NoMemory, IsAnErrorWhereverItHappens) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's malloc";
  std::set_terminate(say_what_was_tried);
  const std::string path = file_of(GetParam());
  auto want = std::make_unique<Life>();
  LastError logger;
  for (int warm = 0; warm < 3; ++warm) {
    *want = Life();
    count_allocations();
    live(GetParam(), path, logger, *want);
  }
  const long all = allocations_counted();
  ASSERT_EQ(want->failed, nullptr) << want->failed << ": " << logger.text();
  ASSERT_GT(all, 100);
  const std::vector<long> chosen = allocations_to_try(all, all > 100000 ? 30 : 150);
  for (const long n : chosen) try_one(GetParam(), path, n, n, *want);
  // Again: what is kept for next time has been taken, and what grows once more is lost.
  for (const long n : chosen) {
    const long live_blocks = live_allocations();
    try_one(GetParam(), path, n, n, *want);
    if (live_allocations() == live_blocks) continue;
    const long before_again = live_allocations();
    for (int i = 0; i < 3; ++i) try_one(GetParam(), path, n, n, *want);
    EXPECT_LT(live_allocations() - before_again, 3) << "allocation " << n << " leaks when it fails";
  }
  for (size_t i = 0; i < chosen.size(); i += 4) try_one(GetParam(), path, chosen[i], kForever, *want);
  std::printf("%s: %ld allocations, %zu of them failed in turn\n", GetParam().name, all, chosen.size());
}

std::string name_of(const testing::TestParamInfo<Model>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, NoMemory, testing::ValuesIn(models()), name_of);

}  // namespace
}  // namespace wootz_test
