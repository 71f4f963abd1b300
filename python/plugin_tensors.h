// What plugins are told of tensors: descriptions, and extents as expressions that are valid during one call.
#pragma once

#include <memory>
#include <vector>

#include "plugin_call.h"

namespace wootz_python {

// A call in which a builder of expressions is valid. Python objects that outlive it raise.
struct ExprScope {
  nvinfer1::IExprBuilder* builder;  // null: the call is over
};

struct Expr {
  const nvinfer1::IDimensionExpr* expr;
  std::shared_ptr<ExprScope> scope;
  const nvinfer1::IDimensionExpr& get() const;  // Errors: the call is over
};

using ExprList = std::vector<std::shared_ptr<Expr>>;  // null: an extent that is not set yet
struct Exprs {
  ExprList list;
};

struct ExprMaker {
  std::shared_ptr<ExprScope> scope;
  nvinfer1::IExprBuilder& get() const;
};

// As long as it lives, what it has handed out is valid.
class ExprCall {
 public:
  explicit ExprCall(nvinfer1::IExprBuilder& builder) : scope_(std::make_shared<ExprScope>(ExprScope{&builder})) {}
  ~ExprCall() { scope_->builder = nullptr; }
  ExprCall(const ExprCall&) = delete;
  ExprCall& operator=(const ExprCall&) = delete;
  nb::object builder() const;
  nb::object exprs(const nvinfer1::DimsExprs& given) const;
  nb::list lists(const nvinfer1::DimsExprs* given, int32_t count) const;

 private:
  std::shared_ptr<ExprScope> scope_;
};

// What a plugin gave for a shape. Errors: it is no DimsExprs, or one that is not complete.
nvinfer1::DimsExprs to_exprs(nb::handle given);

template <class Desc>
nb::list to_list(const Desc* given, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(nb::cast(given[i], nb::rv_policy::copy));
  return list;
}

inline nb::list address_list(const void* const* given, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(number_of(given[i]));
  return list;
}

void bind_plugin_tensors(nb::module_& m);

}  // namespace wootz_python
