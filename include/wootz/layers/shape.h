// Layers that move elements or tell shapes: shuffle, slice, concatenation, padding and others.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"

namespace nvinfer1 {

/// Where each output dimension comes from: dimension i of the output is dimension order[i] of the input.
struct Permutation {
  int32_t order[Dims::MAX_DIMS];
};

class IShuffleLayer : public ILayer {
 public:
  virtual void setFirstTranspose(Permutation permutation) noexcept = 0;
  virtual Permutation getFirstTranspose() const noexcept = 0;
  virtual void setReshapeDimensions(const Dims& dimensions) noexcept = 0;
  virtual Dims getReshapeDimensions() const noexcept = 0;
  virtual void setSecondTranspose(Permutation permutation) noexcept = 0;
  virtual Permutation getSecondTranspose() const noexcept = 0;
  virtual void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept = 0;
  virtual bool getZeroIsPlaceholder() const noexcept = 0;
};

enum class SampleMode : int32_t {
  kSTRICT_BOUNDS = 0,
  kWRAP = 1,
  kCLAMP = 2,
  kFILL = 3,
  kREFLECT = 4,
};

template <>
struct impl::EnumMaxImpl<SampleMode> {
  static constexpr int32_t kVALUE = 5;
};

class ISliceLayer : public ILayer {
 public:
  virtual void setStart(const Dims& start) noexcept = 0;
  virtual Dims getStart() const noexcept = 0;
  virtual void setSize(const Dims& size) noexcept = 0;
  virtual Dims getSize() const noexcept = 0;
  virtual void setStride(const Dims& stride) noexcept = 0;
  virtual Dims getStride() const noexcept = 0;
  virtual void setMode(SampleMode mode) noexcept = 0;
  virtual SampleMode getMode() const noexcept = 0;
  virtual void setAxes(const Dims& axes) noexcept = 0;
  virtual Dims getAxes() const noexcept = 0;
};

class IConcatenationLayer : public ILayer {
 public:
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
};

class IPaddingLayer : public ILayer {
 public:
  virtual void setPrePaddingNd(const Dims& padding) noexcept = 0;
  virtual Dims getPrePaddingNd() const noexcept = 0;
  virtual void setPostPaddingNd(const Dims& padding) noexcept = 0;
  virtual Dims getPostPaddingNd() const noexcept = 0;
};

class IShapeLayer : public ILayer {};

class ISqueezeLayer : public ILayer {};

class IUnsqueezeLayer : public ILayer {};

class IReverseSequenceLayer : public ILayer {
 public:
  virtual void setBatchAxis(int32_t batchAxis) noexcept = 0;
  virtual int32_t getBatchAxis() const noexcept = 0;
  virtual void setSequenceAxis(int32_t sequenceAxis) noexcept = 0;
  virtual int32_t getSequenceAxis() const noexcept = 0;
};

}  // namespace nvinfer1
