// NvInferRuntimePlugin.h and the V3 capabilities: plugins as applications write them.
#include "NvInferRuntimePlugin.h"

#include "NvInferPluginBase.h"
#include "NvInferRuntime.h"
#include "NvInferRuntimeCommon.h"

#include <gtest/gtest.h>

#include <cstring>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace {

using namespace nvinfer1;

static_assert(int(PluginVersion::kV2_DYNAMICEXT) == 3);
static_assert(int(PluginVersion::kV2_DYNAMICEXT_PYTHON) == 67);
static_assert(int(PluginCreatorVersion::kV1_PYTHON) == 64);

class DoublePlugin final : public IPluginV3,
                           public IPluginV3OneCore,
                           public IPluginV3OneBuildV2,
                           public IPluginV3OneRuntime {
 public:
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    if (type == PluginCapabilityType::kRUNTIME) return static_cast<IPluginV3OneRuntime*>(this);
    return static_cast<IPluginV3OneCore*>(this);
  }
  IPluginV3* clone() noexcept override { return new DoublePlugin(*this); }

  const AsciiChar* getPluginName() const noexcept override { return "Double"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }

  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in, int32_t) const noexcept override {
    out[0] = in[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder&) noexcept override {
    out[0] = in[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t, const DynamicPluginTensorDesc*, int32_t, int32_t) noexcept override {
    return true;
  }
  int32_t getNbOutputs() const noexcept override { return 1; }

  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return &none_; }

 private:
  PluginFieldCollection none_{0, nullptr};
};

class DoubleCreator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const AsciiChar*, const PluginFieldCollection*, TensorRTPhase) noexcept override {
    return new DoublePlugin;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &none_; }
  const AsciiChar* getPluginName() const noexcept override { return "Double"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }

 private:
  PluginFieldCollection none_{0, nullptr};
};

class DoublePluginV2 final : public IPluginV2DynamicExt {
 public:
  const AsciiChar* getPluginType() const noexcept override { return "Double"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const AsciiChar*) noexcept override {}
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override { return types[0]; }
  IPluginV2DynamicExt* clone() const noexcept override { return new DoublePluginV2(*this); }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* in, int32_t, IExprBuilder&) noexcept override {
    return in[0];
  }
  bool supportsFormatCombination(int32_t, const PluginTensorDesc*, int32_t, int32_t) noexcept override { return true; }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const*, void*,
                  cudaStream_t) noexcept override {
    return 0;
  }
};

TEST(PluginV3, CapabilitiesNameThemselves) {
  DoublePlugin plugin;
  IPluginV3& p = plugin;
  EXPECT_STREQ(p.getInterfaceInfo().kind, "PLUGIN");
  const auto kind = [&](PluginCapabilityType t) { return p.getCapabilityInterface(t)->getInterfaceInfo(); };
  EXPECT_STREQ(kind(PluginCapabilityType::kCORE).kind, "PLUGIN_V3ONE_CORE");
  EXPECT_STREQ(kind(PluginCapabilityType::kBUILD).kind, "PLUGIN_V3ONE_BUILD");
  EXPECT_EQ(kind(PluginCapabilityType::kBUILD).major, 2);
  EXPECT_STREQ(kind(PluginCapabilityType::kRUNTIME).kind, "PLUGIN_V3ONE_RUNTIME");
  EXPECT_EQ(static_cast<IPluginV3OneBuildV2&>(plugin).getAliasedInput(0), -1);
  EXPECT_STREQ(static_cast<IPluginV3OneCore&>(plugin).getInterfaceInfo().kind, "PLUGIN_V3ONE_CORE");
  EXPECT_EQ(static_cast<IPluginV3OneBuildV2&>(plugin).getInterfaceInfo().major, 2);
  EXPECT_EQ(static_cast<IPluginV3OneBuild&>(plugin).getInterfaceInfo().major, 2) << "as what it is";
  EXPECT_EQ(static_cast<IPluginV3OneBuild&>(plugin).IPluginV3OneBuild::getInterfaceInfo().major, 1);
  EXPECT_STREQ(static_cast<IPluginV3OneRuntime&>(plugin).getInterfaceInfo().kind, "PLUGIN_V3ONE_RUNTIME");
}

TEST(PluginV3, CreatorNamesItself) {
  DoubleCreator creator;
  IPluginCreatorInterface& c = creator;
  EXPECT_STREQ(c.getInterfaceInfo().kind, "PLUGIN CREATOR_V3ONE");
  EXPECT_STREQ(static_cast<IPluginCreatorV3One&>(creator).getInterfaceInfo().kind, "PLUGIN CREATOR_V3ONE");
}

TEST(PluginV2, VersionCarriesTheClassInItsTopByte) {
  DoublePluginV2 plugin;
  const IPluginV2& p = plugin;
  EXPECT_EQ(p.getTensorRTVersion() >> 24, int(PluginVersion::kV2_DYNAMICEXT));
  EXPECT_EQ(p.getTensorRTVersion() & 0xFFFFFF, NV_TENSORRT_VERSION);
}

TEST(PluginField, DefaultsToNothing) {
  const PluginField field;
  EXPECT_EQ(field.name, nullptr);
  EXPECT_EQ(field.type, PluginFieldType::kUNKNOWN);
  EXPECT_EQ(field.length, 0);
}

}  // namespace
