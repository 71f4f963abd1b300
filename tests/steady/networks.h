// Networks for tests that ask whether results repeat: two real ones, and one of random weights in which every kind of
// kernel has a part whose order of summation could vary.
#pragma once

#include <random>

#include "steady/real_models.h"

namespace wootz_test {

// Convolutions with a residual, a group convolution, pooling, attention over the pixels, normalization, a product,
// softmax.
class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : rng_(seed) {}

  void add_to(Bench& b) {
    using namespace nvinfer1;  // NOLINT
    INetworkDefinition& n = *b.network;
    ITensor* x = b.input("x", {-1, 3, -1, -1});
    ITensor* first = conv(n, x, 3, 32, 1, 2);
    ITensor* second = conv(n, first, 32, 32, 4, 1);
    ITensor* sum = n.addElementWise(*first, *conv(n, second, 32, 32, 1, 1), ElementWiseOperation::kSUM)->getOutput(0);
    IPoolingLayer* pool = n.addPoolingNd(*sum, PoolingType::kAVERAGE, dims({2, 2}));
    pool->setStrideNd(dims({2, 2}));
    // [N, 32, H, W] to [N, 4 heads, 8, pixels] to [N, 4, pixels, 8]
    IShuffleLayer* heads = n.addShuffle(*pool->getOutput(0));
    heads->setReshapeDimensions(Dims{4, {0, 4, 8, -1}});
    heads->setSecondTranspose(Permutation{{0, 1, 3, 2}});
    ITensor* q = heads->getOutput(0);
    ITensor* k = product(b, q, 8, 8);
    ITensor* v = product(b, q, 8, 8);
    ITensor* attended = n.addAttention(*q, *k, *v, AttentionNormalizationOp::kSOFTMAX, false)->getOutput(0);
    ITensor* mean = n.addReduce(*attended, ReduceOperation::kAVG, 1U << 2, false)->getOutput(0);  // [N, 4, 8]
    IShuffleLayer* flat = n.addShuffle(*mean);
    flat->setReshapeDimensions(Dims{2, {0, 32}});
    ITensor* scale = b.constant<float>({1, 32}, numbers(32, 1));
    ITensor* bias = b.constant<float>({1, 32}, numbers(32, 1));
    ITensor* norm = n.addNormalization(*flat->getOutput(0), *scale, *bias, 1U << 1)->getOutput(0);
    ISoftMaxLayer* softmax = n.addSoftMax(*product(b, norm, 32, 100, false));
    softmax->setAxes(1U << 1);
    b.output(softmax, "y");
    b.profile("x", {1, 3, 32, 32}, {1, 3, 64, 64}, {2, 3, 96, 96});
  }

 private:
  const std::vector<float>& numbers(size_t count, float range) {
    std::vector<float> values(count);
    for (float& v : values) v = std::uniform_real_distribution<float>(-range, range)(rng_);
    kept_.push_back(std::make_unique<std::vector<float>>(std::move(values)));
    return *kept_.back();  // a network reads weights when it is built
  }
  nvinfer1::ITensor* conv(nvinfer1::INetworkDefinition& n, nvinfer1::ITensor* x, int in, int out, int groups,
                          int stride) {
    const auto count = static_cast<size_t>(out * in / groups * 9);
    auto* layer = n.addConvolutionNd(*x, out, dims({3, 3}), weights(numbers(count, 0.15F)),
                                     weights(numbers(static_cast<size_t>(out), 0.1F)));
    layer->setNbGroups(groups);
    layer->setStrideNd(dims({stride, stride}));
    layer->setPaddingNd(dims({1, 1}));
    return n.addActivation(*layer->getOutput(0), nvinfer1::ActivationType::kRELU)->getOutput(0);
  }
  nvinfer1::ITensor* product(Bench& b, nvinfer1::ITensor* x, int in, int out, bool heads = true) {
    const std::vector<float>& w = numbers(static_cast<size_t>(in * out), 0.5F);
    nvinfer1::ITensor* c = heads ? b.constant<float>({1, 1, in, out}, w) : b.constant<float>({in, out}, w);
    using nvinfer1::MatrixOperation;
    return b.network->addMatrixMultiply(*x, MatrixOperation::kNONE, *c, MatrixOperation::kNONE)->getOutput(0);
  }
  std::mt19937 rng_;
  std::vector<std::unique_ptr<std::vector<float>>> kept_;
};

// A network by name, with its shapes.
struct Net {
  explicit Net(const std::string& which) : random(11) {
    if (which == "random") {
      random.add_to(bench);
      shapes = {dims({1, 3, 64, 64}), dims({2, 3, 48, 80})};
    } else {
      parse(bench, model_path(which));
      if (which == "rec") bench.profile("x", {1, 3, 48, 32}, {1, 3, 48, 64}, {2, 3, 48, 96});
      if (which == "cls") bench.profile("x", {1, 3, 48, 192}, {1, 3, 48, 192}, {2, 3, 48, 192});
      shapes = which == "rec" ? std::vector{dims({1, 3, 48, 64}), dims({2, 3, 48, 40})}
                              : std::vector{dims({1, 3, 48, 192}), dims({2, 3, 48, 192})};
    }
    wootz_config_set_option(bench.config.get(), "timing", "0");
  }
  Bench bench;
  RandomNetwork random;
  std::vector<nvinfer1::Dims> shapes;
};

}  // namespace wootz_test
