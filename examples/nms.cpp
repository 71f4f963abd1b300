// The end of a detector: of overlapping boxes the best of each class are kept. How many there are is known only when
// they are found, down to none, and an output allocator takes memory for as many.
#include <algorithm>
#include <array>

#include "common.h"

namespace {

using namespace example;

constexpr int kBoxes = 40, kClasses = 3, kMostPerClass = 20;
constexpr float kOverlap = 0.25F, kLeastScore = 0.3F;

using Selected = std::vector<std::array<int32_t, 3>>;  // image, class, box

std::unique_ptr<IHostMemory> build() {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* const boxes = network->addInput("boxes", DataType::kFLOAT, Dims3{1, kBoxes, 4});
  ITensor* const scores = network->addInput("scores", DataType::kFLOAT, Dims3{1, kBoxes, kClasses});
  const int32_t most = kMostPerClass;
  const float overlap = kOverlap, least = kLeastScore;
  const auto scalar = [&](DataType type, const void* value) {
    return network->addConstant(Dims{0, {}}, {type, value, 1})->getOutput(0);
  };
  INMSLayer* const nms = network->addNMS(*boxes, *scores, *scalar(DataType::kINT32, &most), DataType::kINT32);
  nms->setInput(3, *scalar(DataType::kFLOAT, &overlap));
  nms->setInput(4, *scalar(DataType::kFLOAT, &least));
  nms->setBoundingBoxFormat(BoundingBoxFormat::kCORNER_PAIRS);
  mark_output(*network, nms->getOutput(0), "selected");
  mark_output(*network, nms->getOutput(1), "count");
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *exact_config(*builder)));
  REQUIRE(plan != nullptr);
  return plan;
}

// Keeps one piece of device memory, and takes a larger one when it has to.
class Output final : public IOutputAllocator {
 public:
  ~Output() override { cudaFree(memory_); }
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t stream) override {
    if (size <= size_ && memory_ != nullptr) return memory_;
    if (memory_ != nullptr) {
      cudaStreamSynchronize(stream);
      cudaFree(memory_);
    }
    size_ = std::max<uint64_t>(size, 1);  // an empty output has an address too
    if (cudaMalloc(&memory_, size_) != cudaSuccess) memory_ = nullptr;
    return memory_;
  }
  void notifyShape(const char*, const Dims& dims) noexcept override { shape = dims; }
  const void* memory() const { return memory_; }
  Dims shape{-1, {}};

 private:
  void* memory_ = nullptr;
  uint64_t size_ = 0;
};

float overlap(const float* a, const float* b) {
  const float width = std::fmin(a[2], b[2]) - std::fmax(a[0], b[0]);
  const float height = std::fmin(a[3], b[3]) - std::fmax(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const float both = width * height;
  return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both);
}

Selected expected(const std::vector<float>& boxes, const std::vector<float>& scores) {
  Selected all;
  for (int32_t c = 0; c < kClasses; ++c) {
    std::vector<int32_t> order, kept;
    for (int32_t b = 0; b < kBoxes; ++b)
      if (scores[b * kClasses + c] > kLeastScore) order.push_back(b);
    std::sort(order.begin(), order.end(),
              [&](int32_t a, int32_t b) { return scores[a * kClasses + c] > scores[b * kClasses + c]; });
    for (const int32_t b : order) {
      const auto covers = [&](int32_t k) { return overlap(&boxes[k * 4], &boxes[b * 4]) > kOverlap; };
      if (kept.size() < kMostPerClass && std::none_of(kept.begin(), kept.end(), covers)) kept.push_back(b);
    }
    for (const int32_t b : kept) all.push_back({0, c, b});
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<float> boxes_of(Random& random) {
  std::vector<float> boxes;
  for (int b = 0; b < kBoxes; ++b) {
    const float x = random.between(0, 10), y = random.between(0, 10);
    for (const float corner : {x, y, x + random.between(2, 6), y + random.between(2, 6)}) boxes.push_back(corner);
  }
  return boxes;
}

}  // namespace

int main() {
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, *build());
  REQUIRE(engine->getTensorShape("selected").d[0] == -1);  // known only when it has run
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  const Stream stream;
  DeviceArray<float> boxes(kBoxes * 4), scores(kBoxes * kClasses);
  DeviceArray<int32_t> count(1);
  Output selected;
  REQUIRE(context->setTensorAddress("boxes", boxes.data()) && context->setTensorAddress("scores", scores.data()));
  REQUIRE(context->setTensorAddress("count", count.data()) && context->setOutputAllocator("selected", &selected));
  REQUIRE(context->getMaxOutputSize("selected") >= static_cast<int64_t>(sizeof(int32_t)) * 3);
  Random random(70);
  // Many, none (no score is high enough), some, none again, many.
  for (const float highest : {1.0F, 0.25F, 0.5F, 0.0F, 0.9F}) {
    const std::vector<float> at = boxes_of(random), likely = random.values(kBoxes * kClasses, 0, highest);
    boxes.upload(at, stream);
    scores.upload(likely, stream);
    selected.shape = Dims{-1, {}};
    REQUIRE(context->enqueueV3(stream));
    CUDA(cudaStreamSynchronize(stream));
    const Selected wanted = expected(at, likely);
    REQUIRE(selected.shape.nbDims == 2 && selected.shape.d[1] == 3);
    REQUIRE(selected.shape.d[0] == static_cast<int64_t>(wanted.size()));
    REQUIRE(count.download(stream)[0] == static_cast<int32_t>(wanted.size()));
    REQUIRE((highest < kLeastScore) == wanted.empty());
    Selected got(wanted.size());
    if (!got.empty())
      CUDA(cudaMemcpy(got.data(), selected.memory(), got.size() * sizeof got[0], cudaMemcpyDeviceToHost));
    std::sort(got.begin(), got.end());
    REQUIRE(got == wanted);
    std::printf("%zu of %d boxes selected\n", got.size(), kBoxes);
  }
  return 0;
}
