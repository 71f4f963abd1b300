// A shape that has run before runs again without touching the heap, whoever computes: our kernels, oneDNN, the pool of
// threads, the context, a host stream.
#include <filesystem>
#include <random>

#include "api/harness.h"
#include "steady/allocations.h"
#include "steady/real_models.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

// An engine's inputs filled with random numbers and memory for its outputs, for one shape of the first input.
class Feed {
 public:
  Feed(const ICudaEngine& engine, IExecutionContext& context, const Dims& shape) : shape_(shape) {
    EXPECT_TRUE(context.setInputShape(engine.getIOTensorName(0), shape));
    std::mt19937 rng(7);
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      std::vector<float> data(volume(context.getTensorShape(name)) + 1);
      if (engine.getTensorIOMode(name) == TensorIOMode::kINPUT)
        for (float& v : data) v = std::uniform_real_distribution<float>(-1, 1)(rng);
      data_.push_back(std::move(data));
      addresses_.push_back(data_.back().data());
    }
  }
  // One inference of this shape. Bindings go by executeV2, addresses by enqueueV3.
  void run(const ICudaEngine& engine, IExecutionContext& context, bool bindings, void* stream) {
    good_ = context.setInputShape(engine.getIOTensorName(0), shape_);
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
      good_ = context.setTensorAddress(engine.getIOTensorName(i), addresses_[static_cast<size_t>(i)]) && good_;
    good_ = good_ &&
            (bindings ? context.executeV2(addresses_.data()) : context.enqueueV3(static_cast<cudaStream_t>(stream)));
    if (stream != nullptr) good_ = wootz_stream_synchronize(stream) == 0 && good_;
  }
  bool good() const { return good_; }

 private:
  Dims shape_;
  std::vector<std::vector<float>> data_;
  std::vector<void*> addresses_;
  bool good_ = false;
};

void expect_no_allocation(Bench& b, const Dims& first, const Dims& second) {
  wootz_config_set_option(b.config.get(), "timing", "0");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  void* stream = wootz_stream_create();
  Feed one(*engine, *context, first), two(*engine, *context, second);
  const auto round = [&](int times) {
    bool good = true;
    for (int i = 0; i < times; ++i) {
      for (Feed* feed : {&one, &two}) {
        feed->run(*engine, *context, true, nullptr);
        good = good && feed->good();
        feed->run(*engine, *context, false, nullptr);
        good = good && feed->good();
        feed->run(*engine, *context, false, stream);
        good = good && feed->good();
      }
    }
    return good;
  };
  EXPECT_TRUE(round(2)) << b.logger.errors();
  count_allocations();
  const bool good = round(20);
  const long counted = allocations_counted();
  EXPECT_TRUE(good) << b.logger.errors();
  EXPECT_EQ(counted, 0) << "in 120 inferences";
  EXPECT_EQ(wootz_stream_destroy(stream), 0);
}

TEST(Steady, TheCounterCounts) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer's malloc";
  count_allocations();
  std::vector<int> some(1000);
  EXPECT_EQ(allocations_counted(), 1) << some.data();
}

TEST(Steady, Recogniser) {  // convolutions, attention, normalizations
  Bench b;
  parse(b, model_path("rec"));
  b.profile("x", {1, 3, 48, 32}, {1, 3, 48, 96}, {2, 3, 48, 160});
  expect_no_allocation(b, dims({1, 3, 48, 64}), dims({2, 3, 48, 96}));
}

TEST(Steady, Classifier) {  // depthwise convolutions, squeeze and excite
  Bench b;
  parse(b, model_path("cls"));
  b.profile("x", {1, 3, 48, 192}, {1, 3, 48, 192}, {4, 3, 48, 192});
  expect_no_allocation(b, dims({1, 3, 48, 192}), dims({3, 3, 48, 192}));
}

TEST(Steady, Detector) {
  Bench b;
  parse(b, model_path("det"));
  b.profile("x", {1, 3, 64, 64}, {1, 3, 96, 96}, {1, 3, 128, 128});
  expect_no_allocation(b, dims({1, 3, 64, 96}), dims({1, 3, 128, 64}));
}

}  // namespace
}  // namespace wootz_test
