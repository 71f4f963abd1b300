// IReduceLayer, ITopKLayer, ICumulativeLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class ReduceOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  /// Mean, towards zero for integers.
  kAVG = 4,
  /// For collective operations that do not reduce.
  kNONE = 5,
};

template <>
struct impl::EnumMaxImpl<ReduceOperation> {
  static constexpr int32_t kVALUE = 6;
};

/// Reduces over some axes.
class IReduceLayer : public ILayer {
 public:
  /// Which reduction.
  virtual void setOperation(ReduceOperation op) noexcept = 0;
  virtual ReduceOperation getOperation() const noexcept = 0;

  /// Axes to reduce over, as bits 1U << axis.
  virtual void setReduceAxes(uint32_t reduceAxes) noexcept = 0;
  virtual uint32_t getReduceAxes() const noexcept = 0;

  /// Whether reduced axes stay, with extent 1.
  virtual void setKeepDimensions(bool keepDimensions) noexcept = 0;
  virtual bool getKeepDimensions() const noexcept = 0;

 protected:
  ~IReduceLayer() noexcept override = default;
};

enum class TopKOperation : int32_t {
  /// The largest, in falling order.
  kMAX = 0,
  /// The smallest, in rising order.
  kMIN = 1,
};

template <>
struct impl::EnumMaxImpl<TopKOperation> {
  static constexpr int32_t kVALUE = 2;
};

/// The k first elements along one axis: output 0 their values, output 1 their indices. Of equal elements the one of
/// lower index comes first. Optional input 1: k, a scalar shape tensor.
class ITopKLayer : public ILayer {
 public:
  /// Largest or smallest.
  virtual void setOperation(TopKOperation op) noexcept = 0;
  virtual TopKOperation getOperation() const noexcept = 0;

  /// k, when input 1 is not given; at most the extent of the axis.
  virtual void setK(int32_t k) noexcept = 0;
  virtual int32_t getK() const noexcept = 0;

  /// The axis, as a bit 1U << axis; exactly one bit.
  virtual void setReduceAxes(uint32_t reduceAxes) noexcept = 0;
  virtual uint32_t getReduceAxes() const noexcept = 0;

  /// kINT32, the default, or kINT64. False for others.
  virtual bool setIndicesType(DataType type) noexcept = 0;
  virtual DataType getIndicesType() const noexcept = 0;

 protected:
  ~ITopKLayer() noexcept override = default;
};

enum class CumulativeOperation : int32_t {
  kSUM = 0,
};

template <>
struct impl::EnumMaxImpl<CumulativeOperation> {
  static constexpr int32_t kVALUE = 1;
};

/// Running sum along an axis, given by input 1, a constant scalar.
class ICumulativeLayer : public ILayer {
 public:
  /// False when not supported.
  virtual bool setOperation(CumulativeOperation op) noexcept = 0;
  virtual CumulativeOperation getOperation() const noexcept = 0;

  /// Whether an element's own value is left out of its sum.
  virtual void setExclusive(bool exclusive) noexcept = 0;
  virtual bool getExclusive() const noexcept = 0;

  /// Whether to start from the far end.
  virtual void setReverse(bool reverse) noexcept = 0;
  virtual bool getReverse() const noexcept = 0;

 protected:
  ~ICumulativeLayer() noexcept override = default;
};

}  // namespace nvinfer1
