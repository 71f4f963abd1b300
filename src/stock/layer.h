// A plugin while its nodes are written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ops/support/graph_builder.h"
#include "stock/fields.h"

namespace wootz::stock {

class Layer {
 public:
  Layer(GraphBuilder& builder, std::vector<Value*> inputs, const Fields& fields, int outputs)
      : b(builder), inputs_(std::move(inputs)), fields_(fields), outputs_(static_cast<size_t>(outputs), nullptr) {}

  GraphBuilder& b;

  size_t num_inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  Value* in(size_t i) const { return has(i) ? inputs_[i] : nullptr; }
  const Shape& shape(size_t i) const { return inputs_[i]->shape(); }
  size_t num_outputs() const { return outputs_.size(); }
  void out(size_t i, Value* value) { outputs_[i] = value; }
  const std::vector<Value*>& outputs() const { return outputs_; }

  // Fields by name. What the table gives no default may be absent: 0, nothing, an empty text.
  bool given(std::string_view name) const { return fields_.find(name) != nullptr; }
  int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const { return integer(name) != 0; }
  double number(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::string text(std::string_view name) const;
  // A field of weights as a constant of these extents and type. Errors: it has another number of values.
  Value* weights(std::string_view name, const Dims& dims, DType type);
  int64_t count(std::string_view name) const;  // of values

  // Errors: an input is absent, has not one of these ranks, or is of no float type.
  Status need(size_t input, std::initializer_list<int> ranks, bool floating = true);
  // The extent as a number. Errors: it is open until run time.
  Result<int64_t> fixed(size_t input, size_t axis) const;

  // Of numbers that are to be made while importing, which models from anywhere ask for: the product of `factors`.
  // Errors: one is below 1, or they are more than kMostMade together.
  static constexpr int64_t kMostMade = int64_t{1} << 24;
  Status bounded(const char* what, std::initializer_list<int64_t> factors) const;

  template <typename... Args>
  Status fail(fmt::format_string<Args...> format, Args&&... args) const {
    return Status(Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::vector<Value*> inputs_;
  const Fields& fields_;
  std::vector<Value*> outputs_;
};

// Short forms of nodes that many plugins have.
Value* clip(GraphBuilder& b, Value* x, double low, double high);
Value* where(GraphBuilder& b, Value* condition, Value* yes, Value* no);
Value* expand_to(GraphBuilder& b, Value* x, std::vector<Value*> extents);  // each i64[1]
// Columns first..last of the last axis.
Value* columns(GraphBuilder& b, Value* x, int64_t first, int64_t last);
// Rows of x [N, R, ...] by index [N, K]: [N, K, ...].
Value* rows_of(GraphBuilder& b, Value* x, Value* index);
// Elements along the last axis, largest first: values and their places.
std::pair<Value*, Value*> largest(GraphBuilder& b, Value* x, int64_t count);
Value* pad_end(GraphBuilder& b, Value* x, int64_t axis, int64_t count, double value);
Value* floats(GraphBuilder& b, const std::vector<double>& values, const Dims& dims);
// 0, 1, ... as i64, up to an extent of x.
Value* count_up(GraphBuilder& b, Value* x, int64_t axis);

}  // namespace wootz::stock
