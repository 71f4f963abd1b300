// Writing nodes like expressions: calls nest, the first failure sticks, what
// follows it does nothing, and it is asked for once, at the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/op_def.h"

namespace wootz {

// Where nodes go and what they are called: an ONNX node being imported, a
// layer, a place in front of another node.
class NodeSink {
 public:
  virtual ~NodeSink() = default;
  virtual Graph& graph() = 0;
  // Adds a node and infers its types.
  virtual Result<Node*> add(std::string_view op, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) = 0;
  virtual Value* add_constant(HostTensor tensor) = 0;
};

// For builders that bring their sink: a base in front of GraphBuilder, so that
// it is there first.
template <class Sink>
struct WithSink {
  template <class... Args>
  explicit WithSink(Args&&... args) : sink(std::forward<Args>(args)...) {}
  Sink sink;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(NodeSink& sink) : sink_(&sink) {}

  Graph& graph() const { return sink_->graph(); }
  // Null after a failure; null inputs mean omitted ones, so a failed operand
  // reaches no node.
  Node* node(std::string_view op, std::vector<Value*> inputs, AttrMap attrs = {}, int num_outputs = 1);
  Value* op(std::string_view name, std::vector<Value*> inputs, AttrMap attrs = {});

  Value* constant(HostTensor tensor);
  Value* scalar(DType dtype, double value);  // rank 0
  Value* ints(const std::vector<int64_t>& values);

  Value* add(Value* a, Value* b) { return op("Add", {a, b}); }
  Value* sub(Value* a, Value* b) { return op("Sub", {a, b}); }
  Value* mul(Value* a, Value* b) { return op("Mul", {a, b}); }
  Value* div(Value* a, Value* b) { return op("Div", {a, b}); }
  Value* scale(Value* a, double factor);  // a itself for 1
  Value* cast(Value* a, DType to);        // a itself when it is of that type
  Value* transpose(Value* a,
                   std::vector<int64_t> perm);  // a itself for the identity
  Value* reshape(Value* a,
                 const std::vector<int64_t>& dims);  // 0 copies an extent, one -1 is worked out
  // Extents that are not numbers are read from the shape of a source that has
  // them.
  Value* reshape(Value* a, const Shape& dims, const std::vector<Value*>& sources);
  Value* as_scalar(Value* a);  // one element of any rank as rank 0
  Value* unsqueeze(Value* a, std::vector<int64_t> axes);
  Value* squeeze(Value* a, std::vector<int64_t> axes);
  Value* slice(Value* a, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  Value* concat(std::vector<Value*> parts, int64_t axis);
  Value* reduce(std::string_view kind, Value* a, std::vector<int64_t> axes,
                bool keepdims);           // no axes: all
  Value* shape_of(Value* a);              // i64[rank]
  Value* extent(Value* a, int64_t axis);  // i64[1]
  // The nodes of a subgraph; its results on these inputs, none after a failure.
  // `keep_names`: values are called as in the subgraph, where that is free; for
  // one that is written down once.
  std::vector<Value*> inlined(const Graph& body, const std::vector<Value*>& inputs, bool keep_names = false);

  template <typename... Args>
  Status fail(fmt::format_string<Args...> format, Args&&... args) {
    refuse(Status(Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...)));
    return status_;
  }
  Status fail(Status status) {
    refuse(std::move(status));
    return status_;
  }
  void refuse(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }

 private:
  NodeSink* sink_;
  Status status_;
};

}  // namespace wootz
