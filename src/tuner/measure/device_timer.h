// Times work on a device whose work is asynchronous: as it will run, replayed from a recording, many in a row.
#pragma once

#include <memory>

#include "backend/device.h"
#include "tuner/measure/run_timer.h"

namespace wootz {

class DeviceTimer final : public RunTimer {
 public:
  // `native`: the application's own queue to time on; null: one of its own.
  static Result<std::unique_ptr<DeviceTimer>> create(Device& device, void* native = nullptr);
  // What the runs that are timed must put their work on.
  Stream& stream() { return switch_; }
  Result<double> batch_us(FunctionRef<Status()> run, int times) override;
  Status batches_us(FunctionRef<Status()> run, int times, FunctionRef<bool(double us)> more) override;
  void expect_cycle(int runs) override { cycle_ = runs; }
  // Launching a run of a few kernels and waiting for it.
  double lone_us() const override { return 40; }
  double now_us() override;

 private:
  // Stands for the stream that is recorded while recording, and for the real one otherwise.
  class Switch final : public Stream {
   public:
    Stream* target = nullptr;
    Status enqueue(std::function<Status()> work) override { return target->enqueue(std::move(work)); }
    Status synchronize() override { return target->synchronize(); }
    void* native() const override { return target->native(); }
  };
  explicit DeviceTimer(Device& device) : device_(device) {}
  Result<double> direct_us(FunctionRef<Status()> run, int times);
  Status warm_up(Recording& recording);

  Device& device_;
  std::unique_ptr<Stream> real_;
  Switch switch_;
  int cycle_ = 1;
  double busy_until_ = -1e12;  // when it was last seen to end its work
};

}  // namespace wootz
