// Elements of 4 and 2 bits.
#pragma once

#include "backends/cuda/generate/families.h"

namespace wootz::cuda {

bool few_bits(DType type);
bool any_few_bits(const Problem& problem);

// The rest of generate_pointwise where operands are of few bits, behind its checks: `axes` as the results lie, with the
// strides of results and operands. `arguments`: as of a KernelSource.
Status add_pointwise_of_few_bits(const Problem& problem, bool arguments, std::vector<Axis> axes, int64_t count,
                                 std::vector<Launch>* launches);

// What only moves elements, on a byte for each of few bits: between kernels that spread them and put them together.
Status move_as_bytes(Generate move, Problem problem, const BindArgs& args, std::vector<Launch>* launches);

}  // namespace wootz::cuda
