#include "base/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/cpu_info.h"

namespace wootz {
namespace {

constexpr int kMaxThreads = 1024;
// What follows an inference at once finds workers awake: waking one takes 50 us on a virtual machine.
constexpr std::chrono::microseconds kAfterLast{100};
constexpr int kCallerSpins = 2000;  // pauses before a caller that waits for its workers sleeps

thread_local int tls_limit = 0;  // of ParallelScope; 0: the pool's size
thread_local bool tls_in_gang = false;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

using Word = std::atomic<uint32_t>;
static_assert(sizeof(Word) == 4 && Word::is_always_lock_free);

void futex_wait(Word& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(Word& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

std::atomic<int>& active() {
  static std::atomic<int> count{0};
  return count;
}

struct alignas(64) Worker {
  // Even: an order that is not taken yet. The thread that makes it odd (the worker, or a caller who is done before)
  // carries it out; the other must not touch the job.
  Word go{1};
  Word asleep{0};
  std::thread thread;
  int index = 0;
};

}  // namespace

// Orders reach a worker through its own `go` word; all of them report through `pending`. The job's fields are written
// before `go` (release) and read after taking the order (acquire); they stay until every taken order is carried out.
class ThreadPool::Impl {
 public:
  std::mutex gang;  // held while a gang runs and while the pool changes
  std::vector<std::unique_ptr<Worker>> workers;
  std::atomic<int> size{1};
  std::vector<int> affinity;
  std::atomic<int> spin_us{200};
  bool closed = false;

  RawFn fn = nullptr;  // null: end the thread
  void* context = nullptr;
  int n = 1;
  alignas(64) Word pending{0};
  Word caller_asleep{0};

  void work(Worker* self);
  void wait_for_order(Worker* self);
  static bool take(Worker* worker) {
    uint32_t order = worker->go.load(std::memory_order_relaxed);
    return order % 2 == 0 && worker->go.compare_exchange_strong(order, order + 1, std::memory_order_seq_cst);
  }
  void order(Worker* worker) {
    worker->go.fetch_add(1, std::memory_order_seq_cst);
    if (worker->asleep.load(std::memory_order_seq_cst) != 0) futex_wake(worker->go);
  }
  int grow(int wanted);
  void join_all();
  void take_over();
  void wait_pending();
};

// Returns when there may be an order.
void ThreadPool::Impl::wait_for_order(Worker* self) {
  uint32_t seen = self->go.load(std::memory_order_acquire);
  auto begin = std::chrono::steady_clock::now(), active_until = begin;
  const auto bound = std::chrono::microseconds(spin_us.load(std::memory_order_relaxed));
  const auto after = std::min(bound, kAfterLast);
  while (seen % 2 != 0 && bound.count() > 0) {
    const uint32_t last = seen;
    for (int i = 0; i < 64 && seen % 2 != 0; ++i) {
      pause();
      seen = self->go.load(std::memory_order_acquire);
    }
    const auto now = std::chrono::steady_clock::now();
    if (seen != last) begin = now;  // another worker took it: there is work
    if (active().load(std::memory_order_relaxed) > 0) active_until = now;
    if (now - begin > bound || now - active_until > after) break;
  }
  while (seen % 2 != 0) {
    self->asleep.store(1, std::memory_order_seq_cst);
    seen = self->go.load(std::memory_order_seq_cst);
    if (seen % 2 != 0) futex_wait(self->go, seen);
    self->asleep.store(0, std::memory_order_relaxed);
    seen = self->go.load(std::memory_order_acquire);
  }
}

void ThreadPool::Impl::work(Worker* self) {
  tls_in_gang = true;
  for (;;) {
    wait_for_order(self);
    if (!take(self)) continue;
    if (fn == nullptr) return;
    fn(context, self->index, n);
    if (pending.fetch_sub(1, std::memory_order_seq_cst) == 1 && caller_asleep.load(std::memory_order_seq_cst) != 0)
      futex_wake(pending);
  }
}

// The caller's part after its own: what workers have not begun. It may wait in there for other members of the gang:
// each of them is running or still has a worker that will take its order.
void ThreadPool::Impl::take_over() {
  for (int i = n - 1; i > 0; --i) {
    if (!take(workers[static_cast<size_t>(i - 1)].get())) continue;
    fn(context, i, n);
    pending.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void ThreadPool::Impl::wait_pending() {
  for (int i = 0; i < kCallerSpins; ++i) {
    if (pending.load(std::memory_order_acquire) == 0) return;
    pause();
  }
  caller_asleep.store(1, std::memory_order_seq_cst);
  for (uint32_t left; (left = pending.load(std::memory_order_seq_cst)) != 0;) futex_wait(pending, left);
  caller_asleep.store(0, std::memory_order_relaxed);
}

// Makes workers until there are `wanted` threads with the caller; returns how many there are.
int ThreadPool::Impl::grow(int wanted) {
  while (static_cast<int>(workers.size()) + 1 < wanted) {
    Worker* raw = nullptr;
    try {
      workers.push_back(std::make_unique<Worker>());
      raw = workers.back().get();
      raw->index = static_cast<int>(workers.size());
      raw->thread = std::thread([this, raw] { work(raw); });
    } catch (const std::exception&) {  // the system gives no more threads, or no memory: fewer then
      if (raw != nullptr) workers.pop_back();
      break;
    }
    if (!affinity.empty()) {
      const int cpu = affinity[static_cast<size_t>(raw->index) % affinity.size()];
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpu, &set);
      pthread_setaffinity_np(raw->thread.native_handle(), sizeof(set), &set);  // best effort: the CPU may be gone
    }
  }
  return static_cast<int>(workers.size()) + 1;
}

void ThreadPool::Impl::join_all() {
  fn = nullptr;
  for (auto& worker : workers) order(worker.get());
  for (auto& worker : workers) worker->thread.join();
  workers.clear();
}

namespace {
ThreadPool::Impl* fork_impl = nullptr;
// A child of fork() has only the forking thread: it starts with a fresh pool, and the parent's workers are left alone.
void fork_prepare() { fork_impl->gang.lock(); }
void fork_parent() { fork_impl->gang.unlock(); }
void fork_child() {
  for (auto& worker : fork_impl->workers)
    (void)worker.release();  // their threads do not exist here and cannot be joined
  fork_impl->workers.clear();
  active().store(0);
  fork_impl->gang.unlock();
}
}  // namespace

ThreadPool::ThreadPool() : impl_(new Impl) {
  impl_->size = cpu_info().cpus < kMaxThreads ? cpu_info().cpus : kMaxThreads;
  fork_impl = impl_;
  pthread_atfork(
      [] {
        if (!tls_in_gang) fork_prepare();
      },
      [] {
        if (!tls_in_gang) fork_parent();
      },
      [] {
        if (!tls_in_gang) fork_child();
      });
}

// Ends the workers at exit (or when the library is unloaded). The state stays: run() may still be called, and gets
// n = 1.
ThreadPool::~ThreadPool() {
  if (tls_in_gang) return;  // exit() from inside a gang: the workers cannot be waited for
  const std::lock_guard<std::mutex> lock(impl_->gang);
  impl_->closed = true;
  impl_->join_all();
}

ThreadPool& ThreadPool::process() {
  static ThreadPool pool;
  return pool;
}

Status ThreadPool::configure(const ThreadPoolOptions& options) {
  if (tls_in_gang)
    return make_error(Code::kInvalidState, "the thread pool cannot be configured from inside a parallel region");
  if (options.threads < 0 || options.threads > kMaxThreads)
    return invalid_argument("thread pool: {} threads; expected 0 to {}", options.threads, kMaxThreads);
  for (int cpu : options.affinity)
    if (cpu < 0 || cpu >= CPU_SETSIZE)
      return invalid_argument("thread pool: CPU {} in the affinity list is outside [0, {})", cpu, CPU_SETSIZE);
  const std::lock_guard<std::mutex> lock(impl_->gang);
  impl_->join_all();
  impl_->size = options.threads > 0 ? options.threads : cpu_info().cpus;
  impl_->affinity = options.affinity;
  impl_->spin_us = options.spin_us;
  return {};
}

int ThreadPool::size() const { return impl_->size.load(std::memory_order_relaxed); }
bool ThreadPool::in_gang() { return tls_in_gang; }

int ThreadPool::start(int n, RawFn f, void* context) {
  if (n <= 1 || tls_in_gang) return 1;
  impl_->gang.lock();
  n = impl_->closed                                        ? 1
      : impl_->grow(n < kMaxThreads ? n : kMaxThreads) < n ? static_cast<int>(impl_->workers.size()) + 1
                                                           : n;
  if (n == 1) {
    impl_->gang.unlock();
    return 1;
  }
  tls_in_gang = true;
  impl_->fn = f;
  impl_->context = context;
  impl_->n = n;
  impl_->pending.store(static_cast<uint32_t>(n - 1), std::memory_order_relaxed);
  for (int i = 1; i < n; ++i) impl_->order(impl_->workers[static_cast<size_t>(i - 1)].get());
  return n;
}

void ThreadPool::finish(int n) {
  if (n <= 1) return;
  impl_->take_over();
  impl_->wait_pending();
  tls_in_gang = false;
  impl_->gang.unlock();
}

void ThreadPool::run(int n, FunctionRef<void(int, int)> f) {
  const int real = start(
      n, [](void* c, int index, int count) { (*static_cast<FunctionRef<void(int, int)>*>(c))(index, count); }, &f);
  f(0, real);
  finish(real);
}

ActiveScope::ActiveScope() { active().fetch_add(1, std::memory_order_relaxed); }
ActiveScope::~ActiveScope() { active().fetch_sub(1, std::memory_order_relaxed); }

ParallelScope::ParallelScope(int threads) : saved_(tls_limit) { tls_limit = threads < 1 ? 0 : threads; }
ParallelScope::~ParallelScope() { tls_limit = saved_; }

int max_parallelism() {
  if (tls_in_gang) return 1;
  return tls_limit > 0 ? tls_limit : ThreadPool::process().size();
}

int parallel_pieces(int64_t total, int64_t grain) {
  const int64_t most = total / (grain < 1 ? 1 : grain);
  const int threads = max_parallelism();
  return most <= 1 ? 1 : most < threads ? static_cast<int>(most) : threads;
}

void parallel_for(int64_t total, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) {
  if (total <= 0) return;
  const int pieces = parallel_pieces(total, grain);
  if (pieces == 1) return f(0, total);
  ThreadPool::process().run(pieces, [&](int index, int n) {
    for (int p = index; p < pieces; p += n) f(piece_begin(total, pieces, p), piece_begin(total, pieces, p + 1));
  });
}

}  // namespace wootz
