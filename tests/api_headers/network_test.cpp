// NvInfer.h by itself: enumerator numbers, which files and tables of others are written in, and the shape of the layer
// classes, which must allow one class a layer kind over a common mixin.
#include "NvInfer.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace {

using namespace nvinfer1;

static_assert(int(LayerType::kCONVOLUTION) == 0);
static_assert(int(LayerType::kCAST) == 1);
static_assert(int(LayerType::kMATRIX_MULTIPLY) == 17);
static_assert(int(LayerType::kPLUGIN_V2) == 21);
static_assert(int(LayerType::kLOOP_OUTPUT) == 29);
static_assert(int(LayerType::kQUANTIZE) == 32);
static_assert(int(LayerType::kNMS) == 43);
static_assert(int(LayerType::kPLUGIN_V3) == 46);
static_assert(int(LayerType::kATTENTION_OUTPUT) == 52);
static_assert(int(LayerType::kDIST_COLLECTIVE) == 56);
static_assert(EnumMax<LayerType>() == 57);
static_assert(int(ActivationType::kGELU_TANH) == 13);
static_assert(int(ElementWiseOperation::kPOW) == 6);
static_assert(int(ElementWiseOperation::kLESS) == 13);
static_assert(int(UnaryOperation::kERF) == 19);
static_assert(int(UnaryOperation::kISNAN) == 24);
static_assert(int(ReduceOperation::kAVG) == 4);
static_assert(int(PoolingType::kAVERAGE) == 1);
static_assert(int(PaddingMode::kSAME_UPPER) == 2);
static_assert(int(MatrixOperation::kVECTOR) == 2);
static_assert(int(SampleMode::kREFLECT) == 4);
static_assert(int(InterpolationMode::kCUBIC) == 2);
static_assert(int(ResizeCoordinateTransformation::kHALF_PIXEL) == 2);
static_assert(int(GatherMode::kND) == 2);
static_assert(int(BuilderFlag::kFP16) == 0);
static_assert(int(BuilderFlag::kREFIT) == 4);
static_assert(int(BuilderFlag::kTF32) == 6);
static_assert(int(BuilderFlag::kVERSION_COMPATIBLE) == 13);
static_assert(int(BuilderFlag::kBF16) == 17);
static_assert(int(BuilderFlag::kSTRIP_PLAN) == 19 && int(BuilderFlag::kWEIGHTLESS) == 19);
static_assert(int(BuilderFlag::kEDITABLE_TIMING_CACHE) == 27);
static_assert(EnumMax<BuilderFlag>() == 29);
static_assert(int(MemoryPoolType::kTACTIC_SHARED_MEMORY) == 5);
static_assert(int(PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10) == 2);
static_assert(int(HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY) == 2);
static_assert(int(TilingOptimizationLevel::kFULL) == 3);
static_assert(int(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED) == 1);
static_assert(int(CalibrationAlgoType::kENTROPY_CALIBRATION_2) == 2);
static_assert(int(CollectiveOperation::kREDUCE_SCATTER) == 4);

static_assert(std::is_base_of_v<ILayer, IConvolutionLayer>);
static_assert(std::is_base_of_v<ILoopBoundaryLayer, IRecurrenceLayer>);
static_assert(std::is_base_of_v<IIfConditionalBoundaryLayer, IConditionLayer>);
static_assert(std::is_base_of_v<IAttentionBoundaryLayer, IAttentionInputLayer>);
static_assert(!std::is_copy_constructible_v<INetworkDefinition>);
static_assert(std::has_virtual_destructor_v<IBuilder> && std::has_virtual_destructor_v<IBuilderConfig>);
static_assert(sizeof(TimingCacheKey) == 16);

// All of ILayer once, for any layer class.
template <typename Base>
class LayerBase : public Base {
 public:
  LayerType getType() const noexcept override { return LayerType::kSOFTMAX; }
  void setName(const char*) noexcept override {}
  const char* getName() const noexcept override { return "layer"; }
  int32_t getNbInputs() const noexcept override { return 1; }
  ITensor* getInput(int32_t) const noexcept override { return nullptr; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  ITensor* getOutput(int32_t) const noexcept override { return nullptr; }
  void setInput(int32_t, ITensor&) noexcept override {}
  void setPrecision(DataType) noexcept override {}
  DataType getPrecision() const noexcept override { return DataType::kFLOAT; }
  bool precisionIsSet() const noexcept override { return false; }
  void resetPrecision() noexcept override {}
  void setOutputType(int32_t, DataType) noexcept override {}
  DataType getOutputType(int32_t) const noexcept override { return DataType::kFLOAT; }
  bool outputTypeIsSet(int32_t) const noexcept override { return false; }
  void resetOutputType(int32_t) noexcept override {}
  void setMetadata(const char*) noexcept override {}
  const char* getMetadata() const noexcept override { return ""; }
  bool setNbRanks(int32_t) noexcept override { return false; }
  int32_t getNbRanks() const noexcept override { return 1; }
};

class SoftMax final : public LayerBase<ISoftMaxLayer> {
 public:
  void setAxes(uint32_t axes) noexcept override { axes_ = axes; }
  uint32_t getAxes() const noexcept override { return axes_; }

 private:
  uint32_t axes_ = 1;
};

class Recurrence final : public LayerBase<IRecurrenceLayer> {
 public:
  ILoop* getLoop() const noexcept override { return nullptr; }
};

class Calibrator final : public IInt8EntropyCalibrator2 {
 public:
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void*[], const char*[], int32_t) noexcept override { return false; }
  const void* readCalibrationCache(std::size_t&) noexcept override { return nullptr; }
  void writeCalibrationCache(const void*, std::size_t) noexcept override {}
};

class Monitor final : public IProgressMonitor {
 public:
  void phaseStart(const char*, const char*, int32_t) noexcept override {}
  bool stepComplete(const char*, int32_t) noexcept override { return true; }
  void phaseFinish(const char*) noexcept override {}
};

TEST(Network, OneMixinServesEveryLayerClass) {
  const SoftMax softmax;
  const ILayer& layer = softmax;
  EXPECT_EQ(layer.getNbInputs(), 1);
  EXPECT_STREQ(Recurrence().getName(), "layer");
}

TEST(Network, CallbacksNameThemselves) {
  EXPECT_STREQ(Calibrator().getInterfaceInfo().kind, "IInt8EntropyCalibrator2");
  EXPECT_EQ(Calibrator().getAlgorithm(), CalibrationAlgoType::kENTROPY_CALIBRATION_2);
  EXPECT_STREQ(Monitor().getInterfaceInfo().kind, "IProgressMonitor");
}

}  // namespace
