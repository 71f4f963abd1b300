// Import of the attributes that convolution and pooling share.
#pragma once

#include "ops/onnx_import.h"

namespace wootz {

// strides and dilations, and pads: explicit ones, or auto_pad worked out where the extents of x and the kernel are
// known. What is left for symbolic extents is attribute auto_pad.
Status import_window(ImportContext& ctx, const Value* x, const Shape& kernel, AttrMap* attrs);

}  // namespace wootz
