// What builds and loads take of memory at their worst: weights are made one at a time, and not kept twice.
#include <gtest/gtest.h>
#include <malloc.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "api/harness.h"
#include "base/testing.h"
#include "onnx/model_for_test.h"

namespace wootz::memory_test {
namespace {

using namespace nvinfer1;    // NOLINT: written against that interface
using namespace wootz_test;  // NOLINT
namespace fs = std::filesystem;

constexpr int64_t kWidth = 1024;
constexpr int kLayers = 24;
constexpr double kWeights = double{kLayers} * kWidth * kWidth * sizeof(float);
constexpr double kBeside = 12 << 20;  // the heap's own, kernels, the report

// Of /proc/self/status, in bytes.
double status(const std::string& field) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) * 1024;
  return -1;
}

// The most memory that this process had beyond what it has now, in multiples of the weights once `kBeside` is taken
// off.
class Peak {
 public:
  Peak() {
    ::malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = status("VmRSS");
  }
  double weights() const { return (status("VmHWM") - before_ - kBeside) / kWeights; }

 private:
  double before_ = 0;
};

// A chain of products with their matrices as external data, in a folder that goes with it.
class Chain {
 public:
  Chain() {
    char name[] = "/tmp/wootz-peak-XXXXXX";
    folder = ::mkdtemp(name);
    importer::ModelProto proto = importer::model_for_test();
    auto* graph = proto.mutable_graph();
    importer::add_input(graph, "x0", {"2", std::to_string(kWidth)});
    std::ofstream data(folder + "/weights", std::ios::binary);
    std::mt19937 random(static_cast<unsigned>(test_seed()));
    std::normal_distribution<float> normal(0, 0.03f);
    std::vector<float> matrix(static_cast<size_t>(kWidth * kWidth));
    for (int i = 0; i < kLayers; ++i) {
      for (float& v : matrix) v = normal(random);
      const size_t bytes = matrix.size() * sizeof(float);
      auto* tensor = graph->add_initializer();
      *tensor = importer::raw_tensor<float>(fmt::format("w{}", i), 1, {kWidth, kWidth}, {});
      tensor->clear_raw_data();
      tensor->set_data_location(importer::TensorProto::EXTERNAL);
      const auto say = [&](const char* key, const std::string& value) {
        auto* entry = tensor->add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      };
      say("location", "weights");
      say("offset", std::to_string(static_cast<size_t>(i) * bytes));
      say("length", std::to_string(bytes));
      data.write(reinterpret_cast<const char*>(matrix.data()), static_cast<std::streamsize>(bytes));
      importer::add_node(graph, "MatMul", {fmt::format("x{}", i), fmt::format("w{}", i)}, {fmt::format("x{}", i + 1)});
    }
    importer::add_output(graph, fmt::format("x{}", kLayers));
    model = folder + "/chain.onnx";
    plan = folder + "/chain.plan";
    std::ofstream(model, std::ios::binary) << proto.SerializeAsString();
  }
  ~Chain() { fs::remove_all(folder); }
  std::string folder, model, plan;
};

// The network of the file, ready to build without measuring.
struct Network : Bench {
  explicit Network(const std::string& model) {
    const Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
    parsed = parser->parseFromFile(model.c_str(), 0);
    wootz_config_set_option(config.get(), "timing", "0");
  }
  bool parsed = false;
};

class PeakMemory : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer keeps what was freed";
#endif
    if (!std::ofstream("/proc/self/clear_refs").good()) GTEST_SKIP() << "no /proc/self/clear_refs here";
    Network warm(chain_.model);  // threads and tables that stay
    ASSERT_TRUE(warm.parsed) << warm.logger.errors();
    ASSERT_EQ(wootz_build_file(warm.builder.get(), warm.network.get(), warm.config.get(), chain_.plan.c_str()), 0)
        << warm.logger.errors();
  }
  Chain chain_;
};

TEST_F(PeakMemory, OfABuildToAFileIsAFewWeights) {
  Network n(chain_.model);
  const Peak peak;
  ASSERT_EQ(wootz_build_file(n.builder.get(), n.network.get(), n.config.get(), chain_.plan.c_str()), 0);
  std::printf("a build to a file: %.2f times the weights\n", peak.weights());
  EXPECT_LE(peak.weights(), 0.3);
}

TEST_F(PeakMemory, OfABuildToMemoryIsThePlan) {
  Network n(chain_.model);
  const Peak peak;
  const Owned<IHostMemory> plan(n.builder->buildSerializedNetwork(*n.network, *n.config));
  ASSERT_NE(plan, nullptr) << n.logger.errors();
  std::printf("a build to memory: %.2f times the weights\n", peak.weights());
  EXPECT_LE(peak.weights(), 1.3);
  std::ifstream in(chain_.plan, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(file == std::string(static_cast<const char*>(plan->data()), plan->size()));
}

TEST_F(PeakMemory, OfABuildThatMeasuresIsAFewWeights) {
  Network n(chain_.model);
  wootz_config_set_option(n.config.get(), "timing", nullptr);
  const Peak peak;
  ASSERT_EQ(wootz_build_file(n.builder.get(), n.network.get(), n.config.get(), chain_.plan.c_str()), 0);
  std::printf("a build that measures: %.2f times the weights\n", peak.weights());
  EXPECT_LE(peak.weights(), 0.6);
}

TEST_F(PeakMemory, OfAnEngineIsItsWeights) {
  Logger logger;
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  const Peak peak;
  const Owned<ICudaEngine> engine(
      static_cast<ICudaEngine*>(wootz_runtime_load_file(runtime.get(), chain_.plan.c_str())));
  ASSERT_NE(engine, nullptr) << logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> x(2 * kWidth, 0.1f), y(2 * kWidth);
  ASSERT_TRUE(context->setTensorAddress("x0", x.data()));
  ASSERT_TRUE(context->setTensorAddress(fmt::format("x{}", kLayers).c_str(), y.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << logger.errors();
  std::printf("an engine that ran: %.2f times the weights\n", peak.weights());
  EXPECT_LE(peak.weights(), 1.1);
}

TEST_F(PeakMemory, OfAnEngineOfAPlanInMemoryIsThatPlan) {
  Network n(chain_.model);
  Owned<IHostMemory> plan(n.builder->buildSerializedNetwork(*n.network, *n.config));
  ASSERT_NE(plan, nullptr) << n.logger.errors();
  const Owned<IRuntime> runtime(createInferRuntime(n.logger));
  const Peak peak;
  const Owned<ICudaEngine> engine(static_cast<ICudaEngine*>(wootz_runtime_load_memory(runtime.get(), plan.get())));
  ASSERT_NE(engine, nullptr) << n.logger.errors();
  plan.reset();
  EXPECT_LE(peak.weights(), 0.1);
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> x(2 * kWidth, 0.1f), y(2 * kWidth);
  ASSERT_TRUE(context->setTensorAddress("x0", x.data()));
  ASSERT_TRUE(context->setTensorAddress(fmt::format("x{}", kLayers).c_str(), y.data()));
  EXPECT_TRUE(context->enqueueV3(nullptr)) << n.logger.errors();
}

}  // namespace
}  // namespace wootz::memory_test
