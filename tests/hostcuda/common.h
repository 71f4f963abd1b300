// What the tests of libwootz_hostcuda share. They are compiled with compat/include alone.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hostcuda_test {

// The call succeeds, and where it does not, says how.
#define OK(call) ASSERT_EQ(call, cudaSuccess) << cudaGetErrorName(cudaPeekAtLastError())
// The call fails so, and the thread's last error says so once.
#define FAILS(call, error)                      \
  do {                                          \
    EXPECT_EQ(call, error) << #call;            \
    EXPECT_EQ(cudaGetLastError(), error);       \
    EXPECT_EQ(cudaGetLastError(), cudaSuccess); \
  } while (false)

struct Stream {
  explicit Stream(unsigned flags = cudaStreamDefault) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&handle, flags), cudaSuccess);
  }
  ~Stream() { EXPECT_EQ(cudaStreamDestroy(handle), cudaSuccess); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle; }
  cudaStream_t handle = nullptr;
};

struct Event {
  explicit Event(unsigned flags = cudaEventDefault) {
    EXPECT_EQ(cudaEventCreateWithFlags(&handle, flags), cudaSuccess);
  }
  ~Event() { EXPECT_EQ(cudaEventDestroy(handle), cudaSuccess); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return handle; }
  cudaEvent_t handle = nullptr;
};

// Holds a stream up until it is opened.
class Gate {
 public:
  ~Gate() {
    open();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return held_ == 0; });
  }
  void hold(cudaStream_t stream) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++held_;
    }
    ASSERT_EQ(cudaLaunchHostFunc(
                  stream, [](void* gate) { static_cast<Gate*>(gate)->wait(); }, this),
              cudaSuccess);
  }
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    --held_;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int held_ = 0;
};

// Puts a function into a stream. It is called each time that the stream, or a graph, gets there.
inline cudaError_t call(cudaStream_t stream, const std::function<void()>& function) {
  return cudaLaunchHostFunc(
      stream, [](void* data) { (*static_cast<const std::function<void()>*>(data))(); },
      const_cast<std::function<void()>*>(&function));
}

}  // namespace hostcuda_test
