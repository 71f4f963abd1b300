// Outputs whose size only running tells, empty ones among them, one inference after the other in one context: by
// allocators, by addresses, and by turns; on the CPU, by the reference and on the device.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/testing.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

constexpr int64_t kRows = 6, kColumns = 7, kMost = kRows * kColumns;

// Memory of an engine's device.
class Memory {
 public:
  Memory(ICudaEngine& engine, size_t bytes)
      : engine_(engine), bytes_(bytes), at_(wootz_device_allocate(&engine, bytes)) {
    EXPECT_NE(at_, nullptr);
  }
  ~Memory() { wootz_device_free(&engine_, at_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* at() const { return at_; }
  size_t bytes() const { return bytes_; }
  template <class T>
  void write(const std::vector<T>& values) const {
    EXPECT_EQ(wootz_device_copy(&engine_, at_, values.data(), values.size() * sizeof(T)), 0);
  }
  template <class T>
  std::vector<T> read(size_t count) const {
    std::vector<T> values(count);
    EXPECT_LE(count * sizeof(T), bytes_);
    EXPECT_EQ(wootz_device_copy(&engine_, values.data(), at_, count * sizeof(T)), 0);
    return values;
  }

 private:
  ICudaEngine& engine_;
  size_t bytes_;
  void* at_;
};

class Allocator final : public IOutputAllocator {
 public:
  explicit Allocator(const Owned<ICudaEngine>& engine, bool null_when_empty = false)
      : engine_(engine), null_when_empty_(null_when_empty) {}
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    ++asked;
    if (size == 0 && null_when_empty_) return nullptr;
    memory = std::make_unique<Memory>(*engine_, size);  // no more than asked for
    return memory->at();
  }
  void notifyShape(const char*, const Dims& dims) noexcept override { shape = list(dims); }
  std::unique_ptr<Memory> memory;
  std::vector<int64_t> shape;
  int asked = 0;

 private:
  const Owned<ICudaEngine>& engine_;
  bool null_when_empty_;
};

// x [6, 7] -> at [2, n]: where x is not zero; found [n]: twice the values there; total [1]: their sum.
class FoundOutputs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    real_gpu();
    INetworkDefinition& n = *bench_.network;
    ITensor* x = bench_.input("x", {kRows, kColumns});
    ITensor* at = n.addNonZero(*x)->getOutput(0);
    IShuffleLayer* turned = n.addShuffle(*at);
    turned->setFirstTranspose(Permutation{{1, 0}});
    ITensor* values = n.addGatherV2(*x, *turned->getOutput(0), GatherMode::kND)->getOutput(0);
    ITensor* found = n.addElementWise(*values, *values, ElementWiseOperation::kSUM)->getOutput(0);
    bench_.output(n.addReduce(*found, ReduceOperation::kSUM, 1U, true), "total");
    bench_.output(found, "found");
    bench_.output(at, "at");
    ASSERT_EQ(wootz_config_set_option(bench_.config.get(), "backend", GetParam()), 0);
    ASSERT_EQ(wootz_config_set_option(bench_.config.get(), "timing", "0"), 0);
    engine_ = bench_.engine();
    ASSERT_NE(engine_, nullptr) << bench_.logger.errors();
    context_.reset(engine_->createExecutionContext());
    ASSERT_NE(context_, nullptr) << bench_.logger.errors();
    x_ = std::make_unique<Memory>(*engine_, kMost * sizeof(float));
    ASSERT_TRUE(context_->setOutputAllocator("total", &total_));
  }

  // An input with so many elements that are not zero, in random places.
  void feed(int64_t count) {
    values_.assign(kMost, 0);
    for (int64_t i = 0; i < count; ++i)
      values_[static_cast<size_t>(i)] = std::uniform_real_distribution<float>(0.5F, 2)(rng_);
    std::shuffle(values_.begin(), values_.end(), rng_);
    x_->write(values_);
    ASSERT_TRUE(context_->setInputTensorAddress("x", x_->at()));
  }
  void run(int64_t count) {
    ASSERT_TRUE(context_->executeV2(addresses().data())) << bench_.logger.errors();
    EXPECT_EQ(list(context_->getTensorShape("found")), (std::vector<int64_t>{count}));
    EXPECT_EQ(list(context_->getTensorShape("at")), (std::vector<int64_t>{2, count}));
  }
  std::vector<void*> addresses() const {
    std::vector<void*> all;
    for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i)
      all.push_back(const_cast<void*>(context_->getTensorAddress(engine_->getIOTensorName(i))));
    return all;
  }
  void check(const Memory* found, const Memory* at, size_t count) {
    EXPECT_EQ(std::exchange(total_.asked, 0), 1) << "by a step behind those that find";
    EXPECT_EQ(total_.shape, (std::vector<int64_t>{1}));
    std::vector<float> want;
    std::vector<int32_t> rows, columns;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] == 0) continue;
      want.push_back(2 * values_[i]);
      rows.push_back(static_cast<int32_t>(i / kColumns));
      columns.push_back(static_cast<int32_t>(i % kColumns));
    }
    ASSERT_EQ(want.size(), count);
    const double sum = std::accumulate(want.begin(), want.end(), 0.0);
    EXPECT_LE(std::abs(total_.memory->read<float>(1)[0] - sum), 1e-5 * (1 + sum));
    if (count == 0) return;
    rows.insert(rows.end(), columns.begin(), columns.end());
    EXPECT_EQ(found->read<float>(count), want);
    EXPECT_EQ(at->read<int32_t>(2 * count), rows);
  }
  void TearDown() override {
    context_.reset();
    if (std::string(GetParam()) == "cuda" && !real_gpu()) EXPECT_EQ(cuda::emulator_faults(), "");
  }

  const std::vector<int64_t> counts_{0, 0, 3, 0, 20, 7, 0, 0, kMost, 12, 1, 0, 1};
  const unsigned seed_ = static_cast<unsigned>(wootz::test_seed());
  std::mt19937 rng_{seed_};
  Bench bench_;
  Owned<ICudaEngine> engine_;
  Owned<IExecutionContext> context_;
  std::unique_ptr<Memory> x_;
  Allocator total_{engine_};
  std::vector<float> values_;
};

TEST_P(FoundOutputs, AllocatorsAreAskedForWhatWasFound) {
  for (const bool null_when_empty : {false, true}) {
    SCOPED_TRACE(null_when_empty);
    Allocator found(engine_, null_when_empty), at(engine_, null_when_empty);
    ASSERT_TRUE(context_->setOutputAllocator("found", &found) && context_->setOutputAllocator("at", &at));
    for (const int64_t count : counts_) {
      SCOPED_TRACE(count);
      found.asked = at.asked = 0;
      feed(count);
      run(count);
      EXPECT_EQ(found.asked, 1);
      EXPECT_EQ(at.asked, 1);
      EXPECT_EQ(found.shape, (std::vector<int64_t>{count}));
      EXPECT_EQ(at.shape, (std::vector<int64_t>{2, count}));
      check(found.memory.get(), at.memory.get(), static_cast<size_t>(count));
    }
    ASSERT_TRUE(context_->setOutputAllocator("found", nullptr) && context_->setOutputAllocator("at", nullptr));
  }
}

TEST_P(FoundOutputs, AddressesOfTheMostThatCanBeFound) {
  Memory found(*engine_, kMost * sizeof(float)), at(*engine_, 2 * kMost * sizeof(int32_t));
  ASSERT_TRUE(context_->setTensorAddress("found", found.at()) && context_->setTensorAddress("at", at.at()));
  for (const int64_t count : counts_) {
    SCOPED_TRACE(count);
    feed(count);
    run(count);
    check(&found, &at, static_cast<size_t>(count));
  }
}

TEST_P(FoundOutputs, AllocatorsAndAddressesByTurns) {
  Memory found(*engine_, kMost * sizeof(float)), at(*engine_, 2 * kMost * sizeof(int32_t));
  Allocator gives_found(engine_, true), gives_at(engine_);
  for (const int64_t count : counts_) {
    SCOPED_TRACE(count);
    const bool first = rng_() % 2 == 0, second = rng_() % 2 == 0;
    ASSERT_TRUE(context_->setOutputAllocator("found", first ? &gives_found : nullptr));
    ASSERT_TRUE(context_->setOutputAllocator("at", second ? &gives_at : nullptr));
    ASSERT_TRUE(context_->setTensorAddress("found", first ? nullptr : found.at()));
    ASSERT_TRUE(context_->setTensorAddress("at", second ? nullptr : at.at()));
    feed(count);
    run(count);
    check(first ? gives_found.memory.get() : &found, second ? gives_at.memory.get() : &at, static_cast<size_t>(count));
  }
}

// What an inference found is told of that inference, and not taken for what the next one will find.
TEST_P(FoundOutputs, ShapesFoundAreForgottenWhenInputsAreSet) {
  Allocator found(engine_), at(engine_);
  ASSERT_TRUE(context_->setOutputAllocator("found", &found) && context_->setOutputAllocator("at", &at));
  for (const int64_t count : {0, 5, 0}) {
    feed(count);
    EXPECT_EQ(list(context_->getTensorShape("found")), (std::vector<int64_t>{-1}));
    EXPECT_EQ(list(context_->getTensorShape("at")), (std::vector<int64_t>{2, -1}));
    ASSERT_TRUE(context_->enqueueV3(nullptr)) << bench_.logger.errors();
    EXPECT_EQ(list(context_->getTensorShape("at")), (std::vector<int64_t>{2, count}));
    EXPECT_EQ(bench_.logger.errors(), "");
    EXPECT_EQ(context_->getMaxOutputSize("found"), kMost * int64_t{sizeof(float)}) << "the next one may find more";
    EXPECT_EQ(context_->getMaxOutputSize("at"), 2 * kMost * int64_t{sizeof(int32_t)});
  }
}

// Nothing to write to is refused, whatever the last inference found: the next one may find something.
TEST_P(FoundOutputs, NothingToWriteToIsRefused) {
  Allocator found(engine_), at(engine_);
  ASSERT_TRUE(context_->setOutputAllocator("found", &found) && context_->setOutputAllocator("at", &at));
  feed(0);
  run(0);
  ASSERT_TRUE(context_->setOutputAllocator("found", nullptr) && context_->setTensorAddress("found", nullptr));
  EXPECT_FALSE(context_->enqueueV3(nullptr));
  EXPECT_NE(bench_.logger.take_errors().find("output 'found' has neither an address nor an allocator"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Backends, FoundOutputs, testing::Values("cpu", "reference", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace wootz_test
