// Names from outside, made fit for a message.
#pragma once

#include <string>
#include <string_view>

namespace wootz::importer {

// No NUL, and well-formed UTF-8 (no overlong forms, no surrogates).
bool is_clean_name(std::string_view name);
// For messages: control characters and malformed bytes as \xNN, long names cut in the middle.
std::string printable(std::string_view name);
// The same for a whole message: escaped, and cut at a few thousand bytes.
std::string printable_message(std::string_view text);

}  // namespace wootz::importer
