// Weights of a program in a file, from which their pages come back when they have left memory.
#pragma once

#include <memory>

#include "backend/program.h"
#include "base/temporary_file.h"

namespace wootz {

// The same program with its weights in a temporary file that has no name any more; itself where they are in a file
// already. Errors: as map_copies().
Result<std::shared_ptr<const Program>> keep_weights_in_file(std::shared_ptr<const Program> program,
                                                            const TemporaryFiles& where);

}  // namespace wootz
