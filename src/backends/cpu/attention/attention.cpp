// The kernel of family attention on the processor: which problems it takes, and what they are to call.cpp.
#include "backends/cpu/attention/call.h"
#include "base/fp8.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

// BF16 whose rows are whole pairs, on a processor that multiplies them; weights are rounded to it, as the result is.
bool in_pairs(const Problem& p, const KernelOptions& options, const AttentionCall& c) {
  if (options.isa != Isa::kAvx512 || !cpu_info().avx512_bf16) return false;
  for (size_t i = 0; i < 3; ++i)
    if (p.inputs[i].dtype != DType::kBF16) return false;
  const DType given = is_int8(p.outputs[0].dtype) ? p.acc_dtype : p.outputs[0].dtype;  // ahead of a rounding to bytes
  return given == DType::kBF16 && !c.k_transposed && c.size % 2 == 0;
}

// Of these, what fills the lines of tiles.
bool in_tiles(const KernelOptions& options, const AttentionCall& c) {
  const bool fills = c.size > 0 && c.size % 32 == 0 && c.v_size > 0 && c.v_size % 16 == 0;
  return c.pairs != nullptr && cpu_info().amx_bf16 && options.amx && fills && c.queries >= AttentionCall::kFewQueries &&
         c.keys > 0 && c.cap <= 0;
}
// Keys are turned once for all queries of a block, of which there are to be enough for all threads.
int64_t queries_at_once(const AttentionCall& c) {
  constexpr int64_t kMost = 128, kForEach = 3;
  const int64_t blocks = c.batch * c.heads * ((c.queries + kMost - 1) / kMost);
  return blocks >= kForEach * c.slots ? kMost : kQueries;
}

// For each element of each head what its number is multiplied by: `by`, its scale, and what its bytes are read as.
std::vector<float> factors_of(const Problem& p, int operand, int64_t heads, int64_t size, double by, double read_as) {
  std::vector<float> made;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t d = 0; d < size; ++d)
      made.push_back(static_cast<float>(by * read_as * head_scale(head_scales(p, operand), heads, size, h, d)));
  return made;
}

ByteGrid grid_of(double scale, double zero, DType type) {
  ByteGrid grid{static_cast<float>(scale), static_cast<float>(zero), 0, 255};
  if (type == DType::kI8) grid.low = -128, grid.high = 127;
  return grid;
}

// Whole numbers all of them, in sums that 32 bits hold.
bool in_byte_tiles(const Problem& p, const KernelOptions& options, const AttentionCall& c) {
  constexpr int64_t kMostSize = 16384, kMostKeys = 16384;
  const auto& params = p.as<AttentionParams>();
  for (size_t i = 0; i < 3; ++i)
    if (!is_int8(p.inputs[i].dtype)) return false;
  const auto count = static_cast<int64_t>(params.k_scale.size());
  return c.all_bytes() && options.amx && cpu_info().amx_bf16 && options.isa == Isa::kAvx512 && cpu_info().avx512_bf16 &&
         !c.k_transposed && c.size > 0 && c.size <= kMostSize && c.keys > 0 && c.keys <= kMostKeys && c.cap <= 0 &&
         (count == 1 || count == c.kv_heads);
}

// What operands of 8 bits are multiplied by.
void set_factors(const Problem& p, const KernelOptions& options, AttentionCall* c) {
  for (size_t i = 0; i < 3; ++i)
    if (is_int8(p.inputs[i].dtype) || is_fp8(p.inputs[i].dtype)) {
      c->bytes[i] = byte_rows(p.inputs[i].dtype, options.isa);
      c->zeros[i] = static_cast<float>(head_zero(p, static_cast<int>(i)));
      c->signed_bytes[i] = p.inputs[i].dtype == DType::kI8;
    }
  const auto& params = p.as<AttentionParams>();
  c->score_grid = grid_of(params.s_scale, params.s_zero, params.s_type);
  c->weight_grid = grid_of(params.p_scale, 0, params.p_type);
  const auto read_as = [&](int i) { return !c->all_bytes() && c->few_of_bytes() ? c->bytes[i]->factor : 1; };
  const double query = params.q_scale.empty() ? 1 : params.q_scale[0];
  if (c->bytes[1] != nullptr) c->key_factor = factors_of(p, 1, c->kv_heads, c->size, c->scale * query, read_as(1));
  if (c->bytes[2] != nullptr) c->value_factor = factors_of(p, 2, c->kv_heads, c->v_size, 1, read_as(2));
}

Result<std::unique_ptr<Call>> bind_attention(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<AttentionCall>();
  WOOTZ_ASSIGN_OR_RETURN(call->q, operand_lines(p, 0, args.inputs[0]));
  WOOTZ_ASSIGN_OR_RETURN(call->k, operand_lines(p, 1, args.inputs[1]));
  WOOTZ_ASSIGN_OR_RETURN(call->v, operand_lines(p, 2, args.inputs[2]));
  const Dims &q = call->q.dims, &k = call->k.dims, &v = call->v.dims;
  const bool transposed = p.as<AttentionParams>().k_transposed;
  if (transposed && args.inputs[1].rank() != 4) return unsupported("attention: a view of transposed keys");
  const int64_t keys = k[transposed ? 3 : 2], size = k[transposed ? 2 : 3];
  const bool heads_fit = k[1] >= 1 && q[1] % k[1] == 0 && v[1] == k[1];
  if (k[0] != q[0] || v[0] != q[0] || !heads_fit || size != q[3] || v[2] != keys)
    return invalid_argument("attention: q {}, k {} and v {} do not fit", q.to_string(), k.to_string(), v.to_string());
  WOOTZ_ASSIGN_OR_RETURN(call->y, result_lines(p, Dims{q[0], q[1], q[2], v[3]}, args.outputs[0]));
  call->batch = q[0];
  call->heads = q[1];
  call->kv_heads = k[1];
  call->queries = q[2];
  call->keys = keys;
  call->size = size;
  call->v_size = v[3];
  call->scale = static_cast<float>(p.as<AttentionParams>().scale);
  call->cap = static_cast<float>(p.as<AttentionParams>().softcap);
  call->causal = p.as<AttentionParams>().causal;
  call->nan_rows = p.as<AttentionParams>().nan_rows;
  call->k_transposed = transposed;
  if (p.as<AttentionParams>().has_mask) {
    const Dims scores{q[0], q[1], q[2], keys};
    const Result<Dims> both = broadcast_dims(args.inputs[3], scores);
    if (!both.ok() || !(*both == scores))
      return invalid_argument("attention: mask {} over scores {}", args.inputs[3].to_string(), scores.to_string());
    call->mask = p.inputs[3].dtype;
    call->mask_strides = broadcast_strides(args.inputs[3], scores);
    if (call->mask == DType::kF16 || call->mask == DType::kBF16) call->widen_mask = find_widen(options.isa, call->mask);
  }
  WOOTZ_RETURN_IF_ERROR(check_head_scales(p, transposed ? Dims{k[0], k[1], keys, size} : k, v));
  set_factors(p, options, call.get());
  call->reader = RowReader(is_row_type(p.inputs[0].dtype) ? p.inputs[0].dtype : DType::kF32, options.isa);
  call->rows = &row_ops(options.isa);
  if (in_pairs(p, options, *call)) call->pairs = &kPairOps;
  call->tiles = &tile_ops(options.isa);
  call->slots = options.threads;
  if (in_byte_tiles(p, options, *call)) {
    call->byte_tiles = &kByteTiles;
    call->at_once = queries_at_once(*call);
  }
  if (in_tiles(options, *call)) {
    call->head_tiles = &kHeadTiles;
    call->at_once = queries_at_once(*call);
    call->rounds = p.epilogue.empty();
  }
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  WOOTZ_ASSIGN_OR_RETURN(call->end, e.bind(p, args));
  return std::unique_ptr<Call>(std::move(call));
}

Status attention_applies(const Problem& p) {
  const bool has_mask = p.as<AttentionParams>().has_mask;
  WOOTZ_RETURN_IF_ERROR(check_counts(p, has_mask ? 4 : 3, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, true));
  const DType type = p.inputs[0].dtype;
  const auto is_read = [&](size_t i) {
    const DType t = p.inputs[i].dtype;
    return t == type || (head_scales(p, static_cast<int>(i)).size() > 0 && byte_rows(t, Isa::kAvx2) != nullptr);
  };
  const auto& params = p.as<AttentionParams>();
  if (params.p_scale != 0 && (!is_int8(params.p_type) || params.k_scale.empty() || params.v_scale.empty()))
    return unsupported("attention with weights of {}", dtype_name(params.p_type));
  if (params.s_scale != 0 && (params.p_scale == 0 || !is_int8(params.s_type)))
    return unsupported("attention with scores of {}", dtype_name(params.s_type));
  const bool bytes = params.p_scale != 0 && is_int8(type);
  if ((!bytes && !is_row_type(type)) || !is_read(1) || !is_read(2))
    return unsupported("attention of {}, {} and {}", dtype_name(type), dtype_name(p.inputs[1].dtype),
                       dtype_name(p.inputs[2].dtype));
  if (has_mask && p.inputs[3].dtype != DType::kBool && !is_row_type(p.inputs[3].dtype))
    return unsupported("attention with a mask of {}", dtype_name(p.inputs[3].dtype));
  for (int i = 0; i < 3; ++i) {
    const TensorDesc& t = p.inputs[static_cast<size_t>(i)];
    WOOTZ_ASSIGN_OR_RETURN(const HeadLines lines, operand_lines(p, i, t.max_dims));
    if (lines.dims.back() > 65536) return unsupported("attention with heads of {} elements", lines.dims.back());
  }
  return try_bind(bind_attention, p);
}

}  // namespace

const KernelEntry attention_float_flash{Family::kAttention, kSchemeLinear, attention_applies,
                                        make_function_kernel<bind_attention>, true};

}  // namespace wootz::cpu
