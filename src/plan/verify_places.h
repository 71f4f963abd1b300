// Views, subviews and what they are in: the part of verify_program that proves that no two tensors share bytes unless
// the plan says so, and that a tensor put together from subviews has no byte that no subview has.
#pragma once

#include "backend/program.h"

namespace wootz {

// `shapes`: what is known without inputs; tensors have been checked one by one. Proves:
// - view_of leads from every view and subview, by at most plan_limits::kMaxViewDepth steps, to a tensor of its own;
// - views have the type of what they view, and lie in it: all of it in row-major or channels-last order, or a range of
// the same layout;
// - subviews are listed by exactly the tensor that they name, once, have its type and layout, and together its bytes.
// What depends on extents that are not known yet is left to find_storage (plan/storage.h).
// root[t]: the tensor whose bytes t has (itself, unless it is a view).
Status verify_places(const Program& program, const ShapeValues& shapes, IndexedVector<TensorIndex, TensorIndex>* root);

}  // namespace wootz
