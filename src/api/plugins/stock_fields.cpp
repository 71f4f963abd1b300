#include "api/plugins/stock_fields.h"

#include <algorithm>
#include <cstring>

namespace wootz::api {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;

namespace {

constexpr DType kTypes[] = {DType::kF16, DType::kF32,     DType::kF64,     DType::kI8,      DType::kI16,
                            DType::kI32, DType::kInvalid, DType::kInvalid, DType::kInvalid, DType::kBF16,
                            DType::kI64, DType::kF8E4M3,  DType::kI4,      DType::kF4E2M1};
static_assert(static_cast<int32_t>(std::size(kTypes)) == nvinfer1::EnumMax<PluginFieldType>());

Result<stock::FieldValue> dims_value(const PluginField& field) {
  nvinfer1::Dims dims{};
  std::memcpy(&dims, field.data, sizeof dims);
  if (dims.nbDims < 0 || dims.nbDims > nvinfer1::Dims::MAX_DIMS)
    return invalid_argument("field '{}' has {} dimensions", field.name, dims.nbDims);
  return stock::FieldValue(HostTensor::from<int64_t>(std::span<const int64_t>(dims.d, static_cast<size_t>(dims.nbDims)),
                                                     wootz::Dims{int64_t{dims.nbDims}}));
}

Result<stock::FieldValue> value_of(const PluginField& field) {
  if (field.type == PluginFieldType::kDIMS) return dims_value(field);
  const auto length = static_cast<size_t>(field.length);
  if (field.type == PluginFieldType::kCHAR) {
    const auto* const text = static_cast<const char*>(field.data);
    return stock::FieldValue(std::string(text, strnlen(text, length)));
  }
  const DType type = number_type(field.type);
  if (type == DType::kInvalid)
    return invalid_argument("field '{}' has type {}", field.name, static_cast<int>(field.type));
  WOOTZ_ASSIGN_OR_RETURN(HostTensor copy, HostTensor::allocate(type, wootz::Dims{int64_t{field.length}}));
  std::memcpy(copy.mutable_data(), field.data, copy.bytes());
  return stock::FieldValue(std::move(copy));
}

bool has_field(const stock::Plugin& plugin, std::string_view name) {
  return std::any_of(plugin.fields.begin(), plugin.fields.end(),
                     [&](const stock::Field& field) { return field.name == name; });
}

}  // namespace

DType number_type(PluginFieldType type) {
  const auto number = static_cast<size_t>(type);
  return number < std::size(kTypes) ? kTypes[number] : DType::kInvalid;
}

Result<stock::Fields> stock_fields(const stock::Plugin& plugin, const PluginFieldCollection* given,
                                   std::string* unknown) {
  stock::Fields fields;
  const int32_t count = given == nullptr ? 0 : given->nbFields;
  if (count < 0 || (count > 0 && given->fields == nullptr))
    return invalid_argument("{} fields, and no list of them", count);
  for (int32_t i = 0; i < count; ++i) {
    const PluginField& field = given->fields[i];
    const std::string name = text_of(field.name);
    if (!has_field(plugin, name)) {
      *unknown += (unknown->empty() ? "'" : ", '") + name + "'";
      continue;
    }
    if (field.length < 0 || (field.length > 0 && field.data == nullptr))
      return invalid_argument("field '{}' of {} values has no data", name, field.length);
    if (field.length == 0) continue;
    WOOTZ_ASSIGN_OR_RETURN(stock::FieldValue value, value_of(field));
    fields.set(name, std::move(value));
  }
  return stock::completed(plugin.fields, fields);
}

OwnedFields api_fields(const stock::Fields& fields) {
  OwnedFields made;
  for (const auto& [name, value] : fields.all()) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      made.add(name, PluginFieldType::kCHAR, static_cast<int32_t>(text->size()), text->data(), text->size());
      continue;
    }
    const auto& numbers = std::get<HostTensor>(value);
    const auto type = std::find(std::begin(kTypes), std::end(kTypes), numbers.dtype()) - std::begin(kTypes);
    made.add(name, static_cast<PluginFieldType>(type), static_cast<int32_t>(numbers.volume()), numbers.data(),
             numbers.bytes());
  }
  return made;
}

std::vector<PluginField> listed_fields(const stock::Plugin& plugin) {
  constexpr PluginFieldType kListed[] = {PluginFieldType::kINT32, PluginFieldType::kFLOAT32, PluginFieldType::kCHAR};
  std::vector<PluginField> fields;
  for (const stock::Field& field : plugin.fields)
    fields.emplace_back(field.name, nullptr, kListed[static_cast<size_t>(field.type)], 1);
  return fields;
}

}  // namespace wootz::api
