#include "tuner/problem_class.h"

namespace wootz {
namespace {

double sort_of(double v) {
  if (v == 0 || v == 1) return v;
  return v > 0 ? 2 : -1;  // NaN with the negative ones
}

}  // namespace

std::string class_key(const Problem& problem) {
  Problem p = problem;
  for (auto& [name, value] : p.params) {
    if (auto* one = std::get_if<double>(&value)) *one = sort_of(*one);
    if (auto* many = std::get_if<std::vector<double>>(&value))
      for (double& v : *many) v = sort_of(v);
  }
  for (PwInstr& instr : p.epilogue.code) {
    instr.imm0 = sort_of(instr.imm0);
    instr.imm1 = sort_of(instr.imm1);
  }
  return p.key();
}

}  // namespace wootz
