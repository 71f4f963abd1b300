// Parts of the attention module.
#pragma once

#include "ops/onnx_import.h"

namespace wootz::ops {

const OpDef& linear_attention_op();

// LinearAttention, CausalConvWithState, FlexAttention.
Status import_linear_attention(ImportContext& ctx);
Status import_causal_conv(ImportContext& ctx);
Status import_flex_attention(ImportContext& ctx);

}  // namespace wootz::ops
