// How a kernel that a plugin brings is launched: expressions over the extents of its inputs, as data that a plan keeps.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "api/runtime/public.h"
#include "backend/plugin.h"
#include "base/json.h"

namespace wootz::api {

class LaunchExpressions {
 public:
  static constexpr int32_t kConstant = -1, kExtent = -2;
  struct Node {
    int32_t op;    // a DimensionOperation of two nodes before it, or one of these:
    int64_t a, b;  // kConstant: its value. kExtent: input and axis
  };

  // The number of the new expression.
  int32_t add(const Node& node);
  size_t size() const { return nodes_.size(); }
  // The value of each at these extents. Errors: a division by zero, an extent that there is not.
  Result<std::vector<int64_t>> values(const PluginTensors& tensors) const;

  OrderedJson to_json() const;
  // Errors: what to_json() does not write.
  static Result<LaunchExpressions> from_json(const OrderedJson& json);

 private:
  std::vector<Node> nodes_;
};

// What a plugin writes its launch with. It and its expressions last until the launch is read.
class LaunchBuilder final : public nvinfer1::IExprBuilder {
 public:
  const nvinfer1::IDimensionExpr* constant(int64_t value) noexcept override;
  const nvinfer1::IDimensionExpr* operation(nvinfer1::DimensionOperation op, const nvinfer1::IDimensionExpr& first,
                                            const nvinfer1::IDimensionExpr& second) noexcept override;
  const nvinfer1::IDimensionExpr* declareSizeTensor(int32_t outputIndex, const nvinfer1::IDimensionExpr& opt,
                                                    const nvinfer1::IDimensionExpr& upper) override;

  // The extents of the inputs, of which those that are -1 are open.
  std::vector<nvinfer1::DimsExprs> extents(const std::vector<PluginTensor>& inputs);
  // The number of an expression of this builder's; -1: of another, or null.
  int32_t number_of(const nvinfer1::IDimensionExpr* expression) const;
  const LaunchExpressions& expressions() const { return expressions_; }
  const Status& refused() const { return refused_; }

 private:
  class Expression final : public nvinfer1::IDimensionExpr {
   public:
    Expression(int32_t number, bool known, int64_t value) : number(number), known_(known), value_(value) {}
    bool isConstant() const noexcept override { return known_; }
    int64_t getConstantValue() const noexcept override { return known_ ? value_ : INT64_MIN; }
    bool isSizeTensor() const noexcept override { return false; }
    const int32_t number;

   private:
    bool known_;
    int64_t value_;
  };
  const nvinfer1::IDimensionExpr* made(const LaunchExpressions::Node& node, bool known, int64_t value);
  const nvinfer1::IDimensionExpr* refuse(const char* why);
  const Expression* own(const nvinfer1::IDimensionExpr* expression) const;

  LaunchExpressions expressions_;
  std::deque<Expression> made_;
  Status refused_;
};

}  // namespace wootz::api
