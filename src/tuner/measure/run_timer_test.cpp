#include "tuner/measure/run_timer.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tuner/layout/relayout.h"
#include "tuner/measure/random_data.h"

namespace wootz {
namespace {

// Batches that last what a list says, in microseconds a run; its last entry from then on.
class ListTimer final : public RunTimer {
 public:
  explicit ListTimer(std::vector<double> us) : us_(std::move(us)) {}
  Result<double> batch_us(FunctionRef<Status()> run, int times) override {
    WOOTZ_RETURN_IF_ERROR(run());
    runs += times;
    const double each = us_[std::min(batches++, us_.size() - 1)];
    return each * times;
  }
  double now_us() override { return 0; }
  size_t batches = 0;
  int runs = 0;

 private:
  std::vector<double> us_;
};

const auto nothing = []() -> Status { return Status(); };

TEST(SampleRun, StopsWhenPrecise) {
  ListTimer timer({500, 100});
  const Result<Sample> s = sample_run(timer, nothing, {}, 0);
  ASSERT_TRUE(s.ok());
  EXPECT_DOUBLE_EQ(s->median_us, 100);
  EXPECT_EQ(s->spread, 0);
  EXPECT_EQ(timer.batches, 2u + 5u);
  EXPECT_EQ(s->runs, 5u * 5u);  // 500 us a batch
}

TEST(SampleRun, OutliersDoNotMoveTheMedian) {
  ListTimer timer({100, 100, 100, 9000, 101, 99, 100, 7000, 100, 100, 101, 100});
  const Result<Sample> s = sample_run(timer, nothing, {}, 0);
  ASSERT_TRUE(s.ok());
  EXPECT_NEAR(s->median_us, 100, 1);
}

TEST(SampleRun, StopsWhenHopeless) {
  ListTimer slow({1000, 1000});
  Result<Sample> s = sample_run(slow, nothing, {}, 100);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(slow.batches, 2u);
  EXPECT_EQ(s->median_us, 1000);
  ListTimer close({250, 250, 250});  // within reach: measured
  s = sample_run(close, nothing, {}, 100);
  EXPECT_GT(close.batches, 2u);
}

TEST(SampleRun, OneThatHasLostIsNotMeasuredClosely) {
  const std::vector<double> noisy{100, 100, 150, 170, 140, 160, 150, 130, 190};
  ListTimer lost(noisy);
  Result<Sample> s = sample_run(lost, nothing, {}, 100);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(lost.batches, 2u + 3u);
  EXPECT_EQ(s->median_us, 150);
  ListTimer close({100, 100, 150, 170, 120, 160, 150, 130, 190});  // may yet be the faster
  s = sample_run(close, nothing, {}, 100);
  EXPECT_GT(close.batches, 2u + 5u);
  ListTimer first(noisy);
  s = sample_run(first, nothing, {}, 0);
  EXPECT_GT(first.batches, 2u + 5u);
}

TEST(SampleRun, ABatchHasAWholeCycle) {
  SamplingOptions options;
  options.cycle = 7;
  ListTimer timer({100});
  Result<Sample> s = sample_run(timer, nothing, options, 0);  // five runs would be enough
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->runs, 5u * 7u);
  EXPECT_DOUBLE_EQ(s->median_us, 100);
  options.cycle = 1000;  // of slow runs that would take too long
  s = sample_run(timer, nothing, options, 0);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->runs, 5u * 5u);
}

// A device, where launching one run and waiting for it takes longer than a small kernel.
class LaunchTimer final : public RunTimer {
 public:
  explicit LaunchTimer(double us) : us_(us) {}
  Result<double> batch_us(FunctionRef<Status()> run, int times) override {
    WOOTZ_RETURN_IF_ERROR(run());
    ++batches;
    return us_ * times + (times < 4 ? 8 : 0);
  }
  double lone_us() const override { return 10; }
  double now_us() override { return 0; }
  int batches = 0;

 private:
  double us_;
};

TEST(SampleRun, LaunchingIsNotTakenForTheRun) {
  LaunchTimer quick(1.5);
  Result<Sample> s = sample_run(quick, nothing, {}, 1.6);
  ASSERT_TRUE(s.ok());
  EXPECT_NEAR(s->median_us, 1.5, 1e-9);
  LaunchTimer slow(6);  // seen to be hopeless by its first batch
  s = sample_run(slow, nothing, {}, 1.6);
  ASSERT_TRUE(s.ok());
  EXPECT_NEAR(s->median_us, 6, 1e-9);
  EXPECT_EQ(slow.batches, 3);
  LaunchTimer hopeless(70);
  s = sample_run(hopeless, nothing, {}, 1.6);
  EXPECT_EQ(hopeless.batches, 2);
}

TEST(SampleRun, StopsAtItsTime) {
  ListTimer noisy({20'000, 20'000, 15'000, 25'000, 10'000, 30'000});
  const Result<Sample> s = sample_run(noisy, nothing, {}, 0);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(noisy.batches, 2u + 3u);
}

// A machine that takes `slow` times as long every now and then, whatever runs.
class BusyTimer final : public RunTimer {
 public:
  Result<double> batch_us(FunctionRef<Status()> run, int times) override {
    kind = 0;
    WOOTZ_RETURN_IF_ERROR(run());
    // Long stretches of load: whole samples fall into one.
    const double load = (batches++ / 40) % 2 == 0 ? 1 : 3;
    return load * times * (kind == 1 ? 100 : 90);
  }
  double now_us() override { return 0; }
  int kind = 0;

 private:
  int batches = 0;
};

TEST(SampleAlternating, WhatSlowsBothDoesNotCount) {
  BusyTimer timer;
  const auto slower = [&]() -> Status { return timer.kind = 1, Status(); };
  const auto faster = [&]() -> Status { return timer.kind = 2, Status(); };
  for (int i = 0; i < 30; ++i) {
    const Result<Sample> s = sample_alternating(timer, faster, slower, 100, {});
    ASSERT_TRUE(s.ok());
    EXPECT_NEAR(s->median_us, 90, 1e-9);
    EXPECT_LE(s->spread, 1e-9);
  }
}

TEST(SampleAlternating, StopsWhenHopeless) {
  ListTimer slow({1000, 100, 1000, 100, 1000, 100});
  const Result<Sample> s = sample_alternating(slow, nothing, nothing, 100, {});
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(slow.batches, 6u);
  EXPECT_NEAR(s->median_us, 1000, 1e-9);
  ListTimer unlucky({1000, 100, 90, 100, 90, 100, 100, 90});  // slow once only
  const Result<Sample> again = sample_alternating(unlucky, nothing, nothing, 100, {});
  ASSERT_TRUE(again.ok());
  EXPECT_GT(unlucky.batches, 6u);
}

TEST(SampleRun, ReportsFailures) {
  ListTimer timer({1});
  const auto failing = []() -> Status { return internal_error("broken"); };
  EXPECT_EQ(sample_run(timer, failing, {}, 0).status().message(), "broken");
  ListTimer bad({std::numeric_limits<double>::quiet_NaN()});
  EXPECT_FALSE(sample_run(bad, nothing, {}, 0).ok());
  ListTimer free({0});
  const Result<Sample> s = sample_run(free, nothing, {}, 0);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->median_us, 0);
}

TEST(HostTimer, TimeGoesForward) {
  const double before = host_timer().now_us();
  const Result<double> us = host_timer().batch_us(nothing, 3);
  ASSERT_TRUE(us.ok());
  EXPECT_GE(*us, 0);
  EXPECT_GE(host_timer().now_us(), before);
}

TEST(Relayout, ThereAndBack) {
  for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16})
    for (const DType dtype : {DType::kF32, DType::kI8, DType::kF16, DType::kU4})
      for (const Dims& dims : {Dims{2, 3, 5}, Dims{1, 17, 2, 3}, Dims{4, 8, 1, 1}, Dims{3, 4}, Dims{}, Dims{2, 0, 3}}) {
        const Result<HostTensor> source = random_tensor(dtype, dims, 5);
        ASSERT_TRUE(source.ok());
        const Result<HostTensor> placed = to_layout(*source, layout);
        ASSERT_TRUE(placed.ok()) << placed.status().to_string();
        EXPECT_EQ(placed->bytes(), layout_bytes(layout, dtype, dims));
        const Result<HostTensor> back = from_layout(placed->data(), layout, dtype, dims);
        ASSERT_TRUE(back.ok());
        for (int64_t i = 0; i < source->volume(); ++i) ASSERT_EQ(back->get_f64(i), source->get_f64(i));
      }
  // NHWC by hand.
  const std::vector<int32_t> values{1, 2, 3, 4};
  const HostTensor x = HostTensor::from<int32_t>(values, Dims{1, 2, 1, 2});
  const Result<HostTensor> last = to_layout(x, Layout::kChannelsLast);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->get_i64(1), 3);
  EXPECT_FALSE(to_layout(x, Layout::kOpaque).ok());
}

TEST(RandomTensor, IsRepeatableAndInRange) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64, DType::kI8, DType::kU8, DType::kI64, DType::kBool,
                            DType::kU4, DType::kI2, DType::kU2, DType::kF8E4M3, DType::kF8E8M0, DType::kF4E2M1}) {
    const Result<HostTensor> a = random_tensor(dtype, Dims{100}, 3, 7), b = random_tensor(dtype, Dims{100}, 3, 7);
    ASSERT_TRUE(a.ok());
    for (int64_t i = 0; i < 100; ++i) {
      EXPECT_EQ(a->get_f64(i), b->get_f64(i));
      if (is_float(dtype)) EXPECT_LE(std::abs(a->get_f64(i)), 1) << dtype_name(dtype);
      if (dtype == DType::kI64) EXPECT_TRUE(a->get_i64(i) >= 0 && a->get_i64(i) < 7);
    }
  }
}

}  // namespace
}  // namespace wootz
