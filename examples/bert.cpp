// An encoder block as in BERT, of sequences whose number and length are known only when it runs: token embeddings,
// self-attention under a mask for padding, a feed-forward layer, and both normalizations. One profile covers all
// shapes; several of them are run, the smallest and the largest among them, and compared with plain loops.
#include "common.h"

namespace {

using namespace example;

constexpr int kTokens = 50, kWidth = 32, kHeads = 4, kHeadWidth = kWidth / kHeads, kInner = 64;
constexpr float kScale = 0.35355339F;  // 1 / sqrt(kHeadWidth)

struct Model {
  Random random{2};
  std::vector<float> embedding = random.values(kTokens * kWidth);
  std::vector<float> query = matrix(kWidth, kWidth), key = matrix(kWidth, kWidth), value = matrix(kWidth, kWidth);
  std::vector<float> out = matrix(kWidth, kWidth), up = matrix(kWidth, kInner), down = matrix(kInner, kWidth);
  std::vector<float> gamma = random.values(kWidth, 0.5F, 1.5F), beta = random.values(kWidth);

 private:
  std::vector<float> matrix(int rows, int columns) { return random.values(rows * columns, -0.3F, 0.3F); }
};

struct Block {
  INetworkDefinition& network;
  const Model& model;

  ITensor* linear(ITensor* x, const std::vector<float>& matrix, int rows) const {
    return multiply(network, x, constant(network, Dims3{1, rows, static_cast<int64_t>(matrix.size()) / rows}, matrix));
  }
  ITensor* reshaped(ITensor* x, const Dims& dims) const {  // an extent of 0 is the input's
    IShuffleLayer* const layer = network.addShuffle(*x);
    layer->setReshapeDimensions(dims);
    return layer->getOutput(0);
  }
  ITensor* turned(ITensor* x) const {  // places and heads change places
    IShuffleLayer* const layer = network.addShuffle(*x);
    layer->setFirstTranspose({{0, 2, 1, 3}});
    return layer->getOutput(0);
  }
  ITensor* heads(ITensor* x, const std::vector<float>& matrix) const {
    return turned(reshaped(linear(x, matrix, kWidth), Dims4{0, 0, kHeads, kHeadWidth}));
  }
  ITensor* normalized(ITensor* x) const {
    ITensor* const scale = constant(network, Dims3{1, 1, kWidth}, model.gamma);
    return network.addNormalizationV2(*x, *scale, *constant(network, Dims3{1, 1, kWidth}, model.beta), 1U << 2)
        ->getOutput(0);
  }
  ITensor* attention(ITensor* x, ITensor* addend) const {
    ITensor* scores = multiply(network, heads(x, model.query), heads(x, model.key), MatrixOperation::kTRANSPOSE);
    static const std::vector<float> scale = {kScale};
    scores = combine(network, scores, ElementWiseOperation::kPROD, constant(network, Dims4{1, 1, 1, 1}, scale));
    scores = combine(network, scores, ElementWiseOperation::kSUM, addend);
    ISoftMaxLayer* const softmax = network.addSoftMax(*scores);
    softmax->setAxes(1U << 3);
    ITensor* const mixed = multiply(network, softmax->getOutput(0), heads(x, model.value));
    return linear(reshaped(turned(mixed), Dims3{0, 0, kWidth}), model.out, kWidth);
  }
  void add() const {
    ITensor* const tokens = network.addInput("tokens", DataType::kINT32, Dims2{-1, -1});
    ITensor* const mask = network.addInput("mask", DataType::kFLOAT, Dims2{-1, -1});  // 0, or -10000 for padding
    ITensor* x =
        network.addGather(*constant(network, Dims2{kTokens, kWidth}, model.embedding), *tokens, 0)->getOutput(0);
    ITensor* const seen = attention(x, reshaped(mask, Dims4{0, 1, 1, -1}));
    x = normalized(combine(network, x, ElementWiseOperation::kSUM, seen));
    ITensor* const inner = network.addActivation(*linear(x, model.up, kWidth), ActivationType::kGELU_ERF)->getOutput(0);
    x = normalized(combine(network, x, ElementWiseOperation::kSUM, linear(inner, model.down, kInner)));
    mark_output(network, x, "encoded");
  }
};

std::unique_ptr<IHostMemory> build(const Model& model) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  Block{*network, model}.add();
  IOptimizationProfile* const profile = builder->createOptimizationProfile();
  for (const char* name : {"tokens", "mask"}) {
    REQUIRE(profile->setDimensions(name, OptProfileSelector::kMIN, Dims2{1, 1}));
    REQUIRE(profile->setDimensions(name, OptProfileSelector::kOPT, Dims2{2, 16}));
    REQUIRE(profile->setDimensions(name, OptProfileSelector::kMAX, Dims2{4, 32}));
  }
  REQUIRE(config->addOptimizationProfile(profile) == 0);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return plan;
}

// A row times a matrix.
std::vector<float> times(const float* row, int rows, const std::vector<float>& matrix) {
  const size_t columns = matrix.size() / rows;
  std::vector<float> y(columns);
  for (int r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) y[c] += row[r] * matrix[r * columns + c];
  return y;
}

void add_and_normalize(const Model& m, const std::vector<float>& addend, float* row) {
  float mean = 0, variance = 0;
  for (int i = 0; i < kWidth; ++i) mean += (row[i] += addend[i]) / kWidth;
  for (int i = 0; i < kWidth; ++i) variance += (row[i] - mean) * (row[i] - mean) / kWidth;
  for (int i = 0; i < kWidth; ++i) row[i] = (row[i] - mean) / std::sqrt(variance + 1e-5F) * m.gamma[i] + m.beta[i];
}

// What place `q` sees of one sequence.
std::vector<float> attended(const std::vector<std::vector<float>>& queries, const std::vector<std::vector<float>>& keys,
                            const std::vector<std::vector<float>>& values, const float* mask, size_t q) {
  std::vector<float> seen(kWidth);
  for (int h = 0; h < kWidth; h += kHeadWidth) {
    std::vector<float> shares(keys.size());
    float sum = 0;
    for (size_t k = 0; k < keys.size(); ++k) {
      float score = 0;
      for (int i = h; i < h + kHeadWidth; ++i) score += queries[q][i] * keys[k][i];
      sum += shares[k] = std::exp(score * kScale + mask[k]);
    }
    for (size_t k = 0; k < keys.size(); ++k)
      for (int i = h; i < h + kHeadWidth; ++i) seen[i] += shares[k] / sum * values[k][i];
  }
  return seen;
}

std::vector<float> expected(const Model& m, const int32_t* tokens, const float* mask, int length) {
  std::vector<float> x;
  std::vector<std::vector<float>> queries, keys, values;
  for (int t = 0; t < length; ++t) {
    const float* const row = &m.embedding[static_cast<size_t>(tokens[t]) * kWidth];
    x.insert(x.end(), row, row + kWidth);
    queries.push_back(times(row, kWidth, m.query));
    keys.push_back(times(row, kWidth, m.key));
    values.push_back(times(row, kWidth, m.value));
  }
  for (int t = 0; t < length; ++t) {
    float* const row = &x[static_cast<size_t>(t) * kWidth];
    add_and_normalize(m, times(attended(queries, keys, values, mask, t).data(), kWidth, m.out), row);
    std::vector<float> inner = times(row, kWidth, m.up);
    for (float& v : inner) v = 0.5F * v * (1 + std::erf(v * 0.70710678F));
    add_and_normalize(m, times(inner.data(), kInner, m.down), row);
  }
  return x;
}

}  // namespace

int main() {
  const Model model;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, *build(model));
  REQUIRE(engine->getProfileShape("tokens", 0, OptProfileSelector::kMAX).d[1] == 32);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  const Stream stream;
  DeviceArray<int32_t> tokens(4 * 32);  // for the largest shape
  DeviceArray<float> mask(4 * 32), encoded(4 * 32 * kWidth);
  REQUIRE(context->setTensorAddress("tokens", tokens.data()) && context->setTensorAddress("mask", mask.data()));
  REQUIRE(context->setTensorAddress("encoded", encoded.data()));
  REQUIRE(!context->setInputShape("tokens", Dims2{5, 32}));  // outside the profile: refused, and said in the log
  Random random(7);
  for (const auto& [batch, length] : {std::pair{1, 1}, {2, 16}, {4, 32}, {3, 7}, {2, 16}}) {
    std::vector<int32_t> ids(batch * length);
    std::vector<float> padding(batch * length), wanted;
    for (int32_t& id : ids) id = static_cast<int32_t>(random.below(kTokens));
    for (int b = 0; b < batch; ++b) {
      const int64_t words = 1 + random.below(length);  // the rest is padding
      for (int64_t t = words; t < length; ++t) padding[b * length + t] = -10000;
      const std::vector<float> one = expected(model, &ids[b * length], &padding[b * length], length);
      wanted.insert(wanted.end(), one.begin(), one.end());
    }
    tokens.upload(ids, stream);
    mask.upload(padding, stream);
    REQUIRE(context->setInputShape("tokens", Dims2{batch, length}) &&
            context->setInputShape("mask", Dims2{batch, length}));
    const Dims shape = context->getTensorShape("encoded");
    REQUIRE(shape.nbDims == 3 && shape.d[0] == batch && shape.d[1] == length && shape.d[2] == kWidth);
    REQUIRE(context->enqueueV3(stream));
    expect_close("encoded", encoded.download(stream, wanted.size()), wanted);
  }
  return 0;
}
