// Layers that move elements or tell shapes: shuffle, slice, concatenation, padding and others.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"

namespace nvinfer1 {

/// Where each output dimension comes from: dimension i of the output is dimension order[i] of the input.
struct Permutation {
  int32_t order[Dims::MAX_DIMS];
};

/// Transpose, reshape, transpose. Optional input 1: the shape to reshape to, a one-dimensional shape tensor.
class IShuffleLayer : public ILayer {
 public:
  /// Comes before the reshape; the identity by default.
  virtual void setFirstTranspose(Permutation permutation) noexcept = 0;
  virtual Permutation getFirstTranspose() const noexcept = 0;

  /// New extents. One may be -1: what is left; 0 copies the input's extent, see setZeroIsPlaceholder. With no extents
  /// set the shape stays. Reading gives nbDims -1 when input 1 decides.
  virtual void setReshapeDimensions(const Dims& dimensions) noexcept = 0;
  virtual Dims getReshapeDimensions() const noexcept = 0;

  /// Comes after the reshape; the identity by default.
  virtual void setSecondTranspose(Permutation permutation) noexcept = 0;
  virtual Permutation getSecondTranspose() const noexcept = 0;

  /// Whether an extent of 0 copies the input's; true by default. Otherwise it means an empty tensor.
  virtual void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept = 0;
  virtual bool getZeroIsPlaceholder() const noexcept = 0;

 protected:
  ~IShuffleLayer() noexcept override = default;
};

/// What lies outside a tensor.
enum class SampleMode : int32_t {
  /// Nothing: reading there is an error.
  kSTRICT_BOUNDS = 0,
  /// The tensor again.
  kWRAP = 1,
  /// Its border elements.
  kCLAMP = 2,
  /// A fill value, 0 if none is given.
  kFILL = 3,
  /// Its mirror image, the border not repeated.
  kREFLECT = 4,
};

template <>
struct impl::EnumMaxImpl<SampleMode> {
  static constexpr int32_t kVALUE = 5;
};

/// Elements start + i * stride along each axis. Optional inputs, shape tensors: 1 start, 2 size, 3 stride, 5 axes; and
/// 4, the fill value, a scalar.
class ISliceLayer : public ILayer {
 public:
  /// First position, output extent and step per axis, when not given as inputs. Steps may be negative or 0.
  virtual void setStart(const Dims& start) noexcept = 0;
  virtual Dims getStart() const noexcept = 0;
  virtual void setSize(const Dims& size) noexcept = 0;
  virtual Dims getSize() const noexcept = 0;
  virtual void setStride(const Dims& stride) noexcept = 0;
  virtual Dims getStride() const noexcept = 0;

  /// What positions outside give; kSTRICT_BOUNDS by default.
  virtual void setMode(SampleMode mode) noexcept = 0;
  virtual SampleMode getMode() const noexcept = 0;

  /// The axes that start, size and stride speak of; all of them, in order, when none are set.
  virtual void setAxes(const Dims& axes) noexcept = 0;
  virtual Dims getAxes() const noexcept = 0;

 protected:
  ~ISliceLayer() noexcept override = default;
};

/// Inputs one after the other along an axis; all other extents must be equal.
class IConcatenationLayer : public ILayer {
 public:
  /// The axis; by default max(0, rank - 3), the channel.
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;

 protected:
  ~IConcatenationLayer() noexcept override = default;
};

/// Zeros around the last two dimensions; negative numbers cut off.
class IPaddingLayer : public ILayer {
 public:
  /// Before and after, two entries each.
  virtual void setPrePaddingNd(const Dims& padding) noexcept = 0;
  virtual Dims getPrePaddingNd() const noexcept = 0;
  virtual void setPostPaddingNd(const Dims& padding) noexcept = 0;
  virtual Dims getPostPaddingNd() const noexcept = 0;

 protected:
  ~IPaddingLayer() noexcept override = default;
};

/// The input's extents, as a one-dimensional kINT64 shape tensor.
class IShapeLayer : public ILayer {
 protected:
  ~IShapeLayer() noexcept override = default;
};

/// Removes axes of extent 1: those in input 1, a constant shape tensor.
class ISqueezeLayer : public ILayer {
 protected:
  ~ISqueezeLayer() noexcept override = default;
};

/// Adds axes of extent 1: input 1, a constant shape tensor, holds their places in the output.
class IUnsqueezeLayer : public ILayer {
 protected:
  ~IUnsqueezeLayer() noexcept override = default;
};

/// Reverses the first lengths[b] elements of each sequence; input 1 holds the lengths, one per batch.
class IReverseSequenceLayer : public ILayer {
 public:
  /// Which axis counts sequences, 1 by default, and which one runs along them, 0 by default.
  virtual void setBatchAxis(int32_t batchAxis) noexcept = 0;
  virtual int32_t getBatchAxis() const noexcept = 0;
  virtual void setSequenceAxis(int32_t sequenceAxis) noexcept = 0;
  virtual int32_t getSequenceAxis() const noexcept = 0;

 protected:
  ~IReverseSequenceLayer() noexcept override = default;
};

}  // namespace nvinfer1
