// Weights as the block formats of accelerators have them: small floats whose scales are small floats, too.
#pragma once

#include "onnx/edit/narrow_weights.h"

namespace wootz::importer {

inline constexpr int kNvfp4Block = 16, kMxfp8Block = 32;

// NVFP4: E2M1 in blocks of 16 along `axis`, whose extent they divide; a block's scale is E4M3 times one in f32 for the
// whole tensor (NarrowWeights::tensor_scale). `weights` are finite and in f32.
Result<NarrowWeights> narrow_nvfp4(const HostTensor& weights, int axis);
// MXFP8: E4M3 in blocks of 32, whose scales are powers of two (E8M0) with which nothing is too large.
Result<NarrowWeights> narrow_mxfp8(const HostTensor& weights, int axis);

}  // namespace wootz::importer
