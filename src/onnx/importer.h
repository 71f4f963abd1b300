// One import: the walk over the model's nodes. Internal to src/onnx.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/fold.h"
#include "onnx/fork.h"
#include "onnx/import_options.h"
#include "onnx/onnx.pb.h"
#include "onnx/problems.h"
#include "onnx/scope.h"
#include "onnx/tensor_reader.h"
#include "onnx/topology.h"
#include "ops/onnx_import.h"

namespace wootz::importer {

using OpsetMap = std::unordered_map<std::string, int64_t>;
using AttributeMap = std::unordered_map<std::string_view, const ::onnx::AttributeProto*>;

// Where in the model the walk is: the main graph, the body of a function call, or a subgraph.
struct Frame {
  const Frame* caller = nullptr;                    // chain of function calls
  const ::onnx::FunctionProto* function = nullptr;  // whose body this is; null in the main graph
  const OpsetMap* opsets = nullptr;
  const AttributeMap* attributes = nullptr;   // a function's attributes as the caller gave them; null outside
  const ::onnx::GraphProto* graph = nullptr;  // for the types in value_info; null in a function's body
  std::string path;                           // "call/" before the names of its nodes
  int function_depth = 0;
  int graph_depth = 0;
};

// A node and what messages say of it.
struct Place {
  const ::onnx::NodeProto& node;
  std::string name;    // never empty
  std::string domain;  // canonical
  int opset = 0;       // 0: the domain is not imported
};

class NodeContext;

// What comes before the names of what is inside the node: a function's body, a subgraph.
std::string inner_path(const Place& place, const Frame& frame);
// Gives a value that a node of `frame` makes its name in the model.
void name_value(Value* value, const std::string& name, const Frame& frame);

class Importer {
 public:
  // The model is used up: tensor bytes are moved out of it.
  Importer(::onnx::ModelProto& model, const ImportOptions& options);

  // The graph as far as it goes; whole only when problems().count() is zero.
  std::shared_ptr<Graph> run();

  Problems& problems() { return problems_; }
  // Top-level nodes that have a problem.
  const std::set<int>& failed_nodes() const { return failed_nodes_; }
  Topology& topology() { return topology_; }
  TensorReader& reader() { return reader_; }

  // A subgraph of a node in `frame`: its graph, with what it captures. The inner problems are reported; the Status only
  // says that there are some. `types` may be null: all declared inputs are then unknown and only ops are checked.
  Result<std::shared_ptr<Graph>> import_subgraph(const ::onnx::GraphProto& proto, const Place& place, Scope& scope,
                                                 const Frame& frame, std::vector<Value*>* captured,
                                                 const std::vector<TypeInfo>* types);
  // A branch whose results are of either of several kinds, after import_subgraph(). Null: they are the graph's outputs.
  std::unique_ptr<Fork> take_fork(const Graph& branch);
  bool has_fork(const Graph& branch) const { return open_forks_.contains(&branch); }
  // Counts a node of the model or of the IR against the limit.
  Status count_node();
  // Drops the tracked shape values of the node's outputs once there are too many in all.
  void limit_tracking(Node& node);
  // A name for a node of the IR: the model's, made unique.
  std::string ir_name(const std::string& name, Graph& graph);

 private:
  // model.cpp: the model around its main graph
  bool check_model();
  bool read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports, OpsetMap* opsets,
                   const std::string& where);
  void index_functions();
  // interface.cpp: inputs, initializers, outputs
  void define_initializers(const ::onnx::GraphProto& proto, Scope& scope, const std::string& where);
  void define_inputs(const ::onnx::GraphProto& proto, Scope& scope);
  void bind_constant_inputs(const ::onnx::GraphProto& proto, Scope& scope);
  void mark_outputs(const ::onnx::GraphProto& proto, Scope& scope);
  Status define_body_inputs(const ::onnx::GraphProto& proto, Scope& scope, const std::vector<TypeInfo>* types);
  Result<Shape> read_shape(const ::onnx::TensorShapeProto& proto, const Value& value, bool shared_names);
  bool define(Scope& scope, std::string_view name, Slot slot, const std::string& where, const char* what);
  // nodes.cpp: the walk
  // `results`: names that are read from outside. Gives the fork that they end in, if there is one.
  std::unique_ptr<Fork> import_nodes(const NodeList& nodes, const std::set<std::string_view>& results, Scope& scope,
                                     const Frame& frame);
  void import_at(const NodeList& nodes, int index, Scope& scope, const Frame& frame);
  void import_node(const ::onnx::NodeProto& node, Scope& scope, const Frame& frame);
  bool resolve_inputs(const Place& place, Scope& scope, std::vector<Slot>* inputs);
  void import_op(const Place& place, Scope& scope, const Frame& frame, const std::vector<Slot>& inputs);
  // plugin_nodes.cpp: nodes whose meaning the application brings along
  bool import_plugin(const Place& place, Scope& scope, const Frame& frame, const std::vector<Slot>& inputs);
  Result<PluginRequest> plugin_request(const Place& place, const Frame& frame);
  static Status add_plugin(const PluginRequest& request, const std::shared_ptr<const CustomOp>& plugin,
                           NodeContext& context);
  // How a plugin's node is written; none: the node is no plugin.
  struct PluginWriter {
    std::function<Status(NodeContext& context)> write;
    bool operators = false;  // it becomes operators, which may turn out to be constant
  };
  using FindPlugin = std::function<Result<PluginWriter>(const PluginRequest& request)>;
  // False: the node is no plugin.
  bool import_found(const Place& place, Scope& scope, const Frame& frame, const std::vector<Slot>& inputs,
                    const FindPlugin& find);
  // stock_nodes.cpp: plugins that TensorRT ships
  bool import_stock(const Place& place, Scope& scope, const Frame& frame, const std::vector<Slot>& inputs);
  Status run_import(const OnnxImport& entry, NodeContext& context);
  // Folds what a node became, and binds its outputs.
  void take_results(const Place& place, Scope& scope, const Frame& frame, NodeContext& context);
  void bind_results(const Place& place, Scope& scope, const Frame& frame, NodeContext& context);
  void bind_output(const Place& place, int index, Slot slot, Scope& scope);
  void poison_outputs(const Place& place, Scope& scope, const Frame& frame);
  void check_subgraphs(const Place& place, Scope& scope, const Frame& frame, const NodeContext* imported);
  const ::onnx::ValueInfoProto* declared_value(const std::string& name, const Frame& frame);
  // fork_walk.cpp, fork_close.cpp: Ifs whose branches differ in rank
  friend class NodeWalk;
  struct Mark {
    size_t problems = 0, listed = 0;
    bool failed = false;
  };
  Mark mark();
  std::string take_back(const Mark& mark);  // the problems since; what the first was
  Result<std::vector<Value*>> close_fork(Fork& fork, const std::vector<std::string_view>& needed, Graph& graph);
  Result<std::vector<Value*>> write_out(const ForkSide& side, const std::vector<Value*>& results, Graph& graph);
  bool keep_open(std::unique_ptr<Fork> fork, const ::onnx::GraphProto& proto, const Graph& graph);
  // functions.cpp
  struct FunctionInfo {
    const ::onnx::FunctionProto* proto = nullptr;
    int64_t bytes = 0;               // of its message, against the limit on inlining
    std::optional<OpsetMap> opsets;  // read at the first call
    bool usable = false;
  };
  FunctionInfo* find_function(const Place& place);
  void call_function(FunctionInfo& info, const Place& place, Scope& scope, const Frame& frame,
                     const std::vector<Slot>& inputs);
  // Errors: recursion, or calls nested too deep. Stops the import where the limit on inlining is passed.
  Status admit_call(const FunctionInfo& info, const Place& place, const Frame& frame);
  // False: they are wrong, which the first call reported.
  bool read_function_opsets(FunctionInfo& info);
  // The function's attributes for this call. Errors: the node has more of something than the function declares.
  Status bind_attributes(const ::onnx::FunctionProto& function, const Place& place, const Frame& frame,
                         AttributeMap* bound);
  // Results of the body to the outputs of the node that calls it.
  void bind_results(const ::onnx::FunctionProto& function, const Place& place, Scope& body, const Frame& inner,
                    Scope& scope, const Frame& frame);

  // The last three: where the problem is noticed.
  void report(Code code, std::string reason, std::string where = "", const char* source = __builtin_FILE(),
              int line = __builtin_LINE(), const char* source_function = __builtin_FUNCTION());
  void report(const Place& place, const Status& status, const char* source = __builtin_FILE(),
              int line = __builtin_LINE(), const char* source_function = __builtin_FUNCTION());
  // A limit of the whole import was hit: reports it and ends the walk.
  void stop(Status status);

  ::onnx::ModelProto& model_;
  const ImportOptions& options_;
  Problems problems_;
  TensorReader reader_;
  Topology topology_;
  Folder folder_;
  OpsetMap opsets_;
  std::unordered_map<std::string, FunctionInfo> functions_;  // by function_key()
  std::shared_ptr<Graph> graph_;
  std::unordered_map<std::string, Dim> dim_params_;
  std::unordered_map<const ::onnx::GraphProto*, std::unordered_map<std::string_view, const ::onnx::ValueInfoProto*>>
      declared_;
  std::set<std::string> node_names_, symbol_names_;
  std::set<int> failed_nodes_;
  std::vector<std::string> inside_;  // names of the functions whose bodies are being imported, outermost first
  int top_node_ = -1;
  int64_t node_count_ = 0;
  int64_t tracked_ = 0;
  int64_t inlined_bytes_ = 0;
  bool stopped_ = false;
  std::unique_ptr<Fork> made_fork_;  // by the node just imported
  std::unordered_map<const Graph*, std::unique_ptr<Fork>> open_forks_;
  int forks_ = 0;
};

}  // namespace wootz::importer
