// Family attention in tiles: 16 query rows of a head by a block, over 64 keys at a time.
#include <algorithm>

#include "backend/operand_dims.h"
#include "backend/work.h"
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

// On an H200: a start and bytes, or all keys by each block, two of which keep a multiprocessor's shared memory busy.
double estimate_attention_tiles(const Problem& p) {
  constexpr double kStartUs = 4, kBytesPerUs = 1.5e6, kElementUs = 0.00075, kAtOnce = 132 * 2;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<AttentionShape> a = attention_shape(p, {in, out, {}}, AttentionBytes::kCaches);
  if (!a.ok()) return 0;
  const auto blocks = static_cast<double>(a->batch * a->heads * ((a->rows + kRows - 1) / kRows));
  const double each = static_cast<double>(a->keys * (a->size + a->v_size)) * kElementUs;
  const wootz::Work work = work_of(p);
  return kStartUs +
         std::max((work.bytes_read + work.bytes_written) / kBytesPerUs, std::max(1.0, blocks / kAtOnce) * each);
}

}  // namespace wootz::cuda
