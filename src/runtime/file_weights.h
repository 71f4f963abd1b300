// Weights of a program in a file, from which their pages come back when they have left memory.
#pragma once

#include <memory>
#include <string>

#include "backend/program.h"

namespace wootz {

// The same program with its weights in a file of the folder that has no name any more; itself where they are in a file
// already. Error: kIo.
Result<std::shared_ptr<const Program>> keep_weights_in_file(std::shared_ptr<const Program> program,
                                                            const std::string& folder);

}  // namespace wootz
