#include "tuner/measure/device_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "base/testing.h"

namespace wootz {
namespace {

using News = DeviceLock::News;

class DeviceLocks : public testing::Test {
 protected:
  ~DeviceLocks() override { ::unlink(DeviceLock::path(name).c_str()); }
  DeviceLock take(int most_asked, std::chrono::milliseconds longest = std::chrono::minutes(1)) {
    return DeviceLock::take(
        name, [&](News n) { news.push_back(n); }, [&] { return asked++ < most_asked; }, longest);
  }
  std::string name = "test-" + std::to_string(::getpid()) + "-" + std::to_string(test_seed());
  std::vector<News> news;
  int asked = 0;
};

TEST_F(DeviceLocks, OneAtATime) {
  const DeviceLock first = take(0);
  EXPECT_TRUE(first.held());
  EXPECT_TRUE(news.empty());
  const DeviceLock second = take(3);
  EXPECT_FALSE(second.held());
  EXPECT_EQ(asked, 4) << "asked while waiting until it said no";
  EXPECT_EQ(news, std::vector<News>{News::kWaits}) << "said once";
}

TEST_F(DeviceLocks, NextOneGetsIt) {
  DeviceLock first = take(0);
  const DeviceLock second = DeviceLock::take(
      name, [](News) {}, [&] { return first = DeviceLock(), true; });
  EXPECT_TRUE(second.held());
  EXPECT_FALSE(first.held());
}

TEST_F(DeviceLocks, OtherDevicesAreOthers) {
  const DeviceLock first = take(0);
  const DeviceLock none = DeviceLock::take(
      "", [](News) {}, [] { return false; });
  EXPECT_FALSE(none.held());
  name += "-other";
  EXPECT_TRUE(take(0).held());
}

TEST_F(DeviceLocks, WhoDiesGivesItBack) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const DeviceLock held = take(0);
    const char ok = held.held() ? 1 : 0;
    if (::write(ready[1], &ok, 1) == 1) ::pause();
    ::_exit(0);
  }
  char ok = 0;
  ASSERT_EQ(::read(ready[0], &ok, 1), 1);
  ASSERT_EQ(ok, 1);
  EXPECT_FALSE(take(1).held());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(take(0).held());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(DeviceLocks, GoesOnWithoutOneThatIsNeverGivenBack) {
  const DeviceLock first = take(0);
  EXPECT_FALSE(take(1'000'000, std::chrono::milliseconds(50)).held());
  EXPECT_EQ(news, (std::vector<News>{News::kWaits, News::kGivesUp}));
}

TEST_F(DeviceLocks, LinksAndPipesAreNoFiles) {
  const std::string path = DeviceLock::path(name);
  ASSERT_EQ(::symlink("/tmp/wootz-elsewhere", path.c_str()), 0);
  EXPECT_FALSE(take(0).held());
  EXPECT_NE(::access("/tmp/wootz-elsewhere", F_OK), 0) << "made through the link";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(take(0).held());
}

}  // namespace
}  // namespace wootz
