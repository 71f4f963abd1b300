// A plugin library as users build one: TripleIt, which multiplies by three, exported by getCreators; and QuadIt, which
// registers itself.
#define WOOTZ_NO_DEPRECATION
#include "NvInferPlugin.h"
#include "wootz/plugin_creator_v3.h"

using namespace nvinfer1;  // NOLINT

namespace {

ILoggerFinder* g_finder = nullptr;  // the first that there was, as TensorRT's own libraries keep it
void say(const char* text) {
  if (g_finder != nullptr) g_finder->findLogger()->log(ILogger::Severity::kINFO, text);
}

template <int kFactor>
struct Name;
template <>
struct Name<3> {
  static constexpr const char* kText = "TripleIt";
};
template <>
struct Name<4> {
  static constexpr const char* kText = "QuadIt";
};

template <int kFactor>
class Times final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime {
 public:
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new Times(*this); }
  const AsciiChar* getPluginName() const noexcept override { return Name<kFactor>::kText; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in, int32_t) const noexcept override {
    return *out = *in, 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out, int32_t,
                          IExprBuilder&) noexcept override {
    return *out = *in, 0;
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[pos].desc.type == DataType::kFLOAT && all[pos].desc.format == TensorFormat::kLINEAR;
  }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t) noexcept override {
    say("TripleIt or QuadIt: enqueue");
    int64_t count = 1;
    for (int32_t a = 0; a < in[0].dims.nbDims; ++a) count *= in[0].dims.d[a];
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(outputs[0])[i] = kFactor * static_cast<const float*>(inputs[0])[i];
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return &none_; }

 private:
  PluginFieldCollection none_{0, nullptr};
};

template <int kFactor>
class Creator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const AsciiChar*, const PluginFieldCollection*, TensorRTPhase phase) noexcept override {
    if (phase == TensorRTPhase::kRUNTIME) say("TripleIt or QuadIt: made for an engine");
    return new Times<kFactor>;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &none_; }
  const AsciiChar* getPluginName() const noexcept override { return Name<kFactor>::kText; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }

 private:
  PluginFieldCollection none_{0, nullptr};
};

Creator<3> g_triple;
IPluginCreatorInterface* const g_creators[] = {&g_triple};
using QuadCreator = Creator<4>;
REGISTER_TENSORRT_PLUGIN(QuadCreator);

}  // namespace

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder* finder) {
  if (g_finder == nullptr) g_finder = finder;
  say("the library is open");
}

// For tests.
extern "C" __attribute__((visibility("default"))) void* givenLoggerFinder() { return g_finder; }

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count) {
  count = 1;
  return g_creators;
}

// Those of V2 alone, which nobody asks where the function above is.
namespace {
int g_asked = 0;
}
extern "C" __attribute__((visibility("default"))) IPluginCreator* const* getPluginCreators(int32_t& count) {
  ++g_asked;
  count = 0;
  return nullptr;
}
extern "C" __attribute__((visibility("default"))) int askedForPluginCreators() { return g_asked; }
