#include "tuner/measure/device_timer.h"

#include <gtest/gtest.h>

#include <vector>

namespace wootz {
namespace {

class QuietStream final : public Stream {
 public:
  Status enqueue(std::function<Status()>) override { return unsupported("no host work"); }
  Status synchronize() override { return {}; }
};

// Records by noting how often what was recorded ran.
class RecordingDevice final : public Device {
 public:
  const DeviceDescription& describe() const override { return description_; }
  Result<void*> allocate(size_t, size_t) override { return unsupported("no memory"); }
  void free(void*) override {}
  Status copy(void*, const void*, size_t, Stream*) override { return {}; }
  bool host_memory() const override { return false; }
  Result<std::unique_ptr<Stream>> create_stream() override {
    return std::unique_ptr<Stream>(std::make_unique<QuietStream>());
  }
  Result<std::unique_ptr<Recording>> record(Stream&, FunctionRef<Status(Stream&)> work,
                                            std::unique_ptr<Recording>) override {
    if (!records) return std::unique_ptr<Recording>();
    ++recordings;
    QuietStream recorder;
    WOOTZ_RETURN_IF_ERROR(work(recorder));
    return std::unique_ptr<Recording>(std::make_unique<Replay>(*this));
  }
  bool records = true;
  int recordings = 0, replays = 0, live = 0;

 private:
  class Replay final : public Recording {
   public:
    explicit Replay(RecordingDevice& device) : device_(device) { ++device_.live; }
    ~Replay() override { --device_.live; }
    Status replay(Stream&) override { return ++device_.replays, Status(); }

   private:
    RecordingDevice& device_;
  };
  DeviceDescription description_;
};

TEST(DeviceTimer, BatchesOfOneSampleAreRecordedOnce) {
  RecordingDevice device;
  Result<std::unique_ptr<DeviceTimer>> timer = DeviceTimer::create(device);
  ASSERT_TRUE(timer.ok());
  int runs = 0, batches = 0;
  const auto run = [&]() -> Status { return ++runs, Status(); };
  ASSERT_TRUE((*timer)
                  ->batches_us(run, 100,
                               [&](double us) {
                                 EXPECT_GE(us, 0);
                                 return ++batches < 7;
                               })
                  .ok());
  EXPECT_EQ(device.recordings, 1);
  EXPECT_EQ(runs, 25);
  EXPECT_EQ(batches, 7);
  EXPECT_GE(device.replays, 1 + 7 * 4);
  EXPECT_EQ(device.live, 0) << "let go before the kernels that it holds";
}

TEST(DeviceTimer, ARecordingHasWholeCycles) {
  RecordingDevice device;
  Result<std::unique_ptr<DeviceTimer>> timer = DeviceTimer::create(device);
  ASSERT_TRUE(timer.ok());
  int runs = 0;
  const auto run = [&]() -> Status { return ++runs, Status(); };
  const auto recorded = [&](int cycle, int times) {
    runs = 0;
    (*timer)->expect_cycle(cycle);
    EXPECT_TRUE((*timer)->batch_us(run, times).ok());
    return runs;
  };
  EXPECT_EQ(recorded(40, 80), 40);
  EXPECT_EQ(recorded(10, 100), 20);
  EXPECT_EQ(recorded(10, 10), 10);
  EXPECT_EQ(recorded(40, 50), 25) << "not a whole cycle: the caller has its reasons";
  EXPECT_EQ(recorded(1, 100), 25);
}

TEST(DeviceTimer, WhatIsNotRecordedRunsDirectly) {
  RecordingDevice device;
  Result<std::unique_ptr<DeviceTimer>> timer = DeviceTimer::create(device);
  ASSERT_TRUE(timer.ok());
  int runs = 0;
  const auto run = [&]() -> Status { return ++runs, Status(); };
  ASSERT_TRUE((*timer)->batch_us(run, 3).ok());  // too few to be worth it
  EXPECT_EQ(device.recordings, 0);
  EXPECT_EQ(runs, 3);
  device.records = false;
  int batches = 0;
  ASSERT_TRUE((*timer)->batches_us(run, 10, [&](double) { return ++batches < 2; }).ok());
  EXPECT_EQ(runs, 23);
  const auto failing = []() -> Status { return internal_error("broken"); };
  EXPECT_EQ((*timer)->batch_us(failing, 10).status().message(), "broken");
}

}  // namespace
}  // namespace wootz
