// Characters to words and numbers, for the text form. Every read is bounded by the text; failures know line and column.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace wootz {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Each of these skips blanks and comments first and, when it does not find what it looks for, stays there.
  bool at_end();
  char peek();  // 0 at the end
  bool accept(char c);
  bool accept(std::string_view keyword);  // a whole word
  std::string_view word();                // [A-Za-z_][A-Za-z0-9_.]*, empty when there is none
  std::string_view peek_word();
  std::string_view name_chars();  // what may follow % without quotes, from here on; no blanks skipped
  bool is_quote() { return peek() == '"'; }
  Result<std::string> quoted();           // "text" with \" \\ \n \t \r \xHH
  Result<std::string_view> hex_digits();  // "..." with an even number of hexadecimal digits
  Result<int64_t> integer();
  Result<uint64_t> unsigned_integer();
  bool number_is_integer();   // whether the number that comes next has neither point nor exponent
  Result<double> floating();  // also inf, nan and integers

  size_t remaining() const { return text_.size() - at_; }
  std::string_view text() const { return text_; }
  // "line 3, column 7: <what>", at the place last looked at.
  Status fail(std::string_view what) const;
  Status expected(std::string_view what);

  static bool is_plain_name(std::string_view name);  // may follow % without quotes
  static bool is_word(std::string_view name);        // may be a symbol or attribute without quotes
  static std::string quote(std::string_view text);

 private:
  void skip();
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace wootz
