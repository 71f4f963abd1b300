// IEngineInspector: what an engine consists of, as text or JSON.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/error_recorder.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

class IExecutionContext;

enum class LayerInformationFormat : int32_t {
  /// One line of text a layer.
  kONELINE = 0,
  /// A JSON object.
  kJSON = 1,
};

template <>
struct impl::EnumMaxImpl<LayerInformationFormat> {
  static constexpr int32_t kVALUE = 2;
};

/// Describes an engine's steps: names, the layers each came from and, if it was built with
/// ProfilingVerbosity::kDETAILED, types, shapes, formats, weights, tactics. Made by ICudaEngine::createEngineInspector.
/// Strings are valid until the next call; use one inspector from one thread at a time.
class IEngineInspector : public INoCopy {
 public:
  /// A context whose profile and input shapes are to be described; null for the engine with open shapes. False when it
  /// is not the engine's.
  virtual bool setExecutionContext(const IExecutionContext* context) noexcept = 0;
  virtual const IExecutionContext* getExecutionContext() const noexcept = 0;

  /// One step, by index below ICudaEngine::getNbLayers(). An error text when out of range.
  virtual const char* getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept = 0;

  /// All steps and the inputs and outputs.
  virtual const char* getEngineInformation(LayerInformationFormat format) const noexcept = 0;

  /// Where errors are recorded; null, the default, for none. Counts references to it.
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
};

}  // namespace nvinfer1
