// What the forms of attention share.
#pragma once

#include "backends/cuda/generate/kernel_source.h"
#include "backends/cuda/support/heads.h"

namespace wootz::cuda {

struct AttentionShape {
  Heads q, k, v, y;
  int64_t batch = 0, heads = 0, rows = 0, size = 0, kv_heads = 0, keys = 0, v_size = 0;
  Dims whole;  // [B, H, S, Dv]
};
// What may be of 8 bits: nothing, keys and values, or everything is.
enum class AttentionBytes { kNone, kCaches, kAll };
// Errors: types, layouts or extents that do not go together, or that generated kernels do not take.
Result<AttentionShape> attention_shape(const Problem& problem, const BindArgs& args,
                                       AttentionBytes bytes = AttentionBytes::kNone);

// Whether elements of a row are neighbours, and rows begin at multiples of `elements`.
bool in_steps_of(const Heads& heads, int64_t elements);

// Whether a result of 8 bits may be made in the attention's own step: over many keys, a library's attention saves more
// than a step of rounding costs.
Status check_rounded(const AttentionShape& shape);

// Estimate of attention whose blocks go over all keys, on an H200: a start, and bytes or the blocks' elements of keys
// and values, so many blocks at once. 0: attention that generated kernels do not take.
struct PlainAttention {
  double start_us, bytes_per_us, element_us, at_once;
};
double plain_attention_us(const Problem& problem, int64_t block_rows, const PlainAttention& costs);

// What attention/head.cuh asks for; `views`: of q, k and v, where a kernel takes maps of them instead of pointers.
Result<KernelSource> attention_source(std::string_view file, const Problem& problem, const BindArgs& args,
                                      const AttentionShape& shape, std::span<const TensorView> views = {});

}  // namespace wootz::cuda
