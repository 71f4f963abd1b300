#include "backends/cuda/generate/kernel_files.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "backends/cuda/jit/code_store.h"

namespace wootz::cuda {
namespace {

constexpr std::string_view kInclude = "#include \"backends/cuda/kernels/", kPrelude = "common/prelude.cuh";

std::string_view text_of(std::string_view path) {
  for (const KernelFile& file : kernel_files())
    if (file.path == path) return file.text;
  throw std::logic_error("no kernel file " + std::string(path));
}

// Appends the file unless it is among `seen`, with what it includes before it.
void expand(std::string_view path, std::vector<std::string_view>* seen, std::string* to) {
  if (std::find(seen->begin(), seen->end(), path) != seen->end()) return;
  seen->push_back(path);
  std::string_view rest = text_of(path);
  while (!rest.empty()) {
    const size_t end = std::min(rest.size(), rest.find('\n') + 1);
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (line.substr(0, kInclude.size()) == kInclude)
      expand(line.substr(kInclude.size(), line.rfind('"') - kInclude.size()), seen, to);
    else if (line.substr(0, 12) != "#pragma once")
      *to += line;
  }
}

struct Prelude {
  std::vector<std::string_view> files;
  std::string text;
};
const Prelude& whole_prelude() {
  static const Prelude prelude = [] {
    Prelude p;
    expand(kPrelude, &p.files, &p.text);
    return p;
  }();
  return prelude;
}

}  // namespace

const std::string& kernel_files_version() {
  static const std::string version = [] {
    std::string texts;
    for (const KernelFile& file : kernel_files()) texts.append(file.path).append("\n").append(file.text);
    return digest_text(texts).substr(0, 8);
  }();
  return version;
}

const std::string& prelude() { return whole_prelude().text; }

std::string kernel_text(std::string_view path) {
  std::vector<std::string_view> seen = whole_prelude().files;
  std::string text;
  expand(path, &seen, &text);
  return text;
}

}  // namespace wootz::cuda
