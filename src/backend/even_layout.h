// Layouts that fill channels up to whole vectors are, where there is nothing to fill up, the memory of others.
#pragma once

#include "backend/program.h"

namespace wootz {

// The layout of steps that is the same memory as `layout` for this tensor, whose channels are always whole vectors;
// where they are not, or there is none, `layout`.
Layout even_layout(const Program& program, const PlanTensor& tensor, Layout layout);

}  // namespace wootz
