// Generated source to machine code: NVRTC, opened at run time, with a cache of what it made.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace wootz::cuda {

// Machine code of `source` for an architecture ("sm_90"). Errors carry the compiler's log. From the cache folder
// (WOOTZ_CUDA_CACHE, default ~/.cache/wootz; empty: none) when it was made before by this version of the compiler.
Result<std::vector<char>> compile_cuda(const std::string& source, const std::string& arch);

// "13.0", or why there is no compiler.
Result<std::string> compiler_version();

// A 128-bit digest as text, of sources and other keys of caches.
std::string digest_text(const std::string& text);

}  // namespace wootz::cuda
