// IReduceLayer, ITopKLayer, ICumulativeLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class ReduceOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kAVG = 4,
  kNONE = 5,
};

template <>
struct impl::EnumMaxImpl<ReduceOperation> {
  static constexpr int32_t kVALUE = 6;
};

class IReduceLayer : public ILayer {
 public:
  virtual void setOperation(ReduceOperation op) noexcept = 0;
  virtual ReduceOperation getOperation() const noexcept = 0;
  virtual void setReduceAxes(uint32_t reduceAxes) noexcept = 0;
  virtual uint32_t getReduceAxes() const noexcept = 0;
  virtual void setKeepDimensions(bool keepDimensions) noexcept = 0;
  virtual bool getKeepDimensions() const noexcept = 0;
};

enum class TopKOperation : int32_t {
  kMAX = 0,
  kMIN = 1,
};

template <>
struct impl::EnumMaxImpl<TopKOperation> {
  static constexpr int32_t kVALUE = 2;
};

class ITopKLayer : public ILayer {
 public:
  virtual void setOperation(TopKOperation op) noexcept = 0;
  virtual TopKOperation getOperation() const noexcept = 0;
  virtual void setK(int32_t k) noexcept = 0;
  virtual int32_t getK() const noexcept = 0;
  virtual void setReduceAxes(uint32_t reduceAxes) noexcept = 0;
  virtual uint32_t getReduceAxes() const noexcept = 0;
  virtual bool setIndicesType(DataType type) noexcept = 0;
  virtual DataType getIndicesType() const noexcept = 0;
};

enum class CumulativeOperation : int32_t {
  kSUM = 0,
};

template <>
struct impl::EnumMaxImpl<CumulativeOperation> {
  static constexpr int32_t kVALUE = 1;
};

class ICumulativeLayer : public ILayer {
 public:
  virtual bool setOperation(CumulativeOperation op) noexcept = 0;
  virtual CumulativeOperation getOperation() const noexcept = 0;
  virtual void setExclusive(bool exclusive) noexcept = 0;
  virtual bool getExclusive() const noexcept = 0;
  virtual void setReverse(bool reverse) noexcept = 0;
  virtual bool getReverse() const noexcept = 0;
};

}  // namespace nvinfer1
