#include "runtime/report/value_map.h"

#include <algorithm>
#include <set>

#include "runtime/report/properties.h"

namespace wootz {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text.empty() ? "none" : text;
}

// The name as the model has it: without the layout of a reformatted copy.
std::string model_name(const PlanTensor& tensor) {
  const std::string suffix = fmt::format("@{}", layout_name(tensor.layout));
  const bool copy = tensor.name.size() > suffix.size() && tensor.name.ends_with(suffix);
  return copy ? tensor.name.substr(0, tensor.name.size() - suffix.size()) : tensor.name;
}

}  // namespace

std::vector<TensorIndex> written_tensors(const Program& program, TensorIndex tensor) {
  std::vector<TensorIndex> found, work{tensor};
  while (!work.empty()) {
    const TensorIndex t = work.back();
    work.pop_back();
    const PlanTensor& here = program.tensors[t];
    if (here.kind == TensorKind::kView)
      work.push_back(here.view_of);
    else if (!here.subviews.empty())
      work.insert(work.end(), here.subviews.begin(), here.subviews.end());
    else
      found.push_back(t);
  }
  return found;
}

Boundary boundary_of(const Program& program, const std::vector<StepIndex>& steps) {
  Boundary boundary;
  std::set<TensorIndex> made;
  std::set<std::string> seen;
  for (const StepIndex s : steps) made.insert(program.steps[s].outputs.begin(), program.steps[s].outputs.end());
  for (const StepIndex s : steps) {
    for (const TensorIndex t : program.steps[s].inputs) {
      if (!t.exists() || made.count(t) != 0 || program.tensors[t].kind == TensorKind::kConstant) continue;
      std::string name = model_name(program.tensors[t]);
      if (seen.insert(name).second) boundary.inputs.push_back(std::move(name));
    }
    for (const TensorIndex t : program.steps[s].outputs)
      if (t.exists()) boundary.outputs.push_back(model_name(program.tensors[t]));
  }
  return boundary;
}

ValueMap::ValueMap(const Program& program) : program_(program) {
  const auto found = program.properties.find(property::kValues);
  if (found != program.properties.end()) json_ = SortedJson::parse(found->second, nullptr, /*allow_exceptions=*/false);
}

ValueMap::Entry ValueMap::entry(std::string_view name, const SortedJson& json) const {
  Entry made;
  made.name = name;
  if (json.is_number_integer()) {
    const auto t = json.get<int64_t>();
    if (t >= 0 && t < static_cast<int64_t>(program_.tensors.size())) made.tensor = TensorIndex(t);
  } else if (json.is_array()) {
    for (const SortedJson& step : json)
      if (step.is_number_unsigned() && step.get<uint64_t>() < program_.steps.size())
        made.steps.emplace_back(step.get<uint64_t>());
  } else if (json.is_string()) {
    made.why = json.get<std::string>();
  }
  return made;
}

std::vector<ValueMap::Entry> ValueMap::entries() const {
  std::vector<Entry> list;
  if (!json_.is_object()) return list;
  for (const auto& [name, value] : json_.items()) list.push_back(entry(name, value));
  return list;
}

Status ValueMap::absent(const Entry& value) const {
  if (!value.steps.empty()) {
    std::string names;
    for (const StepIndex s : value.steps)
      names += fmt::format("{}'{}' ({})", names.empty() ? "" : ", ", program_.steps[s].name,
                           program_.steps[s].tactic.to_string());
    const Boundary boundary = boundary_of(program_, value.steps);
    return make_error(Code::kInvalidState,
                      "value '{}' is never written: it lives inside the fused region {}. What exists around it: inputs "
                      "{}; outputs {}. To see it itself, mark it as a debug tensor and build again",
                      value.name, names, list_of(boundary.inputs), list_of(boundary.outputs));
  }
  if (value.why == value_code::kConstant)
    return make_error(Code::kInvalidState,
                      "value '{}' was known while building and is packed into the steps that use it", value.name);
  if (value.why.starts_with(value_code::kRemoved))
    return make_error(Code::kInvalidState, "value '{}' is not computed: nothing needed it after the pass {}",
                      value.name, value.why.substr(std::string_view(value_code::kRemoved).size()));
  return make_error(Code::kInvalidState,
                    "value '{}' has no memory: it is worked out with the shapes, or nothing needs it", value.name);
}

Result<TensorIndex> ValueMap::find(std::string_view name) const {
  for (const auto* list : {&program_.inputs, &program_.outputs})
    for (const IoTensor& io : *list)
      if (program_.tensors[io.tensor].name == name) return io.tensor;
  if (json_.is_object()) {
    if (const auto found = json_.find(std::string(name)); found != json_.end()) {
      Entry value = entry(name, *found);
      const bool packed = value.tensor.exists() && program_.tensors[value.tensor].layout == Layout::kOpaque;
      if (value.tensor.exists() && !packed) return value.tensor;
      if (packed) value.why = value_code::kConstant;
      return absent(value);
    }
  }
  for (const Step& step : program_.steps)  // names that the plan has on its own: what lowering put between two steps
    for (const TensorIndex t : step.outputs)
      if (t.exists() && program_.tensors[t].name == name) return t;
  if (!json_.is_object())
    return invalid_argument("'{}' is no tensor of the plan, and the plan was built without the model's names", name);
  std::vector<std::string> near;
  for (const auto& [known, value] : json_.items())
    if (near.size() < 9 &&
        (known.find(name) != std::string::npos || (known.size() > 3 && name.find(known) != std::string_view::npos)))
      near.push_back(known);
  return invalid_argument("the model has no value '{}'{}", name,
                          near.empty() ? "" : fmt::format("; names like it: {}", list_of(near)));
}

}  // namespace wootz
