// Reading property::kReport, which report/record.h writes. It comes from a plan file: what does not fit is left out.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "backend/program.h"

namespace wootz {

// A property as JSON; null when it is absent or none.
nlohmann::ordered_json kept_json(const Program& program, const char* property);

const nlohmann::ordered_json* member(const nlohmann::ordered_json& json, const std::string& name);
const nlohmann::ordered_json& list_or_empty(const nlohmann::ordered_json& json, const char* name);

// The tactics considered for each step. Keeps a reference to `report`.
class KeptChoices {
 public:
  explicit KeptChoices(const nlohmann::ordered_json& report);
  // {"Chosen", "Considered", "NotApplicable"}, or null.
  nlohmann::ordered_json of(const std::string& step) const;

 private:
  const nlohmann::ordered_json& choices_;
  std::map<std::string, const nlohmann::ordered_json*, std::less<>> steps_;
};

}  // namespace wootz
