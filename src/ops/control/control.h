// What the control-flow ops share.
#pragma once

#include <vector>

#include "ir/op_def.h"

namespace wootz::ops {

// The slice at `index` along `axis`, without that axis.
Result<HostTensor> take_element(const HostTensor& tensor, int axis, int64_t index);
// Equal shapes joined along a new axis; `type` says what an element is when there are none.
Result<HostTensor> stack_elements(const std::vector<HostTensor>& elements, int axis, const Value& type);

const OpDef& scan_op();

}  // namespace wootz::ops
