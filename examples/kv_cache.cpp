// A decoder that writes one token after the other. Keys and values of what was seen stay in caches on the device: each
// is an input and an output of the network with one address, and a step writes only what is new. A prompt goes in at
// once, then single tokens; a sequence may end and another begin in its place. Each step is compared with attention
// over everything, computed anew.
#include <cstring>

#include "common.h"

namespace {

using namespace example;

constexpr int kBatch = 2, kHeads = 2, kHeadWidth = 8, kWidth = kHeads * kHeadWidth, kPlaces = 16, kPrompt = 5;
constexpr float kScale = 0.35355339F;  // 1 / sqrt(kHeadWidth)
constexpr size_t kCacheSize = static_cast<size_t>(kBatch) * kHeads * kPlaces * kHeadWidth;
constexpr const char *kCaches[] = {"keys", "values"}, *kUpdated[] = {"keys_updated", "values_updated"};

struct Model {
  Random random{10};
  std::vector<float> query = random.values(kWidth * kWidth, -0.4F, 0.4F),
                     out = random.values(kWidth * kWidth, -0.4F, 0.4F);
  std::vector<float> cached[2] = {random.values(kWidth * kWidth, -0.4F, 0.4F),
                                  random.values(kWidth* kWidth, -0.4F, 0.4F)};
};

ITensor* reshaped(INetworkDefinition& network, ITensor* x, const Dims& dims, bool turn_first) {
  IShuffleLayer* const layer = network.addShuffle(*x);
  layer->setReshapeDimensions(dims);
  if (turn_first)
    layer->setFirstTranspose({{0, 2, 1, 3}});
  else
    layer->setSecondTranspose({{0, 2, 1, 3}});
  return layer->getOutput(0);
}

ITensor* heads(INetworkDefinition& network, ITensor* x, const std::vector<float>& matrix) {
  ITensor* const y = multiply(network, x, constant(network, Dims3{1, kWidth, kWidth}, matrix));
  return reshaped(network, y, Dims4{0, 0, kHeads, kHeadWidth}, false);
}

void add_layers(INetworkDefinition& network, const Model& model) {
  ITensor* const x = network.addInput("x", DataType::kFLOAT, Dims3{kBatch, -1, kWidth});
  ITensor* const first = network.addInput("first", DataType::kINT32, Dims{1, {kBatch}});  // place of x's first token
  ITensor* const mask = network.addInput("mask", DataType::kFLOAT, Dims4{kBatch, 1, -1, kPlaces});  // 0, or -1e9
  ITensor* seen[2];
  for (int i = 0; i < 2; ++i) {
    ITensor* const cache = network.addInput(kCaches[i], DataType::kFLOAT, Dims4{kBatch, kHeads, kPlaces, kHeadWidth});
    ITensor* const update = heads(network, x, model.cached[i]);
    IKVCacheUpdateLayer* const layer = network.addKVCacheUpdate(*cache, *update, *first, KVCacheMode::kLINEAR);
    REQUIRE(layer != nullptr);
    seen[i] = layer->getOutput(0);
    mark_output(network, seen[i], kUpdated[i]);
  }
  static const std::vector<float> scale = {kScale};
  ITensor* scores = multiply(network, heads(network, x, model.query), seen[0], MatrixOperation::kTRANSPOSE);
  scores = combine(network, scores, ElementWiseOperation::kPROD, constant(network, Dims4{1, 1, 1, 1}, scale));
  ISoftMaxLayer* const softmax = network.addSoftMax(*combine(network, scores, ElementWiseOperation::kSUM, mask));
  softmax->setAxes(1U << 3);
  ITensor* const mixed = multiply(network, softmax->getOutput(0), seen[1]);
  ITensor* const joined = reshaped(network, mixed, Dims3{0, 0, kWidth}, true);
  mark_output(network, multiply(network, joined, constant(network, Dims3{1, kWidth, kWidth}, model.out)), "y");
}

std::unique_ptr<IHostMemory> build(const Model& model) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network = typed_network(*builder);
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  add_layers(*network, model);
  IOptimizationProfile* const profile = builder->createOptimizationProfile();
  for (const auto& [select, length] :
       {std::pair{OptProfileSelector::kMIN, 1}, {OptProfileSelector::kOPT, 1}, {OptProfileSelector::kMAX, kPrompt}}) {
    REQUIRE(profile->setDimensions("x", select, Dims3{kBatch, length, kWidth}));
    REQUIRE(profile->setDimensions("mask", select, Dims4{kBatch, 1, length, kPlaces}));
  }
  REQUIRE(config->addOptimizationProfile(profile) == 0);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return plan;
}

std::vector<float> times(const float* row, const std::vector<float>& matrix) {
  std::vector<float> y(kWidth);
  for (int r = 0; r < kWidth; ++r)
    for (int c = 0; c < kWidth; ++c) y[c] += row[r] * matrix[r * kWidth + c];
  return y;
}

// The result at the last token of a sequence, from all of its tokens.
std::vector<float> expected(const Model& m, const std::vector<float>& tokens) {
  const size_t count = tokens.size() / kWidth;
  const std::vector<float> query = times(&tokens[(count - 1) * kWidth], m.query);
  std::vector<float> mixed(kWidth);
  for (int h = 0; h < kWidth; h += kHeadWidth) {
    std::vector<float> shares(count);
    float sum = 0;
    for (size_t t = 0; t < count; ++t) {
      const std::vector<float> key = times(&tokens[t * kWidth], m.cached[0]);
      float score = 0;
      for (int i = h; i < h + kHeadWidth; ++i) score += query[i] * key[i];
      sum += shares[t] = std::exp(score * kScale);
    }
    for (size_t t = 0; t < count; ++t) {
      const std::vector<float> value = times(&tokens[t * kWidth], m.cached[1]);
      for (int i = h; i < h + kHeadWidth; ++i) mixed[i] += shares[t] / sum * value[i];
    }
  }
  return times(mixed.data(), m.out);
}

struct Decoder {
  Decoder(ICudaEngine& engine, const Model& of)
      : model(of),
        context(engine.createExecutionContext()),
        x(kBatch * kPrompt * kWidth),
        y(x.size()),
        mask(kBatch * kPrompt * kPlaces),
        first(kBatch) {
    REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
    REQUIRE(context->setTensorAddress("mask", mask.data()) && context->setTensorAddress("first", first.data()));
    for (int i = 0; i < 2; ++i) {
      // What lies behind the last token must not be seen; as large as this, it would be.
      caches[i].upload(std::vector<float>(kCacheSize, 1e6F), stream);
      const char* const overwritten = engine.getAliasedInputTensor(kUpdated[i]);
      REQUIRE(overwritten != nullptr && std::strcmp(overwritten, kCaches[i]) == 0);
      REQUIRE(context->setTensorAddress(kCaches[i], caches[i].data()));
      REQUIRE(context->setTensorAddress(kUpdated[i], caches[i].data()));
    }
  }
  // `length` more tokens of each sequence.
  void step(int length) {
    std::vector<float> input, wanted, hidden;
    std::vector<int32_t> places;
    for (auto& tokens : sequences) {
      const std::vector<float> fresh = random.values(static_cast<int64_t>(length) * kWidth);
      const auto before = static_cast<int32_t>(tokens.size() / kWidth);
      places.push_back(before);
      input.insert(input.end(), fresh.begin(), fresh.end());
      for (int t = 0; t < length; ++t) {
        tokens.insert(tokens.end(), fresh.begin() + t * kWidth, fresh.begin() + (t + 1) * kWidth);
        const std::vector<float> row = expected(model, tokens);
        wanted.insert(wanted.end(), row.begin(), row.end());
        for (int p = 0; p < kPlaces; ++p) hidden.push_back(p <= before + t ? 0.F : -1e9F);
      }
    }
    x.upload(input, stream);
    mask.upload(hidden, stream);
    first.upload(places, stream);
    REQUIRE(context->setInputShape("x", Dims3{kBatch, length, kWidth}));
    REQUIRE(context->setInputShape("mask", Dims4{kBatch, 1, length, kPlaces}));
    REQUIRE(context->enqueueV3(stream));
    expect_close(length == 1 ? "a token" : "tokens", y.download(stream, wanted.size()), wanted);
  }
  const Model& model;
  Random random{101};
  Stream stream;
  std::unique_ptr<IExecutionContext> context;
  DeviceArray<float> x, y, mask;
  DeviceArray<int32_t> first;
  DeviceArray<float> caches[2] = {DeviceArray<float>(kCacheSize), DeviceArray<float>(kCacheSize)};
  std::vector<float> sequences[kBatch];
};

}  // namespace

int main() {
  const Model model;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, *build(model));
  Decoder decoder(*engine, model);
  decoder.step(kPrompt);
  for (int i = 0; i < 2; ++i) decoder.step(1);
  decoder.sequences[1].clear();  // from here on, two lengths
  decoder.step(kPrompt);
  for (int i = 0; i < 3; ++i) decoder.step(1);
  decoder.sequences[0].clear();
  decoder.step(2);
  return 0;
}
