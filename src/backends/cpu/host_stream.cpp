#include "backends/cpu/host_stream.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace wootz::cpu {
namespace {

class HostStream final : public Stream {
 public:
  Status begin() {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& e) {
      return make_error(Code::kResourceExhausted, "host stream: no thread for it ({})", e.what());
    }
    return {};
  }

  ~HostStream() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();  // after what is queued
  }

  Status enqueue(std::function<Status()> work) override { return push({std::move(work), nullptr}); }
  Status enqueue_kept(StreamWork* work) override { return push({nullptr, work}); }

  Status synchronize() override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (std::this_thread::get_id() == thread_.get_id())
      return make_error(Code::kInvalidState, "host stream: synchronized from work of its own");
    idle_.wait(lock, [this] { return queued_ == 0 && !busy_; });
    return std::exchange(error_, Status());
  }

 private:
  struct Item {
    std::function<Status()> work;
    StreamWork* kept;  // where it is the caller's
    Status run() const { return kept != nullptr ? kept->run() : work(); }
    void drop() const {
      if (kept != nullptr) kept->drop();
    }
  };

  Status push(Item item) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (queued_ == ring_.size()) {
        std::rotate(ring_.begin(), ring_.begin() + static_cast<ptrdiff_t>(first_), ring_.end());
        first_ = 0;
        ring_.resize(std::max<size_t>(8, 2 * queued_));
      }
      ring_[(first_ + queued_++) % ring_.size()] = std::move(item);
    }
    wake_.notify_all();
    return {};
  }

  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ending_ || queued_ > 0; });
      if (queued_ == 0) return;
      Item item = std::exchange(ring_[first_], {});
      first_ = (first_ + 1) % ring_.size();
      --queued_;
      busy_ = true;
      const bool skip = !error_.ok();
      lock.unlock();
      Status status;
      if (skip)
        item.drop();
      else
        status = item.run();
      item = {};
      lock.lock();
      busy_ = false;
      if (!status.ok()) error_ = std::move(status);
      if (queued_ == 0) idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::vector<Item> ring_;  // queued_ items from first_ on
  size_t first_ = 0, queued_ = 0;
  bool busy_ = false, ending_ = false;
  Status error_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Stream>> make_host_stream() {
  auto stream = std::make_unique<HostStream>();
  WOOTZ_RETURN_IF_ERROR(stream->begin());
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace wootz::cpu
