// Writing a composition of ops while importing: calls nest like an expression, the first failure sticks and is asked
// for once, at the end.
#pragma once

#include "ops/onnx_import.h"

namespace wootz {

class Composer {
 public:
  explicit Composer(ImportContext& ctx) : ctx_(ctx) {}

  // Null after a failure; null inputs mean omitted ones, so a failed operand cannot reach add().
  Value* op(std::string_view name, std::vector<Value*> inputs, AttrMap attrs = {});
  Node* node(std::string_view name, std::vector<Value*> inputs, AttrMap attrs, int num_outputs);

  Value* add(Value* a, Value* b) { return op("Add", {a, b}); }
  Value* sub(Value* a, Value* b) { return op("Sub", {a, b}); }
  Value* mul(Value* a, Value* b) { return op("Mul", {a, b}); }
  Value* div(Value* a, Value* b) { return op("Div", {a, b}); }
  Value* scale(Value* a, double factor);  // a itself for 1
  Value* cast(Value* a, DType to);        // a itself when it is of that type
  Value* transpose(Value* a, std::vector<int64_t> perm);
  Value* reshape(Value* a, std::vector<int64_t> dims);  // 0 copies an extent, one -1 is worked out
  Value* reshape(Value* a, const Shape& dims, const std::vector<Value*>& sources);
  Value* as_scalar(Value* a);  // one element of any rank as rank 0
  Value* unsqueeze(Value* a, std::vector<int64_t> axes);
  Value* squeeze(Value* a, std::vector<int64_t> axes);
  Value* slice(Value* a, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  Value* concat(std::vector<Value*> parts, int64_t axis);
  Value* reduce(std::string_view kind, Value* a, std::vector<int64_t> axes, bool keepdims);  // no axes: all
  Value* shape_of(Value* a);                                                                 // i64[rank]
  Value* extent(Value* a, int64_t axis);                                                     // i64[1]
  Value* scalar(DType dtype, double value);                                                  // rank 0
  Value* ints(std::vector<int64_t> values) { return ctx_.ints(std::move(values)); }

  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  // Names output i of the ONNX node when it is wanted; gives the first failure.
  Status output(int i, Value* value);

 private:
  ImportContext& ctx_;
  Status status_;
};

}  // namespace wootz
