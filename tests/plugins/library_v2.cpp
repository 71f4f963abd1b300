// A plugin library as they were written before V3: HalfIt, which divides by two, exported by getPluginCreators.
#define WOOTZ_NO_DEPRECATION
#include <string>

#include "NvInferPlugin.h"

using namespace nvinfer1;  // NOLINT

namespace {

class Half final : public IPluginV2DynamicExt {
 public:
  const AsciiChar* getPluginType() const noexcept override { return "HalfIt"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const AsciiChar* space) noexcept override { space_ = space; }
  const AsciiChar* getPluginNamespace() const noexcept override { return space_.c_str(); }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override { return types[0]; }
  IPluginV2DynamicExt* clone() const noexcept override { return new Half(*this); }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* in, int32_t, IExprBuilder&) noexcept override {
    return in[0];
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
                  void*, cudaStream_t) noexcept override {
    int64_t count = 1;
    for (int32_t a = 0; a < in[0].dims.nbDims; ++a) count *= in[0].dims.d[a];
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] / 2;
    return 0;
  }

 private:
  std::string space_;
};

class HalfCreator final : public IPluginCreator {
 public:
  const AsciiChar* getPluginName() const noexcept override { return "HalfIt"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &none_; }
  IPluginV2* createPlugin(const AsciiChar*, const PluginFieldCollection*) noexcept override { return new Half; }
  IPluginV2* deserializePlugin(const AsciiChar*, const void*, size_t) noexcept override { return new Half; }
  void setPluginNamespace(const AsciiChar* space) noexcept override { space_ = space; }
  const AsciiChar* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  PluginFieldCollection none_{0, nullptr};
  std::string space_;
};

HalfCreator g_half;
IPluginCreator* const g_creators[] = {&g_half, nullptr};  // the count says more than there is

}  // namespace

extern "C" __attribute__((visibility("default"))) IPluginCreator* const* getPluginCreators(int32_t& count) {
  count = 2;
  return g_creators;
}
