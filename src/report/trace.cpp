#include "report/trace.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/json.h"
#include "ir/op_def.h"
#include "runtime/report/value_map.h"

namespace wootz {
namespace {

constexpr const char* kImport = "import";  // what takes a node away before there is a graph

std::string group_key(const Node& node) {
  std::vector<std::string> names = node.provenance();
  std::sort(names.begin(), names.end());
  std::string key;
  for (const std::string& name : names) key += name + '\n';
  return key;
}

// Whether running the program puts the tensor's elements somewhere.
bool exists(const Program& program, const IndexedVector<TensorIndex, uint8_t>& written, TensorIndex tensor) {
  for (const TensorIndex t : written_tensors(program, tensor)) {
    const TensorKind kind = program.tensors[t].kind;
    const bool by_step = kind == TensorKind::kIntermediate || kind == TensorKind::kSubview;
    if (by_step && !written[t]) return false;
  }
  return true;
}

}  // namespace

ModelTrace::ModelTrace(const Graph& graph, const std::vector<AbsentNode>& absent_nodes, NodeOrder order)
    : order_(std::move(order)), nodes_(order_.size()) {
  for (const AbsentNode& absent : absent_nodes)
    if (ModelNode& model = nodes_[order_.of(absent.name)]; model.op.empty())
      model = {absent.name, absent.op, {}, absent.outputs, kImport};
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    ModelNode& model = nodes_[order_.of(first_origin(*node))];
    model.name = first_origin(*node);
    model.removed_by.clear();
    model.op = node->op().name;  // of several, the last: the first ones prepare its operands
    for (const Value* in : node->inputs())
      if (in != nullptr && !in->is_constant()) model.inputs.push_back(in->name());
    for (const Value* out : node->outputs())
      if (out != nullptr) model.outputs.push_back(out->name());
    if (node->provenance().size() > 1) groups_.emplace(group_key(*node), 0);
  }
  for (ModelNode& node : nodes_) {  // what a node makes for itself is no operand; each is listed once
    std::set<std::string> own(node.outputs.begin(), node.outputs.end());
    const auto seen = [&](const std::string& name) { return !own.insert(name).second; };
    node.inputs.erase(std::remove_if(node.inputs.begin(), node.inputs.end(), seen), node.inputs.end());
  }
}

void ModelTrace::after_pass(const PassReport& pass, const Graph& graph) {
  if (!pass.changed) return;
  std::unordered_set<size_t> alive;
  std::unordered_map<std::string, size_t> groups;
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    for (const std::string& name : node->provenance()) alive.insert(order_.of(name));
    if (node->provenance().empty()) alive.insert(order_.of(node->name()));
    if (node->provenance().size() < 2) continue;
    std::string key = group_key(*node);
    if (groups_.count(key) == 0 && groups.count(key) == 0) {
      Fusion fusion{pass.name, node->provenance()};
      std::sort(fusion.members.begin(), fusion.members.end(),
                [&](const std::string& a, const std::string& b) { return order_.of(a) < order_.of(b); });
      fusions_.push_back(std::move(fusion));
    }
    groups.emplace(std::move(key), 0);
  }
  groups_ = std::move(groups);
  for (size_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].removed_by.empty() && alive.count(n) == 0) nodes_[n].removed_by = pass.name;
}

void ModelTrace::note_placed(const IndexedVector<StepIndex, Step>& before, const std::vector<std::string>& gone) {
  const std::set<std::string> names(gone.begin(), gone.end());
  for (const Step& step : before)
    if (names.count(step.name) != 0)
      for (const std::string& node : step.provenance)
        if (const size_t n = order_.of(node); n < nodes_.size()) nodes_[n].in_place = true;
}

void ModelTrace::locate_values(const Lowered& lowered, const Program& program) {
  IndexedVector<TensorIndex, uint8_t> written(program.tensors.size(), 0);
  std::unordered_map<std::string, std::vector<StepIndex>> steps;  // by the name of the model's node
  for (const StepIndex s : program.steps.indices()) {
    for (const TensorIndex t : program.steps[s].outputs)
      if (t.exists()) written[t] = 1;
    for (const std::string& name : program.steps[s].provenance) steps[name].push_back(s);
  }
  std::unordered_map<std::string, TensorIndex> tensors;
  std::unordered_set<std::string> constants;
  std::vector<std::pair<const Value*, TensorIndex>> lowered_values(lowered.tensors.begin(), lowered.tensors.end());
  std::sort(lowered_values.begin(), lowered_values.end(),
            [](const auto& a, const auto& b) { return a.first->id() < b.first->id(); });
  const auto add = [&](const std::string& name, const Value& value, TensorIndex tensor) {
    if (value.is_constant()) constants.insert(name);
    if (exists(program, written, tensor)) tensors.emplace(name, tensor);
  };
  for (const auto& [value, tensor] : lowered_values) add(value->name(), *value, tensor);
  for (const auto& [value, tensor] : lowered_values)
    for (const std::string& name : value->aliases()) add(name, *value, tensor);
  values_.clear();
  for (const ModelNode& node : nodes_) {
    for (const std::string& name : node.outputs) {
      Located located;
      if (const auto found = tensors.find(name); found != tensors.end()) {
        located.tensor = found->second;
      } else if (constants.count(name) != 0) {
        located.why = value_code::kConstant;
      } else if (const auto held = steps.find(node.name); held != steps.end()) {
        located.steps = held->second;
      } else if (node.removed_by.empty()) {
        located.why = value_code::kShape;
      } else {
        located.why = value_code::kRemoved + node.removed_by;
      }
      values_.emplace_back(name, std::move(located));
    }
  }
}

std::string ModelTrace::values_json() const {
  SortedJson json = SortedJson::object();
  for (const auto& [name, located] : values_) {
    SortedJson& value = json[name];
    if (located.tensor.exists()) {
      value = located.tensor.number();
    } else if (located.steps.empty()) {
      value = located.why;
    } else {
      value = SortedJson::array();
      for (const StepIndex s : located.steps) value.push_back(s.number());
    }
  }
  return json.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

}  // namespace wootz
