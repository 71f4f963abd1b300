// INT8 calibration of a build for a GPU: batches in its memory, put there by the application's own copies, or in the
// host's.
#include "base/testing.h"
#include "cuda/on_device.h"
#include "plan/read.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

constexpr size_t kElements = size_t{2} * 16 * 8 * 8;

Floats drawn(std::mt19937_64& random, size_t count, float size) {
  Floats values(count);
  for (float& v : values) v = std::uniform_real_distribution<float>(-size, size)(random);
  return values;
}

enum class Where { kDevice, kHost, kUntoldHost };

struct Calibrator final : IInt8MinMaxCalibrator {
  Calibrator(Where place, std::mt19937_64& random) : where(place) {
    for (int i = 0; i < 3; ++i) batches.push_back(drawn(random, kElements, 1));
    EXPECT_EQ(driver().cuMemAlloc_v2(&memory, kElements * sizeof(float)), CUDA_SUCCESS);
  }
  ~Calibrator() override { driver().cuMemFree_v2(memory); }
  int32_t getBatchSize() const noexcept override { return 2; }
  bool getBatch(void* bindings[], const char*[], int32_t) noexcept override {
    if (asked == batches.size()) return false;
    Floats& batch = batches[asked++];
    bindings[0] = batch.data();
    const size_t bytes = batch.size() * sizeof(float);
    if (where == Where::kHost) wootz_calibrator_batch_on_host(&bytes);
    if (where != Where::kDevice) return true;
    bindings[0] = reinterpret_cast<void*>(memory);
    return driver().cuMemcpyAsync(memory, reinterpret_cast<CUdeviceptr>(batch.data()), bytes, nullptr) == CUDA_SUCCESS;
  }
  const void* readCalibrationCache(std::size_t& length) noexcept override { return length = 0, nullptr; }
  void writeCalibrationCache(const void* text, std::size_t length) noexcept override {
    written.assign(static_cast<const char*>(text), length);
  }
  Where where;
  std::vector<Floats> batches;
  size_t asked = 0;
  CUdeviceptr memory = 0;
  std::string written;
};

// relu(conv(x)) and its mean, in INT8.
struct Net : Bench {
  Net(const Floats& filter, const char* backend) {
    ITensor* x = input("x", {2, 16, 8, 8});
    IConvolutionLayer* conv = network->addConvolutionNd(*x, 32, dims({3, 3}), weights(filter), kNone);
    conv->setName("conv");
    ITensor* active = network->addActivation(*conv->getOutput(0), ActivationType::kRELU)->getOutput(0);
    output(network->addReduce(*active, ReduceOperation::kAVG, (1U << 2) | (1U << 3), false), "y");
    config->setFlag(BuilderFlag::kINT8);
    EXPECT_EQ(wootz_config_set_option(config.get(), "backend", backend), 0);
    EXPECT_EQ(wootz_config_set_option(config.get(), "timing", "0"), 0);
  }
  // Whether the convolution reads 8 bits.
  bool builds(Calibrator* calibrator) {
    config->setInt8Calibrator(calibrator);
    const Owned<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    if (plan == nullptr) return false;
    const auto program = wootz::read_plan({static_cast<const std::byte*>(plan->data()), plan->size()});
    EXPECT_TRUE(program.ok()) << program.status().to_string();
    for (const wootz::Step& step : (*program)->steps)
      if (step.problem.is(wootz::Family::kConv)) return step.problem.inputs[0].dtype == wootz::DType::kI8;
    return false;
  }
};

TEST(CudaCalibration, BatchesOfEitherMemory) {
  const uint64_t seed = wootz::test_seed();
  real_gpu();
  std::mt19937_64 random(seed);
  const Floats filter = drawn(random, size_t{32} * 16 * 9, 0.2F);
  const auto calibrated = [&](const char* backend, Where where) {
    std::mt19937_64 same(seed + 1);
    Calibrator calibrator(where, same);
    Net net(filter, backend);
    EXPECT_TRUE(net.builds(&calibrator)) << net.logger.errors();
    return calibrator.written;
  };
  const std::string want = calibrated("cpu", Where::kHost);
  EXPECT_NE(want.find("\nx: "), std::string::npos) << want;
  const auto scale_of_x = [](const std::string& cache) { return cache.substr(cache.find("\nx: "), 13); };
  for (const Where where : {Where::kDevice, Where::kHost})
    EXPECT_EQ(scale_of_x(calibrated("cuda", where)), scale_of_x(want)) << "what was copied is what is looked at";
}

TEST(CudaCalibration, AddressesOfTheHostAreRefused) {
  real_gpu();
  int reaches = 0;
  driver().cuDeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, (*cuda::gpu())->device);
  if (reaches != 0) GTEST_SKIP() << "this GPU reads any memory of the host";
  std::mt19937_64 random(wootz::test_seed());
  Calibrator calibrator(Where::kUntoldHost, random);
  const Floats filter = drawn(random, size_t{32} * 16 * 9, 0.2F);
  Net net(filter, "cuda");
  EXPECT_FALSE(net.builds(&calibrator));
  EXPECT_NE(net.logger.errors().find("calibration: batch 0: 'x': "), std::string::npos) << net.logger.errors();
}

}  // namespace
}  // namespace wootz_test
