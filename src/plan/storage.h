// Where tensors' bytes are at given extents: whose buffer they are in, and how far into it.
#pragma once

#include <vector>

#include "backend/program.h"

namespace wootz {

// Bytes of a tensor at these extents.
size_t tensor_bytes(const PlanTensor& tensor, const Dims& dims);

struct Storage {
  std::vector<int32_t> root;   // by tensor: the tensor with a buffer of its own that it is in; itself, often
  std::vector<size_t> offset;  // by tensor: bytes into it
  std::vector<size_t> extent;  // by root: bytes of the buffer; 0 where unknown
};

// `dims` and `known` by tensor. `program` has passed verify_program, which leaves what depends on extents to this:
// subviews make up their whole, and views lie within what they view. Where not `exact` (sizes at the far end of every
// range at once, which may be no shape at all) they need not, and buffers are large enough for both.
Result<Storage> find_storage(const Program& program, const ShapeValues& shapes, const std::vector<Dims>& dims,
                             const std::vector<uint8_t>& known, bool exact);

// By tensor: the step after which its bytes are all there, -1 where no step makes them. A view is there with what it
// views, what is put together from subviews with the last of them.
std::vector<int> completing_steps(const Program& program);

}  // namespace wootz
