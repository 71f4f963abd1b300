// The semantic check that stands between a plan file and everything that runs it.
#pragma once

#include "backend/program.h"

namespace wootz {

// Proves what the runtime takes for granted: every index in range; expressions and views without cycles; every operand
// of a step there before the step runs and written exactly once; extents that depend on a result not needed before it;
// constants as large as their shape says; problems that describe their operands; profiles that cover every symbol;
// sizes of static tensors without overflow. Data only: whether a kernel exists and accepts the problem is asked when
// the engine is made. Code kCorrupt (kResourceExhausted for a limit), with the layer and the tensor.
Status verify_program(const Program& program);

}  // namespace wootz
