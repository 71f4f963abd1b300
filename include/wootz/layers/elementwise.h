// IElementWiseLayer, IUnaryLayer, ISelectLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class ElementWiseOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kDIV = 5,
  kPOW = 6,
  kFLOOR_DIV = 7,
  kAND = 8,
  kOR = 9,
  kXOR = 10,
  kEQUAL = 11,
  kGREATER = 12,
  kLESS = 13,
};

template <>
struct impl::EnumMaxImpl<ElementWiseOperation> {
  static constexpr int32_t kVALUE = 14;
};

class IElementWiseLayer : public ILayer {
 public:
  virtual void setOperation(ElementWiseOperation op) noexcept = 0;
  virtual ElementWiseOperation getOperation() const noexcept = 0;
};

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
  kNOT = 20,
  kSIGN = 21,
  kROUND = 22,
  kISINF = 23,
  kISNAN = 24,
};

template <>
struct impl::EnumMaxImpl<UnaryOperation> {
  static constexpr int32_t kVALUE = 25;
};

class IUnaryLayer : public ILayer {
 public:
  virtual void setOperation(UnaryOperation op) noexcept = 0;
  virtual UnaryOperation getOperation() const noexcept = 0;
};

class ISelectLayer : public ILayer {};

}  // namespace nvinfer1
