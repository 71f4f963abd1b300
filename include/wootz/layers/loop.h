// ILoop and its boundary layers.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

class ILoop;

enum class LoopOutput : int32_t {
  kLAST_VALUE = 0,
  kCONCATENATE = 1,
  kREVERSE = 2,
};

template <>
struct impl::EnumMaxImpl<LoopOutput> {
  static constexpr int32_t kVALUE = 3;
};

enum class TripLimit : int32_t {
  kCOUNT = 0,
  kWHILE = 1,
};

template <>
struct impl::EnumMaxImpl<TripLimit> {
  static constexpr int32_t kVALUE = 2;
};

class ILoopBoundaryLayer : public ILayer {
 public:
  virtual ILoop* getLoop() const noexcept = 0;
};

class IRecurrenceLayer : public ILoopBoundaryLayer {};

class ILoopOutputLayer : public ILoopBoundaryLayer {
 public:
  virtual LoopOutput getLoopOutput() const noexcept = 0;
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
};

class ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  virtual TripLimit getTripLimit() const noexcept = 0;
};

class IIteratorLayer : public ILoopBoundaryLayer {
 public:
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setReverse(bool reverse) noexcept = 0;
  virtual bool getReverse() const noexcept = 0;
};

class ILoop : public INoCopy {
 public:
  virtual IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept = 0;
  virtual ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept = 0;
  virtual IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0, bool reverse = false) noexcept = 0;
  virtual ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind, int32_t axis = 0) noexcept = 0;
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;
};

}  // namespace nvinfer1
