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

Result<double> DeviceTimer::batch_us(FunctionRef<Status()> run, int times) {
  constexpr int kRecorded = 25;
  const auto direct = [&]() -> Result<double> {
    WOOTZ_RETURN_IF_ERROR(real_->synchronize());
    const double start = now_us();
    for (int i = 0; i < times; ++i) WOOTZ_RETURN_IF_ERROR(run());
    WOOTZ_RETURN_IF_ERROR(real_->synchronize());
    return now_us() - start;
  };
  if (times < 4) return direct();
  const int each = std::min(times, kRecorded), replays = (times + each - 1) / each;
  Result<std::unique_ptr<Recording>> made = device_.record(
      *real_,
      [&](Stream& recorder) -> Status {
        switch_.target = &recorder;
        Status status;
        for (int i = 0; i < each && status.ok(); ++i) status = run();
        switch_.target = real_.get();
        return status;
      },
      nullptr);
  // What cannot be recorded, a plugin that waits for the device, is timed as it will run; what fails, fails again.
  if (!made.ok() || *made == nullptr) return direct();
  WOOTZ_RETURN_IF_ERROR((*made)->replay(*real_));  // its first launch uploads it
  WOOTZ_RETURN_IF_ERROR(real_->synchronize());
  // A device that had nothing to do while the host prepared and compared has lowered its clocks.
  constexpr double kIdleUs = 5e3, kWarmUs = 25e3;
  if (now_us() - busy_until_ > kIdleUs)
    for (const double begin = now_us(); now_us() - begin < kWarmUs;) {
      WOOTZ_RETURN_IF_ERROR((*made)->replay(*real_));
      WOOTZ_RETURN_IF_ERROR(real_->synchronize());
    }
  const double start = now_us();
  for (int i = 0; i < replays; ++i) WOOTZ_RETURN_IF_ERROR((*made)->replay(*real_));
  WOOTZ_RETURN_IF_ERROR(real_->synchronize());
  busy_until_ = now_us();
  return (busy_until_ - start) * times / (replays * each);
}

}  // namespace wootz
