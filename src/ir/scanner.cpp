#include "ir/scanner.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/limits.h"

namespace wootz {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '/' || c == '-' || c == '$'; }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Scanner::skip() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '/' && text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size() - 1);  // the loop steps over the line's end
    } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
      return;
    }
  }
}

bool Scanner::at_end() {
  skip();
  return at_ >= text_.size();
}

char Scanner::peek() { return at_end() ? '\0' : text_[at_]; }

bool Scanner::accept(char c) {
  if (at_end() || text_[at_] != c) return false;
  ++at_;
  return true;
}

std::string_view Scanner::peek_word() {
  skip();
  size_t end = at_;
  if (end < text_.size() && is_letter(text_[end]))
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.')) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Scanner::word() {
  const std::string_view found = peek_word();
  at_ += found.size();
  return found;
}

bool Scanner::accept(std::string_view keyword) {
  if (peek_word() != keyword) return false;
  at_ += keyword.size();
  return true;
}

std::string_view Scanner::name_chars() {
  const size_t start = at_;
  while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

Result<std::string> Scanner::quoted() {
  if (!accept('"')) return expected("a quoted text");
  std::string s;
  for (; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == '"') {
      ++at_;
      return s;
    }
    if (c == '\\') {
      c = ++at_ < text_.size() ? text_[at_] : '\0';
      switch (c) {
        case 'n': c = '\n'; break;
        case 't': c = '\t'; break;
        case 'r': c = '\r'; break;
        case '"':
        case '\\': break;
        case 'x': {
          const int high = at_ + 2 < text_.size() ? hex_value(text_[at_ + 1]) : -1;
          const int low = at_ + 2 < text_.size() ? hex_value(text_[at_ + 2]) : -1;
          if (high < 0 || low < 0) return fail("\\x takes two hexadecimal digits");
          c = static_cast<char>(high * 16 + low);
          at_ += 2;
          break;
        }
        default: return fail("no such escape in a quoted text");
      }
    }
    s += c;
  }
  return fail("a quoted text does not end");
}

Result<std::string_view> Scanner::hex_digits() {
  if (!accept('"')) return expected("quoted hexadecimal digits");
  const size_t start = at_;
  while (at_ < text_.size() && hex_value(text_[at_]) >= 0) ++at_;
  const std::string_view digits = text_.substr(start, at_ - start);
  if (at_ >= text_.size() || text_[at_] != '"' || digits.size() % 2 != 0)
    return fail("pairs of hexadecimal digits and a closing quote expected");
  ++at_;
  return digits;
}

Result<int64_t> Scanner::integer() {
  skip();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) return fail("the integer is too large");
  if (error != std::errc()) return expected("an integer");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

Result<uint64_t> Scanner::unsigned_integer() {
  skip();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) return fail("the integer is too large");
  if (error != std::errc()) return expected("an integer that is not negative");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

bool Scanner::number_is_integer() {
  skip();
  size_t i = at_;
  if (i < text_.size() && text_[i] == '-') ++i;
  const size_t digits = i;
  while (i < text_.size() && is_digit(text_[i])) ++i;
  return i > digits && (i == text_.size() || (text_[i] != '.' && text_[i] != 'e' && text_[i] != 'E'));
}

Result<double> Scanner::floating() {
  skip();
  const bool negative = accept('-');
  double value = 0;
  if (accept(std::string_view("inf"))) {
    value = std::numeric_limits<double>::infinity();
  } else if (accept(std::string_view("nan"))) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (at_ >= text_.size() || !(is_digit(text_[at_]) || text_[at_] == '.')) return expected("a number");
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) return fail("the number is out of range");
    if (error != std::errc()) return expected("a number");
    at_ = static_cast<size_t>(end - text_.data());
  }
  return negative ? -value : value;
}

Status Scanner::fail(std::string_view what) const {
  const size_t at = std::min(at_, text_.size());
  const std::string_view before = text_.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t start = before.rfind('\n');
  const size_t column = at - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return invalid_argument("line {}, column {}: {}", line, column, what);
}

Status Scanner::expected(std::string_view what) {
  skip();
  std::string_view found = text_.substr(std::min(at_, text_.size()), 24);
  found = found.substr(0, found.find('\n'));
  return fail(found.empty() ? fmt::format("{} expected", what)
                            : fmt::format("{} expected before {}", what, quote(found)));
}

bool Scanner::is_plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_char);
}

bool Scanner::is_word(std::string_view name) {
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '.'; });
}

std::string Scanner::quote(std::string_view text) {
  std::string s = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': s += "\\\""; break;
      case '\\': s += "\\\\"; break;
      case '\n': s += "\\n"; break;
      case '\t': s += "\\t"; break;
      case '\r': s += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          s += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
          s += c;
    }
  }
  return s + '"';
}

}  // namespace wootz
