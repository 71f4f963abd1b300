// Builds that measure on one device at the same time, in one process or in several, would time each other's work: they
// take turns.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/function_ref.h"

namespace wootz {

// A lock of a file that the system takes back when its process ends, however it does.
class DeviceLock {
 public:
  // What a caller hears of: that it waits (once), and that it goes on without the lock, which is not given back.
  enum class News : uint8_t { kWaits, kGivesUp };

  DeviceLock() = default;  // of nothing
  ~DeviceLock();
  DeviceLock(DeviceLock&& other) noexcept;
  DeviceLock& operator=(DeviceLock&& other) noexcept;

  // `name` tells the device from all others of this machine. Of nothing where it is empty, where no file can be made,
  // where `longest` has passed, and where go_on() says no, which is asked while waiting.
  static DeviceLock take(const std::string& name, FunctionRef<void(News)> tell, FunctionRef<bool()> go_on,
                         std::chrono::milliseconds longest = std::chrono::minutes(10));
  bool held() const { return file_ >= 0; }
  // The file, for tests. Any user may have made it.
  static std::string path(const std::string& name);

 private:
  explicit DeviceLock(int file) : file_(file) {}
  int file_ = -1;
};

}  // namespace wootz
