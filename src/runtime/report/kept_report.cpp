#include "runtime/report/kept_report.h"

namespace wootz {

using Json = OrderedJson;

Json kept_json(const Program& program, const char* property) {
  const auto found = program.properties.find(property);
  if (found == program.properties.end()) return {};
  Json json = Json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

const Json* member(const Json& json, const std::string& name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

const Json& list_or_empty(const Json& json, const char* name) {
  static const Json kNone = Json::array();
  const Json* found = member(json, name);
  return found != nullptr && found->is_array() ? *found : kNone;
}

KeptChoices::KeptChoices(const Json& report) : choices_(list_or_empty(report, "Choices")) {
  const Json* steps = member(report, "Steps");
  if (steps == nullptr || !steps->is_object()) return;
  for (const auto& [name, value] : steps->items()) steps_.emplace(name, &value);
}

Json KeptChoices::of(const std::string& step) const {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return {};
  const Json *chosen = member(*found->second, "Chosen"), *choice = member(*found->second, "Choice");
  if (chosen == nullptr || choice == nullptr || !chosen->is_number_integer() || !choice->is_number_integer()) return {};
  const auto index = choice->get<int64_t>();
  if (index < 0 || static_cast<size_t>(index) >= choices_.size()) return {};
  const Json& lists = choices_[static_cast<size_t>(index)];
  if (!lists.is_object()) return {};
  Json json = {{"Chosen", *chosen}};
  json.update(lists);
  return json;
}

}  // namespace wootz
