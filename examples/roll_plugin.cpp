#include "roll_plugin.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstring>

namespace example {
namespace {

using namespace nvinfer1;

std::atomic<int> g_alive{0};

class Roll final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime {
 public:
  explicit Roll(int32_t shift) : shift_(shift) { ++g_alive; }
  ~Roll() override { --g_alive; }
  Roll(const Roll&) = delete;
  Roll& operator=(const Roll&) = delete;

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() noexcept override { return new Roll(shift_); }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }

  const char* getPluginName() const noexcept override { return RollCreator::kName; }
  const char* getPluginVersion() const noexcept override { return RollCreator::kVersion; }
  const char* getPluginNamespace() const noexcept override { return ""; }

  // The build asks for types, extents and formats.
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType* inputs, int32_t) const noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t, DimsExprs* outputs, int32_t,
                          IExprBuilder&) noexcept override {
    outputs[0] = inputs[0];
    return inputs[0].nbDims == 2 ? 0 : 1;
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[pos].desc.type == DataType::kFLOAT && all[pos].desc.format == TensorFormat::kLINEAR;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }

  // The runtime tells extents, and has it run.
  int32_t onShapeChange(const PluginTensorDesc* in, int32_t, const PluginTensorDesc*, int32_t) noexcept override {
    rows_ = static_cast<size_t>(in[0].dims.d[0]);
    columns_ = static_cast<size_t>(in[0].dims.d[1]);
    return 0;
  }
  // Two copies on the stream, of what stays to the left of the turn and of what comes from there.
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t stream) noexcept override {
    const size_t places = columns_ == 0 ? 0 : static_cast<size_t>(shift_) % columns_, pitch = columns_ * sizeof(float);
    const auto* const x = static_cast<const float*>(inputs[0]);
    auto* const y = static_cast<float*>(outputs[0]);
    const auto move = [&](float* to, const float* from, size_t columns) {
      return columns == 0 || rows_ == 0 ||
             cudaMemcpy2DAsync(to, pitch, from, pitch, columns * sizeof(float), rows_, cudaMemcpyDeviceToDevice,
                               stream) == cudaSuccess;
    };
    return move(y + places, x, columns_ - places) && move(y, x + columns_ - places, places) ? 0 : 1;
  }
  // What the plan keeps of it, and createPlugin gets when the plan is loaded.
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    field_ = {"shift", &shift_, PluginFieldType::kINT32, 1};
    fields_ = {1, &field_};
    return &fields_;
  }

 private:
  int32_t shift_;
  size_t rows_ = 0, columns_ = 0;
  PluginField field_;
  PluginFieldCollection fields_{};
};

}  // namespace

RollCreator::RollCreator() : field_("shift", nullptr, PluginFieldType::kINT32, 1), fields_{1, &field_} {}

IPluginV3* RollCreator::createPlugin(const char*, const PluginFieldCollection* fields, TensorRTPhase) noexcept {
  for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i) {
    const PluginField& field = fields->fields[i];
    if (std::strcmp(field.name, "shift") != 0 || field.type != PluginFieldType::kINT32 || field.length != 1) continue;
    int32_t shift = 0;
    std::memcpy(&shift, field.data, sizeof shift);
    return shift < 0 ? nullptr : new Roll(shift);
  }
  return nullptr;
}

int RollCreator::alive() { return g_alive; }

}  // namespace example
