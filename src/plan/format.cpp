#include "plan/format.h"

#include <algorithm>
#include <cstring>

namespace wootz::plan_format {

Digest header_digest(const Header& header) {
  return plain_digest(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, digest)));
}

Header make_header(size_t metadata_bytes, const Digest& metadata, size_t weights_bytes, const Digest& weights) {
  Header h;
  std::memset(static_cast<void*>(&h), 0, sizeof(h));
  std::memcpy(h.magic, kMagic, sizeof(kMagic));
  h.version = kVersion;
  h.num_sections = kSections;
  h.sections[0] = {kMetadata, 0, sizeof(Header), metadata_bytes, metadata};
  h.sections[1] = {kWeights, 0, sizeof(Header) + metadata_bytes, weights_bytes, weights};
  h.file_bytes = sizeof(Header) + metadata_bytes + weights_bytes;
  h.digest = header_digest(h);
  return h;
}

Result<Sections> open_file(std::span<const std::byte> file, Header* header) {
  if (file.size() < sizeof(kMagic) || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    return corrupt("plan: these {} bytes do not begin like a plan", file.size());
  if (file.size() < sizeof(Header))
    return corrupt("plan: {} bytes, the header alone has {}", file.size(), sizeof(Header));
  Header& h = *header;
  std::memcpy(static_cast<void*>(&h), file.data(), sizeof(h));
  if (h.version != kVersion) return unsupported("plan format {}, this build reads {}", h.version, kVersion);
  if (header_digest(h) != h.digest) return corrupt("plan: the header is damaged (its digest does not match)");
  if (h.file_bytes != file.size()) return corrupt("plan: {} bytes of {}", file.size(), h.file_bytes);
  if (h.num_sections != kSections) return corrupt("plan: {} sections, expected {}", h.num_sections, kSections);
  if (std::any_of(std::begin(h.reserved), std::end(h.reserved), [](uint8_t b) { return b != 0; }))
    return corrupt("plan: the header holds more than this build knows");
  const uint32_t kinds[kSections] = {kMetadata, kWeights};
  size_t at = sizeof(Header);
  for (size_t i = 0; i < kSections; ++i) {
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
  return Sections{file.subspan(h.sections[0].offset, h.sections[0].length),
                  file.subspan(h.sections[1].offset, h.sections[1].length)};
}

bool reseal(std::span<std::byte> file) {
  if (file.size() < sizeof(Header)) return false;
  Header h;
  std::memcpy(static_cast<void*>(&h), file.data(), sizeof(h));
  std::memcpy(h.magic, kMagic, sizeof(kMagic));
  h.version = kVersion;
  h.file_bytes = file.size();
  for (Section& s : h.sections) {
    if (s.offset > file.size()) continue;
    s.length = std::min<uint64_t>(s.length, file.size() - s.offset);
    s.digest = tree_digest(file.subspan(s.offset, s.length));
  }
  h.digest = header_digest(h);
  std::memcpy(file.data(), &h, sizeof(h));
  return true;
}

}  // namespace wootz::plan_format
