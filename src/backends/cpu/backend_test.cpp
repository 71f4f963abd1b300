#include "backends/cpu/backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <thread>

#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/threads.h"
#include "base/thread_pool.h"

// What the renamed oneDNN calls.
extern "C" {
int wootz_omp_get_max_threads();
int wootz_omp_get_num_threads();
int wootz_omp_get_thread_num();
int wootz_omp_in_parallel();
void wootz_GOMP_parallel_start(void (*fn)(void*), void* data, unsigned threads);
void wootz_GOMP_parallel_end();
void wootz_GOMP_barrier();
bool wootz_GOMP_loop_static_start(long start, long end, long step, long chunk, long* begin, long* stop);
bool wootz_GOMP_loop_static_next(long* begin, long* stop);
}

namespace wootz {
namespace {

void region(unsigned threads, void (*fn)(void*), void* data) {
  wootz_GOMP_parallel_start(fn, data, threads);
  fn(data);
  wootz_GOMP_parallel_end();
}

TEST(OmpShim, RegionsRunOnThePool) {
  ASSERT_TRUE(cpu::dnn::engine().ok());  // with the cap on the process, which is fixed with the first use
  ParallelScope scope(3);
  EXPECT_EQ(wootz_omp_get_max_threads(), 3);
  EXPECT_EQ(wootz_omp_in_parallel(), 0);
  struct Seen {
    std::atomic<int> threads{0}, sum{0}, nested{0};
  } seen;
  region(
      3,
      [](void* p) {
        auto& s = *static_cast<Seen*>(p);
        EXPECT_EQ(wootz_omp_get_num_threads(), 3);
        EXPECT_EQ(wootz_omp_in_parallel(), 1);
        EXPECT_EQ(wootz_omp_get_max_threads(), 1);
        EXPECT_TRUE(ThreadPool::in_gang());
        s.threads++;
        for (int i = 1; i <= 50; ++i) {
          wootz_GOMP_barrier();
          EXPECT_EQ(s.threads.load(), 3);
          s.sum += wootz_omp_get_thread_num();
          wootz_GOMP_barrier();
          EXPECT_EQ(s.sum.load(), 3 * i);
        }
        region(
            4,
            [](void* q) {
              EXPECT_EQ(wootz_omp_get_num_threads(), 1);
              EXPECT_EQ(wootz_omp_get_thread_num(), 0);
              wootz_GOMP_barrier();
              static_cast<Seen*>(q)->nested++;
            },
            p);
        EXPECT_EQ(wootz_omp_get_num_threads(), 3);
      },
      &seen);
  EXPECT_EQ(seen.nested.load(), 3);
  EXPECT_EQ(wootz_omp_get_num_threads(), 1);
}

TEST(OmpShim, StaticLoopsCoverEachIterationOnce) {
  ASSERT_TRUE(cpu::dnn::engine().ok());  // with the cap on the process, which is fixed with the first use
  ParallelScope scope(3);
  struct Loop {
    long start, end, step, chunk;
    std::vector<std::atomic<int>> hits;
  };
  const long loops[][4] = {{0, 10, 1, 0},  {0, 2, 1, 0}, {3, 40, 4, 0}, {0, 100, 1, 7},
                           {20, 0, -3, 0}, {5, 5, 1, 0}, {20, 0, -3, 2}};
  for (const auto& l : loops) {
    Loop loop{l[0], l[1], l[2], l[3], std::vector<std::atomic<int>>(128)};
    region(
        3,
        [](void* p) {
          auto& o = *static_cast<Loop*>(p);
          long b = 0, e = 0;
          for (bool more = wootz_GOMP_loop_static_start(o.start, o.end, o.step, o.chunk, &b, &e); more;
               more = wootz_GOMP_loop_static_next(&b, &e))
            for (long i = b; o.step > 0 ? i < e : i > e; i += o.step) o.hits[static_cast<size_t>(i)]++;
        },
        &loop);
    std::vector<int> expected(128, 0), got;
    for (long i = l[0]; l[2] > 0 ? i < l[1] : i > l[1]; i += l[2]) expected[static_cast<size_t>(i)]++;
    for (auto& h : loop.hits) got.push_back(h.load());
    EXPECT_EQ(got, expected) << l[0] << " " << l[1] << " " << l[2] << " " << l[3];
  }
}

TEST(OmpShim, OneDnnComputesOnThePoolAndWithoutLibgomp) {
  ASSERT_TRUE(cpu::dnn::engine().ok());  // with the cap on the process, which is fixed with the first use
  ParallelScope scope(3);
  using namespace dnnl;
  constexpr int64_t n = 96;
  std::vector<float> a(n * n), b(n * n), c(n * n, -1);
  std::iota(a.begin(), a.end(), 0.f);
  for (int64_t i = 0; i < n; ++i) b[static_cast<size_t>(i * n + i)] = 2;
  engine eng(engine::kind::cpu, 0);
  stream s(eng);
  const memory::desc d({n, n}, memory::data_type::f32, memory::format_tag::ab);
  memory ma(d, eng, a.data()), mb(d, eng, b.data()), mc(d, eng, c.data());
  matmul(matmul::primitive_desc(eng, d, d, d))
      .execute(s, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mc}});
  s.wait();
  for (size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], 2 * a[i]) << i;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) EXPECT_EQ(line.find("libgomp"), std::string::npos) << line;
}

TEST(CpuBackend, OpensAndDescribesItself) {
  const Result<std::shared_ptr<Device>> device = cpu_backend().open();
  ASSERT_TRUE(device.ok()) << device.status().to_string();
  EXPECT_EQ((*device)->describe().backend, "cpu");
  EXPECT_GE((*device)->describe().threads, 1);
  EXPECT_TRUE(cpu_backend().open(0).ok());
  const Result<std::shared_ptr<Device>> other = cpu_backend().open(1);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().message().find("there is 0: "), std::string::npos) << other.status().message();
}

TEST(CpuBackend, MemoryIsAlignedAndCopied) {
  const std::shared_ptr<Device> device = cpu_backend().open().value();
  for (size_t alignment : {size_t{1}, size_t{64}, size_t{4096}}) {
    void* p = device->allocate(100, alignment).value();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % std::max<size_t>(64, alignment), 0u);
    device->free(p);
  }
  EXPECT_FALSE(device->allocate(SIZE_MAX - 10, 64).ok());
  EXPECT_FALSE(device->allocate(8, 48).ok());
  int from = 5, to = 0;
  EXPECT_TRUE(device->copy(&to, &from, sizeof(int), nullptr).ok());
  EXPECT_EQ(to, 5);
  EXPECT_TRUE(device->copy(nullptr, nullptr, 0, nullptr).ok());
}

// Work kept by the caller: each is run or dropped once, in order among other work, however many wait.
TEST(HostStream, RunsOrDropsKeptWork) {
  struct Work final : StreamWork {
    std::vector<int>* order = nullptr;
    int number = 0, dropped = 0;
    Status run() override {
      order->push_back(number);
      return number == 30 ? internal_error("the thirtieth") : Status();
    }
    void drop() override { ++dropped; }
  };
  const std::shared_ptr<Device> device = cpu_backend().open().value();
  const std::unique_ptr<Stream> stream = device->create_stream().value();
  for (int round = 0; round < 3; ++round) {
    std::vector<int> order;
    std::vector<Work> work(50);
    for (int i = 0; i < 50; ++i) {
      work[static_cast<size_t>(i)].order = &order;
      work[static_cast<size_t>(i)].number = i;
      if (i == 10) (void)stream->enqueue([&order]() -> Status { return order.push_back(-1), Status(); });
      ASSERT_TRUE(stream->enqueue_kept(&work[static_cast<size_t>(i)]).ok());
    }
    EXPECT_EQ(stream->synchronize().message(), "the thirtieth");
    ASSERT_EQ(order.size(), 32u);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i < 10 ? i : i == 10 ? -1 : i - 1);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(work[static_cast<size_t>(i)].dropped, i > 30 ? 1 : 0) << i;
  }
}

TEST(HostStream, RunsInOrderAndReportsTheFirstFailure) {
  const std::shared_ptr<Device> device = cpu_backend().open().value();
  const std::unique_ptr<Stream> stream = device->create_stream().value();
  std::vector<int> order;
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(stream
                    ->enqueue([&order, i]() -> Status {
                      if (i == 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));
                      order.push_back(i);
                      return {};
                    })
                    .ok());
  EXPECT_TRUE(stream->synchronize().ok());
  ASSERT_EQ(order.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  bool later = false;
  (void)stream->enqueue([]() -> Status { return internal_error("broken"); });
  (void)stream->enqueue([&later]() -> Status { return later = true, Status(); });
  EXPECT_EQ(stream->synchronize().message(), "broken");
  EXPECT_FALSE(later);
  EXPECT_TRUE(stream->synchronize().ok());
  (void)stream->enqueue([&]() -> Status { return stream->synchronize(); });
  EXPECT_FALSE(stream->synchronize().ok());
}

}  // namespace
}  // namespace wootz
