// IAlgorithmSelector: tactics chosen by the application. An editable timing cache replaces it.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated names refer to each other
#endif

#include <cstddef>
#include <cstdint>

#include "wootz/dims.h"
#include "wootz/dtype.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/profile.h"
#include "wootz/versioned_interface.h"

#if NV_TENSORRT_MAJOR >= 11
namespace nvinfer1 {
namespace v_1_0 {
class IAlgorithmSelector;  // behind a private function of IBuilderConfig
}  // namespace v_1_0
}  // namespace nvinfer1
#else
namespace nvinfer1 {

/// Type and layout of one input or output of an algorithm. This and the three classes below are valid during the
/// callback.
class TRT_DEPRECATED IAlgorithmIOInfo : public INoCopy {
 public:
  /// Type of the elements.
  virtual DataType getDataType() const noexcept = 0;

  /// In elements; nbDims -1 when they are not fixed.
  virtual Dims getStrides() const noexcept = 0;

  /// The dimension that is vectorised, -1 for none, and how many elements make a vector.
  virtual int64_t getVectorizedDim() const noexcept = 0;
  virtual int64_t getComponentsPerElement() const noexcept = 0;

 protected:
  ~IAlgorithmIOInfo() noexcept override = default;
};

/// Names an algorithm: the same pair means the same one in every build of this version.
class TRT_DEPRECATED IAlgorithmVariant : public INoCopy {
 public:
  /// Family of kernels, and which one of it.
  virtual int64_t getImplementation() const noexcept = 0;
  virtual int64_t getTactic() const noexcept = 0;

 protected:
  ~IAlgorithmVariant() noexcept override = default;
};

/// The layer that an algorithm is for.
class TRT_DEPRECATED IAlgorithmContext : public INoCopy {
 public:
  /// Name of the layer.
  virtual const char* getName() const noexcept = 0;

  /// Extents of input or output `index`, inputs first, for one of the profile's shapes.
  virtual Dims getDimensions(int32_t index, OptProfileSelector select) const noexcept = 0;

  /// How many inputs and outputs the layer has.
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;

 protected:
  ~IAlgorithmContext() noexcept override = default;
};

/// A tactic with its layouts.
class TRT_DEPRECATED IAlgorithm : public INoCopy {
 public:
  /// Its name.
  virtual const IAlgorithmVariant& getAlgorithmVariant() const noexcept = 0;

  /// Median time in milliseconds; 0 when it was not timed yet.
  virtual float getTimingMSec() const noexcept = 0;

  /// Scratch memory in bytes.
  virtual std::size_t getWorkspaceSize() const noexcept = 0;

  /// Input or output `index`, inputs first; null when out of range.
  virtual const IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t index) const noexcept = 0;

 protected:
  ~IAlgorithm() noexcept override = default;
};

namespace v_1_0 {

/// Implemented by the application, set on a builder config. Called on the building thread.
class TRT_DEPRECATED IAlgorithmSelector : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IAlgorithmSelector", 1, 0}; }

  /// Picks among `nbChoices` algorithms for one layer by writing their indices to `selection`, which has room for all.
  /// Returns how many were picked; with 0 the builder decides, with several it times them.
  virtual int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices,
                                   int32_t nbChoices, int32_t* selection) noexcept = 0;

  /// The final choice for every layer, at the end of the build: algoChoices[i] for algoContexts[i].
  virtual void reportAlgorithms(const IAlgorithmContext* const* algoContexts, const IAlgorithm* const* algoChoices,
                                int32_t nbAlgorithms) noexcept = 0;

  virtual ~IAlgorithmSelector() noexcept = default;
};

}  // namespace v_1_0

using IAlgorithmSelector = v_1_0::IAlgorithmSelector;

}  // namespace nvinfer1
#endif
