// Constants as a network reads them: since a layer's last turn, all others' constants went through the device's cache,
// so that its own come from memory. A benchmark that runs again and again would find them in the cache, and what is
// fast from there need not be fast from memory. Activations stay where they are: the layer before has just written
// them.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "backend/device.h"
#include "backend/problem.h"

namespace wootz {

// What the timing cache calls a problem whose constants were timed so.
std::string rotated_key(const std::string& problem_key);

// The cache that keeps what so many threads (0: all) read from one layer to the next; 0: not known.
size_t cache_of(const Device& device, int threads);

// Memory of a device that holds copies of one benchmark's constants at a time, larger than its cache; twice, for
// benchmarks that run in turn.
class ConstantRotation {
 public:
  // Of a device that tells the size of its cache, and takes no more than `limit` bytes; of nothing otherwise.
  // `network`: bytes of all its constants.
  ConstantRotation(std::shared_ptr<Device> device, size_t limit, int threads = 0, size_t network = 0);
  // Whether so many bytes of constants are timed out of turn: they are enough to matter, and few enough for two copies.
  // True of nothing once there was no memory for it.
  bool concerns(const Problem& problem) const;
  // Allocated when it is first asked for; null: there is none. `place`: 0 or 1.
  std::byte* memory(size_t place = 0);
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Device> device_;
  size_t bytes_ = 0;
  size_t least_ = 0;
  std::array<std::unique_ptr<void, std::function<void(void*)>>, 2> memory_;
};

}  // namespace wootz
