// What must hold of every graph, and a smaller graph where it does not.
#pragma once

#include <string>

#include "random_graphs/generate.h"

namespace wootz::random_graphs {

struct CheckOptions {
  bool kernels = true;  // run through lowering and the kernels of the CPU, too
};

// Empty when all is well; otherwise what is wrong, beginning with its kind ("verifier: ", "results: ", "idempotence: ",
// "kernels: ", "error: ").
std::string check(const Sample& sample, const CheckOptions& options);

// The same trouble with fewer outputs and nodes: outputs are left out, values become inputs, what is unread goes.
Sample reduce(Sample sample, const CheckOptions& options, const std::string& trouble);

}  // namespace wootz::random_graphs
