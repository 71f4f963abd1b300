// Reading property::kReport, which report/record.h writes. It comes from a plan file: what does not fit is left out.
#pragma once

#include <map>
#include <string>

#include "backend/program.h"
#include "base/json.h"

namespace wootz {

// A property as JSON; null when it is absent or none.
OrderedJson kept_json(const Program& program, const char* property);

const OrderedJson* member(const OrderedJson& json, const std::string& name);
const OrderedJson& list_or_empty(const OrderedJson& json, const char* name);

// The tactics considered for each step. Keeps a reference to `report`.
class KeptChoices {
 public:
  explicit KeptChoices(const OrderedJson& report);
  // {"Chosen", "Considered", "NotApplicable"}, or null.
  OrderedJson of(const std::string& step) const;

 private:
  const OrderedJson& choices_;
  std::map<std::string, const OrderedJson*, std::less<>> steps_;
};

}  // namespace wootz
