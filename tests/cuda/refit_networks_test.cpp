// Refit of a small transformer and of a small network with Q/DQ layers: the bits of a fresh build.
#include <deque>

#include "base/testing.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

// A network on the GPU whose weights come from a seed and have names.
struct Seeded : Bench {
  Seeded(unsigned seed, bool refittable) : gpu(real_gpu()), rng(seed) {
    EXPECT_EQ(wootz_config_set_option(config.get(), "backend", "cuda"), 0);
    EXPECT_EQ(wootz_config_set_option(config.get(), "timing", "0"), 0);
    if (refittable) config->setFlag(BuilderFlag::kREFIT);
  }
  const Floats& numbers(size_t count, float low, float high) {
    Floats& values = all.emplace_back(count);
    for (float& v : values) v = std::uniform_real_distribution<float>(low, high)(rng);
    return values;
  }
  ITensor* named(std::initializer_list<int64_t> shape, float low = -0.3F, float high = 0.3F) {
    size_t count = 1;
    for (const int64_t d : shape) count *= static_cast<size_t>(d);
    const Floats& values = numbers(count, low, high);
    ITensor* made = constant(shape, values);
    EXPECT_TRUE(network->setWeightsName(weights(values), ("w" + std::to_string(all.size() - 1)).c_str()));
    return made;
  }
  void offer_to(IRefitter& refitter) const {
    for (size_t w = 0; w < all.size(); ++w)
      EXPECT_TRUE(refitter.setNamedWeights(("w" + std::to_string(w)).c_str(), weights(all[w])));
  }
  bool gpu;
  std::mt19937 rng;
  std::deque<Floats> all;
};

// One head of attention with a residual, normalization and a feed-forward layer: [6, 32] to [6, 32].
struct Transformer : Seeded {
  explicit Transformer(unsigned seed, bool refittable) : Seeded(seed, refittable) {
    ITensor* x = input("x", {6, 32});
    const auto times = [&](ITensor* a, ITensor* b, MatrixOperation turn = MatrixOperation::kNONE) {
      return network->addMatrixMultiply(*a, MatrixOperation::kNONE, *b, turn)->getOutput(0);
    };
    const auto plus = [&](ITensor* a, ITensor* b) {
      return network->addElementWise(*a, *b, ElementWiseOperation::kSUM)->getOutput(0);
    };
    ITensor *q = plus(times(x, named({32, 32})), named({1, 32})), *k = times(x, named({32, 32})),
            *v = times(x, named({32, 32}));
    ISoftMaxLayer* soft = network->addSoftMax(*times(q, k, MatrixOperation::kTRANSPOSE));
    soft->setAxes(1U << 1);
    ITensor* seen = plus(times(times(soft->getOutput(0), v), named({32, 32})), x);
    ITensor* norm =
        network->addNormalization(*seen, *named({1, 32}, 0.5F, 1.5F), *named({1, 32}), 1U << 1)->getOutput(0);
    ITensor* up = plus(times(norm, named({32, 64})), named({1, 64}));
    ITensor* active = network->addActivation(*up, ActivationType::kRELU)->getOutput(0);
    output(plus(times(active, named({64, 32})), norm), "y");
  }
};

// A convolution between Q/DQ layers, its filter quantized by channel: [2, 16, 8, 8] to [2, 16, 8, 8].
struct Quantized : Seeded {
  explicit Quantized(unsigned seed, bool refittable) : Seeded(seed, refittable) {
    ITensor* x = input("x", {2, 16, 8, 8});
    ITensor* step = named({}, 0.01F, 0.02F);
    const auto rounded = [&](ITensor* t, ITensor* scale, int32_t axis) {
      IQuantizeLayer* q = network->addQuantize(*t, *scale, DataType::kINT8);
      IDequantizeLayer* d = network->addDequantize(*q->getOutput(0), *scale, DataType::kFLOAT);
      if (axis >= 0) q->setAxis(axis), d->setAxis(axis);
      return d->getOutput(0);
    };
    ITensor* filter = rounded(named({16, 16, 3, 3}), named({16}, 0.002F, 0.004F), 0);
    auto* conv = network->addConvolutionNd(*rounded(x, step, -1), 16, dims({3, 3}), kNone, kNone);
    conv->setInput(1, *filter);
    conv->setPaddingNd(dims({1, 1}));
    output(network->addActivation(*conv->getOutput(0), ActivationType::kRELU), "y");
  }
};

// A depthwise convolution in 16 bits times its squeeze-and-excitation, both convolutions of which are in one step with
// it: [1, 16, 8, 8] to [1, 16, 8, 8].
struct Gated : Seeded {
  explicit Gated(unsigned seed, bool refittable) : Seeded(seed, refittable) {
    config->setFlag(BuilderFlag::kFP16);
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    const auto by = [&](ITensor* x, int64_t channels, std::initializer_list<int64_t> filter, int64_t groups) {
      auto* conv = network->addConvolutionNd(*x, static_cast<int32_t>(channels),
                                             dims({*(filter.end() - 2), *(filter.end() - 1)}), kNone, kNone);
      conv->setInput(1, *named(filter, -0.9F, 0.9F));
      conv->setInput(2, *named({channels}));
      conv->setNbGroups(groups);
      conv->setPaddingNd(dims({filter.end()[-2] / 2, filter.end()[-1] / 2}));
      return conv->getOutput(0);
    };
    const auto active = [&](ITensor* x, ActivationType type) { return network->addActivation(*x, type)->getOutput(0); };
    ITensor* image = active(by(input("x", {1, 16, 8, 8}), 16, {16, 1, 3, 3}, 16), ActivationType::kRELU);
    ITensor* mean = network->addReduce(*image, ReduceOperation::kAVG, 0b1100, true)->getOutput(0);
    ITensor* hidden = active(by(mean, 4, {4, 16, 1, 1}, 1), ActivationType::kRELU);
    ITensor* gate = active(by(hidden, 16, {16, 4, 1, 1}, 1), ActivationType::kSIGMOID);
    output(network->addElementWise(*image, *gate, ElementWiseOperation::kPROD)->getOutput(0), "y");
  }
};

Floats values_of(ICudaEngine& engine, size_t count) {
  Floats x(count), y(count);
  for (size_t i = 0; i < count; ++i) x[i] = std::sin(static_cast<float>(i));
  void *in = wootz_device_allocate(&engine, count * 4), *out = wootz_device_allocate(&engine, count * 4);
  EXPECT_EQ(wootz_device_copy(&engine, in, x.data(), count * 4), 0);
  {
    const Owned<IExecutionContext> context(engine.createExecutionContext());
    Stream stream;
    EXPECT_TRUE(context->setInputTensorAddress("x", in) && context->setTensorAddress("y", out));
    EXPECT_TRUE(context->enqueueV3(reinterpret_cast<cudaStream_t>(stream.handle)));
    stream.wait();
  }
  EXPECT_EQ(wootz_device_copy(&engine, y.data(), out, count * 4), 0);
  wootz_device_free(&engine, in);
  wootz_device_free(&engine, out);
  return y;
}

template <class Network>
void refits(size_t count) {
  const auto seed = static_cast<unsigned>(wootz::test_seed());
  Network before(seed, true), after(seed + 1, true), plain(seed + 1, false);
  const auto engine = before.engine(), fresh = after.engine(), usual = plain.engine();
  ASSERT_NE(engine, nullptr) << before.logger.errors();
  const Floats old = values_of(*engine, count), want = values_of(*fresh, count);
  EXPECT_NE(old, want);
  const Owned<IRefitter> refitter(createInferRefitter(*engine, before.logger));
  for (int i = 0; i < 3; ++i) {
    after.offer_to(*refitter);
    ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
    EXPECT_EQ(values_of(*engine, count), want);
    before.offer_to(*refitter);
    ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
    EXPECT_EQ(values_of(*engine, count), old);
  }
  EXPECT_EQ(values_of(*usual, count), want);
}

TEST(CudaRefit, OfATransformer) { refits<Transformer>(6 * 32); }
TEST(CudaRefit, OfANetworkInEightBits) { refits<Quantized>(2 * 16 * 64); }
TEST(CudaRefit, OfAnImageAndItsGate) {
  const auto engine = Gated(1, true).engine();
  ASSERT_NE(engine, nullptr);
  const Owned<IEngineInspector> inspector(engine->createEngineInspector());
  const std::string layers = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  EXPECT_NE(layers.find("chain_generated_gated"), std::string::npos) << layers;  // chosen by estimate
  refits<Gated>(16 * 64);
}

}  // namespace
}  // namespace wootz_test
