// What engines and contexts hold of memory, logged when they are made: the lines that logs of TensorRT have.
#pragma once

#include <atomic>

#include "api/runtime/reporter.h"

namespace wootz::api {

// The bytes that an object of the API holds for as long as it lives, of the host or of a device.
class HeldMemory {
 public:
  HeldMemory() = default;
  ~HeldMemory() { total().fetch_sub(bytes_); }
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  // Tells, at kINFO, that `what` took them, and what is held in all.
  void hold(const Reporter& reporter, const char* what, bool on_device, size_t bytes);

 private:
  static std::atomic<size_t>& totals(bool on_device);
  std::atomic<size_t>& total() const { return totals(on_device_); }
  bool on_device_ = false;
  size_t bytes_ = 0;
};

}  // namespace wootz::api
