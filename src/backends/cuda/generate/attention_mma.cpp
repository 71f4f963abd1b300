// Family attention on tensor cores, over few keys: 16 query rows of a head by a block, whose warps divide the keys.
#include <algorithm>
#include <cmath>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/attention.h"
#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

constexpr int kRows = 16;

constexpr int64_t kKeys = 16;  // of a warp at once: with more, what a thread waits for comes later

// Rows of a block for which its warps keep what they make: where there are few, as in a decoder's step, no more.
int64_t kept_of(const AttentionShape& a) {
  int64_t kept = 1;
  while (kept < kRows && kept < a.rows) kept *= 2;
  return kept;
}

// That divide the keys: as many as shared memory has room for what they make.
int64_t warps_of(const AttentionShape& a) {
  const bool large = std::max(a.size, a.v_size) > 64 && kept_of(a) == kRows;
  return std::clamp<int64_t>((a.keys + kKeys - 1) / kKeys, 1, large ? 4 : 8);
}

Result<AttentionShape> shape_for_mma(const Problem& p, const BindArgs& args) {
  WOOTZ_ASSIGN_OR_RETURN(AttentionShape a, attention_shape(p, args));
  if (p.inputs[0].dtype == DType::kF32) return unsupported("attention of f32 on tensor cores");
  for (const int64_t size : {a.size, a.v_size})
    if (size < 32 || size > 128 || size % 32 != 0) return unsupported("heads of {} on tensor cores", size);
  if (!in_steps_of(a.q, 8) || !in_steps_of(a.k, 8) || !in_steps_of(a.v, 4) || !in_steps_of(a.y, 4))
    return unsupported("rows of heads that are not in steps of 16 bytes");
  if (dtype_bits(p.outputs[0].dtype) == 8) WOOTZ_RETURN_IF_ERROR(check_rounded(a));
  return a;
}

int64_t blocks_of(const AttentionShape& a) { return a.batch * a.heads * ((a.rows + kRows - 1) / kRows); }

}  // namespace

Status generate_attention_mma(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const AttentionShape a, shape_for_mma(p, args));
  if (a.whole.volume() == 0) return Status();
  if (a.keys == 0) return unsupported("attention over no keys on tensor cores");
  if (blocks_of(a) >= (int64_t{1} << 31)) return unsupported("{} blocks", blocks_of(a));
  const int64_t warps = warps_of(a);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source("attention/mma.cuh", p, args, a));
  source.type("Y", storage_type(p.outputs[0].dtype));
  source.fixed("kThreads", warps * 32);
  source.fixed("kWarps", warps);
  source.fixed("kKept", kept_of(a));
  source.fixed("kKeys", kKeys);
  source.number("row_blocks", (a.rows + kRows - 1) / kRows);
  LaunchSize size;
  size.grid_x = static_cast<unsigned>(blocks_of(a));
  size.block = static_cast<unsigned>(warps * 32);
  size.beside = true;
  return source.finish(size, launches);
}

// On an H100: a start, then a fetch and its products for each turn of the blocks that a multiprocessor has at once, or
// what the L2 gives. 0: each key is fetched by so many blocks that a library is sure to be faster.
double estimate_attention_mma(const Problem& p) {
  constexpr double kStartUs = 1.3, kBlockUs = 0.7, kTurnUs = 1.9, kWarpsAtOnce = 132 * 16, kL2BytesPerUs = 5e6;
  constexpr double kHopeless = 2, kLibraryUs = 4, kProductsPerUs = 1e8;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<AttentionShape> a = shape_for_mma(p, {in, out, {}});
  if (!a.ok() || a->keys == 0) return 0;
  const auto blocks = static_cast<double>(blocks_of(*a)), keys = static_cast<double>(a->keys);
  const auto sizes = static_cast<double>(a->size + a->v_size), warps = static_cast<double>(warps_of(*a));
  const double each = kBlockUs + kTurnUs * std::ceil(keys / static_cast<double>(kKeys) / warps);
  const double turns = std::max(1.0, blocks * warps / kWarpsAtOnce) * each;
  const double own = kStartUs + std::max(turns, blocks * keys * sizes * 2 / kL2BytesPerUs);
  const double products = static_cast<double>(a->batch * a->heads * a->rows) * keys * sizes;
  return own > kHopeless * (kLibraryUs + products / kProductsPerUs) ? 0 : own;
}

}  // namespace wootz::cuda
