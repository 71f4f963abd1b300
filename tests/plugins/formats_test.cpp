// Plugins that want their tensors in vectors of channels: reformats bring them there and back.
#include "api/format_cases.h"
#include "plugins/script_plugin.h"

namespace wootz_test {
namespace {

constexpr uint32_t kTyped =
#if NV_TENSORRT_MAJOR >= 11
    0;  // networks are
#else
    1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
#endif

// Those that plugins are offered, and kLINEAR as one of single channels.
struct Form {
  VectorFormat is;
  DataType type;
};
std::vector<Form> forms() {
  std::vector<Form> all;
  for (const VectorFormat& f : vector_formats())
    for (const DataType type : f.types)
      if (type != DataType::kFP8) all.push_back({f, type});
  return all;
}
VectorFormat linear_of(const VectorFormat& f) { return {TensorFormat::kLINEAR, "kLINEAR", f.rank, 1, false, {}}; }

Extents extents_of(const VectorFormat& f, int64_t channels) {
  return f.rank == 4 ? Extents{2, channels, 3, 2} : Extents{2, channels, 2, 3, 2};
}

class PluginFormats : public Plugins {
 protected:
  // A plugin that hands its operand on, in one format to another; what it was given is kept.
  void want(const VectorFormat& in, const VectorFormat& out, DataType type) {
    script.supports = [=](int32_t pos, const DynamicPluginTensorDesc* all) {
      return all[pos].desc.type == type && all[pos].desc.format == (pos == 0 ? in.format : out.format);
    };
    script.work = [this, in, out](const PluginTensorDesc* x, const PluginTensorDesc* y, const void* const* inputs,
                                  void* const* outputs, void*, cudaStream_t) {
      if (x[0].format != in.format || y[0].format != out.format || list(x[0].dims) != list(y[0].dims)) return 1;
      given.assign(static_cast<const uint8_t*>(inputs[0]), static_cast<const uint8_t*>(inputs[0]) + bytes_of(x[0]));
      const Extents d = list(x[0].dims);
      const size_t size = bytes_of(x[0].type);
      const RawBytes made = arranged(rows(given, d, size, in), d, size, out, 0xC5);  // nobody looks at what is between
      std::memcpy(outputs[0], made.data(), made.size());
      return 0;
    };
  }
  // Row-major again.
  static RawBytes rows(const RawBytes& packed, const Extents& d, size_t size, const VectorFormat& f) {
    RawBytes index(static_cast<size_t>(volume(d)) * sizeof(uint32_t));
    for (uint32_t i = 0; i < index.size() / sizeof i; ++i) std::memcpy(index.data() + i * sizeof i, &i, sizeof i);
    const RawBytes places = arranged(index, d, sizeof(uint32_t), f, 0xFF);
    RawBytes out(static_cast<size_t>(volume(d)) * size);
    for (size_t p = 0; p < places.size() / sizeof(uint32_t); ++p) {
      uint32_t i = 0;
      std::memcpy(&i, places.data() + p * sizeof i, sizeof i);
      if (i != UINT32_MAX) std::memcpy(out.data() + i * size, packed.data() + p * size, size);
    }
    return out;
  }
  Owned<ICudaEngine> build(Bench& b, DataType type, const Extents& d) {
    wootz_config_set_option(b.config.get(), "timing", "0");
    ITensor* x = b.network->addInput("x", type, to_dims(d));
    b.output(add_script(b, {x}), "y");
    return b.engine();
  }
  RawBytes given;
};
INSTANTIATE_TEST_SUITE_P(On, PluginFormats, testing::ValuesIn(places()), name_of);

TEST_P(PluginFormats, AreHadByReformats) {
  std::mt19937 random(static_cast<unsigned>(wootz::test_seed()));
  for (const Form& f : forms())
    for (const int which : {0, 1, 2}) {
      const int64_t channels = kChannelCounts[random() % std::size(kChannelCounts)];
      SCOPED_TRACE(std::string(f.is.name) + " of type " + std::to_string(static_cast<int>(f.type)) + ", " +
                   std::to_string(channels) + " channels, case " + std::to_string(which));
      const VectorFormat in = which == 1 ? linear_of(f.is) : f.is, out = which == 2 ? linear_of(f.is) : f.is;
      want(in, out, f.type);
      const Extents d = extents_of(f.is, channels);
      Bench b(kTyped);
      const Owned<ICudaEngine> engine = build(b, f.type, d);
      ASSERT_NE(engine, nullptr) << b.logger.errors();
      EXPECT_EQ(engine->getTensorFormat("x"), TensorFormat::kLINEAR);
      const size_t size = bytes_of(f.type);
      RawBytes x(static_cast<size_t>(volume(d)) * size);
      for (uint8_t& byte : x) byte = static_cast<uint8_t>(random());
      const Owned<IExecutionContext> context(engine->createExecutionContext());
      const Array<uint8_t> from(x), to(x.size());
      ASSERT_TRUE(context->setInputTensorAddress("x", from.data()) && context->setTensorAddress("y", to.data()));
      ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
      EXPECT_EQ(to.values(), x);
      EXPECT_EQ(given, arranged(x, d, size, in, 0)) << "what fills up the last channels is 0";
    }
}

// Where the network's border is in the format that the plugin wants, nothing is between them.
TEST_P(PluginFormats, AtTheBorderTheyAreHandedOver) {
  const VectorFormat f = vector_formats()[2];
  ASSERT_EQ(f.format, TensorFormat::kCHW4);
  want(f, f, DataType::kHALF);
  const Extents d = extents_of(f, 6);
  Bench b(kTyped);
  wootz_config_set_option(b.config.get(), "timing", "0");
  ITensor* x = b.network->addInput("x", DataType::kHALF, to_dims(d));
  ITensor* y = add_script(b, {x})->getOutput(0);
  b.output(y, "y");
  for (ITensor* tensor : {x, y}) tensor->setAllowedFormats(1U << static_cast<uint32_t>(f.format));
  b.config->setFlag(BuilderFlag::kDIRECT_IO);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getNbLayers(), 1);
  RawBytes rows(static_cast<size_t>(volume(d)) * 2);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint8_t>(i);
  const RawBytes packed = arranged(rows, d, 2, f, 0x11);
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const Array<uint8_t> from(packed), to(packed.size());
  ASSERT_TRUE(context->setInputTensorAddress("x", from.data()) && context->setTensorAddress("y", to.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  EXPECT_EQ(given, packed);
  EXPECT_EQ(to.values(), arranged(rows, d, 2, f, 0xC5));
}

// Channels that fill their vectors: what the plugin calls kHWC8 is what other layers have channels-last for.
TEST_P(PluginFormats, WithoutPaddingThereIsNothingToReformat) {
  for (const size_t which : {size_t{1}, size_t{3}}) {
    const VectorFormat f = vector_formats()[which];
    SCOPED_TRACE(f.name);
    want(f, f, DataType::kHALF);
    const Extents d = extents_of(f, 32);
    Bench b(kTyped);
    wootz_config_set_option(b.config.get(), "timing", "0");
    ITensor* x = b.network->addInput("x", DataType::kHALF, to_dims(d));
    ITensor* y = add_script(b, {add_script(b, {x})->getOutput(0)})->getOutput(0);
    b.output(y, "y");
    for (ITensor* tensor : {x, y}) tensor->setAllowedFormats(1U << static_cast<uint32_t>(f.format));
    b.config->setFlag(BuilderFlag::kDIRECT_IO);
    const Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    EXPECT_EQ(engine->getTensorFormat("x"), f.format);
    EXPECT_EQ(engine->getNbLayers(), 2) << "the plugins alone";
    RawBytes rows(static_cast<size_t>(volume(d)) * 2);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint8_t>(i * 7 % 251);
    const RawBytes packed = arranged(rows, d, 2, f, 0x11);
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    const Array<uint8_t> from(packed), to(packed.size());
    ASSERT_TRUE(context->setInputTensorAddress("x", from.data()) && context->setTensorAddress("y", to.data()));
    ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
    EXPECT_EQ(to.values(), packed);
  }
}

// Between other layers, open extents, and a weight that the plugin reads.
TEST_P(PluginFormats, BetweenLayersOfOpenExtents) {
  const VectorFormat f = vector_formats()[4];
  ASSERT_EQ(f.format, TensorFormat::kCHW32);
  script.supports = [&](int32_t pos, const DynamicPluginTensorDesc* all) { return all[pos].desc.format == f.format; };
  script.work = [](const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                   void*, cudaStream_t) {
    const auto *x = static_cast<const float*>(inputs[0]), *a = static_cast<const float*>(inputs[1]);
    const size_t image = bytes_of(in[1]) / sizeof(float);
    for (size_t i = 0; i < bytes_of(in[0]) / sizeof(float); ++i)
      static_cast<float*>(outputs[0])[i] = x[i] + a[i % image];
    return 0;
  };
  Bench b;
  wootz_config_set_option(b.config.get(), "timing", "0");
  const std::vector<float> addend = numbers(5 * 4, 9);
  ITensor* negated = b.network->addUnary(*b.input("x", {-1, 5, 2, 2}), UnaryOperation::kNEG)->getOutput(0);
  ITensor* sum = add_script(b, {negated, b.constant<float>({1, 5, 2, 2}, addend)})->getOutput(0);
  b.output(b.network->addActivation(*sum, ActivationType::kRELU), "y");
  b.profile("x", {1, 5, 2, 2}, {2, 5, 2, 2}, {4, 5, 2, 2});
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  for (const int64_t batch : {3, 1, 4}) {
    const std::vector<float> x = numbers(static_cast<size_t>(batch) * 20, static_cast<uint32_t>(batch));
    std::vector<float> expected;
    for (size_t i = 0; i < x.size(); ++i) expected.push_back(std::max(0.F, addend[i % 20] - x[i]));
    ASSERT_TRUE(context->setInputShape("x", dims({batch, 5, 2, 2})));
    EXPECT_EQ(run(*context, {{"x", x.data()}}, "y"), expected);
  }
}

}  // namespace
}  // namespace wootz_test
