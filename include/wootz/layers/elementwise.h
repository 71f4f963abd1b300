// IElementWiseLayer, IUnaryLayer, ISelectLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

/// Functions of two elements.
enum class ElementWiseOperation : int32_t {
  /// a + b.
  kSUM = 0,
  /// a * b.
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  /// a - b.
  kSUB = 4,
  /// a / b, towards zero for integers.
  kDIV = 5,
  /// a ^ b.
  kPOW = 6,
  /// Quotient rounded towards minus infinity.
  kFLOOR_DIV = 7,
  /// On kBOOL; so are kOR and kXOR.
  kAND = 8,
  kOR = 9,
  kXOR = 10,
  /// To kBOOL; so are kGREATER and kLESS.
  kEQUAL = 11,
  kGREATER = 12,
  kLESS = 13,
};

template <>
struct impl::EnumMaxImpl<ElementWiseOperation> {
  static constexpr int32_t kVALUE = 14;
};

/// A function of two tensors of one type and rank, in which extents of 1 are stretched to the other's.
class IElementWiseLayer : public ILayer {
 public:
  /// Which function.
  virtual void setOperation(ElementWiseOperation op) noexcept = 0;
  virtual ElementWiseOperation getOperation() const noexcept = 0;

 protected:
  ~IElementWiseLayer() noexcept override = default;
};

/// Functions of one element.
enum class UnaryOperation : int32_t {
  kEXP = 0,
  kLOG = 1,
  kSQRT = 2,
  kRECIP = 3,
  kABS = 4,
  kNEG = 5,
  kSIN = 6,
  kCOS = 7,
  kTAN = 8,
  kSINH = 9,
  kCOSH = 10,
  kASIN = 11,
  kACOS = 12,
  kATAN = 13,
  kASINH = 14,
  kACOSH = 15,
  kATANH = 16,
  kCEIL = 17,
  kFLOOR = 18,
  kERF = 19,
  /// On kBOOL.
  kNOT = 20,
  /// -1, 0 or 1.
  kSIGN = 21,
  /// To the nearest integer, halves to the even one.
  kROUND = 22,
  /// To kBOOL; so is kISNAN.
  kISINF = 23,
  kISNAN = 24,
};

template <>
struct impl::EnumMaxImpl<UnaryOperation> {
  static constexpr int32_t kVALUE = 25;
};

/// A function of each element.
class IUnaryLayer : public ILayer {
 public:
  /// Which function.
  virtual void setOperation(UnaryOperation op) noexcept = 0;
  virtual UnaryOperation getOperation() const noexcept = 0;

 protected:
  ~IUnaryLayer() noexcept override = default;
};

/// condition ? then : else, by element. Inputs: 0 the condition, kBOOL, 1 and 2 the choices, of one type. Extents of 1
/// are stretched.
class ISelectLayer : public ILayer {
 protected:
  ~ISelectLayer() noexcept override = default;
};

}  // namespace nvinfer1
