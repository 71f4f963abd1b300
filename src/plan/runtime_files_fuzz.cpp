// The table of the runtime in a plan, whose digest a forger has made right: refused, or files within the section.
#include <cstdlib>

#include "plan/runtime_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> section(reinterpret_cast<const std::byte*>(data), size);
  const auto files = wootz::unpack_runtime(section);
  if (!files.ok()) return 0;
  for (const wootz::RuntimeFile& file : *files) {
    const bool inside = file.bytes.data() >= section.data() &&
                        file.bytes.data() + file.bytes.size() <= section.data() + section.size();
    if (!inside || file.name.empty() || file.name.find('/') != std::string::npos) std::abort();
  }
  return 0;
}
