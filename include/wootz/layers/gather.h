// IGatherLayer, IScatterLayer, INonZeroLayer, IOneHotLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class GatherMode : int32_t {
  kDEFAULT = 0,
  kELEMENT = 1,
  kND = 2,
};

template <>
struct impl::EnumMaxImpl<GatherMode> {
  static constexpr int32_t kVALUE = 3;
};

class IGatherLayer : public ILayer {
 public:
  virtual void setGatherAxis(int32_t axis) noexcept = 0;
  virtual int32_t getGatherAxis() const noexcept = 0;
  virtual void setNbElementWiseDims(int32_t elementWiseDims) noexcept = 0;
  virtual int32_t getNbElementWiseDims() const noexcept = 0;
  virtual void setMode(GatherMode mode) noexcept = 0;
  virtual GatherMode getMode() const noexcept = 0;
};

enum class ScatterMode : int32_t {
  kELEMENT = 0,
  kND = 1,
};

template <>
struct impl::EnumMaxImpl<ScatterMode> {
  static constexpr int32_t kVALUE = 2;
};

class IScatterLayer : public ILayer {
 public:
  virtual void setMode(ScatterMode mode) noexcept = 0;
  virtual ScatterMode getMode() const noexcept = 0;
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
};

class INonZeroLayer : public ILayer {
 public:
  virtual bool setIndicesType(DataType type) noexcept = 0;
  virtual DataType getIndicesType() const noexcept = 0;
};

class IOneHotLayer : public ILayer {
 public:
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
};

}  // namespace nvinfer1
