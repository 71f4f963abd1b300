// INT8 by a calibrator: the build runs the network on sample data, finds what an INT8 value counts in each tensor, and
// keeps that in a file, from which the next build has the same without data. The results are compared with FP32. Level
// 11 of the API has no calibrators: int8_scales shows what takes their place.
#include "common.h"

#if NV_TENSORRT_MAJOR < 11

#include <filesystem>
#include <fstream>
#include <random>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace {

using namespace example;

constexpr int kBatch = 4, kColors = 3, kSize = 16, kMaps = 16, kFeatures = 32, kClasses = 10, kBatches = 16;

struct Model {
  Random random{12};
  std::vector<float> kernel1 = random.values(kMaps * kColors * 9, -0.4F, 0.4F), bias1 = random.values(kMaps);
  std::vector<float> kernel2 = random.values(kFeatures * kMaps * 9, -0.2F, 0.2F), bias2 = random.values(kFeatures);
  std::vector<float> linear = random.values(kFeatures * kClasses);
};

// Bright and dark images.
std::vector<float> images(Random& random) {
  const float size = random.between(0.2F, 2);
  return random.values(int64_t{kBatch} * kColors * kSize * kSize, -size, size);
}

// Batches of images, one at a time in the same memory of the device, and a file for the scales.
class Calibrator final : public IInt8EntropyCalibrator2 {
 public:
  explicit Calibrator(std::string file) : file_(std::move(file)) {}

  int32_t getBatchSize() const noexcept override { return kBatch; }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    REQUIRE(count == 1 && std::string(names[0]) == "images");
    if (batches == kBatches) return false;
    ++batches;
    const std::vector<float> batch = images(random_);
    CUDA(cudaMemcpy(memory_.data(), batch.data(), batch.size() * sizeof(float), cudaMemcpyHostToDevice));
    bindings[0] = memory_.data();
    return true;
  }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    std::ifstream file(file_, std::ios::binary);
    cache_.assign(std::istreambuf_iterator<char>(file), {});
    length = cache_.size();
    return cache_.empty() ? nullptr : cache_.data();
  }
  void writeCalibrationCache(const void* cache, std::size_t length) noexcept override {
    std::ofstream(file_, std::ios::binary).write(static_cast<const char*>(cache), static_cast<std::streamsize>(length));
  }

  int batches = 0;  // that were asked for

 private:
  std::string file_;
  std::vector<char> cache_;
  Random random_{120};
  DeviceArray<float> memory_{size_t{kBatch} * kColors * kSize * kSize};
};

ITensor* convolve(INetworkDefinition& network, ITensor* x, int maps, const std::vector<float>& kernel,
                  const std::vector<float>& bias) {
  IConvolutionLayer* const layer = network.addConvolutionNd(*x, maps, Dims2{3, 3}, weights(kernel), weights(bias));
  layer->setPaddingNd(Dims2{1, 1});
  return network.addActivation(*layer->getOutput(0), ActivationType::kRELU)->getOutput(0);
}

// Null: in FP32.
std::unique_ptr<ICudaEngine> build(IRuntime& runtime, const Model& model, Calibrator* calibrator) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* x = network->addInput("images", DataType::kFLOAT, Dims4{kBatch, kColors, kSize, kSize});
  x = convolve(*network, x, kMaps, model.kernel1, model.bias1);
  x = convolve(*network, x, kFeatures, model.kernel2, model.bias2);
  x = network->addReduce(*x, ReduceOperation::kAVG, 1U << 2 | 1U << 3, false)->getOutput(0);
  mark_output(*network, multiply(*network, x, constant(*network, Dims2{kFeatures, kClasses}, model.linear)), "scores");
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  if (calibrator != nullptr) {
    config->setFlag(BuilderFlag::kINT8);
    config->setInt8Calibrator(calibrator);
  }
  const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return load(runtime, *plan);
}

std::vector<float> scores(ICudaEngine& engine, const std::vector<float>& input) {
  const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
  const Stream stream;
  const DeviceArray<float> x(input), y(size_t{kBatch} * kClasses);
  REQUIRE(context->setTensorAddress("images", x.data()) && context->setTensorAddress("scores", y.data()));
  REQUIRE(context->enqueueV3(stream));
  return y.download(stream);
}

}  // namespace

int main() {
  const Model model;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("calibration." + std::to_string(std::random_device{}()));
  Random random(121);
  const std::vector<float> input = images(random), exact = scores(*build(*runtime, model, nullptr), input);

  Calibrator calibrator(file.string());
  const std::vector<float> rounded = scores(*build(*runtime, model, &calibrator), input);
  REQUIRE(calibrator.batches == kBatches);
  expect_close("INT8 near FP32", rounded, exact, 0.05F);
  REQUIRE(rounded != exact);  // it was rounded

  Calibrator by_file(file.string());
  expect_close("by the file, the same", scores(*build(*runtime, model, &by_file), input), rounded, 0.01F);
  REQUIRE(by_file.batches == 0);
  std::filesystem::remove(file);
  return 0;
}

#else

int main() {
  std::printf("level 11 of the API has no calibrators: see int8_scales\n");
  return 0;
}

#endif
