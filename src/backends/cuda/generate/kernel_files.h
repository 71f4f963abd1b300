// The files of src/backends/cuda/kernels/, which are part of the library.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace wootz::cuda {

struct KernelFile {
  std::string_view path, text;  // path below kernels/: "reduce/rows.cuh"
};
std::span<const KernelFile> kernel_files();

// Differs wherever a file does: the version of the kernels, with which timings are kept.
const std::string& kernel_files_version();

// What every kernel's source begins with: common/prelude.cuh with all that it includes.
const std::string& prelude();

// A file with what it includes in its place, once each, without what the prelude has. Its path must exist.
std::string kernel_text(std::string_view path);

}  // namespace wootz::cuda
