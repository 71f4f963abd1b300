// Values of trtexec's flags, as text, to what they mean. Usage names the flag.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "NvInfer.h"

namespace wootz_cli {

// "512", "4G", "0.5GiB": bytes; without a unit MiB.
size_t parse_size(const std::string& text, const std::string& flag);
double parse_number(const std::string& text, const std::string& flag, double low, double high);
int64_t parse_count(const std::string& text, const std::string& flag, int64_t low, int64_t high);
// "a,b,'c,d'": what is between quotes is one, and the quotes are not part of it.
std::vector<std::string> parse_list(const std::string& text);
// "NAME:VALUE,...", at the last colon outside of quotes.
std::vector<std::pair<std::string, std::string>> parse_pairs(const std::string& text, const std::string& flag,
                                                             const char* form);

// A word of a list, by its place there.
template <typename T>
struct Word {
  const char* word;
  T value;
};
[[noreturn]] void no_such_word(const std::string& flag, const std::string& text, const std::string& known);
template <typename T, size_t N>
T parse_word(const std::string& text, const std::string& flag, const Word<T> (&words)[N]) {
  std::string known;
  for (const Word<T>& w : words) {
    if (text == w.word) return w.value;
    known += (known.empty() ? "" : ", ") + std::string(w.word);
  }
  no_such_word(flag, text, known);
}

// "fp16:chw+hwc8": a type and the formats that an input or output may have, as a mask.
struct TypeAndFormats {
  nvinfer1::DataType type;
  uint32_t formats;
};
std::vector<TypeAndFormats> parse_formats(const std::string& text, const std::string& flag);
nvinfer1::DataType parse_type(const std::string& text, const std::string& flag);

}  // namespace wootz_cli
