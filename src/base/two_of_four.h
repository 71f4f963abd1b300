// Structured zeros: of each four elements that follow each other along an axis, two at most are not 0 ("2:4").
#pragma once

#include <cstdint>

#include "base/tensor.h"

namespace wootz {

// Whether the tensor is so. Elements beyond the last whole four count as the first of another.
bool is_two_of_four(const HostTensor& tensor, int axis);
// Makes it so: two of each four, in random places. The same seed chooses the same ones on every machine.
void zero_two_of_four(HostTensor* tensor, int axis, uint64_t seed);
// Makes it so at the least cost: the two of each four that are smallest by magnitude become 0; of equal ones the later.
void prune_two_of_four(HostTensor* tensor, int axis);

bool all_zero(const HostTensor& tensor);

}  // namespace wootz
