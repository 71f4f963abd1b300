#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "backends/cpu/backend.h"

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

  Status enqueue(std::function<Status()> work) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(work));
    }
    wake_.notify_all();
    return {};
  }

  Status synchronize() override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (std::this_thread::get_id() == thread_.get_id())
      return make_error(Code::kInvalidState, "host stream: synchronized from work of its own");
    idle_.wait(lock, [this] { return queue_.empty() && !busy_; });
    return std::exchange(error_, Status());
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::function<Status()> job = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      const bool skip = !error_.ok();
      lock.unlock();
      Status status = skip ? Status() : job();
      job = nullptr;
      lock.lock();
      busy_ = false;
      if (!status.ok()) error_ = std::move(status);
      if (queue_.empty()) idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<std::function<Status()>> queue_;
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
