// problems/<family>.problems: the networks that each family's kernels are tested and timed on, beside what ops' cases
// and random graphs give. A file has sections
//
//   === resnet_3x3 T=f32|f16 [bench]
//   graph "g" { %x: $T[1,64,56,56] = input; ... }
//
// A section with variables is one problem for each combination of their values. [bench] is for graphs of the sizes that
// networks have: they are timed, and not run by the interpreter. [races=fed] is for small ones that the search for
// races in kernels with `fed` in their names is always to have. [sparse] gives weights of convolutions and products 2:4
// zeros. Constants of more than one element that are written as
// splat(x) are random here, in [-x, x]. Comments begin with //.
#pragma once

#include "kernels/graph_cases.h"

namespace wootz::kernels {

struct WrittenProblem {
  std::string name;  // "conv/resnet_3x3_f16"
  bool bench = false;
  std::string races;             // what is in the names of kernels that are to be searched with it; empty: none
  std::shared_ptr<Graph> graph;  // inferred
};

// Where they are: under $WOOTZ_SOURCE_DIR.
std::string problems_folder();
// Of all files in the folder, in the order of their names.
Result<std::vector<WrittenProblem>> read_problems(const std::string& folder);
// The graphs that the passes are tested on (src/passes/**/<pass>.test), before the pass: what fuses, and what nearly
// does.
Result<std::vector<WrittenProblem>> read_pass_graphs();
// What is timed on a backend: the steps of all networks marked [bench], after the passes, and reformats.
struct TimedProblem {
  std::string name;
  Problem problem;
};
Result<std::vector<TimedProblem>> timed_problems(const std::vector<WrittenProblem>& written, const char* backend);
// Values for the graph's inputs; symbolic extents are 3, as in the passes' own tests. Integers are indices that are
// good along any axis of the first input.
Result<std::vector<HostTensor>> random_inputs(const Graph& graph, uint64_t seed);
// The same for a problem's operands.
Result<std::vector<HostTensor>> random_operands(const Problem& problem, uint64_t seed);

}  // namespace wootz::kernels
