#include "ops/registry.h"

#include <string>
#include <unordered_map>

#include "ops/module_table.h"

namespace wootz {

const std::vector<const OpDef*>& all_ops() {
  static const std::vector<const OpDef*> kRegistryDefs = [] {
    std::vector<const OpDef*> ops;
#define MODULE(module) \
  for (const OpDef* def : ops::module##_ops()) ops.push_back(def);
#include "ops/ops.def"
#undef MODULE
    return ops;
  }();
  return kRegistryDefs;
}

const OpDef* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpDef*> kByName = [] {
    std::unordered_map<std::string_view, const OpDef*> map;
    for (const OpDef* def : all_ops()) map.emplace(def->name, def);
    return map;
  }();
  const auto it = kByName.find(name);
  return it == kByName.end() ? nullptr : it->second;
}

const OpDef& op(std::string_view name) {
  // Only reached with a name written in our own code; the placeholder makes a mistake a clear failure, not a crash.
  static const OpDef kMissing{.name = "<unknown op>",
                              .min_inputs = 0,
                              .max_inputs = -1,
                              .max_outputs = -1,
                              .attributes = {},
                              .traits = {.foldable = false}};
  const OpDef* def = find_op(name);
  return def != nullptr ? *def : kMissing;
}

}  // namespace wootz
