// What is dear to make, made once: by one thread while others wait for it, and kept while a build holds on.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace wootz::cuda {

// Made by the first thread that asks. Thread-safe.
template <typename T>
class Once {
 public:
  template <typename Make>
  T get(Make&& make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!made_) made_ = make();
    return *made_;
  }

 private:
  std::mutex mutex_;
  std::optional<T> made_;
};

// A T that is emptied when the last who holds on lets go. Thread-safe; outlives what hold() gave.
template <typename T>
class Held {
 public:
  std::shared_ptr<const void> hold() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<const void> token = token_.lock();
    if (token == nullptr) token_ = token = std::shared_ptr<const void>(this, [this](const void*) { let_go(); });
    return token;
  }
  // use(T&) under a lock; false, and nothing was used: none holds on.
  template <typename Use>
  bool with(Use&& use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (token_.expired()) return false;
    use(kept_);
    return true;
  }

 private:
  void let_go() {
    T dropped;  // after the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    if (token_.expired()) std::swap(dropped, kept_);
  }

  std::mutex mutex_;
  std::weak_ptr<const void> token_;
  T kept_;
};

}  // namespace wootz::cuda
