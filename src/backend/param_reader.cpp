#include "backend/param_reader.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace wootz {

bool ParamReader::accept(char c) {
  if (at_end() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool ParamReader::accept(std::string_view word) {
  if (!rest().starts_with(word)) return false;
  at_ += word.size();
  return true;
}

std::string_view ParamReader::word() {
  const size_t start = at_;
  const auto part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (at_ < text_.size() && part(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

bool ParamReader::integer(int64_t* value) {
  const char* const begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), *value);
  if (error != std::errc()) return false;
  at_ += static_cast<size_t>(end - begin);
  return true;
}

bool ParamReader::real(double* value) {
  const bool negative = accept('-');
  if (accept("nan")) {
    *value = std::numeric_limits<double>::quiet_NaN();
  } else if (accept("inf")) {
    *value = std::numeric_limits<double>::infinity();
  } else {
    if (!accept("0x") || at_end() || text_[at_] == '-') return false;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), *value, std::chars_format::hex);
    if (error != std::errc()) return false;
    at_ += static_cast<size_t>(end - begin);
  }
  if (negative) *value = -*value;
  return true;
}

bool ParamReader::quoted(std::string* text) {
  if (!accept('"')) return false;
  text->clear();
  for (;;) {
    const size_t stop = text_.find_first_of("\"\\", at_);
    if (stop == std::string_view::npos) return false;
    text->append(text_, at_, stop - at_);
    at_ = stop + 1;
    if (text_[stop] == '"') return true;
    if (at_end()) return false;
    *text += text_[at_++];
  }
}

void append_integer(int64_t value, std::string* text) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  text->append(digits, end);
}

void append_real(double value, std::string* text) {
  if (std::signbit(value) && !std::isnan(value)) *text += '-';
  if (std::isnan(value) || std::isinf(value)) {
    *text += std::isnan(value) ? "nan" : "inf";
    return;
  }
  char digits[40];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), std::fabs(value), std::chars_format::hex);
  *text += "0x";
  text->append(digits, end);
}

void append_quoted(std::string_view value, std::string* text) {
  *text += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') *text += '\\';
    *text += c;
  }
  *text += '"';
}

}  // namespace wootz
