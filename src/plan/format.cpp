#include "plan/format.h"

#include <algorithm>
#include <cstring>

namespace wootz::plan_format {

Digest header_digest(const Header& header) {
  return plain_digest(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, digest)));
}

Header make_header(const Extent& metadata, const Extent& weights, uint32_t writer, const Extent& runtime) {
  Header h;
  std::memset(static_cast<void*>(&h), 0, sizeof(h));
  std::memcpy(h.magic, kMagic, sizeof(kMagic));
  h.version = kVersion;
  h.writer = writer;
  h.file_bytes = sizeof(Header);
  const auto add = [&](uint32_t kind, const Extent& extent) {
    h.sections[h.num_sections++] = {kind, 0, h.file_bytes, extent.bytes, extent.digest};
    h.file_bytes += extent.bytes;
  };
  add(kMetadata, metadata);
  add(kWeights, weights);
  if (runtime.bytes != 0) add(kRuntime, runtime);
  h.digest = header_digest(h);
  return h;
}

namespace {

// What every version checks of a header.
Result<Header> read_header(std::span<const std::byte> file) {
  if (file.size() < sizeof(kMagic) || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    return corrupt("plan: these {} bytes do not begin like a plan", file.size());
  if (file.size() < sizeof(Header))
    return corrupt("plan: {} bytes, the header alone has {}", file.size(), sizeof(Header));
  Header h;
  std::memcpy(static_cast<void*>(&h), file.data(), sizeof(h));
  return h;
}

Status damaged_header() { return corrupt("plan: the header is damaged (its digest does not match)"); }

// Nothing stands where this build knows of nothing.
bool only_what_is_known(const Header& h) {
  Section none;
  std::memset(static_cast<void*>(&none), 0, sizeof(none));
  for (size_t i = h.num_sections; i < kMaxSections; ++i)
    if (std::memcmp(&h.sections[i], &none, sizeof(none)) != 0) return false;
  return std::all_of(std::begin(h.reserved), std::end(h.reserved), [](uint8_t b) { return b == 0; }) &&
         (h.num_sections < kMaxSections || h.writer != 0) && h.writer >> 24 == 0;
}

}  // namespace

Result<Outline> outline(std::span<const std::byte> file) {
  WOOTZ_ASSIGN_OR_RETURN(const Header h, read_header(file));
  if (header_digest(h) != h.digest) return damaged_header();
  Outline found{h.version, h.writer, h.file_bytes, {}};
  for (size_t i = 0; i < std::min<size_t>(h.num_sections, kMaxSections); ++i)
    if (h.sections[i].kind == kRuntime) found.runtime = h.sections[i];
  if (found.runtime.offset > h.file_bytes || found.runtime.length > h.file_bytes - found.runtime.offset)
    return corrupt("plan: a runtime of {} bytes at {}, beyond the plan's end", found.runtime.length,
                   found.runtime.offset);
  return found;
}

Result<Sections> open_file(std::span<const std::byte> file, Header* header) {
  WOOTZ_ASSIGN_OR_RETURN(*header, read_header(file));
  const Header& h = *header;
  if (h.version != kVersion) return unsupported("plan format {}, this build reads {}", h.version, kVersion);
  if (header_digest(h) != h.digest) return damaged_header();
  if (h.file_bytes != file.size()) return corrupt("plan: {} bytes of {}", file.size(), h.file_bytes);
  if (h.num_sections + 1 != kMaxSections && h.num_sections != kMaxSections)
    return corrupt("plan: {} sections, expected {} or {}", h.num_sections, kMaxSections - 1, kMaxSections);
  if (!only_what_is_known(h)) return corrupt("plan: the header holds more than this build knows");
  const uint32_t kinds[kMaxSections] = {kMetadata, kWeights, kRuntime};
  size_t at = sizeof(Header);
  for (size_t i = 0; i < h.num_sections; ++i) {
    const Section& s = h.sections[i];
    if (s.reserved != 0) return corrupt("plan: section {} has flags this build does not know", i);
    if (s.kind != kinds[i] || s.offset != at || s.length > file.size() - at)
      return corrupt("plan: section {} (kind {}, {} bytes at {}) does not follow the one before it", i, s.kind,
                     s.length, s.offset);
    at += s.length;
  }
  if (at != file.size()) return corrupt("plan: {} bytes after the last section", file.size() - at);
  if (h.sections[1].offset % kWeightsAlignment != 0)
    return corrupt("plan: weights at offset {}, no multiple of {}", h.sections[1].offset, kWeightsAlignment);
  const auto part = [&](size_t i) { return file.subspan(h.sections[i].offset, h.sections[i].length); };
  return Sections{part(0), part(1), h.num_sections == kMaxSections ? part(2) : std::span<const std::byte>()};
}

bool reseal(std::span<std::byte> file) {
  if (file.size() < sizeof(Header)) return false;
  Header h;
  std::memcpy(static_cast<void*>(&h), file.data(), sizeof(h));
  std::memcpy(h.magic, kMagic, sizeof(kMagic));
  h.version = kVersion;
  h.file_bytes = file.size();
  for (size_t i = 0; i < std::min<size_t>(h.num_sections, kMaxSections); ++i) {
    Section& s = h.sections[i];
    if (s.offset > file.size()) continue;
    s.length = std::min<uint64_t>(s.length, file.size() - s.offset);
    s.digest = tree_digest(file.subspan(s.offset, s.length));
  }
  h.digest = header_digest(h);
  std::memcpy(file.data(), &h, sizeof(h));
  return true;
}

}  // namespace wootz::plan_format
