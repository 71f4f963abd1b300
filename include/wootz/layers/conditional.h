// IIfConditional and its boundary layers.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

class IIfConditional;

/// A layer through which values enter or leave a conditional.
class IIfConditionalBoundaryLayer : public ILayer {
 public:
  /// The conditional it belongs to.
  virtual IIfConditional* getConditional() const noexcept = 0;

 protected:
  ~IIfConditionalBoundaryLayer() noexcept override = default;
};

/// Holds the condition, a kBOOL scalar.
class IConditionLayer : public IIfConditionalBoundaryLayer {
 protected:
  ~IConditionLayer() noexcept override = default;
};

/// A value from outside, for use in either branch.
class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {
 protected:
  ~IIfConditionalInputLayer() noexcept override = default;
};

/// Input 0 if the condition holds, input 1 otherwise; equal in type and rank.
class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer {
 protected:
  ~IIfConditionalOutputLayer() noexcept override = default;
};

/// A part of the network of which only one branch is computed: the layers between its inputs and one side of its
/// outputs. Owned by the network.
class IIfConditional : public INoCopy {
 public:
  /// The condition; set it once.
  virtual IConditionLayer* setCondition(ITensor& condition) noexcept = 0;

  /// A value out of either branch, and a value into them; null on failure.
  virtual IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput, ITensor& falseSubgraphOutput) noexcept = 0;
  virtual IIfConditionalInputLayer* addInput(ITensor& input) noexcept = 0;

  /// Name for messages; copied.
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;

 protected:
  ~IIfConditional() noexcept override = default;
};

}  // namespace nvinfer1
