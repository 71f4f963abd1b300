// Program to plan bytes (see plan/format.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backend/program.h"

namespace wootz {

// Equal programs give equal bytes. The program must pass verify_program: nothing is written that could not be read.
Result<std::vector<std::byte>> write_plan(const Program& program);

// The same bytes as a file. They are complete and on the disk before they take the path's name (a file that is there
// stays as it is until then, and on any failure). A path that is no regular file (a device, a pipe) is written to
// directly. Errors: kIo, with the path and the system's reason.
Status write_plan_file(const Program& program, const std::string& path);

}  // namespace wootz
