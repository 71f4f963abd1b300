// Plan bytes from anywhere to a Program that may be run. The only way in: every check runs every time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "backend/program.h"
#include "base/mapped.h"

namespace wootz {

// Checks the digests of all bytes, then the structure, then verify_program. Weights stay where they are when `owner`
// keeps `bytes` alive and unchanged (and they lie at a multiple of 64); otherwise they are copied. Everything else is
// copied before it is checked. Errors: kCorrupt, kUnsupported (another format, names this build does not know),
// kResourceExhausted.
Result<std::shared_ptr<const Program>> read_plan(std::span<const std::byte> bytes,
                                                 std::shared_ptr<const void> owner = nullptr);

// Maps the file; the constants' owner keeps the mapping. Replace a plan in use by renaming another over it (as
// write_plan_file does): one that is overwritten or cut short in place breaks every process that has mapped it. Errors:
// also kIo.
Result<std::shared_ptr<const Program>> read_plan_file(const std::string& path);
// The file alone, which has at least a header's length.
Result<MappedFile> map_plan_file(const std::string& path);

}  // namespace wootz
