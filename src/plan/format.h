// The outer form of a plan file, little-endian:
//
//   header, 256 bytes        magic, format version, file length, section table, digest of all that
//   metadata section         FlatBuffers (plan.fbs), zeros up to the weights
//   weights section          begins at a multiple of 4096; each blob at a multiple of 64 in it, zeros between
//   runtime section          of a version-compatible plan: the runtime of the library that wrote it (runtime_files.h)
//
// Sections touch each other and end with the file, and each has its digest in the table: no byte of a file is outside
// all digests.
//
// The header keeps its form in every version: what stands in `outline()` is read of plans of any format.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "base/status.h"
#include "plan/digest.h"

namespace wootz::plan_format {

#ifndef WOOTZ_PLAN_FORMAT  // a test builds the library of another version
#define WOOTZ_PLAN_FORMAT 2
#endif
inline constexpr uint32_t kVersion = WOOTZ_PLAN_FORMAT;
inline constexpr char kMagic[8] = {'W', 'O', 'O', 'T', 'Z', 'P', 'L', 'N'};
inline constexpr size_t kWeightsAlignment = 4096;
inline constexpr size_t kBlobAlignment = 64;
inline constexpr size_t kMetadataAlignment = 16;

enum : uint32_t { kMetadata = 1, kWeights = 2, kRuntime = 3 };
inline constexpr size_t kMaxSections = 3;  // the last one of version-compatible plans alone

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
  Section sections[kMaxSections];
  uint8_t reserved[92];
  uint32_t writer;  // library_version() of who wrote a version-compatible plan; 0: it is none
  Digest digest;    // plain digest of the bytes before it
};
static_assert(sizeof(Section) == 40 && sizeof(Header) == 256 && std::is_trivially_copyable_v<Header>);

inline constexpr size_t align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Digest header_digest(const Header& header);
// Of a section: how long it is, and its digest.
struct Extent {
  size_t bytes = 0;
  Digest digest{};
};
// Header and digests of the file with these sections; a runtime of no bytes is none.
Header make_header(const Extent& metadata, const Extent& weights, uint32_t writer = 0, const Extent& runtime = {});

struct Sections {
  std::span<const std::byte> metadata, weights, runtime;  // the last is empty where there is none
};
// Everything but what the metadata says: magic, version, length, table, digest of the header (not of the sections).
// Refuses before it follows any offset.
Result<Sections> open_file(std::span<const std::byte> file, Header* header);

// What is known of a plan of any format.
struct Outline {
  uint32_t format = 0, writer = 0;
  uint64_t file_bytes = 0;
  Section runtime{};  // of length 0: none
};
// From a file's first bytes, at least a header. Errors: kCorrupt.
Result<Outline> outline(std::span<const std::byte> file);

// Makes the digests and the length in the header of a changed file right again, as one would to forge a plan.
// For tests and fuzzing. False: too short to have a header.
bool reseal(std::span<std::byte> file);

}  // namespace wootz::plan_format
