#include "tuner/measure/device_timer.h"

#include <algorithm>
#include <chrono>

namespace wootz {

Result<std::unique_ptr<DeviceTimer>> DeviceTimer::create(Device& device, void* native) {
  std::unique_ptr<DeviceTimer> timer(new DeviceTimer(device));
  Result<std::unique_ptr<Stream>> stream = native == nullptr ? device.create_stream() : device.adopt_stream(native);
  if (!stream.ok()) return stream.status().with_prefix("the stream to time on");
  timer->real_ = std::move(stream).value();
  timer->switch_.target = timer->real_.get();
  return timer;
}

double DeviceTimer::now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<double> DeviceTimer::direct_us(FunctionRef<Status()> run, int times) {
  WOOTZ_RETURN_IF_ERROR(real_->synchronize());
  const double start = now_us();
  for (int i = 0; i < times; ++i) WOOTZ_RETURN_IF_ERROR(run());
  WOOTZ_RETURN_IF_ERROR(real_->synchronize());
  return now_us() - start;
}

Result<double> DeviceTimer::batch_us(FunctionRef<Status()> run, int times) {
  double taken = 0;
  WOOTZ_RETURN_IF_ERROR(batches_us(run, times, [&](double us) {
    taken = us;
    return false;
  }));
  return taken;
}

// A device that had nothing to do while the host prepared and compared lowers its clocks, the more the longer.
Status DeviceTimer::warm_up(Recording& recording) {
  constexpr double kIdleUs = 5e3, kWarmUs = 25e3, kPart = 0.25;
  const double idle = now_us() - busy_until_;
  if (idle <= kIdleUs) return Status();
  for (const double begin = now_us(); now_us() - begin < std::min(kWarmUs, kPart * idle);) {
    WOOTZ_RETURN_IF_ERROR(recording.replay(*real_));
    WOOTZ_RETURN_IF_ERROR(real_->synchronize());
  }
  return Status();
}

Status DeviceTimer::batches_us(FunctionRef<Status()> run, int times, FunctionRef<bool(double us)> more) {
  constexpr int kRecorded = 25;
  const bool whole = cycle_ > 1 && times % cycle_ == 0;  // where a recording ends, the cycle does
  const int each = whole ? std::max(1, kRecorded / cycle_) * cycle_ : kRecorded;
  const int recorded = std::min(times, each), replays = (times + recorded - 1) / recorded;
  Result<std::unique_ptr<Recording>> made = std::unique_ptr<Recording>();
  if (times >= 4)
    made = device_.record(
        *real_,
        [&](Stream& recorder) -> Status {
          switch_.target = &recorder;
          Status status;
          for (int i = 0; i < recorded && status.ok(); ++i) status = run();
          switch_.target = real_.get();
          return status;
        },
        nullptr);
  // What cannot be recorded, a plugin that waits for the device, is timed as it will run; what fails, fails again.
  if (!made.ok() || *made == nullptr) {
    for (;;) {
      WOOTZ_ASSIGN_OR_RETURN(const double us, direct_us(run, times));
      if (!more(us)) return Status();
    }
  }
  WOOTZ_RETURN_IF_ERROR((*made)->replay(*real_));  // its first launch uploads it
  WOOTZ_RETURN_IF_ERROR(real_->synchronize());
  WOOTZ_RETURN_IF_ERROR(warm_up(**made));
  for (;;) {
    const double start = now_us();
    for (int i = 0; i < replays; ++i) WOOTZ_RETURN_IF_ERROR((*made)->replay(*real_));
    WOOTZ_RETURN_IF_ERROR(real_->synchronize());
    busy_until_ = now_us();
    if (!more((busy_until_ - start) * times / (replays * recorded))) return Status();
  }
}

}  // namespace wootz
