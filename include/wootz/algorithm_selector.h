// IAlgorithmSelector: tactics chosen by the application. An editable timing cache replaces it.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated names refer to each other
#endif

#include <cstddef>
#include <cstdint>

#include "wootz/dims.h"
#include "wootz/dtype.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/profile.h"
#include "wootz/versioned_interface.h"

namespace nvinfer1 {

class TRT_DEPRECATED IAlgorithmIOInfo : public INoCopy {
 public:
  virtual DataType getDataType() const noexcept = 0;
  virtual Dims getStrides() const noexcept = 0;
  virtual int64_t getVectorizedDim() const noexcept = 0;
  virtual int64_t getComponentsPerElement() const noexcept = 0;
};

class TRT_DEPRECATED IAlgorithmVariant : public INoCopy {
 public:
  virtual int64_t getImplementation() const noexcept = 0;
  virtual int64_t getTactic() const noexcept = 0;
};

class TRT_DEPRECATED IAlgorithmContext : public INoCopy {
 public:
  virtual const char* getName() const noexcept = 0;
  virtual Dims getDimensions(int32_t index, OptProfileSelector select) const noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
};

class TRT_DEPRECATED IAlgorithm : public INoCopy {
 public:
  virtual const IAlgorithmVariant& getAlgorithmVariant() const noexcept = 0;
  virtual float getTimingMSec() const noexcept = 0;
  virtual std::size_t getWorkspaceSize() const noexcept = 0;
  virtual const IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t index) const noexcept = 0;
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
