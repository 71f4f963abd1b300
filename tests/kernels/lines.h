// Every kernel that the backends' tables list, and the libraries beside them: what is tested and timed.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "base/cpu_info.h"

namespace wootz::kernels {

struct KernelLine {
  const char* backend;
  const Provider* provider;
  std::string kernel;  // as tactics have it, with the instruction set; empty: a library, whatever it offers
  Family family = Family::kOp;
  Isa isa = Isa::kNone;         // that it is compiled for
  std::vector<Layout> layouts;  // that it is tried in; empty: those of the problem
  bool rows_in = false;         // the first operand is row-major in any of them
  bool all_rows_in = false;     // every operand is
  bool or_planes = false;       // results may be row-major where operands are channels-last
  bool tf32 = false;            // operands of FP32 are rounded to TF32
  bool short_sums = false;      // of some 14 bits, on a GPU
  bool library() const { return kernel.empty(); }
  std::string name() const { return library() ? provider->name() : kernel; }
};
// For messages of tests.
std::ostream& operator<<(std::ostream& out, const KernelLine& line);

// In the order of the tables, a line for each instruction set; then the libraries.
const std::vector<KernelLine>& kernel_lines();
// What the line's kernel is, or a library offers, for the problem: a candidate for each layout that it accepts. A
// kernel is asked itself, not its provider: which offer is better apart, or the last resort, is not the question here.
std::vector<Candidate> candidates_of(const KernelLine& line, const Problem& problem);
// Limits of tests and benchmarks of the line: what all of its kind may use.
Limits limits_of(const KernelLine& line);
// The problem with the candidate's layouts.
Problem filled(const Problem& problem, const Candidate& candidate);

}  // namespace wootz::kernels
