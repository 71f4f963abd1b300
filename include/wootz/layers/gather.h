// IGatherLayer, IScatterLayer, INonZeroLayer, IOneHotLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class GatherMode : int32_t {
  /// Indices replace one axis: output extents are data's, with the axis replaced by those of indices.
  kDEFAULT = 0,
  /// Output has the shape of indices; each index counts along the axis.
  kELEMENT = 1,
  /// The last dimension of indices holds whole positions in data.
  kND = 2,
};

template <>
struct impl::EnumMaxImpl<GatherMode> {
  static constexpr int32_t kVALUE = 3;
};

/// Elements of input 0, data, at the places in input 1, indices. Negative indices count from the end. Places out of
/// range give zero or an error, never foreign memory.
class IGatherLayer : public ILayer {
 public:
  /// The axis of kDEFAULT and kELEMENT; 0 by default.
  virtual void setGatherAxis(int32_t axis) noexcept = 0;
  virtual int32_t getGatherAxis() const noexcept = 0;

  /// How many leading dimensions data and indices share, as a batch; 0 by default.
  virtual void setNbElementWiseDims(int32_t elementWiseDims) noexcept = 0;
  virtual int32_t getNbElementWiseDims() const noexcept = 0;

  /// What an index means.
  virtual void setMode(GatherMode mode) noexcept = 0;
  virtual GatherMode getMode() const noexcept = 0;

 protected:
  ~IGatherLayer() noexcept override = default;
};

enum class ScatterMode : int32_t {
  /// Updates have the shape of indices; each index counts along the axis.
  kELEMENT = 0,
  /// The last dimension of indices holds whole positions in data.
  kND = 1,
};

template <>
struct impl::EnumMaxImpl<ScatterMode> {
  static constexpr int32_t kVALUE = 2;
};

/// A copy of input 0, data, with the elements or slices at the places in input 1, indices, replaced by input 2,
/// updates. A place that occurs twice gets one of its updates.
class IScatterLayer : public ILayer {
 public:
  /// What an index means.
  virtual void setMode(ScatterMode mode) noexcept = 0;
  virtual ScatterMode getMode() const noexcept = 0;

  /// The axis of kELEMENT; 0 by default.
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;

 protected:
  ~IScatterLayer() noexcept override = default;
};

/// Positions of elements that are not zero: output [rank, count], in row-major order. The count depends on data.
class INonZeroLayer : public ILayer {
 public:
  /// kINT32, the default, or kINT64. False for others.
  virtual bool setIndicesType(DataType type) noexcept = 0;
  virtual DataType getIndicesType() const noexcept = 0;

 protected:
  ~INonZeroLayer() noexcept override = default;
};

/// A new axis of extent `depth` with the value "on" where the index is, "off" elsewhere. Inputs: 0 indices, 1 the two
/// values off and on, 2 depth, a scalar shape tensor.
class IOneHotLayer : public ILayer {
 public:
  /// Where the new axis goes; negative counts from the end.
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;

 protected:
  ~IOneHotLayer() noexcept override = default;
};

}  // namespace nvinfer1
