#include "exec_values.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "logger.h"

namespace wootz_cli {

using nvinfer1::DataType;
using nvinfer1::TensorFormat;

size_t parse_size(const std::string& text, const std::string& flag) {
  static constexpr struct {
    const char* unit;
    double bytes;
  } kUnits[] = {{"", 0x1p20},   {"B", 1},        {"K", 0x1p10}, {"KB", 0x1p10}, {"KiB", 0x1p10}, {"M", 0x1p20},
                {"MB", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30}, {"GB", 0x1p30}, {"GiB", 0x1p30}};
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  for (const auto& unit : kUnits) {
    if (digits == 0 || std::strcmp(text.c_str() + digits, unit.unit) != 0) continue;
    char* end = nullptr;
    const std::string count = text.substr(0, digits);
    const double bytes = std::strtod(count.c_str(), &end) * unit.bytes;
    if (*end == '\0' && bytes < 0x1p62) return static_cast<size_t>(bytes);
  }
  throw Usage(flag + ": '" + text + "' is no size: a number of MiB, or one followed by B, K, M or G");
}

double parse_number(const std::string& text, const std::string& flag, double low, double high) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= low && value <= high))
    throw Usage(flag + ": '" + text + "' is no number from " + std::to_string(static_cast<int64_t>(low)) + " to " +
                std::to_string(static_cast<int64_t>(high)));
  return value;
}

int64_t parse_count(const std::string& text, const std::string& flag, int64_t low, int64_t high) {
  const bool digits = !text.empty() && text.size() <= 18 &&
                      text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == std::string::npos && text != "-";
  const int64_t value = digits ? std::stoll(text) : low - 1;
  if (!digits || value < low || value > high)
    throw Usage(flag + ": '" + text + "' is no whole number from " + std::to_string(low) + " to " +
                std::to_string(high));
  return value;
}

std::vector<std::string> parse_list(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      parts.push_back(std::exchange(part, ""));
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

std::vector<std::pair<std::string, std::string>> parse_pairs(const std::string& text, const std::string& flag,
                                                             const char* form) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::string part;
  size_t colon = std::string::npos;
  bool quoted = false;
  const auto end = [&] {
    if (colon == std::string::npos || colon == 0 || colon == part.size())
      throw Usage(flag + ": '" + part + "' is not " + form);
    pairs.emplace_back(part.substr(0, colon), part.substr(colon));
    part.clear();
    colon = std::string::npos;
  };
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      end();
    } else if (c == ':' && !quoted) {
      if (colon != std::string::npos) part.insert(colon, ":");  // it was part of the name
      colon = part.size();
    } else {
      part += c;
    }
  }
  if (quoted) throw Usage(flag + ": a quote is not closed");
  if (!part.empty() || pairs.empty()) end();
  return pairs;
}

void no_such_word(const std::string& flag, const std::string& text, const std::string& known) {
  throw Usage(flag + ": '" + text + "' is none of " + known);
}

DataType parse_type(const std::string& text, const std::string& flag) {
  static constexpr Word<DataType> kTypes[] = {
      {"fp32", DataType::kFLOAT},  {"fp16", DataType::kHALF},   {"bf16", DataType::kBF16}, {"int8", DataType::kINT8},
      {"int32", DataType::kINT32}, {"int64", DataType::kINT64}, {"bool", DataType::kBOOL}, {"uint8", DataType::kUINT8},
      {"fp8", DataType::kFP8},     {"int4", DataType::kINT4},   {"fp4", DataType::kFP4}};
  return parse_word(text, flag, kTypes);
}

std::vector<TypeAndFormats> parse_formats(const std::string& text, const std::string& flag) {
  static constexpr Word<TensorFormat> kFormats[] = {
      {"chw", TensorFormat::kLINEAR},        {"chw2", TensorFormat::kCHW2},
      {"hwc8", TensorFormat::kHWC8},         {"chw4", TensorFormat::kCHW4},
      {"chw16", TensorFormat::kCHW16},       {"chw32", TensorFormat::kCHW32},
      {"dhwc8", TensorFormat::kDHWC8},       {"cdhw32", TensorFormat::kCDHW32},
      {"hwc", TensorFormat::kHWC},           {"dla_linear", TensorFormat::kDLA_LINEAR},
      {"dla_hwc4", TensorFormat::kDLA_HWC4}, {"hwc16", TensorFormat::kHWC16},
      {"dhwc", TensorFormat::kDHWC}};
  std::vector<TypeAndFormats> all;
  for (const auto& [type, formats] : parse_pairs(text, flag, "TYPE:FORMAT[+FORMAT], as fp16:chw")) {
    TypeAndFormats one{parse_type(type, flag), 0};
    for (size_t at = 0; at <= formats.size();) {
      const size_t plus = std::min(formats.find('+', at), formats.size());
      one.formats |= 1U << static_cast<uint32_t>(parse_word(formats.substr(at, plus - at), flag, kFormats));
      at = plus + 1;
    }
    all.push_back(one);
  }
  return all;
}

}  // namespace wootz_cli
