// Family attention in tiles: 16 query rows of a head by a block, over 64 keys at a time.
#include "backends/cuda/generate/attention.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/support/heads.h"

namespace wootz::cuda {
namespace {

constexpr int kRows = 16, kLanes = 16, kKeys = 64;

}  // namespace

Status generate_attention_tiles(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const AttentionShape a, attention_shape(p, args, AttentionBytes::kCaches));
  if (a.size > 128 || a.v_size > 128) return unsupported("heads of {} and {}; tiles take up to 128", a.size, a.v_size);
  if (dtype_bits(p.outputs[0].dtype) == 8) return unsupported("a rounded result, which is better a step of its own");
  if (a.whole.volume() == 0) return Status();
  const int64_t row_blocks = (a.rows + kRows - 1) / kRows, blocks = a.batch * a.heads * row_blocks;
  if (blocks >= (int64_t{1} << 31)) return unsupported("{} blocks", blocks);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source("attention/tiles.cuh", p, args, a));
  source.fixed("kThreads", kBlock);
  source.fixed("kRows", kRows);
  source.fixed("kLanes", kLanes);
  source.fixed("kKeys", kKeys);
  source.number("row_blocks", row_blocks);
  return source.finish(kBlock, blocks, launches);
}

// Two blocks keep a multiprocessor's shared memory busy.
double estimate_attention_tiles(const Problem& p) {
  return plain_attention_us(p, kRows,
                            {.start_us = 4, .bytes_per_us = 1.5e6, .element_us = 0.00075, .at_once = 132 * 2});
}

}  // namespace wootz::cuda
