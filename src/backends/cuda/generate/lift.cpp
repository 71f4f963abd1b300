#include "backends/cuda/generate/lift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

namespace wootz::cuda {
namespace {

constexpr int64_t kLargestInt = 2147483647, kLargestUnsigned = 4294967295;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Walks the text and copies it, with some numbers replaced.
class Lifter {
 public:
  explicit Lifter(std::string_view text) : text_(text) {}

  void run() {
    while (at_ < text_.size()) {
      if (line_begins() && stays_as_it_is())
        copy_until(text_.find('\n', at_));
      else if (is_digit(text_[at_]) || (text_[at_] == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
        number();
      else if (is_word(text_[at_]))
        word();
      else if (text_[at_] == '[')
        brackets();
      else
        body += text_[at_++];
    }
  }

  std::string body;
  std::vector<int64_t> numbers;

 private:
  bool line_begins() const { return at_ == 0 || text_[at_ - 1] == '\n'; }
  // The compiler must know what is on this line.
  bool stays_as_it_is() const {
    const std::string_view line = text_.substr(at_, text_.find('\n', at_) - at_);
    for (const char* sign : {"#", "constexpr", "asm", "alignas"})
      if (line.find(sign) != std::string_view::npos) return true;
    return false;
  }
  void copy_until(size_t end) {
    end = std::min(end, text_.size());
    body += text_.substr(at_, end - at_);
    at_ = end;
    if (at_ < text_.size()) body += text_[at_++];
  }
  void word() {
    while (at_ < text_.size() && is_word(text_[at_])) body += text_[at_++];
    // Generated text has blanks around comparisons: this opens a list of template arguments.
    if (at_ + 1 < text_.size() && text_[at_] == '<' && text_[at_ + 1] != '<') {
      int depth = 0;
      size_t end = at_;
      for (; end < text_.size(); ++end) {
        depth += (text_[end] == '<') - (text_[end] == '>');
        if (depth == 0) break;
      }
      body += text_.substr(at_, end - at_);
      at_ = end;
    }
  }
  // Inside of brackets without a name in them is the extent of an array, or a place in one.
  void brackets() {
    const size_t end = text_.find(']', at_);
    const std::string_view inside = text_.substr(at_, end - at_);
    bool named = end == std::string_view::npos;
    for (const char c : inside) named = named || (is_word(c) && !is_digit(c));
    if (named) {
      body += text_[at_++];
      return;
    }
    body += inside;
    at_ = end;
  }
  void number() {
    const char exponent = text_.substr(at_, 2) == "0x" ? 'p' : 'e';
    size_t end = at_;
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == '.' ||
                                  ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == exponent)))
      ++end;
    const std::string_view all = text_.substr(at_, end - at_);
    at_ = end;
    size_t digits = 0;
    while (digits < all.size() && is_digit(all[digits])) ++digits;
    const std::string_view suffix = all.substr(digits);
    const char* type = suffix == ""      ? "int"
                       : suffix == "u"   ? "u32"
                       : suffix == "ll"  ? "s64"
                       : suffix == "ull" ? "u64"
                                         : nullptr;
    std::optional<int64_t> value;
    if (type != nullptr && digits < 19) value = std::stoll(std::string(all.substr(0, digits)));
    if (!value || *value < 2 || (all.size() > 1 && all[0] == '0')) {
      body += all;
      return;
    }
    if (suffix == "" && *value > kLargestInt) type = "s64";
    if (suffix == "u" && *value > kLargestUnsigned) type = "u64";
    body += fmt::format("({})w_n{}", type, numbers.size());
    numbers.push_back(*value);
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Lifted lift_numbers(const std::string& source, size_t most) {
  const size_t name = source.rfind("wootz_kernel(");
  const size_t close = name == std::string::npos ? name : source.find(')', name);
  const size_t open = close == std::string::npos ? close : source.find('{', close);
  if (open == std::string::npos) return {source, {}};
  Lifter lifter(std::string_view(source).substr(open));
  lifter.run();
  if (lifter.numbers.size() > most) return {source, {}};
  std::string head = source.substr(0, close);
  const bool first = source.find_first_not_of(' ', name + 13) == close;
  for (size_t i = 0; i < lifter.numbers.size(); ++i) head += fmt::format("{}s64 w_n{}", i == 0 && first ? "" : ", ", i);
  return {head + source.substr(close, open - close) + lifter.body, std::move(lifter.numbers)};
}

}  // namespace wootz::cuda
