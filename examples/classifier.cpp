// A classifier of images: a convolutional network built layer by layer, serialized into a file, loaded from it, and run
// on a stream. The probabilities are compared with those of plain loops.
#include "common.h"

namespace {

using namespace example;

constexpr int kBatch = 2, kSize = 16, kColors = 3, kMaps = 8, kFeatures = 12, kClasses = 10;

struct Model {
  Random random{1};
  std::vector<float> kernel1 = random.values(kMaps * kColors * 9, -0.4F, 0.4F), bias1 = random.values(kMaps);
  std::vector<float> kernel2 = random.values(kFeatures * kMaps * 9, -0.3F, 0.3F), bias2 = random.values(kFeatures);
  std::vector<float> linear = random.values(kFeatures * kClasses), offset = random.values(kClasses);
};

ITensor* convolve(INetworkDefinition& network, ITensor* x, int maps, const std::vector<float>& kernel,
                  const std::vector<float>& bias) {
  IConvolutionLayer* const layer = network.addConvolutionNd(*x, maps, Dims2{3, 3}, weights(kernel), weights(bias));
  layer->setPaddingNd(Dims2{1, 1});
  return network.addActivation(*layer->getOutput(0), ActivationType::kRELU)->getOutput(0);
}

std::unique_ptr<IHostMemory> build(const Model& model) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* x = network->addInput("images", DataType::kFLOAT, Dims4{kBatch, kColors, kSize, kSize});
  x = convolve(*network, x, kMaps, model.kernel1, model.bias1);
  IPoolingLayer* const pool = network->addPoolingNd(*x, PoolingType::kMAX, Dims2{2, 2});
  pool->setStrideNd(Dims2{2, 2});
  x = convolve(*network, pool->getOutput(0), kFeatures, model.kernel2, model.bias2);
  x = network->addReduce(*x, ReduceOperation::kAVG, 1U << 2 | 1U << 3, false)->getOutput(0);
  x = multiply(*network, x, constant(*network, Dims2{kFeatures, kClasses}, model.linear));
  x = combine(*network, x, ElementWiseOperation::kSUM, constant(*network, Dims2{1, kClasses}, model.offset));
  ISoftMaxLayer* const softmax = network->addSoftMax(*x);
  softmax->setAxes(1U << 1);
  mark_output(*network, softmax->getOutput(0), "probabilities");
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *exact_config(*builder)));
  REQUIRE(plan != nullptr);
  return plan;
}

// Through a file and back.
std::vector<char> stored(const IHostMemory& plan) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite(plan.data(), 1, plan.size(), file) == plan.size());
  std::rewind(file);
  std::vector<char> bytes(plan.size());
  REQUIRE(std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size());
  std::fclose(file);
  return bytes;
}

// ReLU of a 3x3 convolution of one image with zeros around it.
std::vector<float> convolved(const std::vector<float>& x, int channels, int maps, int size,
                             const std::vector<float>& kernel, const std::vector<float>& bias) {
  std::vector<float> y(static_cast<size_t>(maps) * size * size);
  for (int m = 0; m < maps; ++m)
    for (int r = 0; r < size; ++r)
      for (int c = 0; c < size; ++c) {
        float sum = bias[m];
        for (int k = 0; k < channels * 9; ++k) {
          const int row = r + k % 9 / 3 - 1, column = c + k % 3 - 1;
          if (row >= 0 && row < size && column >= 0 && column < size)
            sum += kernel[m * channels * 9 + k] * x[(k / 9 * size + row) * size + column];
        }
        y[(m * size + r) * size + c] = std::fmax(sum, 0.F);
      }
  return y;
}

std::vector<float> pooled(const std::vector<float>& x, int size) {
  std::vector<float> y(x.size() / 4);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t half = size / 2, first = i / half * 2 * size + i % half * 2;
    y[i] = std::fmax(std::fmax(x[first], x[first + 1]), std::fmax(x[first + size], x[first + size + 1]));
  }
  return y;
}

std::vector<float> expected(const Model& m, const std::vector<float>& image) {
  constexpr int kHalf = kSize / 2;
  const std::vector<float> first = convolved(image, kColors, kMaps, kSize, m.kernel1, m.bias1);
  const std::vector<float> maps = convolved(pooled(first, kSize), kMaps, kFeatures, kHalf, m.kernel2, m.bias2);
  std::vector<float> y = m.offset;
  for (int f = 0; f < kFeatures; ++f) {
    float mean = 0;
    for (int i = 0; i < kHalf * kHalf; ++i) mean += maps[f * kHalf * kHalf + i] / (kHalf * kHalf);
    for (int c = 0; c < kClasses; ++c) y[c] += mean * m.linear[f * kClasses + c];
  }
  float sum = 0;
  for (float& value : y) sum += value = std::exp(value);
  for (float& value : y) value /= sum;
  return y;
}

}  // namespace

int main() {
  const Model model;
  const std::vector<char> plan = stored(*build(model));
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  REQUIRE(engine != nullptr && engine->getNbIOTensors() == 2);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  const Stream stream;
  DeviceArray<float> images(volume(engine->getTensorShape("images")));
  DeviceArray<float> probabilities(volume(engine->getTensorShape("probabilities")));
  REQUIRE(context->setTensorAddress("images", images.data()));
  REQUIRE(context->setTensorAddress("probabilities", probabilities.data()));
  for (int run = 0; run < 3; ++run) {
    const std::vector<float> input = Random(100 + run).values(static_cast<int64_t>(images.size()));
    std::vector<float> wanted;
    for (int b = 0; b < kBatch; ++b) {
      const auto begin = input.begin() + b * static_cast<int64_t>(input.size()) / kBatch;
      const std::vector<float> one = expected(model, {begin, begin + static_cast<int64_t>(input.size()) / kBatch});
      wanted.insert(wanted.end(), one.begin(), one.end());
    }
    images.upload(input, stream);
    REQUIRE(context->enqueueV3(stream));
    expect_close("probabilities", probabilities.download(stream), wanted);
  }
  return 0;
}
