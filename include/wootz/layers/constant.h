// Layers that make or retype values: constant, fill, cast, identity; and the assertion.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"
#include "wootz/weights.h"

namespace nvinfer1 {

/// Fixed values; no inputs.
class IConstantLayer : public ILayer {
 public:
  /// The values, as many as the extents' product.
  virtual void setWeights(Weights weights) noexcept = 0;
  virtual Weights getWeights() const noexcept = 0;

  /// The output's extents.
  virtual void setDimensions(const Dims& dimensions) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;

 protected:
  ~IConstantLayer() noexcept override = default;
};

enum class FillOperation : int32_t {
  /// a + i * b, with i the position: along a single axis, or with one b per axis.
  kLINSPACE = 0,
  /// Uniform in [a, b).
  kRANDOM_UNIFORM = 1,
  /// Normal, with mean a and standard deviation b.
  kRANDOM_NORMAL = 2,
};

template <>
struct impl::EnumMaxImpl<FillOperation> {
  static constexpr int32_t kVALUE = 3;
};

/// A tensor filled by rule. Optional inputs: 0 the extents, a shape tensor, 1 a and 2 b. Random numbers are others in
/// every inference and in each execution context.
class IFillLayer : public ILayer {
 public:
  /// The output's extents, when input 0 is not given.
  virtual void setDimensions(const Dims& dimensions) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;

  /// Which rule.
  virtual void setOperation(FillOperation op) noexcept = 0;
  virtual FillOperation getOperation() const noexcept = 0;

  /// The parameters a and b as floats, when inputs 1 and 2 are not given; 0 and 1 by default for uniform, mean 0 and
  /// deviation 1 for normal, start 0 and step 1 for linspace.
  virtual void setAlpha(double alpha) noexcept = 0;
  virtual double getAlpha() const noexcept = 0;
  virtual void setBeta(double beta) noexcept = 0;
  virtual double getBeta() const noexcept = 0;

  /// The same as integers, for integer outputs.
  virtual void setAlphaInt64(int64_t alpha) noexcept = 0;
  virtual int64_t getAlphaInt64() const noexcept = 0;
  virtual void setBetaInt64(int64_t beta) noexcept = 0;
  virtual int64_t getBetaInt64() const noexcept = 0;

  /// Whether they were last set as integers.
  virtual bool isAlphaBetaInt64() const noexcept = 0;

  /// Type of the output.
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;

 protected:
  ~IFillLayer() noexcept override = default;
};

/// Each element as another type: floats to integers towards zero, anything to bool as "not zero".
class ICastLayer : public ILayer {
 public:
  /// Type of the output.
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;

 protected:
  ~ICastLayer() noexcept override = default;
};

/// The input unchanged; with a differing output type set, a cast.
class IIdentityLayer : public ILayer {
 protected:
  ~IIdentityLayer() noexcept override = default;
};

/// Fails the build, or the inference, unless all elements of the input, of type kBOOL, are true: an error says the
/// layer's name and the message. Conditions over extents are checked before the inference begins; others are read while
/// it runs, for which the host waits where the device has memory of its own.
class IAssertionLayer : public ILayer {
 public:
  /// What the error says; copied.
  virtual void setMessage(const char* message) noexcept = 0;
  virtual const char* getMessage() const noexcept = 0;

 protected:
  ~IAssertionLayer() noexcept override = default;
};

}  // namespace nvinfer1
