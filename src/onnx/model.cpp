// The model around its main graph: versions, opsets, functions, and the start of the walk.
#include <algorithm>

#include "base/limits.h"
#include "onnx/import.h"
#include "onnx/import_table.h"
#include "onnx/importer.h"
#include "onnx/text.h"

namespace wootz::importer {

Importer::Importer(::onnx::ModelProto& model, const ImportOptions& options)
    : model_(model),
      options_(options),
      problems_(options.max_problems),
      reader_(ExternalFiles(options.model_dir, options.allow_linked_external_data)),
      graph_(std::make_shared<Graph>(printable(model.graph().name()))) {}

void Importer::report(Code code, std::string reason, std::string where, const char* source, int line,
                      const char* source_function) {
  ImportProblem problem;
  problem.code = code;
  problem.reason = std::move(reason);
  problem.node = std::move(where);
  problem.node_index = top_node_;
  problem.functions = inside_;
  problem.source = source;
  problem.line = line;
  problem.source_function = source_function;
  if (top_node_ >= 0) failed_nodes_.insert(top_node_);
  problems_.add(std::move(problem));
}

void Importer::report(const Place& place, const Status& status, const char* source, int line,
                      const char* source_function) {
  ImportProblem problem;
  problem.code = status.code();
  problem.reason = status.message();
  problem.node = place.name;
  problem.op = place.node.op_type();
  problem.domain = place.domain;
  problem.opset = place.opset;
  problem.node_index = top_node_;
  problem.functions = inside_;
  problem.source = source;
  problem.line = line;
  problem.source_function = source_function;
  if (top_node_ >= 0) failed_nodes_.insert(top_node_);
  problems_.add(std::move(problem));
}

void Importer::stop(Status status) {
  if (stopped_) return;
  stopped_ = true;
  report(status.code(), status.message());
}

Status Importer::count_node() {
  if (++node_count_ <= limits::kMaxNodes) return Status();
  const Status status =
      make_error(Code::kResourceExhausted, "more than {} nodes, inlined functions included", limits::kMaxNodes);
  stop(status);
  return status;
}

void Importer::limit_tracking(Node& node) {
  for (Value* output : node.outputs()) {
    if (!output->shape_values()) continue;
    tracked_ += static_cast<int64_t>(output->shape_values()->size());
    if (tracked_ > limits::kMaxTrackedShapeValues) output->set_shape_values(std::nullopt);
  }
}

std::string Importer::ir_name(const std::string& name, Graph& graph) {
  return node_names_.insert(name).second ? name : graph.unique_name(name);
}

bool Importer::read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports,
                           OpsetMap* opsets, const std::string& where) {
  bool good = true;
  const auto refuse = [&](Code code, std::string reason) {
    report(code, std::move(reason), where);
    good = false;
  };
  for (const auto& import : imports) {
    const std::string domain(canonical_domain(import.domain()));
    const std::string shown = domain.empty() ? "ai.onnx" : printable(domain);
    const auto [it, fresh] = opsets->emplace(domain, import.version());
    if (!fresh && it->second != import.version())
      refuse(Code::kInvalidArgument,
             fmt::format("opset of domain {} is imported as {} and as {}", shown, it->second, import.version()));
    if (import.version() < 1) {
      refuse(Code::kInvalidArgument, fmt::format("opset {} of domain {} does not exist", import.version(), shown));
    } else if (import.version() > newest_opset(domain)) {
      refuse(Code::kUnsupported, fmt::format("opset {} of domain {} is newer than {}, the newest that is known",
                                             import.version(), shown, newest_opset(domain)));
    }
  }
  return good;
}

bool Importer::check_model() {
  if (!model_.has_ir_version() || model_.ir_version() < 1) {
    report(Code::kCorrupt, fmt::format("IR version {}: not an ONNX model", model_.ir_version()));
    return false;
  }
  if (model_.ir_version() > kMaxOnnxIrVersion) {
    report(Code::kUnsupported, fmt::format("IR version {} is newer than {}, the newest that is known",
                                           model_.ir_version(), kMaxOnnxIrVersion));
    return false;
  }
  if (!model_.has_graph()) {
    report(Code::kCorrupt, "the model has no graph");
    return false;
  }
  if (model_.functions_size() > limits::kMaxFunctions) {
    report(Code::kResourceExhausted,
           fmt::format("{} functions, the limit is {}", model_.functions_size(), limits::kMaxFunctions));
    return false;
  }
  if (model_.opset_import_size() == 0 && model_.ir_version() < 3) opsets_[""] = 1;  // before versions were written down
  if (model_.opset_import_size() == 0 && model_.ir_version() >= 3) {
    report(Code::kInvalidArgument, "the model imports no opset");
    return false;
  }
  return read_opsets(model_.opset_import(), &opsets_, "");
}

std::shared_ptr<Graph> Importer::run() {
  if (!check_model()) return nullptr;
  index_functions();
  const ::onnx::GraphProto& proto = model_.graph();
  if (proto.output_size() == 0) report(Code::kInvalidArgument, "the graph has no outputs");
  // Names that ops make up keep clear of the model's.
  for (const auto& value : proto.input()) graph_->unique_name(value.name());
  for (const auto& tensor : proto.initializer()) graph_->unique_name(tensor.name());
  for (const auto& node : proto.node())
    for (const std::string& name : node.output()) graph_->unique_name(name);
  Scope scope(graph_.get(), nullptr, nullptr);
  bind_constant_inputs(proto, scope);
  define_initializers(proto, scope, "");
  define_inputs(proto, scope);
  Frame frame;
  frame.opsets = &opsets_;
  frame.graph = &proto;
  std::set<std::string_view> results;
  for (const auto& output : proto.output()) results.insert(output.name());
  import_nodes(proto.node(), results, scope, frame);
  top_node_ = -1;
  if (!stopped_) mark_outputs(proto, scope);
  const std::set<const Value*> outputs(graph_->outputs().begin(), graph_->outputs().end());
  for (Value* constant : graph_->constants())  // left over from folding
    if (constant->uses().empty() && !outputs.contains(constant)) graph_->erase_value(constant);
  return graph_;
}

}  // namespace wootz::importer
