// The runtime inside a version-compatible plan: the files of shared libraries, in the order in which they are to be
// opened, so that each finds what it needs. In the section, little-endian:
//
//   how many, zero              32 bits each
//   for each a name, padded with zeros to 48 bytes, and how many bytes it has (64 bits)
//   the files, each from a multiple of 64 on, zeros between
//
// Every version of the library reads this form, whatever the format of the plan around it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace wootz {

struct RuntimeFile {
  std::string name;
  std::span<const std::byte> bytes;
};

// Errors: names and sizes that no writer makes. The bytes of the files are not looked at.
Result<std::vector<RuntimeFile>> unpack_runtime(std::span<const std::byte> section);

// The section's beginning, and what stands after each file up to the next: with the files themselves it is the section.
struct PackedRuntime {
  std::vector<std::byte> table;
  std::vector<std::span<const std::byte>> pieces;  // all of it, in order; into `table` and the files
  size_t bytes = 0;
};
// The files' bytes must outlive it, and it must not be copied.
Status pack_runtime(std::span<const RuntimeFile> files, PackedRuntime* packed);

}  // namespace wootz
