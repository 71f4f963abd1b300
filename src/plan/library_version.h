// Which version of the library this is: what a version-compatible plan says of who wrote it.
#pragma once

#include <cstdint>
#include <string>

namespace wootz {

// 0.1.0 as 0x00000100, a byte a number.
uint32_t library_version();
// "0.1.0"
std::string version_text(uint32_t version);

// A text that stands in every library of this version and plan format, and in no other.
const char* library_mark();

}  // namespace wootz
