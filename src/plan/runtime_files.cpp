#include "plan/runtime_files.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "plan/format.h"
#include "plan/plan_limits.h"

namespace wootz {
namespace {

struct Entry {
  char name[48];
  uint64_t bytes;
};
static_assert(sizeof(Entry) == 56);
constexpr size_t kHead = 2 * sizeof(uint32_t);

constexpr std::byte kZeros[plan_format::kBlobAlignment] = {};

size_t padding(size_t at) { return plan_format::align_up(at, plan_format::kBlobAlignment) - at; }

bool is_name(std::string_view name) {
  constexpr std::string_view kOthers = "._+-";
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() < sizeof(Entry::name) && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

Result<std::vector<RuntimeFile>> unpack_runtime(std::span<const std::byte> section) {
  uint32_t head[2] = {};
  if (section.size() < kHead || section.size() > plan_limits::kMaxRuntimeBytes)
    return corrupt("plan: a runtime of {} bytes, at most {}", section.size(), plan_limits::kMaxRuntimeBytes);
  std::memcpy(head, section.data(), kHead);
  if (head[0] == 0 || head[0] > plan_limits::kMaxRuntimeFiles || head[1] != 0)
    return corrupt("plan: a runtime of {} files, at most {}", head[0], plan_limits::kMaxRuntimeFiles);
  size_t at = kHead + head[0] * sizeof(Entry);
  if (at > section.size()) return corrupt("plan: the runtime's {} files have no table", head[0]);
  std::vector<RuntimeFile> files;
  for (uint32_t f = 0; f < head[0]; ++f) {
    Entry entry;
    std::memcpy(&entry, section.data() + kHead + f * sizeof(Entry), sizeof(Entry));
    const std::string name(entry.name, strnlen(entry.name, sizeof(entry.name)));
    if (!is_name(name)) return corrupt("plan: file {} of the runtime has no name that a library has", f);
    const size_t start = at + padding(at);
    if (start > section.size() || entry.bytes > section.size() - start)
      return corrupt("plan: '{}' of the runtime has {} bytes, more than there are", name, entry.bytes);
    files.push_back({name, section.subspan(start, entry.bytes)});
    at = start + entry.bytes;
  }
  if (at != section.size()) return corrupt("plan: {} bytes after the runtime's last file", section.size() - at);
  return files;
}

Status pack_runtime(std::span<const RuntimeFile> files, PackedRuntime* packed) {
  const auto count = static_cast<uint32_t>(files.size());
  if (count == 0 || count > plan_limits::kMaxRuntimeFiles)
    return invalid_argument("a runtime of {} files, at most {}", count, plan_limits::kMaxRuntimeFiles);
  packed->table.assign(kHead + count * sizeof(Entry), std::byte{0});
  std::memcpy(packed->table.data(), &count, sizeof(count));
  packed->pieces = {packed->table};
  packed->bytes = packed->table.size();
  const auto put = [&](std::span<const std::byte> piece) {
    packed->pieces.push_back(piece);
    packed->bytes += piece.size();
  };
  for (uint32_t f = 0; f < count; ++f) {
    if (!is_name(files[f].name)) return invalid_argument("'{}' is no name of a library", files[f].name);
    Entry entry{};
    std::copy(files[f].name.begin(), files[f].name.end(), entry.name);
    entry.bytes = files[f].bytes.size();
    std::memcpy(packed->table.data() + kHead + f * sizeof(Entry), &entry, sizeof(entry));
    put(std::span(kZeros).first(padding(packed->bytes)));
    put(files[f].bytes);
  }
  if (packed->bytes > plan_limits::kMaxRuntimeBytes)
    return invalid_argument("a runtime of {} bytes, at most {}", packed->bytes, plan_limits::kMaxRuntimeBytes);
  return Status();
}

}  // namespace wootz
