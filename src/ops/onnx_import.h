// What an op's module gives the ONNX importer: a table of {ONNX op, first opset version, import function}. The importer
// (src/onnx) implements ImportContext over the checked model; nothing here knows protobuf.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_def.h"

namespace wootz {

// One ONNX node being imported.
class ImportContext {
 public:
  virtual ~ImportContext() = default;

  virtual const std::string& op_type() const = 0;
  virtual const std::string& node_name() const = 0;  // never empty: made from the first output's name if need be
  virtual int opset() const = 0;                     // version of the node's domain that the model imports
  virtual Graph& graph() = 0;

  virtual int num_inputs() const = 0;     // trailing omitted inputs not counted
  virtual Value* input(int i) const = 0;  // null when omitted or beyond the end
  virtual int num_outputs() const = 0;
  virtual bool wants_output(int i) const = 0;  // false for an omitted (empty) output name
  bool has_input(int i) const { return input(i) != nullptr; }

  virtual bool has_attr(std::string_view name) const = 0;
  virtual int64_t attr_int(std::string_view name, int64_t fallback) const = 0;
  virtual double attr_float(std::string_view name, double fallback) const = 0;
  virtual std::string attr_string(std::string_view name, std::string_view fallback) const = 0;
  virtual std::vector<int64_t> attr_ints(std::string_view name, std::vector<int64_t> fallback = {}) const = 0;
  virtual std::vector<double> attr_floats(std::string_view name, std::vector<double> fallback = {}) const = 0;
  virtual std::vector<std::string> attr_strings(std::string_view name) const = 0;
  virtual DType attr_dtype(std::string_view name, DType fallback) const = 0;  // an ONNX element type number
  virtual Result<HostTensor> attr_tensor(std::string_view name) const = 0;    // invalid_argument when absent
  // A subgraph as a Graph of its own. Values of the outer graph that it reads become inputs after its declared ones;
  // they are listed in `captured` in that order (constants are copied into the subgraph instead).
  // `input_types`: what the op knows of the declared inputs (dtype and shape where present; Dim::symbol(-1) asks for a
  // fresh unknown size); the model's own declarations serve where it is silent. A declared input with neither is
  // refused.
  virtual Result<std::shared_ptr<Graph>> attr_graph(std::string_view name, std::vector<Value*>* captured,
                                                    const std::vector<TypeInfo>& input_types) = 0;
  Result<std::shared_ptr<Graph>> attr_graph(std::string_view name, std::vector<Value*>* captured) {
    return attr_graph(name, captured, {});
  }

  // For an If whose branches give results of differing rank: what reads them is imported inside of each branch. No
  // graph: that branch is never taken. The node's outputs are settled with this.
  struct Branch {
    std::shared_ptr<Graph> graph;
    std::vector<Value*> captured;
  };
  virtual Status fork(Value* condition, Branch then, Branch other) = 0;
  // The branch ends in such an If itself: it has no outputs yet, and fork() is the only way to go on.
  virtual bool has_open_results(const Graph& branch) const = 0;

  // The value of input i when it is known while importing (an initializer, a Constant, or folded from such); else null.
  const HostTensor* constant(int i) const {
    const Value* v = input(i);
    return v != nullptr && v->is_constant() ? &v->constant() : nullptr;
  }
  std::vector<int64_t> constant_ints(int i) const;  // empty when constant(i) is null

  // Adds a node of the IR and infers its types. One-output form gives the output.
  virtual Result<Node*> add(std::string_view op, std::vector<Value*> inputs, AttrMap attrs = {},
                            int num_outputs = 1) = 0;
  Result<Value*> emit(std::string_view op, std::vector<Value*> inputs, AttrMap attrs = {});
  virtual Value* add_constant(HostTensor tensor) = 0;
  Value* scalar_like(const Value* like, double value);  // a rank-0 constant of like's dtype
  Value* ints(std::vector<int64_t> values);             // a 1-D i64 constant

  // Names output i of the ONNX node. Every wanted output must be set before returning.
  virtual void set_output(int i, Value* value) = 0;

  // Refusals; the importer adds node, op and opset.
  template <typename... Args>
  Status fail(fmt::format_string<Args...> format, Args&&... args) const {
    return Status(Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
  }
};

using ImportFunction = Status (*)(ImportContext&);

struct OnnxImport {
  const char* op_type;
  int since_version;  // used for opset >= since_version, until a higher entry of the same op applies
  ImportFunction import;
  const char* domain = "";  // "" is ai.onnx
};

}  // namespace wootz
