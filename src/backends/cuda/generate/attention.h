// What the forms of attention share: extents, masks, what rows that see nothing give, parameters.
#pragma once

#include "backends/cuda/generate/source.h"
#include "backends/cuda/heads.h"

namespace wootz::cuda {

struct AttentionShape {
  Heads q, k, v, y;
  int64_t batch = 0, heads = 0, rows = 0, size = 0, kv_heads = 0, keys = 0, v_size = 0;
  Dims whole;  // [B, H, S, Dv]
};
// Errors: types, layouts or extents that do not go together, or that generated kernels do not take.
Result<AttentionShape> attention_shape(const Problem& problem, const BindArgs& args);

std::string attention_parameters(const Problem& problem);
std::vector<Pointer> attention_pointers(const Problem& problem);
// Where the epilogue's operands are read, in terms of b, h, row and d.
Result<std::vector<std::string>> attention_operands(const Problem& problem, const BindArgs& args,
                                                    const AttentionShape& shape);
// Applies the mask to the score `score` of key j, in terms of b, h, row and j. Nothing without a mask.
Status write_mask(const Problem& problem, const BindArgs& args, const AttentionShape& shape, const char* score,
                  Writer* to);
// "const bool none = ...; const float scale = 1 / sum;"
void write_row_scale(const Problem& problem, Writer* to);
// The end of the loop over d and of the kernel: the epilogue on the result `f`, stored at `at`; then the launch.
Status finish_attention(const Problem& problem, const BindArgs& args, const AttentionShape& shape, int block,
                        int64_t blocks, Writer* source, std::vector<Launch>* launches);

}  // namespace wootz::cuda
