// Generated source to machine code: NVRTC, opened at run time, with a cache of what it made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace wootz::cuda {

// Machine code of `source` for an architecture ("sm_90"): offered by a plan, kept in the cache from the same version of
// the compiler, or made now. Errors carry the compiler's log. Thread-safe: several sources are compiled at once.
Result<std::vector<char>> compile_cuda(const std::string& source, const std::string& arch);

// While the caller has this, equal sources are compiled once and remembered, in memory.
std::shared_ptr<const void> hold_compiled();

// What plans call this machine code. The compiler's version does not count: the code is as good without any compiler.
std::string code_key(const std::string& source, const std::string& arch);

// "13.0", or why there is no compiler.
Result<std::string> compiler_version();

}  // namespace wootz::cuda
