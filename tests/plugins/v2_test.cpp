// V2 plugins of each class that is run, and of those that are not.
#include "base/testing.h"
#include "plugins/script_plugin.h"

namespace wootz_test {
namespace {

int g_alive = 0, g_initialized = 0, g_attached = 0, g_configured = 0;

// What the classes share: y = x + bias, with the bias as its serialized form.
template <class Base>
class Adder : public Base {
 public:
  explicit Adder(float bias) : bias_(bias) { ++g_alive; }
  Adder(const Adder& o) : Base(o), bias_(o.bias_), space_(o.space_) { ++g_alive; }
  Adder& operator=(const Adder&) = delete;
  ~Adder() override { --g_alive; }

  const AsciiChar* getPluginType() const noexcept override { return Base::kType; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return ++g_initialized, 0; }
  void terminate() noexcept override { --g_initialized; }
  size_t getSerializationSize() const noexcept override { return sizeof bias_; }
  void serialize(void* buffer) const noexcept override { std::memcpy(buffer, &bias_, sizeof bias_); }
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const AsciiChar* space) noexcept override { space_ = space; }
  const AsciiChar* getPluginNamespace() const noexcept override { return space_.c_str(); }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override { return types[0]; }
  void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override { ++g_attached; }
  void detachFromContext() noexcept override { --g_attached; }

 protected:
  int32_t add(const void* const* inputs, void* const* outputs, size_t count, cudaStream_t stream) const {
    Staging staging(stream);
    const auto* x = static_cast<const float*>(staging.at(inputs[0], count * sizeof(float)));
    auto* y = static_cast<float*>(staging.at(outputs[0], count * sizeof(float)));
    if (staging.status() != 0) return staging.status();
    for (size_t i = 0; i < count; ++i) y[i] = x[i] + bias_;
    return staging.done(0);
  }
  float bias_;

 private:
  std::string space_;
};

struct DynamicBase : IPluginV2DynamicExt {
  static constexpr const char* kType = "AddDynamic";
};
class DynamicAdder final : public Adder<DynamicBase> {
 public:
  using Adder::Adder;
  IPluginV2DynamicExt* clone() const noexcept override { return new DynamicAdder(*this); }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* in, int32_t, IExprBuilder& b) noexcept override {
    DimsExprs out = in[0];
    out.d[0] = b.operation(DimensionOperation::kPROD, *in[0].d[0], *b.constant(1));
    return out;
  }
  bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[pos].type == DataType::kFLOAT && all[pos].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const DynamicPluginTensorDesc* in, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {
    ++g_configured;
    last_max = in[0].max.d[0];
  }
  size_t getWorkspaceSize(const PluginTensorDesc* in, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    return volume(in[0].dims) * sizeof(float);
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void* workspace, cudaStream_t stream) noexcept override {
    if (last_max != in[0].dims.d[0]) return 1;  // told of this run's extents
    const size_t bytes = volume(in[0].dims) * sizeof(float);
    Staging staging(stream);
    std::memset(staging.at(workspace, bytes), 1, bytes);
    if (const int32_t status = staging.done(0); status != 0) return status;
    return add(inputs, outputs, volume(in[0].dims), stream);
  }
  int64_t last_max = 0;
};

struct IoBase : IPluginV2IOExt {
  static constexpr const char* kType = "AddIo";
};
class IoAdder final : public Adder<IoBase> {
 public:
  using Adder::Adder;
  IPluginV2IOExt* clone() const noexcept override { return new IoAdder(*this); }
  Dims getOutputDimensions(int32_t, const Dims* in, int32_t) noexcept override { return in[0]; }
  bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* all, int32_t, int32_t) const noexcept override {
    return all[pos].type == DataType::kFLOAT && all[pos].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const PluginTensorDesc* in, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    count_ = volume(in[0].dims);
  }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  // What it learned while it was configured is part of its data.
  size_t getSerializationSize() const noexcept override { return sizeof bias_ + sizeof count_; }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, &bias_, sizeof bias_);
    std::memcpy(static_cast<char*>(buffer) + sizeof bias_, &count_, sizeof count_);
  }
  void read_count(const void* data) {
    std::memcpy(&count_, static_cast<const char*>(data) + sizeof bias_, sizeof count_);
  }
  int32_t enqueue(int32_t batch, const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    return batch == 1 ? add(inputs, outputs, count_, stream) : 1;
  }
#if NV_TENSORRT_MAJOR < 11
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept override { return false; }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return false; }
#endif

 private:
  size_t count_ = 0;
};

struct ExtBase : IPluginV2Ext {
  static constexpr const char* kType = "AddExt";
};
class ExtAdder final : public Adder<ExtBase> {
 public:
  using Adder::Adder;
  IPluginV2Ext* clone() const noexcept override { return new ExtAdder(*this); }
  Dims getOutputDimensions(int32_t, const Dims* in, int32_t) noexcept override { return in[0]; }
  bool supportsFormat(DataType type, PluginFormat format) const noexcept override {
    return type == DataType::kFLOAT && format == PluginFormat::kLINEAR;
  }
  void configurePlugin(const Dims* in, int32_t, const Dims*, int32_t, const DataType*, const DataType*, const bool*,
                       const bool*, PluginFormat, int32_t) noexcept override {
    ok_ = in[0].nbDims == 1 && in[0].d[0] == 6;
  }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  size_t getSerializationSize() const noexcept override { return ok_ ? sizeof bias_ : 0; }
  int32_t enqueue(int32_t, const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    return add(inputs, outputs, 6, stream);
  }
#if NV_TENSORRT_MAJOR < 11
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept override { return false; }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return false; }
#endif

 private:
  bool ok_ = false;
};

template <class P>
class AdderCreator final : public IPluginCreator {
 public:
  const AsciiChar* getPluginName() const noexcept override { return P::kType; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  IPluginV2* createPlugin(const AsciiChar*, const PluginFieldCollection* fc) noexcept override {
    float bias = 0;
    for (int32_t i = 0; i < fc->nbFields; ++i)
      if (std::string(fc->fields[i].name) == "bias") bias = *static_cast<const float*>(fc->fields[i].data);
    return new P(bias);
  }
  IPluginV2* deserializePlugin(const AsciiChar*, const void* data, size_t length) noexcept override {
    float bias = 0;
    if (length < sizeof bias) return nullptr;
    std::memcpy(&bias, data, sizeof bias);
    P* made = new P(bias);
    if constexpr (std::is_same_v<P, IoAdder>) made->read_count(data);
    return made;
  }
  void setPluginNamespace(const AsciiChar* space) noexcept override { space_ = space; }
  const AsciiChar* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  std::string space_;
  PluginField field_{"bias", nullptr, PluginFieldType::kFLOAT32, 1};
  PluginFieldCollection fields_{1, &field_};
};

class PluginsV2 : public OnEachPlace {
 protected:
  PluginsV2() {
    for (IPluginCreator* c : {static_cast<IPluginCreator*>(&dynamic), static_cast<IPluginCreator*>(&io),
                              static_cast<IPluginCreator*>(&ext)})
      EXPECT_TRUE(getPluginRegistry()->registerCreator(static_cast<IPluginCreatorInterface&>(*c), ""));
  }
  ~PluginsV2() override {
    for (IPluginCreator* c : {static_cast<IPluginCreator*>(&dynamic), static_cast<IPluginCreator*>(&io),
                              static_cast<IPluginCreator*>(&ext)})
      EXPECT_TRUE(getPluginRegistry()->deregisterCreator(static_cast<IPluginCreatorInterface&>(*c)));
    EXPECT_EQ(g_alive, 0);
    EXPECT_EQ(g_initialized, 0);
    EXPECT_EQ(g_attached, 0);
  }
  template <class P>
  IPluginV2Layer* add(Bench& b, ITensor* x, float bias) {
    P plugin(bias);
    return b.network->addPluginV2(&x, 1, plugin);
  }
  AdderCreator<DynamicAdder> dynamic;
  AdderCreator<IoAdder> io;
  AdderCreator<ExtAdder> ext;
};
INSTANTIATE_TEST_SUITE_P(On, PluginsV2, testing::ValuesIn(places()), name_of);

TEST_P(PluginsV2, DynamicExtWithOpenShapes) {
  Bench b;
  IPluginV2Layer* layer = add<DynamicAdder>(b, b.input("x", {-1}), 3);
  ASSERT_NE(layer, nullptr) << b.logger.errors();
  EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V2);
  EXPECT_STREQ(layer->getPlugin().getPluginType(), "AddDynamic");
  b.output(layer, "y");
  b.profile("x", {1}, {4}, {32});
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(g_initialized, 1);
  Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(g_attached, 1);
  for (const size_t length : {size_t{5}, size_t{32}, size_t{5}}) {
    ASSERT_TRUE(context->setInputShape("x", dims({static_cast<int64_t>(length)})));
    const std::vector<float> input = numbers(length, static_cast<uint32_t>(wootz::test_seed()));
    std::vector<float> want = input;
    for (float& v : want) v += 3;
    EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), want);
  }
  EXPECT_EQ(b.logger.errors(), "");
}

TEST_P(PluginsV2, IoExtAndExtWithFixedShapes) {
  Bench b;
  ITensor* x = b.input("x", {6});
  IPluginV2Layer* first = add<IoAdder>(b, x, 1);
  ASSERT_NE(first, nullptr) << b.logger.errors();
  b.output(add<ExtAdder>(b, first->getOutput(0), 10), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), (std::vector<float>{12, 13, 14, 15, 16, 17}));
}

TEST_P(PluginsV2, OpenShapesTakeTheDynamicClass) {
  Bench b;
  IPluginV2Layer* layer = add<IoAdder>(b, b.input("x", {-1}), 1);
  EXPECT_LT(layer->getOutput(0)->getDimensions().nbDims, 0);
  EXPECT_NE(b.logger.errors().find("must derive from IPluginV2DynamicExt"), std::string::npos) << b.logger.errors();
}

class Oldest final : public Adder<ExtBase> {
 public:
  using Adder::Adder;
  int32_t getTensorRTVersion() const noexcept override { return NV_TENSORRT_VERSION; }
  IPluginV2Ext* clone() const noexcept override { return new Oldest(*this); }
  Dims getOutputDimensions(int32_t, const Dims* in, int32_t) noexcept override { return in[0]; }
  bool supportsFormat(DataType, PluginFormat) const noexcept override { return true; }
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*, const bool*,
                       const bool*, PluginFormat, int32_t) noexcept override {}
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t, const void* const*, void* const*, void*, cudaStream_t) noexcept override { return 0; }
#if NV_TENSORRT_MAJOR < 11
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept override { return false; }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return false; }
#endif
};

TEST_P(PluginsV2, TheOldestClassIsRefused) {
  Bench b;
  EXPECT_EQ(add<Oldest>(b, b.input("x", {6}), 1), nullptr);
  EXPECT_NE(b.logger.errors().find("IPluginV2 alone"), std::string::npos) << b.logger.errors();
}

}  // namespace
}  // namespace wootz_test
