// What forms of attention share whose blocks divide the keys (kernels/attention/parts.cuh).
#pragma once

#include "backends/cuda/generate/attention.h"

namespace wootz::cuda {

// Rows of the heads that share keys, in blocks, and parts of the keys.
struct KeyParts {
  int64_t block_rows = 1, row_blocks = 1, units = 1, per_part = 1, parts = 1;
  int64_t lines = 0;  // of rows in parts that there is memory for: no fewer for larger extents
  int64_t blocks() const { return units * parts; }
};
// How a block goes over its keys: a multiple of `step` at a time, `ahead` turns of which are on their way, `key_bytes`
// of a key and its value; so many blocks of a multiprocessor at most.
struct KeySteps {
  int64_t step = 1, ahead = 1, key_bytes = 1, at_once = 1;
};
// A block takes `rows` of them. Parts are so many that the busiest multiprocessor ends soonest, by what the memory
// gives it and by what its blocks wait for; more of them where that takes little longer, as they have more on its way.
KeyParts divide_keys(const AttentionShape& shape, int64_t rows, const KeySteps& steps);

// Rows that share keys.
int64_t sharing_rows(const AttentionShape& shape);

// The launch of `source`, a block of so many threads for each part, and where there are several that of
// attention/joined.cuh. `centered`: values are without their zero point.
Status finish_parts(const Problem& p, const BindArgs& args, const AttentionShape& shape, const KeyParts& parts,
                    bool centered, LaunchSize size, KernelSource source, std::vector<Launch>* launches);

}  // namespace wootz::cuda
