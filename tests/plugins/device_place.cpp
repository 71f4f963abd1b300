// The host, and the GPU or what stands for it.
#include "cuda/on_device.h"
#include "plugins/places.h"

namespace wootz_test {
namespace {

CUdeviceptr at(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

class Device final : public Place {
 public:
  const char* backend() const override { return "cuda"; }
  bool is_host() const override { return false; }
  void open() override { real_gpu(); }
  void* allocate(size_t bytes) override {
    CUdeviceptr memory = 0;
    EXPECT_EQ(driver().cuMemAlloc_v2(&memory, bytes), CUDA_SUCCESS);
    return reinterpret_cast<void*>(memory);
  }
  void release(void* memory) override {
    if (memory != nullptr) EXPECT_EQ(driver().cuMemFree_v2(at(memory)), CUDA_SUCCESS);
  }
  bool copy(void* to, const void* from, size_t bytes, cudaStream_t stream) override {
    if (bytes == 0) return true;
    return driver().cuMemcpyAsync(at(to), at(from), bytes, reinterpret_cast<CUstream>(stream)) == CUDA_SUCCESS &&
           wait(stream);
  }
  bool wait(cudaStream_t stream) override {
    return driver().cuStreamSynchronize(reinterpret_cast<CUstream>(stream)) == CUDA_SUCCESS;
  }
  std::string faults() override { return real_gpu() ? "" : cuda::emulator_faults(); }
};

}  // namespace

const std::vector<Place*>& places() {
  static Place host;
  static Device device;
  static const std::vector<Place*> all{&host, &device};
  return all;
}

}  // namespace wootz_test
