// Family control: a step that runs bodies, which are programs of their own (Program::bodies). As the problem's
// parameters say it, and as a struct.
#pragma once

#include "backend/kernel.h"
#include "backend/program.h"

namespace wootz {

struct ControlBody {
  int32_t program = 0;            // index into Program::bodies
  std::vector<int32_t> operands;  // by input of the body: which operand of the step it is
};

// Operands are those of the op, in its order; a body reads some of them.
//   If:   condition, what the branches read. A branch gives the step's results.
//   Loop: trip count or nothing, condition or nothing, states, what the body reads. To the body operand 0 is the number
//         of the round and operand 1 whether it goes on; it gives that, the states, and an element of each stacked
//         result.
//   Scan: states, sequences, what the body reads. The body sees an element of each sequence, and gives the states and
//         an element of each stacked result.
struct ControlForm {
  using Op = ControlOp;
  Op op = Op::kIf;
  std::vector<ControlBody> bodies;  // If: then, else
  size_t states = 0, scans = 0;
  std::vector<int64_t> input_axes, input_reversed;    // by sequence
  std::vector<int64_t> output_axes, output_reversed;  // by stacked result

  size_t first_result() const { return op == Op::kLoop ? 1 : 0; }  // of the body's, that is the step's first one
};

// The one "tactic": the runtime's own loop over the bodies.
Tactic control_tactic();
bool is_control(const Step& step);

void write_control(const ControlForm& form, Problem* problem);
// Errors: parameters that do not fit each other or the number of operands.
Result<ControlForm> read_control(const Problem& problem);

// The step with everything that the runtime takes for granted: bodies that are there, operands and results of the
// types that the bodies take and give. `program` is the one that the step is in; extents are compared when running.
Status check_control(const Program& program, const Step& step);

// Stands for the kernel where one is asked for (how it packs, what it overwrites) and none can be bound.
std::unique_ptr<Kernel> control_placeholder();

}  // namespace wootz
