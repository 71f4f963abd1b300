// ILoop and its boundary layers.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

class ILoop;

/// What of a value leaves the loop.
enum class LoopOutput : int32_t {
  /// That of the last iteration.
  kLAST_VALUE = 0,
  /// Those of all iterations, stacked along a new axis.
  kCONCATENATE = 1,
  /// The same, last iteration first.
  kREVERSE = 2,
};

template <>
struct impl::EnumMaxImpl<LoopOutput> {
  static constexpr int32_t kVALUE = 3;
};

/// What ends a loop.
enum class TripLimit : int32_t {
  /// A number of iterations, a scalar from outside.
  kCOUNT = 0,
  /// A kBOOL scalar from inside, looked at before each iteration.
  kWHILE = 1,
};

template <>
struct impl::EnumMaxImpl<TripLimit> {
  static constexpr int32_t kVALUE = 2;
};

/// A layer through which values enter or leave a loop.
class ILoopBoundaryLayer : public ILayer {
 public:
  /// The loop it belongs to.
  virtual ILoop* getLoop() const noexcept = 0;

 protected:
  ~ILoopBoundaryLayer() noexcept override = default;
};

/// A value carried from one iteration to the next. Input 0: the first value, from outside; input 1, given by setInput:
/// the next value, from inside.
class IRecurrenceLayer : public ILoopBoundaryLayer {
 protected:
  ~IRecurrenceLayer() noexcept override = default;
};

/// A value leaving the loop. Input 0 from inside; for stacked outputs input 1 is the length of the new axis, from
/// outside.
class ILoopOutputLayer : public ILoopBoundaryLayer {
 public:
  /// What of the value leaves; fixed when it is added.
  virtual LoopOutput getLoopOutput() const noexcept = 0;

  /// Where the new axis of a stacked output goes; 0 by default.
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;

 protected:
  ~ILoopOutputLayer() noexcept override = default;
};

/// Ends the loop, which needs at least one of these, and may have one of each kind.
class ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  /// What ends the loop; fixed when it is added.
  virtual TripLimit getTripLimit() const noexcept = 0;

 protected:
  ~ITripLimitLayer() noexcept override = default;
};

/// Slices of a tensor from outside, one each iteration.
class IIteratorLayer : public ILoopBoundaryLayer {
 public:
  /// The axis that is iterated along; it is not in the output. 0 by default.
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;

  /// Whether the last slice comes first; false by default.
  virtual void setReverse(bool reverse) noexcept = 0;
  virtual bool getReverse() const noexcept = 0;

 protected:
  ~IIteratorLayer() noexcept override = default;
};

/// A part of the network that is repeated: all layers between its boundary layers. Owned by the network.
class ILoop : public INoCopy {
 public:
  /// Layers at the loop's boundary; null on failure. See their classes.
  virtual IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept = 0;
  virtual ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept = 0;
  virtual IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0, bool reverse = false) noexcept = 0;
  virtual ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind, int32_t axis = 0) noexcept = 0;

  /// Name for messages; copied.
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;

 protected:
  ~ILoop() noexcept override = default;
};

}  // namespace nvinfer1
