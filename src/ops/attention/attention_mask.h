// The mask of ONNX Attention as one operand of the IR's op: the given mask, padded; causality and windows that are
// offset by a cache; lengths of the valid keys.
#pragma once

#include "ops/support/compose.h"

namespace wootz::ops {

struct AttentionMask {
  Value* given = nullptr;     // bool or additive, broadcasts to [B,H,S,T]; its last extent may be shorter than T
  Value* past_key = nullptr;  // query i stands at position i + its length
  Value* lengths = nullptr;   // i64[B] valid keys; query i stands at i + length - S
  int64_t left = -1, right = -1;
  bool causal = false;
};

// Null when nothing is masked. q is [B,H,S,D], k [B,Hkv,T,D].
Result<Value*> build_attention_mask(ImportContext& ctx, Composer& c, const AttentionMask& mask, Value* q, Value* k);

}  // namespace wootz::ops
