#include "passes/precision/layer_types.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {
namespace {

bool any_of(const std::vector<Value*>& values, const std::function<bool(DType)>& holds) {
  return std::any_of(values.begin(), values.end(), [&](const Value* v) { return v != nullptr && holds(v->dtype()); });
}

class TypeSetter {
 public:
  TypeSetter(Graph& graph, const std::function<std::string(DType)>& refuses) : graph_(graph), refuses_(refuses) {}

  // Empty: as asked.
  Result<std::string> apply(Node* node, DType type) {
    const auto same = [&](DType t) { return t == type; };
    if (!is_model_float(type))
      return any_of(node->outputs(), same)
                 ? std::string()
                 : fmt::format("nothing computes a {} in {}: its results follow from the types of its operands",
                               node->op_name(), dtype_name(type));
    if (node->is("Cast")) return std::string();  // its types are what it is
    if (!any_of(node->inputs(), is_model_float) && !any_of(node->outputs(), is_model_float)) {
      // Extents and indices are no matter of precision.
      const Value* out = node->output();
      return out != nullptr && out->shape_values() ? std::string() : std::string("it computes no floats");
    }
    const auto other = [&](DType t) { return is_model_float(t) && t != type; };
    if (!any_of(node->inputs(), other) && !any_of(node->outputs(), other)) return std::string();
    if (std::string why = refuses_(type); !why.empty()) return why;
    return convert(node, type);
  }

 private:
  Result<std::string> convert(Node* node, DType type) {
    const std::vector<Value*> inputs = node->inputs();
    std::vector<DType> before;
    for (const Value* out : node->outputs()) before.push_back(out == nullptr ? DType::kInvalid : out->dtype());
    for (int i = 0; i < node->num_inputs(); ++i) {
      Value* in = node->input(i);
      if (in == nullptr || !is_model_float(in->dtype()) || in->dtype() == type) continue;
      WOOTZ_ASSIGN_OR_RETURN(Value * cast, cast_of(in, type, node));
      node->set_input(i, cast);
    }
    if (Status status = infer_node(*node); !status.ok()) {
      for (int i = 0; i < node->num_inputs(); ++i) node->set_input(i, inputs[static_cast<size_t>(i)]);
      WOOTZ_RETURN_IF_ERROR(infer_node(*node));
      return fmt::format("a {} of such operands is not computed in {}: {}", node->op_name(), dtype_name(type),
                         status.message());
    }
    for (int o = 0; o < node->num_outputs(); ++o) {
      Value* out = node->output(o);
      const DType was = before[static_cast<size_t>(o)];
      if (out == nullptr || out->dtype() == was) continue;
      WOOTZ_ASSIGN_OR_RETURN(const Node* cast, cast_after(graph_, out, was));
      results_.insert(cast);
    }
    return std::string();
  }

  Result<Value*> cast_of(Value* value, DType type, Node* before) {
    const auto key = std::make_pair(static_cast<const Value*>(value), type);
    if (const auto found = casts_.find(key); found != casts_.end()) return found->second;
    // What a layer before it has computed in this type is read as it is, and not by way of the type in between.
    const Node* made = value->producer();
    if (made != nullptr && results_.count(made) != 0 && made->input(0)->dtype() == type) return made->input(0);
    Node* cast = graph_.add_node(*find_op("Cast"), graph_.unique_name(value->name() + "_cast"), {value},
                                 {{"to", std::string(dtype_name(type))}}, 1, before);
    if (made != nullptr)
      cast->add_provenance(*made);
    else
      cast->add_provenance(value->name());
    WOOTZ_RETURN_IF_ERROR(infer_node(*cast));
    return casts_[key] = cast->output();
  }

  Graph& graph_;
  const std::function<std::string(DType)>& refuses_;
  std::map<std::pair<const Value*, DType>, Value*> casts_;
  std::set<const Node*> results_;  // casts after layers
};

}  // namespace

Result<Node*> cast_after(Graph& graph, Value* out, DType type) {
  Node* const node = out->producer();
  Node* cast = graph.add_node(*find_op("Cast"), graph.unique_name(out->name() + "_cast"), {out},
                              {{"to", std::string(dtype_name(type))}}, 1, node->next());
  WOOTZ_RETURN_IF_ERROR(infer_node(*cast));
  cast->add_provenance(*node);
  const bool output = graph.is_output(out);
  std::string name = out->name();
  graph.replace_all_uses(out, cast->output());
  cast->set_input(0, out);
  if (output) {
    out->set_name(graph.unique_name(name));
    cast->output()->set_name(std::move(name));
  }
  return cast;
}

Result<std::vector<TypeRefusal>> apply_layer_types(Graph& graph, const std::vector<AskedType>& types,
                                                   const std::function<std::string(DType)>& refuses) {
  std::map<std::string, const AskedType*, std::less<>> asked;
  for (const AskedType& type : types)
    for (const std::string& origin : type.origins) asked.emplace(origin, &type);
  std::vector<TypeRefusal> refused;
  if (asked.empty()) return refused;
  TypeSetter setter(graph, refuses);
  for (Node* node : graph.nodes()) {
    const AskedType* wanted = nullptr;
    for (const std::string& origin : node->provenance())
      if (const auto found = asked.find(origin); found != asked.end() && wanted == nullptr) wanted = found->second;
    if (wanted == nullptr) continue;
    WOOTZ_ASSIGN_OR_RETURN(std::string why, setter.apply(node, wanted->type));
    const bool told =
        std::any_of(refused.begin(), refused.end(), [&](const TypeRefusal& r) { return r.layer == wanted->layer; });
    if (!why.empty() && !told) refused.push_back({wanted->layer, std::move(why)});
  }
  return refused;
}

std::set<std::string, std::less<>> kept_in_f32(const std::vector<AskedType>& types) {
  std::set<std::string, std::less<>> origins;
  for (const AskedType& type : types)
    if (type.type == DType::kF32) origins.insert(type.origins.begin(), type.origins.end());
  return origins;
}

}  // namespace wootz
