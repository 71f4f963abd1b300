// Family attention of few rows over long keys and values of any type, in FP32, as a decoder's step reads its caches.
#include <algorithm>
#include <cmath>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/attention_parts.h"
#include "backends/cuda/generate/families.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kWarps = 4, kMostRows = 8;

struct Few {
  AttentionShape shape;
  KeyParts parts;
  int64_t bytes = 4;  // of a key's element
  int64_t piece_bytes = 16, key_pieces = 4, value_pieces = 4, stages = 3;

  int64_t piece() const { return piece_bytes / bytes; }
  int64_t lanes(int64_t size) const {
    int64_t lanes = 1;
    while (lanes * piece() < size) lanes *= 2;
    return lanes;
  }
  int64_t step() const { return 32 / lanes(shape.size) * key_pieces; }  // keys of a warp
  static int64_t at_once(int64_t rows) { return rows > 2 ? 2 : 4; }     // blocks that registers suffice for
  int64_t shared() const {
    const int64_t ring = kWarps * stages * (key_pieces + value_pieces) * 32 * piece_bytes;
    return std::max<int64_t>(ring, kWarps * parts.block_rows * shape.v_size * 4);
  }
};

Status check_operands(const Problem& p) {
  const DType type = p.inputs[1].dtype;
  if (!is_model_float(p.inputs[0].dtype)) return unsupported("queries of {}", dtype_name(p.inputs[0].dtype));
  if (p.inputs[2].dtype != type || !(is_byte(type) || is_model_float(type)))
    return unsupported("keys of {} and values of {}", dtype_name(type), dtype_name(p.inputs[2].dtype));
  for (const double zero : {p.as<AttentionParams>().k_zero, p.as<AttentionParams>().v_zero})
    if (zero != std::round(zero) || std::abs(zero) > 255) return unsupported("a zero point of {}", zero);
  if (dtype_bits(p.outputs[0].dtype) == 8) return unsupported("a rounded result, which is better a step of its own");
  return Status();
}

Result<Few> few_of(const Problem& p, const BindArgs& args) {
  Few f;
  WOOTZ_ASSIGN_OR_RETURN(f.shape, attention_shape(p, args, AttentionBytes::kCaches));
  WOOTZ_RETURN_IF_ERROR(check_operands(p));
  const AttentionShape& a = f.shape;
  const DType type = p.inputs[1].dtype;
  f.bytes = dtype_bits(type) / 8;
  int64_t rows = 1;
  while (rows < kMostRows && rows < sharing_rows(a)) rows *= 2;
  if (f.bytes == 1 && rows == kMostRows) f.piece_bytes = 8;  // of as many sums as there are registers for
  for (const int64_t size : {a.size, a.v_size})
    if (size < 8 || size % f.piece() != 0 || f.lanes(size) > 32)
      return unsupported("heads of {} in pieces of {} bytes", size, f.piece_bytes);
  if (!in_steps_of(a.k, f.piece()) || !in_steps_of(a.v, f.piece()) || !in_steps_of(a.q, 1))
    return unsupported("rows of heads that are not in steps of {} bytes", f.piece_bytes);
  const int64_t key_lanes = f.lanes(a.size), value_lanes = f.lanes(a.v_size);
  f.key_pieces = 1;
  while (f.key_pieces * 2 * (key_lanes + value_lanes) <= 8 * key_lanes || f.key_pieces * value_lanes < key_lanes)
    f.key_pieces *= 2;
  f.value_pieces = f.key_pieces * value_lanes / key_lanes;
  if (f.value_pieces > 8) return unsupported("heads of {} and {} together", a.size, a.v_size);
  f.parts = divide_keys(a, rows, {kWarps * f.step(), f.stages, (a.size + a.v_size) * f.bytes, Few::at_once(rows)});
  return f;
}

}  // namespace

Status generate_attention_few(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Few f, few_of(p, args));
  const AttentionShape& a = f.shape;
  if (a.whole.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source("attention/few_rows.cuh", p, args, a));
  source.fixed("kRows", f.parts.block_rows);
  source.fixed("kWarps", kWarps);
  source.fixed("kThreads", kWarps * 32);
  source.fixed("kPieceBytes", f.piece_bytes);
  source.fixed("kKeyPieces", f.key_pieces);
  source.fixed("kStages", f.stages);
  source.fixed("kCluster", 1);
  source.fixed("kSharedBytes", f.shared());
  LaunchSize size;
  size.block = kWarps * 32;
  size.shared = static_cast<unsigned>(f.shared());
  size.at_once = static_cast<unsigned>(Few::at_once(f.parts.block_rows));
  size.beside = true;
  return finish_parts(p, args, a, f.parts, true, size, std::move(source), launches);
}

// A start, another one where parts are joined, and what the memory gives, of which a multiprocessor gets three times
// its share, or products take, for each block of rows. 0: many rows.
double estimate_attention_few(const Problem& p) {
  constexpr double kStartUs = 2.5, kJoinUs = 1.5, kBytesPerUs = 3e6, kProductsPerUs = 8e6, kMultiprocessors = 132;
  constexpr int64_t kMostBlocks = 4;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Few> f = few_of(p, {in, out, {}});
  if (!f.ok() || f->parts.row_blocks > kMostBlocks) return 0;
  const AttentionShape& a = f->shape;
  const auto elements = static_cast<double>(f->parts.units * a.keys * (a.size + a.v_size));
  const double work = static_cast<double>(f->parts.block_rows) + (f->bytes == 4 ? 0.0 : f->bytes == 2 ? 1.0 : 2.0);
  const double filled = static_cast<double>(f->parts.blocks()) / kMultiprocessors;
  return kStartUs + (f->parts.parts > 1 ? kJoinUs : 0) +
         std::max(elements * static_cast<double>(f->bytes) / kBytesPerUs / std::min(1.0, 3 * filled),
                  elements * work / kProductsPerUs / std::min(1.0, filled));
}

}  // namespace wootz::cuda
