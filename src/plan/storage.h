// Where tensors' bytes are at given extents: whose buffer they are in, and how far into it.
#pragma once

#include <vector>

#include "backend/program.h"

namespace wootz {

// Bytes of a tensor at these extents.
size_t tensor_bytes(const PlanTensor& tensor, const Dims& dims);

struct Storage {
  IndexedVector<TensorIndex, TensorIndex> root;  // the tensor with a buffer of its own that it is in; itself, often
  IndexedVector<TensorIndex, size_t> offset;     // bytes into it
  IndexedVector<TensorIndex, size_t> extent;     // of a root: bytes of the buffer; 0 where unknown
};

// `dims` and `known` by tensor. `program` has passed verify_program, which leaves what depends on extents to this:
// subviews make up their whole, and views lie within what they view. Where not `exact` (sizes at the far end of every
// range at once, which may be no shape at all) they need not, and buffers are large enough for both.
Result<Storage> find_storage(const Program& program, const ShapeValues& shapes,
                             const IndexedVector<TensorIndex, Dims>& dims,
                             const IndexedVector<TensorIndex, uint8_t>& known, bool exact);

// By tensor: the step after which its bytes are all there, none where no step makes them. A view is there with what it
// views, what is put together from subviews with the last of them.
IndexedVector<TensorIndex, StepIndex> completing_steps(const Program& program);

}  // namespace wootz
