// Settings of runtimes and contexts: each does something, or is refused by name.
#include <algorithm>
#include <cstring>
#include <map>
#include <regex>

#include "api/dense.h"
#include "onnx/model_for_test.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

// Counts what it gives out and gets back.
class Allocator final : public IGpuAllocator {
 public:
  void* allocate(uint64_t bytes, uint64_t alignment, AllocatorFlags) noexcept override {
    if (refuses) return nullptr;
    ++given;
    return std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  }
  bool deallocate(void* memory) noexcept override {
    ++returned;
    std::free(memory);
    return true;
  }
  bool refuses = false;
  int given = 0, returned = 0;
};

// x [6, 7] -> at [2, n]: where x is not zero.
struct Finder : Bench {
  Finder() {
    wootz_config_set_option(config.get(), "timing", "0");
    ITensor* x = input("x", {-1, 7});
    output(network->addUnary(*network->addNonZero(*x)->getOutput(0), UnaryOperation::kNEG), "at");
    profile("x", {1, 7}, {6, 7}, {9, 7});
  }
};
class Output final : public IOutputAllocator {
 public:
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    bytes.resize(size + 64);
    return bytes.data();
  }
  void notifyShape(const char*, const Dims& dims) noexcept override { shape = list(dims); }
  std::vector<char> bytes;
  std::vector<int64_t> shape;
};

TEST(ContextSettings, TemporaryStorageComesFromTheAllocator) {
  Finder b;
  Allocator allocator;
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  std::vector<float> x(42, 1);
  Output at;
  {
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    ASSERT_TRUE(context->setInputShape("x", dims({6, 7})));
    ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setOutputAllocator("at", &at));
    const auto runs = [&](int64_t count) {
      std::fill(x.begin(), x.end(), 0.F);
      std::fill(x.begin(), x.begin() + count, 1.F);
      return context->enqueueV3(nullptr) && at.shape == std::vector<int64_t>{2, count};
    };
    EXPECT_TRUE(runs(5)) << b.logger.errors();
    EXPECT_TRUE(context->setTemporaryStorageAllocator(&allocator));
    EXPECT_EQ(context->getTemporaryStorageAllocator(), &allocator);
    EXPECT_EQ(allocator.given, 0) << "nothing has run since";
    EXPECT_TRUE(runs(42)) << b.logger.errors();
    EXPECT_GT(allocator.given, 0);
    EXPECT_TRUE(context->setTemporaryStorageAllocator(nullptr));
    EXPECT_EQ(allocator.returned, allocator.given);
    allocator.refuses = true;
    EXPECT_TRUE(context->setTemporaryStorageAllocator(&allocator));
    EXPECT_FALSE(runs(7));
    EXPECT_NE(b.logger.take_errors(), "");
    allocator.refuses = false;
    EXPECT_TRUE(runs(7)) << b.logger.errors();
  }
  EXPECT_EQ(allocator.returned, allocator.given);
  EXPECT_EQ(b.logger.warnings(), "");
}

TEST(ContextSettings, AResultThatIsFoundIsBoundedByWhatItIsFoundIn) {
  Finder b;
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const auto element = engine->getTensorDataType("at") == DataType::kINT64 ? 8 : 4;
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(context->getMaxOutputSize("at"), -1) << "no shape is set";
  EXPECT_EQ(context->getMaxOutputSize("x"), -1) << "an input";
  EXPECT_EQ(context->getMaxOutputSize(nullptr), -1);
  b.logger.take_errors();
  for (const int64_t rows : {1, 4, 9}) {
    ASSERT_TRUE(context->setInputShape("x", dims({rows, 7})));
    EXPECT_EQ(context->getMaxOutputSize("at"), rows * 7 * 2 * element) << b.logger.errors();
  }
}

TEST(ContextSettings, TheProcessorHasNoCacheToSetAside) {
  Dense b;
  const Owned<ICudaEngine> engine = b.engine();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(wootz_device_persisting_cache(engine.get()), 0U);
  context->setPersistentCacheLimit(1 << 20);
  EXPECT_NE(b.logger.take_errors().find("setPersistentCacheLimit"), std::string::npos);
  EXPECT_EQ(context->getPersistentCacheLimit(), 0U);
  context->setPersistentCacheLimit(0);
  EXPECT_EQ(b.logger.errors(), "");
}

TEST(ContextSettings, NvtxTellsNoMoreThanTheEngineWasBuiltWith) {
  Dense b;
  b.config->setProfilingVerbosity(ProfilingVerbosity::kLAYER_NAMES_ONLY);
  const Owned<ICudaEngine> engine = b.engine();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(context->getNvtxVerbosity(), ProfilingVerbosity::kLAYER_NAMES_ONLY);
  EXPECT_FALSE(context->setNvtxVerbosity(ProfilingVerbosity::kDETAILED));
  EXPECT_FALSE(context->setNvtxVerbosity(static_cast<ProfilingVerbosity>(9)));
  EXPECT_NE(b.logger.take_errors().find("setNvtxVerbosity"), std::string::npos);
  EXPECT_TRUE(context->setNvtxVerbosity(ProfilingVerbosity::kNONE));
  EXPECT_EQ(context->getNvtxVerbosity(), ProfilingVerbosity::kNONE);
}

// Gives a plan that lies between other bytes, in pieces.
class Reader final : public IStreamReaderV2 {
 public:
  explicit Reader(std::vector<char> bytes) : bytes_(std::move(bytes)) {}
  int64_t read(void* destination, int64_t wanted, cudaStream_t) noexcept override {
    const int64_t got = std::min<int64_t>(wanted, static_cast<int64_t>(bytes_.size()) - at);
    if (got > 0) std::memcpy(destination, bytes_.data() + at, static_cast<size_t>(got));
    at += got;
    return got;
  }
  bool seek(int64_t offset, SeekPosition where) noexcept override {
    EXPECT_EQ(where, SeekPosition::kCUR);
    at += offset;
    return true;
  }
  int64_t at = 0;

 private:
  std::vector<char> bytes_;
};

TEST(RuntimeSettings, AReaderGivesThePlanAndKeepsTheRest) {
  Dense b;
  const Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  const auto* first = static_cast<const char*>(plan->data());
  std::vector<char> bytes(first, first + plan->size());
  const Owned<IRuntime> runtime(createInferRuntime(b.logger));
  bytes.resize(bytes.size() + 1000, 'x');
  Reader followed(bytes);
  EXPECT_NE(Owned<ICudaEngine>(runtime->deserializeCudaEngine(followed)), nullptr) << b.logger.errors();
  EXPECT_EQ(followed.at, static_cast<int64_t>(plan->size()));
  Reader garbage(std::vector<char>(5000, 'x'));
  EXPECT_EQ(Owned<ICudaEngine>(runtime->deserializeCudaEngine(garbage)), nullptr);
  EXPECT_EQ(garbage.at, 0) << "whoever comes next may know it";
  for (const size_t kept : {size_t{0}, size_t{10}, size_t{300}, plan->size() - 1}) {
    Reader shorter(std::vector<char>(first, first + kept));
    b.logger.take_errors();
    EXPECT_EQ(Owned<ICudaEngine>(runtime->deserializeCudaEngine(shorter)), nullptr) << kept;
    EXPECT_NE(b.logger.take_errors(), "");
  }
}

TEST(RuntimeSettings, TemporaryFilesHaveAFolder) {
  Logger logger;
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  const std::string before = runtime->getTemporaryDirectory();
  runtime->setTemporaryDirectory("/nowhere/at/all");
  EXPECT_NE(logger.take_errors().find("'/nowhere/at/all'"), std::string::npos);
  EXPECT_EQ(runtime->getTemporaryDirectory(), before);
  const std::string folder = ::testing::TempDir();
  runtime->setTemporaryDirectory(folder.c_str());
  EXPECT_EQ(runtime->getTemporaryDirectory(), folder);
  runtime->setTemporaryDirectory(nullptr);
  EXPECT_EQ(runtime->getTemporaryDirectory(), before);
  EXPECT_EQ(logger.errors(), "");
  runtime->setTempfileControlFlags(8);
  EXPECT_NE(logger.take_errors().find("setTempfileControlFlags"), std::string::npos);
  EXPECT_EQ(runtime->getTempfileControlFlags(), 3U);
  runtime->setTempfileControlFlags(1);
  EXPECT_EQ(runtime->getTempfileControlFlags(), 1U);
}

TEST(RuntimeSettings, MaxThreadsAreOneUntilSaid) {
  Logger logger;
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  EXPECT_EQ(runtime->getMaxThreads(), 1);
  EXPECT_FALSE(runtime->setMaxThreads(0));
  EXPECT_NE(logger.take_errors().find("setMaxThreads"), std::string::npos);
  EXPECT_TRUE(runtime->setMaxThreads(2));
  EXPECT_EQ(runtime->getMaxThreads(), 2);
}

// What is held is told in the lines that TensorRT's logs have, and given back with the objects.
TEST(Log, TellsMemoryOfEnginesAndContexts) {
  struct All final : ILogger {
    void log(Severity severity, const AsciiChar* text) noexcept override {
      if (severity == Severity::kINFO) lines.emplace_back(text);
    }
    std::vector<std::string> lines;
  } all;
  Dense b;
  const Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  const Owned<IRuntime> runtime(createInferRuntime(all));
  const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr);
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const auto told = [&](const char* pattern) {
    return std::count_if(all.lines.begin(), all.lines.end(),
                         [&](const std::string& line) { return std::regex_search(line, std::regex(pattern)); });
  };
  EXPECT_EQ(told("^Loaded engine size: [0-9]+ MiB"), 1);
  constexpr const char* kChange = R"(\[MemUsageChange\] TensorRT-managed allocation in )";
  for (const char* what : {"engine deserialization", "IExecutionContext creation"})
    EXPECT_EQ(told((std::string(kChange) + what + R"(: CPU \+\d+, GPU \+\d+, now: CPU \d+, GPU \d+ \(MiB\))").c_str()),
              1)
        << what;
}

// y = Outer(x), whose body calls Inner, which has an operator that nobody knows.
TEST(ParserErrors, SayWhereTheyAreAndWhoNoticed) {
  using namespace wootz::importer;
  ModelProto model = model_for_test();
  auto* import = model.add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  const auto function = [&](const char* name, const char* calls, const char* domain) {
    auto* made = model.add_functions();
    made->set_name(name);
    made->set_domain("mine");
    made->add_input("a");
    made->add_output("b");
    auto* node = made->add_node();
    node->set_op_type(calls);
    node->set_domain(domain);
    node->add_input("a");
    node->add_output("b");
    for (const char* used : {"", "mine"}) {
      auto* opset = made->add_opset_import();
      opset->set_domain(used);
      opset->set_version(*used == '\0' ? 17 : 1);
    }
  };
  function("Inner", "NoSuchOperator", "");
  function("Outer", "Inner", "mine");
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2"});
  add_node(graph, "Outer", {"x"}, {"y"})->set_domain("mine");
  add_output(graph, "y");
  Bench b;
  const Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*b.network, b.logger));
  const std::string bytes = model.SerializeAsString();
  ASSERT_FALSE(parser->parse(bytes.data(), bytes.size()));
  ASSERT_EQ(parser->getNbErrors(), 1);
  const nvonnxparser::IParserError& error = *parser->getError(0);
  EXPECT_EQ(std::string(error.file()).rfind("src/onnx/", 0), 0U) << error.file();
  EXPECT_GT(error.line(), 0);
  EXPECT_GT(std::strlen(error.func()), 0U);
  ASSERT_EQ(error.localFunctionStackSize(), 2);
  EXPECT_STREQ(error.localFunctionStack()[0], "Outer");
  EXPECT_STREQ(error.localFunctionStack()[1], "Inner");
  // Outside of functions there is none.
  ModelProto plain = model_for_test();
  add_input(plain.mutable_graph(), "x", {"2"});
  add_node(plain.mutable_graph(), "NoSuchOperator", {"x"}, {"y"});
  add_output(plain.mutable_graph(), "y");
  Bench other;
  const Owned<nvonnxparser::IParser> second(nvonnxparser::createParser(*other.network, other.logger));
  const std::string text = plain.SerializeAsString();
  ASSERT_FALSE(second->parse(text.data(), text.size()));
  EXPECT_EQ(second->getError(0)->localFunctionStackSize(), 0);
  EXPECT_EQ(second->getError(0)->localFunctionStack(), nullptr);
}

}  // namespace
}  // namespace wootz_test
