#include "stock/fields.h"

#include <cstdlib>

namespace wootz::stock {
namespace {

const char* sort_name(FieldType type) {
  constexpr const char* kNames[] = {"integers", "numbers", "a text"};
  return kNames[static_cast<size_t>(type)];
}

// "1,0.5" as a list of two.
Result<HostTensor> parse_numbers(std::string_view text, DType type) {
  std::vector<double> numbers;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    numbers.push_back(std::strtod(std::string(text.substr(at, end - at)).c_str(), nullptr));
    at = end + 1;
  }
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(type, Dims{static_cast<int64_t>(numbers.size())}));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (is_float(type))
      made.set_f64(static_cast<int64_t>(i), numbers[i]);
    else
      made.set_i64(static_cast<int64_t>(i), static_cast<int64_t>(numbers[i]));
  }
  return made;
}

Result<FieldValue> fallback_of(const Field& field) {
  if (field.type == FieldType::kText) return FieldValue(std::string(field.fallback));
  WOOTZ_ASSIGN_OR_RETURN(HostTensor numbers,
                         parse_numbers(field.fallback, field.type == FieldType::kInt ? DType::kI32 : DType::kF32));
  return FieldValue(std::move(numbers));
}

bool fits(const Field& field, const FieldValue& value) {
  const auto* numbers = std::get_if<HostTensor>(&value);
  if (field.type == FieldType::kText) return numbers == nullptr;
  return numbers != nullptr && (field.type == FieldType::kFloat || !is_float(numbers->dtype()));
}

}  // namespace

const FieldValue* Fields::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

Result<Fields> completed(std::span<const Field> fields, const Fields& given) {
  Fields all;
  for (const Field& field : fields) {
    if (const FieldValue* value = given.find(field.name)) {
      if (!fits(field, *value)) return invalid_argument("field '{}' must be {}", field.name, sort_name(field.type));
      all.set(field.name, *value);
      continue;
    }
    if (field.fallback == nullptr) return invalid_argument("field '{}' must be given", field.name);
    if (*field.fallback == '\0') continue;
    WOOTZ_ASSIGN_OR_RETURN(FieldValue value, fallback_of(field));
    all.set(field.name, std::move(value));
  }
  return all;
}

}  // namespace wootz::stock
