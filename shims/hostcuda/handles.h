// What handles stand for. A handle is a number that is used once in a process: one that was freed, or never was one, is
// found to be nothing, and is never followed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace wootz::hostcuda {

template <typename T, typename Handle>
class Handles {
 public:
  static Handles& get() {
    static auto* handles = new Handles;  // threads may still ask while the process ends
    return *handles;
  }

  Handle add(std::shared_ptr<T> object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto handle = reinterpret_cast<Handle>(next());
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<T> find(Handle handle) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> take(Handle handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  uintptr_t next() { return kFirst + 16 * count_++; }

  static constexpr uintptr_t kFirst = 0x10000;  // beyond the numbers that stand for default streams
  mutable std::mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<T>> objects_;
  uintptr_t count_ = 0;
};

}  // namespace wootz::hostcuda
