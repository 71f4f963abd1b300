// Memory that the operating system maps: files, and what it knows of an address.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/temporary_file.h"

namespace wootz {

// A file's bytes, for reading. They stay what they were checked to be only while the file is not written to.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // of the mapping; null for an empty file
};
// The first `size` bytes of an open regular file, which may be closed afterwards. Error: kIo with the system's reason.
Result<MappedFile> map_file(int file, size_t size);
// Copies of these pieces, each from a page's beginning on, in a temporary file that has no name any more, in the
// directory where that is allowed: mapped, so that its pages can leave memory. Errors: as TemporaryFile::make().
struct MappedCopies {
  std::vector<std::span<const std::byte>> pieces;
  std::shared_ptr<const void> owner;
};
Result<MappedCopies> map_copies(const TemporaryFiles& where, std::span<const std::span<const std::byte>> pieces);

// As many zeros, for reading, which take no memory. Error: kResourceExhausted.
Result<MappedFile> map_zeros(size_t size);

// Bytes of a MappedFile that will be read next come into memory, in the order of the file: what reads them in another
// order would have the disk seek. Nothing happens to any other memory.
void fetch_mapped(std::span<const std::byte> bytes);

// The same without waiting for them.
void expect_mapped(std::span<const std::byte> bytes);

// Whether the bytes are of a MappedFile, and can leave memory.
bool can_release(std::span<const std::byte> bytes);

// Bytes of a MappedFile that will not be read soon leave the process's memory; reading them again brings them back.
// Nothing happens to any other memory. Pages that the range covers in part stay.
void release_mapped(std::span<const std::byte> bytes);

// False: nothing is there, and touching it would end the process. True says no more than that something is: it may
// still not be readable, or belong to another.
bool is_mapped(const void* address);

}  // namespace wootz
