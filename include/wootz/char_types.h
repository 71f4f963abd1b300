// Character types of names and messages.
#pragma once

namespace nvinfer1 {

using char_t = char;
/// Strings in this type hold ASCII only, end with NUL, and where they name something stay under 1024 bytes.
using AsciiChar = char_t;

}  // namespace nvinfer1
