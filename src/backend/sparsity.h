// Convolutions and products whose constant weights have structured zeros (parameter `sparse`, base/two_of_four.h):
// where these weights are, and whether a kernel makes use of it.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/kernel.h"
#include "backend/problem.h"
#include "base/tensor.h"

namespace wootz {

// Weights of a problem, and the axis along which their products are summed.
struct SummedWeights {
  size_t input = 0;
  int axis = 0;
  bool sparse = false;  // as the parameter says
};

// Of a convolution (not a transposed one) or a product of floats, of both in a chain, of siblings as of the one problem
// that they are: the weights that are constant, of as many dimensions as the family's and of a type that sparse kernels
// read.
std::vector<SummedWeights> summed_weights(const Problem& problem);

// Whether any of the weights are marked.
bool has_sparse_weights(const Problem& problem);

// Whether these weights may be marked and it is worth it: fours are whole, they are not few, and not all are 0.
bool worth_sparse(const HostTensor& weights, int axis);

// By the name of the kernel, or of one of two that compute parts of the step.
bool uses_sparsity(const Tactic& tactic);

// "2:4 weights, zeros left out", "2:4 weights, computed as dense ones"; "": it has none.
const char* sparsity_text(const Problem& problem, const Tactic& tactic);

}  // namespace wootz
