// All problems that kernels are tested on, by backend: the steps of every op's cases before and after the passes, of
// problems/*.problems, of the passes' tests and of random graphs; and the reformats between layouts.
#pragma once

#include "kernels/cases.h"

namespace wootz::kernels {

struct Library {
  CaseSet cases;
  size_t steps = 0, left = 0;        // of the graphs; left: whose operands are no values of the graph
  std::vector<std::string> trouble;  // graphs that did not lower, or not run
};

// Made when it is first asked for, from test_seed().
const Library& library(const char* backend);
// Of a family: those of problems/ first, then one of each kind in an order that is another for each seed, then the
// rest.
std::vector<const KernelCase*> cases_of(const Library& library, Family family);

}  // namespace wootz::kernels
