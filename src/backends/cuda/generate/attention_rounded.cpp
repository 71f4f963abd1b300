// Family attention of integers or floats of 8 bits whose weights are rounded to such, on tensor cores.
#include <algorithm>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/attention.h"
#include "backends/cuda/generate/families.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kRowsOfWarp = 16, kKeys = 64, kStages = 2;

struct Rounded {
  AttentionShape shape;
  int64_t warps = 4;
  int64_t rows() const { return warps * kRowsOfWarp; }
  int64_t row_blocks() const { return (shape.rows + rows() - 1) / rows(); }
  int64_t blocks() const { return shape.batch * shape.heads * row_blocks(); }
  int64_t shared() const { return rows() * (shape.size + 16) + kStages * kKeys * (shape.size + shape.v_size + 32); }
};

Result<Rounded> rounded_of(const Problem& p, const BindArgs& args) {
  Rounded r;
  WOOTZ_ASSIGN_OR_RETURN(r.shape, attention_shape(p, args, AttentionBytes::kAll));
  const AttentionShape& a = r.shape;
  const auto& params = p.as<AttentionParams>();
  const auto fits = is_fp8(params.p_type) ? is_fp8 : is_int8;
  for (size_t i = 0; i < 3; ++i)
    if (!fits(p.inputs[i].dtype) || !fits(params.p_type))
      return unsupported("attention of {} with weights of {}", dtype_name(p.inputs[i].dtype),
                         dtype_name(params.p_type));
  if (params.s_scale > 0 && (!is_int8(params.s_type) || !is_int8(params.p_type)))
    return unsupported("scores of {}", dtype_name(params.s_type));
  if (params.k_scale.size() != 1) return unsupported("keys of several scales in 8 bits");
  if ((a.size != 64 && a.size != 128) || (a.v_size != 32 && a.v_size != 64 && a.v_size != 128))
    return unsupported("heads of {} and {} in 8 bits", a.size, a.v_size);
  if (a.keys > 32768) return unsupported("sums over {} keys", a.keys);
  if (!in_steps_of(a.q, 16) || !in_steps_of(a.k, 16) || !in_steps_of(a.v, 16) ||
      !in_steps_of(a.y, a.v_size < 64 ? 4 : 8))
    return unsupported("rows of heads that are not in steps of 16 bytes");
  r.warps = a.rows > 64 ? 8 : 4;
  return r;
}

}  // namespace

Status generate_attention_rounded(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Rounded r, rounded_of(p, args));
  const AttentionShape& a = r.shape;
  if (a.whole.volume() == 0) return Status();
  if (a.keys == 0) return unsupported("attention over no keys on tensor cores");
  if (r.blocks() >= (int64_t{1} << 31)) return unsupported("{} blocks", r.blocks());
  const auto& params = p.as<AttentionParams>();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source("attention/rounded.cuh", p, args, a));
  const bool is_signed = params.s_type == DType::kI8;
  source.type("Y", storage_type(p.outputs[0].dtype));
  source.fixed("kThreads", r.warps * 32);
  source.fixed("kRows", r.rows());
  source.fixed("kKeys", kKeys);
  source.fixed("kQueryZero", static_cast<int64_t>(params.q_zero));
  source.fixed_real("kScoreGrid", params.s_scale);
  source.fixed_real("kScoreLow", (is_signed ? -128 : 0) - params.s_zero);
  source.fixed_real("kScoreHigh", (is_signed ? 127 : 255) - params.s_zero);
  source.fixed_real("kWeightGrid", params.p_scale);
  source.fixed_real("kWeightHigh", is_fp8(params.p_type) ? 1e30 : params.p_type == DType::kI8 ? 127 : 255);
  source.type("Weight", is_fp8(params.p_type) ? storage_type(params.p_type) : "u8");
  source.fixed("kAddsMask", params.has_mask);
  source.fixed("kCluster", 1);
  source.fixed("kSharedBytes", r.shared());
  source.number("row_blocks", r.row_blocks());
  LaunchSize size;
  size.block = static_cast<unsigned>(r.warps * 32);
  size.grid_x = static_cast<unsigned>(r.blocks());
  size.shared = static_cast<unsigned>(r.shared());
  size.at_once = 1;  // without it ptxas spills at 128 registers, where 132 suffice
  return source.finish(size, launches);
}

// A start, operands by way of the L2, products, of which those of queries and keys are made twice.
double estimate_attention_rounded(const Problem& p) {
  constexpr double kStartUs = 3, kL2BytesPerUs = 5e6, kProductsPerUs = 2.4e8, kMultiprocessors = 132;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Rounded> r = rounded_of(p, {in, out, {}});
  if (!r.ok() || r->shape.keys == 0) return 0;
  const AttentionShape& a = r->shape;
  const auto blocks = static_cast<double>(r->blocks()), rows = static_cast<double>(r->rows());
  const auto keys = static_cast<double>(a.keys), sizes = static_cast<double>(2 * a.size + a.v_size);
  return kStartUs + blocks * (rows + keys) * sizes / kL2BytesPerUs +
         std::max(blocks, kMultiprocessors) * rows * keys * sizes / kProductsPerUs;
}

}  // namespace wootz::cuda
