#include "onnx/text.h"

#include <fmt/format.h>

#include <cstdint>

namespace wootz::importer {
namespace {

constexpr size_t kShown = 160;
constexpr size_t kMessage = 4096;

// Length of the well-formed UTF-8 character at the start of `s`; 0 when there is none.
size_t character(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || s.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

std::string escaped(std::string_view s) {
  std::string out;
  while (!s.empty()) {
    const size_t length = character(s);
    const auto first = static_cast<unsigned char>(s[0]);
    if (length == 0 || first < 0x20 || first == 0x7f) {
      out += fmt::format("\\x{:02x}", first);
      s.remove_prefix(1);
    } else {
      out.append(s.substr(0, length));
      s.remove_prefix(length);
    }
  }
  return out;
}

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return escaped(text);
  return escaped(text.substr(0, most / 2)) + "..." + escaped(text.substr(text.size() - most / 2));
}

}  // namespace

bool is_clean_name(std::string_view name) {
  while (!name.empty()) {
    const size_t length = name[0] == '\0' ? 0 : character(name);
    if (length == 0) return false;
    name.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view name) { return shortened(name, kShown); }

std::string printable_message(std::string_view text) { return shortened(text, kMessage); }

}  // namespace wootz::importer
