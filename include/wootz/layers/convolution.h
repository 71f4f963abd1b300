// IConvolutionLayer and IDeconvolutionLayer.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"
#include "wootz/layers/padding_mode.h"
#include "wootz/weights.h"

namespace nvinfer1 {

/// Cross-correlation over two or three space dimensions of [N, C, space...], plus a bias. Kernel weights are [output
/// maps, C / groups, window...]. Optional inputs: 1 the kernel, 2 the bias, as tensors, in place of weights whose count
/// is then 0. Dims below have one entry per space dimension.
class IConvolutionLayer : public ILayer {
 public:
  /// Channels of the output.
  virtual void setNbOutputMaps(int64_t nbOutputMaps) noexcept = 0;
  virtual int64_t getNbOutputMaps() const noexcept = 0;

  /// Groups that do not see each other's channels; 1 by default. Divides both channel counts.
  virtual void setNbGroups(int64_t nbGroups) noexcept = 0;
  virtual int64_t getNbGroups() const noexcept = 0;

  /// Kernel and bias; the bias may be empty, or has one value per output map.
  virtual void setKernelWeights(Weights weights) noexcept = 0;
  virtual Weights getKernelWeights() const noexcept = 0;
  virtual void setBiasWeights(Weights weights) noexcept = 0;
  virtual Weights getBiasWeights() const noexcept = 0;

  /// Zeros before and after each space dimension; 0 by default. setPaddingNd sets both to the same.
  virtual void setPrePadding(const Dims& padding) noexcept = 0;
  virtual Dims getPrePadding() const noexcept = 0;
  virtual void setPostPadding(const Dims& padding) noexcept = 0;
  virtual Dims getPostPadding() const noexcept = 0;

  /// See PaddingMode; kEXPLICIT_ROUND_DOWN by default.
  virtual void setPaddingMode(PaddingMode paddingMode) noexcept = 0;
  virtual PaddingMode getPaddingMode() const noexcept = 0;

  /// Window, stride (1 by default), equal padding on both sides, and distance between the window's elements (1 by
  /// default).
  virtual void setKernelSizeNd(const Dims& kernelSize) noexcept = 0;
  virtual Dims getKernelSizeNd() const noexcept = 0;
  virtual void setStrideNd(const Dims& stride) noexcept = 0;
  virtual Dims getStrideNd() const noexcept = 0;
  virtual void setPaddingNd(const Dims& padding) noexcept = 0;
  virtual Dims getPaddingNd() const noexcept = 0;
  virtual void setDilationNd(const Dims& dilation) noexcept = 0;
  virtual Dims getDilationNd() const noexcept = 0;

 protected:
  ~IConvolutionLayer() noexcept override = default;
};

/// Transposed convolution: the gradient of IConvolutionLayer. Output extent is (I - 1) * stride + W - P0 - P1. Kernel
/// weights are [C, output maps / groups, window...]; padding is cut off. Optional inputs as for IConvolutionLayer.
class IDeconvolutionLayer : public ILayer {
 public:
  /// Channels of the output.
  virtual void setNbOutputMaps(int64_t nbOutputMaps) noexcept = 0;
  virtual int64_t getNbOutputMaps() const noexcept = 0;

  /// Groups that do not see each other's channels; 1 by default.
  virtual void setNbGroups(int64_t nbGroups) noexcept = 0;
  virtual int64_t getNbGroups() const noexcept = 0;

  /// Kernel and bias; the bias may be empty, or has one value per output map.
  virtual void setKernelWeights(Weights weights) noexcept = 0;
  virtual Weights getKernelWeights() const noexcept = 0;
  virtual void setBiasWeights(Weights weights) noexcept = 0;
  virtual Weights getBiasWeights() const noexcept = 0;

  /// What is cut off before and after each space dimension; 0 by default.
  virtual void setPrePadding(const Dims& padding) noexcept = 0;
  virtual Dims getPrePadding() const noexcept = 0;
  virtual void setPostPadding(const Dims& padding) noexcept = 0;
  virtual Dims getPostPadding() const noexcept = 0;

  /// See PaddingMode; kEXPLICIT_ROUND_DOWN by default.
  virtual void setPaddingMode(PaddingMode paddingMode) noexcept = 0;
  virtual PaddingMode getPaddingMode() const noexcept = 0;

  /// Window, stride, equal padding on both sides, and dilation, one entry per space dimension.
  virtual void setKernelSizeNd(const Dims& kernelSize) noexcept = 0;
  virtual Dims getKernelSizeNd() const noexcept = 0;
  virtual void setStrideNd(const Dims& stride) noexcept = 0;
  virtual Dims getStrideNd() const noexcept = 0;
  virtual void setPaddingNd(const Dims& padding) noexcept = 0;
  virtual Dims getPaddingNd() const noexcept = 0;
  virtual void setDilationNd(const Dims& dilation) noexcept = 0;
  virtual Dims getDilationNd() const noexcept = 0;

 protected:
  ~IDeconvolutionLayer() noexcept override = default;
};

}  // namespace nvinfer1
