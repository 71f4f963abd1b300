// Formats whose channels come in vectors, on the processor: every format with every type and several numbers of
// channels, open extents, outputs of unknown size, and plans that lie about them.
#include "api/format_cases.h"
#include "base/json.h"
#include "plan/read.h"
#include "plan/write.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;  // NOLINT

std::mt19937 random_source() { return std::mt19937(static_cast<unsigned>(wootz::test_seed())); }

class FormatMatrix : public testing::TestWithParam<const char*> {};

TEST_P(FormatMatrix, LiesAsTheFormatSays) {
  std::mt19937 random = random_source();
  for (const VectorFormat& f : vector_formats())
    for (const DataType type : f.types) check_format(f, type, GetParam(), random);
}

// Types for which TensorRT does not have the formats; here all of whole bytes are taken.
TEST_P(FormatMatrix, TakesAllTypesOfWholeBytes) {
  std::mt19937 random = random_source();
  const std::vector<VectorFormat> all = vector_formats();
  for (const DataType type : {DataType::kFLOAT, DataType::kINT32, DataType::kINT64, DataType::kUINT8})
    check_format(all[random() % all.size()], type, GetParam(), random);
}

TEST_P(FormatMatrix, FollowsOpenExtentsInEachProfile) {
  std::mt19937 random = random_source();
  for (const VectorFormat& f : vector_formats()) check_open_format(f, f.types[0], GetParam(), 4, random);
}

INSTANTIATE_TEST_SUITE_P(Backends, FormatMatrix, testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

struct Allocator final : IOutputAllocator {
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    asked = size;
    memory.assign(size + 1, 0xEE);
    return memory.data();
  }
  void notifyShape(const char*, const Dims& d) noexcept override { shape = d; }
  uint64_t asked = 0;
  RawBytes memory;
  Dims shape{};
};

TEST(FormatMatrixBorder, OutputAllocatorsAreAskedForWholeGroups) {
  std::mt19937 random = random_source();
  const VectorFormat f = vector_formats()[4];
  const Extents d = image(f, 2, 33);
  const BorderNet net(f, DataType::kINT8, {d}, "cpu");
  const Owned<ICudaEngine> engine = net.bench.engine();
  ASSERT_NE(engine, nullptr) << net.bench.logger.errors();
  RawBytes rows(static_cast<size_t>(volume(d)));
  for (uint8_t& byte : rows) byte = static_cast<uint8_t>(random());
  const RawBytes packed = arranged(rows, d, 1, f, 7);
  RawBytes a(rows.size());
  Allocator allocator;
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputTensorAddress("x0", packed.data()));
  ASSERT_TRUE(context->setInputTensorAddress("w0", rows.data()));
  ASSERT_TRUE(context->setTensorAddress("a0", a.data()));
  ASSERT_TRUE(context->setOutputAllocator("b0", &allocator));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << net.bench.logger.errors();
  const RawBytes want = arranged(transposed(rows, d, 1), transposed(d), 1, f, 0);
  EXPECT_EQ(allocator.asked, want.size());
  EXPECT_EQ(list(allocator.shape), transposed(d));
  EXPECT_EQ(RawBytes(allocator.memory.begin(), allocator.memory.end() - 1), want);
  EXPECT_EQ(allocator.memory.back(), 0xEE);
}

// Rows of x where m is not zero: how many, running tells. What bounds their memory counts whole groups.
TEST(FormatMatrixBorder, OutputsOfUnknownSizeHaveFormatsToo) {
  std::mt19937 random = random_source();
  const VectorFormat f = vector_formats()[2];  // kCHW4
  Bench bench;
  wootz_config_set_option(bench.config.get(), "timing", "0");
  const Extents d = {6, 5, 2, 3};
  ITensor* x = bench.network->addInput("x", DataType::kFLOAT, to_dims(d));
  ITensor* m = bench.input("m", {6});
  ITensor* where = bench.network->addNonZero(*m, DataType::kINT64)->getOutput(0);
  IShuffleLayer* shuffle = bench.network->addShuffle(*bench.network->addGather(*x, *where, 0)->getOutput(0));
  shuffle->setReshapeDimensions(to_dims({-1, 5, 2, 3}));
  bench.output(bench.network->addUnary(*shuffle->getOutput(0), UnaryOperation::kNEG), "y");
  bench.network->getOutput(0)->setAllowedFormats(1U << static_cast<uint32_t>(f.format));
  const Owned<ICudaEngine> engine = bench.engine();
  ASSERT_NE(engine, nullptr) << bench.logger.errors();
  std::vector<float> rows(static_cast<size_t>(volume(d))), mask(6), kept;
  for (float& v : rows) v = std::uniform_real_distribution<float>(-1, 1)(random);
  for (size_t n = 0; n < 6; ++n) {
    mask[n] = static_cast<float>(random() % 2);
    for (size_t i = 0; mask[n] != 0 && i < 30; ++i) kept.push_back(-rows[n * 30 + i]);
  }
  RawBytes bytes(kept.size() * sizeof(float));
  if (!kept.empty()) std::memcpy(bytes.data(), kept.data(), bytes.size());
  const Extents found = {static_cast<int64_t>(kept.size() / 30), 5, 2, 3};
  const RawBytes want = arranged(bytes, found, sizeof(float), f, 0);
  Allocator allocator;
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputTensorAddress("x", rows.data()));
  ASSERT_TRUE(context->setInputTensorAddress("m", mask.data()));
  ASSERT_TRUE(context->setOutputAllocator("y", &allocator));
  const int64_t most = context->getMaxOutputSize("y");
  EXPECT_TRUE(most == -1 || most >= static_cast<int64_t>(6 * 8 * 6 * sizeof(float))) << most;
  ASSERT_TRUE(context->enqueueV3(nullptr)) << bench.logger.errors();
  EXPECT_EQ(list(allocator.shape), found);
  ASSERT_EQ(allocator.asked, want.size());
  EXPECT_EQ(RawBytes(allocator.memory.begin(), allocator.memory.end() - 1), want);
}

// The format that layers may take is preferred; no kernel takes one of groups of 4.
TEST(FormatMatrixBorder, WhatLayersTakeIsPreferredAndDirectIsRefused) {
  Bench bench;
  wootz_config_set_option(bench.config.get(), "timing", "0");
  ITensor* x = bench.input("x", {2, 6, 4, 5});
  bench.output(bench.network->addActivation(*x, ActivationType::kRELU), "y");
  const auto bit = [](TensorFormat f) { return 1U << static_cast<uint32_t>(f); };
  x->setAllowedFormats(bit(TensorFormat::kCHW4) | bit(TensorFormat::kHWC8) | bit(TensorFormat::kHWC));
  {
    const Owned<ICudaEngine> engine = bench.engine();
    ASSERT_NE(engine, nullptr) << bench.logger.errors();
    EXPECT_EQ(engine->getTensorFormat("x"), TensorFormat::kHWC);
  }
  x->setAllowedFormats(bit(TensorFormat::kCHW4));
  bench.config->setFlag(BuilderFlag::kDIRECT_IO);
  EXPECT_EQ(bench.engine(), nullptr);
  const std::string why = bench.logger.take_errors();
  EXPECT_NE(why.find("'x' is to be read and written without a reformat"), std::string::npos) << why;
  EXPECT_NE(why.find("blocked4"), std::string::npos) << why;
}

// From one format at the input to another at the output, nothing between them that computes.
TEST(FormatMatrixBorder, FromOneFormatToAnother) {
  std::mt19937 random = random_source();
  const std::vector<VectorFormat> all = vector_formats();
  for (const VectorFormat& from : all)
    for (const VectorFormat& to : all) {
      if (from.rank != to.rank) continue;
      SCOPED_TRACE(std::string(from.name) + " to " + to.name);
      Bench bench;
      wootz_config_set_option(bench.config.get(), "timing", "0");
      const Extents d = image(from, 2, 37);
      ITensor* x = bench.network->addInput("x", DataType::kFLOAT, to_dims(d));
      IIdentityLayer* same = bench.network->addIdentity(*x);
      bench.output(same, "y");
      x->setAllowedFormats(1U << static_cast<uint32_t>(from.format));
      same->getOutput(0)->setAllowedFormats(1U << static_cast<uint32_t>(to.format));
      const Owned<ICudaEngine> engine = bench.engine();
      ASSERT_NE(engine, nullptr) << bench.logger.errors();
      RawBytes rows(static_cast<size_t>(volume(d)) * 4);
      for (uint8_t& byte : rows) byte = static_cast<uint8_t>(random());
      const RawBytes given = arranged(rows, d, 4, from, 0x33), want = arranged(rows, d, 4, to, 0);
      RawBytes got(want.size() + 1, 0xEE);
      const Owned<IExecutionContext> context(engine->createExecutionContext());
      ASSERT_TRUE(context->setInputTensorAddress("x", given.data()));
      ASSERT_TRUE(context->setTensorAddress("y", got.data()));
      ASSERT_TRUE(context->enqueueV3(nullptr)) << bench.logger.errors();
      EXPECT_EQ(got.back(), 0xEE);
      got.pop_back();
      EXPECT_EQ(got, want);
    }
}

// relu of an image of 3 channels that lies in the format, as a program.
wootz::Program relu_plan(TensorFormat format) {
  Bench bench;
  wootz_config_set_option(bench.config.get(), "timing", "0");
  ITensor* x = bench.input("x", {2, 3, 4, 5});
  bench.output(bench.network->addActivation(*x, ActivationType::kRELU), "y");
  x->setAllowedFormats(1U << static_cast<uint32_t>(format));
  const Owned<IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *bench.config));
  EXPECT_NE(plan, nullptr) << bench.logger.errors();
  auto program = wootz::read_plan({static_cast<const std::byte*>(plan->data()), plan->size()});
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  return **program;
}

struct Loaded {
  Logger logger;
  Owned<IRuntime> runtime{createInferRuntime(logger)};
  Owned<ICudaEngine> load(const wootz::Program& program) {
    const auto bytes = wootz::write_plan(program);
    EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
    return bytes.ok() ? Owned<ICudaEngine>(runtime->deserializeCudaEngine(bytes->data(), bytes->size())) : nullptr;
  }
};

// Memory is allocated by what an engine says of formats: a plan may not say less than its kernels touch.
TEST(FormatMatrixBorder, PlansCannotLie) {
  using wootz::Layout;
  const auto number = [](TensorFormat f) { return "{\"x\":" + std::to_string(static_cast<int>(f)) + "}"; };
  Loaded at;
  wootz::Program program = relu_plan(TensorFormat::kHWC);
  program.properties["formats"] = number(TensorFormat::kHWC8);  // 3 channels are no whole group
  Owned<ICudaEngine> engine = at.load(program);
  ASSERT_NE(engine, nullptr) << at.logger.errors();
  EXPECT_EQ(engine->getTensorFormat("x"), TensorFormat::kHWC);
  EXPECT_EQ(engine->getTensorComponentsPerElement("x"), 1);

  program = relu_plan(TensorFormat::kCHW4);
  for (const TensorFormat lie : {TensorFormat::kLINEAR, TensorFormat::kCHW32, TensorFormat::kHWC8}) {
    program.properties["formats"] = number(lie);
    engine = at.load(program);
    ASSERT_NE(engine, nullptr) << at.logger.errors();
    EXPECT_EQ(engine->getTensorFormat("x"), TensorFormat::kCHW4);
  }
  const wootz::TensorIndex x = program.inputs[0].tensor;
  const auto relay = [&](Layout layout) {
    wootz::Program other = program;
    other.tensors[x].layout = layout;
    for (wootz::Step& step : other.steps)
      for (size_t i = 0; i < step.inputs.size(); ++i)
        if (step.inputs[i] == x) step.problem.inputs[i].layout = layout;
    return other;
  };
  EXPECT_NE(at.load(relay(Layout::kBlocked32)), nullptr) << at.logger.take_errors();
  EXPECT_EQ(at.load(relay(Layout::kBlocked8)), nullptr);
  EXPECT_NE(at.logger.take_errors().find("which is no format"), std::string::npos);
  program.tensors[x].layout = Layout::kLinear;  // the step says otherwise
  const auto bytes = wootz::write_plan(program);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.status().message().find("is described in layout blocked4"), std::string::npos);
}

}  // namespace
}  // namespace wootz_test
