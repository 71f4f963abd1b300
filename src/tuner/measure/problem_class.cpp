#include "tuner/measure/problem_class.h"

namespace wootz {

std::string class_key(const Problem& problem) { return class_of(problem).key(); }

Problem class_of(const Problem& problem) {
  Problem p = problem;
  blur_reals(family_table(p.family()), params_address(p.params));
  for (PwInstr& instr : p.epilogue.code) {
    instr.imm0 = sort_of_real(instr.imm0);
    instr.imm1 = sort_of_real(instr.imm1);
  }
  return p;
}

}  // namespace wootz
