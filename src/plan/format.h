// The outer form of a plan file, little-endian:
//
//   header, 256 bytes        magic, format version, file length, section table, digest of all that
//   metadata section         FlatBuffers (plan.fbs), zeros up to the weights
//   weights section          begins at a multiple of 4096; each blob at a multiple of 64 in it, zeros between
//
// Sections touch each other and end with the file, and each has its digest in the table: no byte of a file is outside
// all digests.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "base/status.h"
#include "plan/digest.h"

namespace wootz::plan_format {

inline constexpr uint32_t kVersion = 2;
inline constexpr char kMagic[8] = {'W', 'O', 'O', 'T', 'Z', 'P', 'L', 'N'};
inline constexpr size_t kWeightsAlignment = 4096;
inline constexpr size_t kBlobAlignment = 64;
inline constexpr size_t kMetadataAlignment = 16;

enum : uint32_t { kMetadata = 1, kWeights = 2 };
inline constexpr size_t kSections = 2;

struct Section {
  uint32_t kind;
  uint32_t reserved;
  uint64_t offset;
  uint64_t length;
  Digest digest;
};

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t num_sections;
  uint64_t file_bytes;
  Section sections[kSections];
  uint8_t reserved[136];
  Digest digest;  // plain digest of the bytes before it
};
static_assert(sizeof(Section) == 40 && sizeof(Header) == 256 && std::is_trivially_copyable_v<Header>);

inline constexpr size_t align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Digest header_digest(const Header& header);
// Header and digests of the file whose sections have these lengths.
Header make_header(size_t metadata_bytes, const Digest& metadata, size_t weights_bytes, const Digest& weights);

struct Sections {
  std::span<const std::byte> metadata, weights;
};
// Everything but what the metadata says: magic, version, length, table, digest of the header (not of the sections).
// Refuses before it follows any offset.
Result<Sections> open_file(std::span<const std::byte> file, Header* header);

// Makes the digests and the length in the header of a changed file right again, as one would to forge a plan.
// For tests and fuzzing. False: too short to have a header.
bool reseal(std::span<std::byte> file);

}  // namespace wootz::plan_format
