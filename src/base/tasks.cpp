#include "base/tasks.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

namespace wootz {
namespace {

struct Batch {
  FunctionRef<void(size_t)> task;
  size_t count;
  size_t begun = 0, done = 0;
  std::exception_ptr thrown;  // by the first that threw
  // No further one begins, if this one threw.
  void stop(const std::exception_ptr& by) {
    if (by == nullptr) return;
    if (thrown == nullptr) thrown = by;
    count = begun;
  }
};

std::exception_ptr thrown_by(FunctionRef<void()> work) {
  try {
    work();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// The threads of an outermost call, and the batches that they have to do: that one's, and those of its tasks.
class Crew {
 public:
  explicit Crew(size_t helpers) {
    try {
      for (size_t i = 0; i < helpers; ++i) threads_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {
    }  // fewer will do: the caller works too
  }
  ~Crew() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    work_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  bool run(Batch* batch, GoOn go_on);

 private:
  void help();
  // With the lock held, which is given up while the task runs.
  void do_next(Batch* batch, std::unique_lock<std::mutex>* lock);
  Batch* newest_open();

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::vector<Batch*> batches_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

thread_local Crew* tls_crew = nullptr;

void Crew::do_next(Batch* batch, std::unique_lock<std::mutex>* lock) {
  const size_t index = batch->begun++;
  lock->unlock();
  const std::exception_ptr thrown = thrown_by([&] { batch->task(index); });
  lock->lock();
  batch->stop(thrown);
  ++batch->done;
  done_.notify_all();
}

// What a task waits for comes before other tasks.
Batch* Crew::newest_open() {
  const auto found = std::find_if(batches_.rbegin(), batches_.rend(), [](Batch* b) { return b->begun < b->count; });
  return found == batches_.rend() ? nullptr : *found;
}

void Crew::help() {
  tls_crew = this;
  const ParallelScope alone(1);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    Batch* open = nullptr;
    work_.wait(lock, [&] { return ended_ || (open = newest_open()) != nullptr; });
    if (open == nullptr) return;
    do_next(open, &lock);
  }
}

bool Crew::run(Batch* batch, GoOn go_on) {
  const ParallelScope alone(1);
  std::unique_lock<std::mutex> lock(mutex_);
  batches_.push_back(batch);
  work_.notify_all();
  bool going = true;
  for (size_t told = 0; batch->done < batch->begun || (going && batch->begun < batch->count);) {
    if (going && batch->thrown == nullptr && batch->done > told) {
      told = batch->done;
      lock.unlock();
      const std::exception_ptr thrown = thrown_by([&] { going = go_on(told); });
      lock.lock();
      batch->stop(thrown);
      if (!going) batch->count = batch->begun;
    } else if (batch->begun < batch->count) {
      do_next(batch, &lock);
    } else {
      done_.wait(lock);
    }
  }
  std::erase(batches_, batch);
  if (batch->thrown != nullptr) {
    lock.unlock();
    std::rethrow_exception(batch->thrown);
  }
  return going;
}

// Whatever tasks throw, the thread has no crew afterwards.
class CrewScope {
 public:
  explicit CrewScope(Crew* crew) { tls_crew = crew; }
  ~CrewScope() { tls_crew = nullptr; }
  CrewScope(const CrewScope&) = delete;
  CrewScope& operator=(const CrewScope&) = delete;
};

}  // namespace

bool run_tasks(size_t count, int threads, FunctionRef<void(size_t)> task, GoOn go_on) {
  Batch batch{task, count};
  if (tls_crew != nullptr) return tls_crew->run(&batch, go_on);
  const size_t helpers = std::min(static_cast<size_t>(std::max(1, threads)), std::max<size_t>(1, count)) - 1;
  Crew crew(helpers);
  const CrewScope scope(&crew);
  return crew.run(&batch, go_on);
}

void run_tasks(size_t count, int threads, FunctionRef<void(size_t)> task) {
  run_tasks(count, threads, task, [](size_t) { return true; });
}

}  // namespace wootz
