// A plugin of version 2, as programs from before version 3 have them: IPluginV2DynamicExt, with a creator that also
// reads it from the plan's bytes. It is deprecated, and level 11 still has it. The layer repeats all rows a number of
// times.
#include <cstring>

#include "common.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // the classes of version 2
#endif

namespace {

using namespace example;

constexpr const char* kName = "ExampleRepeatRows";

class RepeatRows final : public IPluginV2DynamicExt {
 public:
  explicit RepeatRows(int32_t times) : times_(times) {}

  const char* getPluginType() const noexcept override { return kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  void setPluginNamespace(const char* space) noexcept override { namespace_ = space; }
  const char* getPluginNamespace() const noexcept override { return namespace_.c_str(); }
  IPluginV2DynamicExt* clone() const noexcept override { return new RepeatRows(*this); }
  void destroy() noexcept override { delete this; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return sizeof times_; }
  void serialize(void* buffer) const noexcept override { std::memcpy(buffer, &times_, sizeof times_); }

  int32_t getNbOutputs() const noexcept override { return 1; }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override { return types[0]; }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t, IExprBuilder& builder) noexcept override {
    DimsExprs output = inputs[0];
    output.d[0] = builder.operation(DimensionOperation::kPROD, *inputs[0].d[0], *builder.constant(times_));
    return output;
  }
  bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[pos].type == DataType::kFLOAT && all[pos].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t stream) noexcept override {
    const size_t bytes = static_cast<size_t>(volume(in[0].dims)) * sizeof(float);
    auto* to = static_cast<char*>(outputs[0]);
    for (int32_t i = 0; i < times_; ++i, to += bytes)
      if (cudaMemcpyAsync(to, inputs[0], bytes, cudaMemcpyDeviceToDevice, stream) != cudaSuccess) return 1;
    return 0;
  }

 private:
  int32_t times_;
  std::string namespace_;
};

class Creator final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return kName; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection* fields) noexcept override {
    for (int32_t i = 0; i < fields->nbFields; ++i)
      if (std::strcmp(fields->fields[i].name, "times") == 0)
        return new RepeatRows(*static_cast<const int32_t*>(fields->fields[i].data));
    return nullptr;
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t size) noexcept override {
    int32_t times = 0;
    if (size != sizeof times) return nullptr;
    std::memcpy(&times, data, size);
    return new RepeatRows(times);
  }
  void setPluginNamespace(const char* space) noexcept override { namespace_ = space; }
  const char* getPluginNamespace() const noexcept override { return namespace_.c_str(); }

 private:
  PluginField field_{"times", nullptr, PluginFieldType::kINT32, 1};
  PluginFieldCollection fields_{1, &field_};
  std::string namespace_;
};

std::unique_ptr<IHostMemory> build(int32_t times) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{-1, 5});
  auto* const creator = dynamic_cast<IPluginCreator*>(getPluginRegistry()->getCreator(kName, "1", ""));
  REQUIRE(creator != nullptr);
  const PluginField field("times", &times, PluginFieldType::kINT32, 1);
  const PluginFieldCollection fields{1, &field};
  IPluginV2* const plugin = creator->createPlugin("repeat", &fields);
  REQUIRE(plugin != nullptr);
  x = network->addPluginV2(&x, 1, *plugin)->getOutput(0);
  plugin->destroy();  // the network keeps a clone
  mark_output(*network, network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0), "y");
  IOptimizationProfile* const profile = builder->createOptimizationProfile();
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kMIN, Dims2{1, 5}));
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kOPT, Dims2{4, 5}));
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kMAX, Dims2{8, 5}));
  REQUIRE(config->addOptimizationProfile(profile) == 0);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return plan;
}

}  // namespace

int main() {
  Creator creator;
  REQUIRE(getPluginRegistry()->registerCreator(creator, ""));
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  for (const int32_t times : {1, 3}) {
    const std::unique_ptr<ICudaEngine> engine = load(*runtime, *build(times));
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    const Stream stream;
    DeviceArray<float> x(8 * 5), y(static_cast<size_t>(times) * 8 * 5);
    REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
    for (const int rows : {4, 1, 8}) {
      const std::vector<float> input = Random(90 + rows).values(rows * 5);
      std::vector<float> wanted;
      for (int32_t t = 0; t < times; ++t)
        for (const float value : input) wanted.push_back(-value);
      x.upload(input, stream);
      REQUIRE(context->setInputShape("x", Dims2{rows, 5}));
      REQUIRE(context->getTensorShape("y").d[0] == static_cast<int64_t>(rows) * times);
      REQUIRE(context->enqueueV3(stream));
      expect_close("repeated", y.download(stream, wanted.size()), wanted, 0);
    }
  }
  REQUIRE(getPluginRegistry()->deregisterCreator(creator));
  return 0;
}
