// Family attention on tensor cores where heads are many: 64 or 128 query rows of a head by a block, over 64 keys at a
// time (32 of long heads of FP32), which all of its warps read from shared memory.
#include <algorithm>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/attention.h"
#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kRowsOfWarp = 16, kStep = 32, kStages = 2;

struct Staged {
  AttentionShape shape;
  int64_t warps = 8, keys = 64, bytes = 2;  // keys: in shared memory at once; bytes: of an operand's element
  int64_t rows() const { return warps * kRowsOfWarp; }
  int64_t row_blocks() const { return (shape.rows + rows() - 1) / rows(); }
  int64_t blocks() const { return shape.batch * shape.heads * row_blocks(); }
  int64_t shared() const { return (rows() * shape.size + kStages * keys * (shape.size + shape.v_size)) * bytes; }
  bool each_row_alike = true;  // sees the same keys, with the same mask
  // So many warps of a multiprocessor that registers suffice for what each of them sums up and for where its masks are.
  int64_t at_once() const {
    return (bytes == 4 ? shape.size > 64 ? 8 : 16 : shape.size > 64 || !each_row_alike ? 16 : 24) / warps;
  }
};

Result<Staged> staged_of(const Problem& p, const BindArgs& args, int bytes) {
  Staged s;
  WOOTZ_ASSIGN_OR_RETURN(s.shape, attention_shape(p, args));
  const AttentionShape& a = s.shape;
  if (dtype_bits(p.inputs[0].dtype) != bytes * 8)
    return unsupported("attention of {} by this kernel", dtype_name(p.inputs[0].dtype));
  s.bytes = bytes;
  if (a.size < 32 || a.size > 128 || a.size % 32 != 0 || a.v_size < 32 || a.v_size > a.size || a.v_size % 32 != 0)
    return unsupported("heads of {} and {} by way of shared memory", a.size, a.v_size);
  const int bits = dtype_bits(p.outputs[0].dtype);
  if (bits > bytes * 8) return unsupported("a result in {}", dtype_name(p.outputs[0].dtype));
  const int64_t piece = 16 / bytes;
  if (!in_steps_of(a.q, piece) || !in_steps_of(a.k, piece) || !in_steps_of(a.v, piece) || !in_steps_of(a.y, 128 / bits))
    return unsupported("rows of heads that are not in steps of 16 bytes");
  if (bits == 8) WOOTZ_RETURN_IF_ERROR(check_rounded(a));
  const bool wide = bytes == 4 && a.size > 64;  // every GPU has room for 99 KiB
  s.warps = a.rows > 64 && !wide ? 8 : 4;
  s.keys = wide ? 32 : 64;
  const auto& params = p.as<AttentionParams>();
  s.each_row_alike = !params.causal;
  if (const Dims& mask = params.has_mask ? args.inputs[3] : Dims(); mask.rank() > 1 && mask[mask.size() - 2] != 1)
    s.each_row_alike = false;
  return s;
}

}  // namespace

template <int kBytes>
Status generate_attention_staged(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Staged s, staged_of(p, args, kBytes));
  const AttentionShape& a = s.shape;
  if (a.whole.volume() == 0) return Status();
  if (a.keys == 0) return unsupported("attention over no keys on tensor cores");
  if (s.blocks() >= (int64_t{1} << 31)) return unsupported("{} blocks", s.blocks());
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source("attention/staged.cuh", p, args, a));
  source.type("Y", storage_type(p.outputs[0].dtype));
  source.fixed("kThreads", s.warps * 32);
  source.fixed("kRows", s.rows());
  source.fixed("kKeys", s.keys);
  source.fixed("kStep", kStep);
  source.fixed("kAddsMask", p.as<AttentionParams>().has_mask);
  source.fixed("kWhole", !transient(p, args) && a.keys % s.keys == 0);
  source.fixed("kAllRows", !transient(p, args) && a.rows % s.rows() == 0);
  source.fixed("kCluster", 1);
  source.fixed("kSharedBytes", s.shared());
  source.number("row_blocks", s.row_blocks());
  LaunchSize size;
  size.block = static_cast<unsigned>(s.warps * 32);
  size.grid_x = static_cast<unsigned>(s.blocks());
  size.shared = static_cast<unsigned>(s.shared());
  size.at_once = static_cast<unsigned>(s.at_once());
  return source.finish(size, launches);
}

// On an H200: a start, operands by way of the L2, products. 0: few heads, whose keys the warps of more blocks divide
// (attention/mma.cuh, of 16 bits).
template <int kBytes>
double estimate_attention_staged(const Problem& p) {
  constexpr double kStartUs = 2.5, kL2BytesPerUs = 5e6, kProductsPerUs = 1.8e8, kMultiprocessors = 132;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Staged> s = staged_of(p, {in, out, {}}, kBytes);
  if (!s.ok() || s->shape.keys == 0) return 0;
  const AttentionShape& a = s->shape;
  const auto blocks = static_cast<double>(s->blocks()), rows = static_cast<double>(s->rows());
  if (kBytes == 2 && blocks < kMultiprocessors / 2) return 0;
  const auto keys = static_cast<double>(a.keys), sizes = static_cast<double>(a.size + a.v_size);
  return kStartUs + blocks * (rows + keys) * sizes * kBytes / kL2BytesPerUs +
         std::max(blocks, kMultiprocessors) * rows * keys * sizes / (kProductsPerUs * 2 / kBytes);
}

template Status generate_attention_staged<2>(const Problem&, const BindArgs&, std::vector<Launch>*);
template Status generate_attention_staged<4>(const Problem&, const BindArgs&, std::vector<Launch>*);
template double estimate_attention_staged<2>(const Problem&);
template double estimate_attention_staged<4>(const Problem&);

}  // namespace wootz::cuda
