// Interfaces of applications: what they are called, and what they do where an application leaves it to them.
#include <gtest/gtest.h>

#include <cstdlib>

#define WOOTZ_NO_DEPRECATION
#include "NvInfer.h"

namespace {

using namespace nvinfer1;

template <class Base>
struct Calibrates : Base {
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void*[], const char*[], int32_t) noexcept override { return false; }
  const void* readCalibrationCache(std::size_t&) noexcept override { return nullptr; }
  void writeCalibrationCache(const void*, std::size_t) noexcept override {}
};
struct Legacy final : Calibrates<IInt8LegacyCalibrator> {
  double getQuantile() const noexcept override { return 0; }
  double getRegressionCutoff() const noexcept override { return 0; }
  const void* readHistogramCache(std::size_t&) noexcept override { return nullptr; }
  void writeHistogramCache(const void*, std::size_t) noexcept override {}
};

TEST(Interfaces, CalibratorsSayTheirAlgorithm) {
  Calibrates<IInt8EntropyCalibrator> entropy;
  Calibrates<IInt8EntropyCalibrator2> entropy2;
  Calibrates<IInt8MinMaxCalibrator> range;
  Legacy legacy;
  EXPECT_EQ(entropy.getAlgorithm(), CalibrationAlgoType::kENTROPY_CALIBRATION);
  EXPECT_EQ(entropy2.getAlgorithm(), CalibrationAlgoType::kENTROPY_CALIBRATION_2);
  EXPECT_EQ(range.getAlgorithm(), CalibrationAlgoType::kMINMAX_CALIBRATION);
  EXPECT_EQ(legacy.getAlgorithm(), CalibrationAlgoType::kLEGACY_CALIBRATION);
  EXPECT_STREQ(entropy.getInterfaceInfo().kind, "IInt8EntropyCalibrator");
  EXPECT_STREQ(entropy2.getInterfaceInfo().kind, "IInt8EntropyCalibrator2");
  EXPECT_STREQ(range.getInterfaceInfo().kind, "IInt8MinMaxCalibrator");
  EXPECT_STREQ(legacy.getInterfaceInfo().kind, "IInt8Calibrator");
}

struct Allocator final : IGpuAllocator {
  void* allocate(uint64_t size, uint64_t, AllocatorFlags) noexcept override { return std::malloc(size); }
  bool deallocate(void* memory) noexcept override { return std::free(memory), true; }
};
struct AsyncAllocator final : IGpuAsyncAllocator {
  void* allocateAsync(uint64_t size, uint64_t, AllocatorFlags, cudaStream_t) noexcept override {
    return std::malloc(size);
  }
  bool deallocateAsync(void* memory, cudaStream_t) noexcept override { return std::free(memory), ++freed > 0; }
  int freed = 0;
};

TEST(Interfaces, AllocatorsDoTheOneByTheOther) {
  Allocator plain;
  EXPECT_STREQ(static_cast<IGpuAllocator&>(plain).getInterfaceInfo().kind, "IGpuAllocator");
  AsyncAllocator async;
  void* const memory = static_cast<IGpuAsyncAllocator&>(async).allocate(8, 0, 0);
  EXPECT_NE(memory, nullptr);
  EXPECT_TRUE(static_cast<IGpuAsyncAllocator&>(async).deallocate(memory));
  EXPECT_EQ(async.freed, 1);
}

TEST(Interfaces, ShortDims) {
  const Dims3 three(2, 3, 4);
  EXPECT_EQ(three.nbDims, 3);
  EXPECT_EQ(three.d[2], 4);
  DimsHW image(5, 6);
  EXPECT_EQ(image.h(), 5);
  EXPECT_EQ(image.w(), 6);
  image.h() = 7;
  image.w() = 8;
  const DimsHW& same = image;
  EXPECT_EQ(same.h(), 7);
  EXPECT_EQ(same.w(), 8);
}

}  // namespace
