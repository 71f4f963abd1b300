// IIfConditional and its boundary layers.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

class IIfConditional;

class IIfConditionalBoundaryLayer : public ILayer {
 public:
  virtual IIfConditional* getConditional() const noexcept = 0;
};

class IConditionLayer : public IIfConditionalBoundaryLayer {};

class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {};

class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer {};

class IIfConditional : public INoCopy {
 public:
  virtual IConditionLayer* setCondition(ITensor& condition) noexcept = 0;
  virtual IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput, ITensor& falseSubgraphOutput) noexcept = 0;
  virtual IIfConditionalInputLayer* addInput(ITensor& input) noexcept = 0;
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;
};

}  // namespace nvinfer1
