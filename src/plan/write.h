// Program to plan bytes (see plan/format.h).
#pragma once

#include <functional>
#include <span>
#include <string>

#include "backend/program.h"
#include "base/raw_bytes.h"
#include "plan/runtime_files.h"

namespace wootz {

// Equal programs give equal bytes, whichever way they are written. The program must pass verify_program: nothing is
// written that could not be read. Weights that are still to be made are made one at a time, on their way out.

// What a version-compatible plan has beside the program.
struct Companion {
  uint32_t writer = 0;                     // library_version() of who writes it; 0: the plan is not version-compatible
  const PackedRuntime* runtime = nullptr;  // unless null: of a writer that is not 0
};

// As one block of memory.
Result<RawBytes> write_plan(const Program& program, const Companion& companion = {});

// As a file. The bytes are complete and on the disk before they take the path's name (a file that is there stays as it
// is until then, and on any failure). A path that is no regular file (a device, a pipe) is written to directly. Errors:
// kIo, with the path and the system's reason. `bytes`, unless null: how many it has.
Status write_plan_file(const Program& program, const std::string& path, size_t* bytes = nullptr,
                       const Companion& companion = {});

// From its first byte to its last into whatever takes them. The first bytes tell the digest of all weights, which are
// therefore made twice.
using PlanSink = std::function<Status(std::span<const std::byte>)>;
Status write_plan_to(const Program& program, const PlanSink& sink, const Companion& companion = {});

}  // namespace wootz
