// IEngineInspector: what an engine consists of, as text or JSON.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/error_recorder.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

class IExecutionContext;

enum class LayerInformationFormat : int32_t {
  kONELINE = 0,
  kJSON = 1,
};

template <>
struct impl::EnumMaxImpl<LayerInformationFormat> {
  static constexpr int32_t kVALUE = 2;
};

class IEngineInspector : public INoCopy {
 public:
  virtual bool setExecutionContext(const IExecutionContext* context) noexcept = 0;
  virtual const IExecutionContext* getExecutionContext() const noexcept = 0;
  virtual const char* getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept = 0;
  virtual const char* getEngineInformation(LayerInformationFormat format) const noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
};

}  // namespace nvinfer1
