// One plan for batch 1 to 32, its batch sizes visited in random order: what the first, the second and later visits of
// each cost, and whether they give the same. On a GPU the networks are those of WOOTZ_DYNAMIC_MODELS (ONNX files whose
// inputs have an open first axis, separated by blanks); otherwise a small one runs on the emulator.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "backends/cuda/device/counts.h"
#include "base/testing.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Clock = std::chrono::steady_clock;

constexpr int kOptimum = 8;  // the batch size that all here are tuned for

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

size_t element_bytes(DataType type) { return type == DataType::kINT64 ? 8 : 4; }

// An engine for batch 1 to 32 of an ONNX model.
struct DynamicNet {
  DynamicNet(const std::string& file, const char* backend, bool fp16, int level) {
    parser.reset(nvonnxparser::createParser(*bench.network, bench.logger));
    EXPECT_TRUE(parser->parseFromFile(file.c_str(), 0)) << bench.logger.errors();
    IOptimizationProfile* profile = bench.builder->createOptimizationProfile();
    for (int32_t i = 0; i < bench.network->getNbInputs(); ++i) {
      const ITensor& input = *bench.network->getInput(i);
      Dims d = input.getDimensions();
      for (const auto& [which, batch] :
           {std::pair(OptProfileSelector::kMIN, 1), std::pair(OptProfileSelector::kOPT, kOptimum),
            std::pair(OptProfileSelector::kMAX, 32)}) {
        d.d[0] = batch;
        EXPECT_TRUE(profile->setDimensions(input.getName(), which, d));
      }
    }
    bench.config->addOptimizationProfile(profile);
    if (fp16) bench.config->setFlag(BuilderFlag::kFP16);
    bench.config->setBuilderOptimizationLevel(level);
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", backend), 0);
    engine = bench.engine();
    EXPECT_NE(engine, nullptr) << bench.logger.errors();
  }
  Bench bench;
  Owned<nvonnxparser::IParser> parser;
  Owned<ICudaEngine> engine;
};

// Inputs, the same for the same batch size, and results of one batch size, in memory of the engine's device.
class Visitor {
 public:
  Visitor(ICudaEngine& engine, int64_t batch) : engine_(engine), batch_(batch) {
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      Tensor t;
      t.name = engine.getIOTensorName(i);
      t.input = engine.getTensorIOMode(t.name) == TensorIOMode::kINPUT;
      if (t.input) set_input(&t);
      tensors_.push_back(t);
    }
  }
  ~Visitor() {
    for (const Tensor& t : tensors_) wootz_device_free(&engine_, t.memory);
  }
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;

  // Milliseconds from the first call to the end of the work.
  double run(IExecutionContext& context, CUstream stream) {
    const Clock::time_point start = Clock::now();
    for (const Tensor& t : tensors_)
      if (t.input) EXPECT_TRUE(context.setInputShape(t.name, t.dims));
    for (Tensor& t : tensors_) {
      if (t.memory == nullptr) {  // a result, at the first visit
        t.dims = context.getTensorShape(t.name);
        t.memory = wootz_device_allocate(&engine_, bytes(t));
      }
      EXPECT_TRUE(context.setTensorAddress(t.name, t.memory));
    }
    EXPECT_TRUE(context.enqueueV3(reinterpret_cast<cudaStream_t>(stream)));
    if (stream != nullptr) EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
    return ms_since(start);
  }
  std::vector<float> results() const {
    std::vector<float> all;
    for (const Tensor& t : tensors_) {
      if (t.input) continue;
      std::vector<float> values(volume(t.dims));
      EXPECT_EQ(wootz_device_copy(&engine_, values.data(), t.memory, bytes(t)), 0);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  struct Tensor {
    const char* name = "";
    bool input = false;
    Dims dims{};
    void* memory = nullptr;
  };
  size_t bytes(const Tensor& t) const { return volume(t.dims) * element_bytes(engine_.getTensorDataType(t.name)); }
  void set_input(Tensor* t) {
    t->dims = engine_.getTensorShape(t->name);
    t->dims.d[0] = batch_;
    std::mt19937 rng(static_cast<unsigned>(batch_));
    t->memory = wootz_device_allocate(&engine_, bytes(*t));
    if (engine_.getTensorDataType(t->name) == DataType::kINT64) {  // words of a language, or which of them count
      std::vector<int64_t> values(volume(t->dims), 1);
      if (std::string(t->name).find("mask") == std::string::npos)
        for (int64_t& v : values) v = std::uniform_int_distribution<int64_t>(0, 30000)(rng);
      EXPECT_EQ(wootz_device_copy(&engine_, t->memory, values.data(), bytes(*t)), 0);
      return;
    }
    std::vector<float> values(volume(t->dims));
    for (float& v : values) v = std::normal_distribution<float>(0, 1)(rng);
    EXPECT_EQ(wootz_device_copy(&engine_, t->memory, values.data(), bytes(*t)), 0);
  }

  ICudaEngine& engine_;
  int64_t batch_;
  std::vector<Tensor> tensors_;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Visits {
  double first = 0, second = 0;
  std::vector<double> later;
  double ratio() const { return second / median(later); }
};

struct Counts {
  cuda::RecordingCounts first, later;  // of the device's work in first visits, and behind these
  long further = 0;                    // kernels that first visits asked for once 1, the optimum and another were seen
};

// Every batch size several times, in random order.
std::map<int64_t, Visits> visit(ICudaEngine& engine, const std::vector<int64_t>& batches, int rounds, uint64_t seed,
                                Counts* counts) {
  std::map<int64_t, Visits> visits;
  std::map<int64_t, std::unique_ptr<Visitor>> visitors;
  std::map<int64_t, std::vector<float>> want;
  for (const int64_t b : batches) visitors[b] = std::make_unique<Visitor>(engine, b);
  Owned<IExecutionContext> context(engine.createExecutionContext());
  EXPECT_NE(context, nullptr);
  CUstream stream = nullptr;
  EXPECT_EQ(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  std::vector<int64_t> order = batches;
  for (int r = 1; r < rounds; ++r) order.insert(order.end(), batches.begin(), batches.end());
  std::mt19937_64 rng(seed);
  std::shuffle(order.begin(), order.end(), rng);
  std::map<int64_t, int> seen;
  const cuda::RecordingCounts before = cuda::recording_counts();
  cuda::RecordingCounts& in_first = counts->first = {};
  counts->further = 0;
  bool others_seen = false;
  for (const int64_t b : order) {
    const cuda::RecordingCounts start = cuda::recording_counts();
    const double ms = visitors[b]->run(*context, stream);
    const cuda::RecordingCounts end = cuda::recording_counts();
    Visits& v = visits[b];
    const int number = seen[b]++;
    if (number == 0) {
      v.first = ms;
      if (ms > 100) std::printf("  batch %ld for the first time: %.0f ms\n", static_cast<long>(b), ms);
      std::fflush(stdout);
      want[b] = visitors[b]->results();
      in_first.made += end.made - start.made;
      in_first.modules += end.modules - start.modules;
      in_first.replayed += end.replayed - start.replayed;
      if (b == 1 || b == kOptimum) continue;
      if (others_seen) counts->further += end.modules - start.modules;
      others_seen = true;
      continue;
    }
    (number == 1 ? v.second = ms : v.later.emplace_back(ms));
    EXPECT_EQ(visitors[b]->results(), want[b]) << "batch " << b << ", visit " << number;
  }
  const cuda::RecordingCounts after = cuda::recording_counts();
  std::printf(
      "  first visits: %ld recordings made, %ld kernels compiled or loaded, %ld of them for further batch sizes; "
      "later: "
      "%ld made, %ld updated, %ld loaded, %ld replayed\n",
      in_first.made, in_first.modules, counts->further, after.made - before.made - in_first.made,
      after.updated - before.updated, after.modules - before.modules - in_first.modules,
      after.replayed - before.replayed - in_first.replayed);
  counts->later.made = after.made - before.made - in_first.made;
  counts->later.modules = after.modules - before.modules - in_first.modules;
  counts->later.replayed = after.replayed - before.replayed - in_first.replayed;
  driver().cuStreamDestroy_v2(stream);
  // A context that saw no other batch size gives the same.
  for (const int64_t b : {batches.front(), batches[batches.size() / 2], batches.back()}) {
    Owned<IExecutionContext> fresh(engine.createExecutionContext());
    Visitor alone(engine, b);
    alone.run(*fresh, nullptr);
    EXPECT_EQ(alone.results(), want[b]) << "batch " << b << " in a fresh context";
  }
  return visits;
}

void expect_no_rebuild(const cuda::RecordingCounts& later, size_t visits) {
  EXPECT_EQ(later.made, 0) << "recorded again";
  EXPECT_EQ(later.modules, 0) << "compiled or loaded again";
  EXPECT_EQ(later.replayed, static_cast<long>(visits)) << "not replayed";
}

TEST(CudaDynamic, BatchSizesInRandomOrder) {
  const uint64_t seed = wootz::test_seed();
  Counts counts;
  if (!real_gpu()) {
    SmallNet net;
    ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
    const std::vector<int64_t> batches{1, 2, 3, 5, 8, 32};
    visit(*net.engine, batches, 4, seed, &counts);
    expect_no_rebuild(counts.later, batches.size() * 3);
    EXPECT_EQ(counts.further, 0) << "a kernel for each batch size";
    return;
  }
  const char* models = std::getenv("WOOTZ_DYNAMIC_MODELS");
  if (models == nullptr) GTEST_SKIP() << "no WOOTZ_DYNAMIC_MODELS";
  const char* level = std::getenv("WOOTZ_DYNAMIC_LEVEL");
  std::vector<int64_t> batches;
  for (int64_t b = 1; b <= 32; ++b) batches.push_back(b);
  std::istringstream files(models);
  for (std::string file; files >> file;) {
    SCOPED_TRACE(file);
    const Clock::time_point start = Clock::now();
    DynamicNet net(file, "cuda", true, level == nullptr ? 3 : std::atoi(level));
    ASSERT_NE(net.engine, nullptr);
    const std::string name = std::filesystem::path(file).stem().string();
    std::printf("%s: built once in %.1f s, for batch 1, 8, 32\n", name.c_str(), ms_since(start) / 1000);
    const std::map<int64_t, Visits> visits = visit(*net.engine, batches, 7, seed, &counts);
    expect_no_rebuild(counts.later, batches.size() * 6);
    std::vector<double> firsts, ratios;
    for (const auto& [b, v] : visits) {
      firsts.push_back(v.first);
      ratios.push_back(v.ratio());
      std::printf("  batch %2ld: first %8.2f ms, second %7.3f, later %7.3f, second/later %.2f\n", static_cast<long>(b),
                  v.first, v.second, median(v.later), v.ratio());
    }
    const double worst = *std::max_element(ratios.begin(), ratios.end());
    std::printf(
        "dynamic %-18s first visit median %.0f ms, most %.0f; second/later median %.2f, most %.2f (asked 2); rebuilt "
        "0\n",
        name.c_str(), median(firsts), *std::max_element(firsts.begin(), firsts.end()), median(ratios), worst);
    EXPECT_LE(worst, 2.0);
    // Against the CPU in FP32, at a batch size that is no power of two.
    DynamicNet cpu(file, "cpu", false, 0);
    ASSERT_NE(cpu.engine, nullptr);
    Visitor here(*net.engine, 3), there(*cpu.engine, 3);
    Owned<IExecutionContext> on_gpu(net.engine->createExecutionContext()), on_cpu(cpu.engine->createExecutionContext());
    here.run(*on_gpu, nullptr);
    there.run(*on_cpu, nullptr);
    const std::vector<float> have = here.results(), want = there.results();
    ASSERT_EQ(have.size(), want.size());
    double difference = 0, largest = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_TRUE(std::isfinite(have[i]));
      difference = std::max(difference, static_cast<double>(std::abs(have[i] - want[i])));
      largest = std::max(largest, static_cast<double>(std::abs(want[i])));
    }
    std::printf("  against the CPU in FP32, batch 3: %.2e of the largest value\n", difference / largest);
    EXPECT_LE(difference, 1e-2 * largest);
  }
}

}  // namespace
}  // namespace wootz_test
