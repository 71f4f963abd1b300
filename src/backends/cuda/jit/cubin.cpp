#include "backends/cuda/jit/cubin.h"

#include <elf.h>

#include <cstring>
#include <vector>

namespace wootz::cuda {
namespace {

template <typename T>
bool read(std::span<const char> bytes, uint64_t offset, T* value) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return false;
  std::memcpy(value, bytes.data() + offset, sizeof(T));
  return true;
}

std::string text_at(std::span<const char> table, uint32_t offset) {
  if (offset >= table.size()) return "";
  return std::string(table.data() + offset, strnlen(table.data() + offset, table.size() - offset));
}

// Entries of .nv.info: format, attribute, then two bytes of value, or a size and that many bytes.
constexpr uint8_t kSizedFormat = 4, kFrameSize = 0x11;

}  // namespace

Result<std::map<std::string, uint32_t>> stack_of_functions(std::span<const char> cubin) {
  Elf64_Ehdr header;
  if (!read(cubin, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return corrupt("no ELF file");
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i)
    if (!read(cubin, header.e_shoff + i * sizeof(Elf64_Shdr), &sections[i])) return corrupt("a cubin cut short");
  const auto content = [&](size_t i) -> std::span<const char> {
    if (i >= sections.size() || sections[i].sh_offset > cubin.size() ||
        sections[i].sh_size > cubin.size() - sections[i].sh_offset)
      return {};
    return cubin.subspan(sections[i].sh_offset, sections[i].sh_size);
  };
  std::span<const char> info, symbols, names;
  for (size_t i = 0; i < sections.size(); ++i) {
    if (text_at(content(header.e_shstrndx), sections[i].sh_name) == ".nv.info") info = content(i);
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    symbols = content(i);
    names = content(sections[i].sh_link);
  }
  if (info.empty()) return corrupt("a cubin without .nv.info");
  std::map<std::string, uint32_t> stacks;
  for (uint64_t at = 0; at + 4 <= info.size();) {
    uint16_t size = 0;
    read(info, at + 2, &size);
    const auto format = static_cast<uint8_t>(info[at]), attribute = static_cast<uint8_t>(info[at + 1]);
    if (format == kSizedFormat && attribute == kFrameSize) {
      uint32_t symbol = 0, bytes = 0;
      Elf64_Sym entry;
      if (!read(info, at + 4, &symbol) || !read(info, at + 8, &bytes) ||
          !read(symbols, uint64_t{symbol} * sizeof(Elf64_Sym), &entry))
        return corrupt("a cubin whose .nv.info names no symbol");
      stacks[text_at(names, entry.st_name)] = bytes;
    }
    at += 4 + (format == kSizedFormat ? size : 0);
  }
  return stacks;
}

}  // namespace wootz::cuda
