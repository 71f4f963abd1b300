// What a plugin is created with: values by name, from an ONNX node's attributes or from an application's fields.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tensor.h"

namespace wootz::stock {

enum class FieldType : uint8_t { kInt, kFloat, kText };

// One field of a plugin.
struct Field {
  const char* name;
  FieldType type;
  // Numbers separated by commas, or a text. "": nothing, the field may be absent. Null: it must be given.
  const char* fallback;
};

using FieldValue = std::variant<HostTensor, std::string>;

// Values of one plugin object. Those that are numbers are a list, of whatever type they were given in.
class Fields {
 public:
  void set(std::string name, FieldValue value) { values_[std::move(name)] = std::move(value); }
  const FieldValue* find(std::string_view name) const;
  const std::map<std::string, FieldValue, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, FieldValue, std::less<>> values_;
};

// The given values of these fields, and the defaults of the others. Errors: one is missing, or of the wrong sort. Names
// that are no fields are left out.
Result<Fields> completed(std::span<const Field> fields, const Fields& given);

}  // namespace wootz::stock
