// Reads the text form of parameters piece by piece. The text may come from anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wootz {

class ParamReader {
 public:
  explicit ParamReader(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  std::string_view rest() const { return text_.substr(at_); }
  bool accept(char c);
  bool accept(std::string_view word);
  std::string_view word();         // letters, digits and underscores; may be empty
  bool integer(int64_t* value);    // decimal
  bool real(double* value);        // as append_real() writes it
  bool quoted(std::string* text);  // as append_quoted() writes it

 private:
  std::string_view text_;
  size_t at_ = 0;
};

void append_integer(int64_t value, std::string* text);
void append_real(double value, std::string* text);  // exact
void append_quoted(std::string_view value, std::string* text);

}  // namespace wootz
