// Look-up of ops by name. The table is ops.def; there are no static constructors.
#pragma once

#include <string_view>
#include <vector>

#include "ir/op_def.h"

namespace wootz {

// Null when there is no such op.
const OpDef* find_op(std::string_view name);
// For names known at compile time: the op must exist (checked by a test over all uses of op("...")).
const OpDef& op(std::string_view name);
const std::vector<const OpDef*>& all_ops();

}  // namespace wootz
