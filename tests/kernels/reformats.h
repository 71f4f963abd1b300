// Problems of family reformat. No graph asks for them: choosing layouts inserts them.
#pragma once

#include "kernels/cases.h"

namespace wootz::kernels {

// Between all layouts, and between types.
void add_reformats(uint64_t seed, CaseSet* cases);
// Those that are timed, by name.
std::vector<std::pair<std::string, Problem>> bench_reformats();

}  // namespace wootz::kernels
