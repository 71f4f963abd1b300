#pragma once

#include "ir/op_def.h"
#include "ops/cases.h"

namespace wootz::ops {

const OpDef& chain_op();
void chain_cases(CaseList& list);
void block_cases(CaseList& list);  // which it calls

}  // namespace wootz::ops
