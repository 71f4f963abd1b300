// Family attention, the general form: a block for one query row of one head, scores of the row in shared memory. For
// heads that tiles do not take.
#include "backends/cuda/generate/attention.h"

#include <algorithm>
#include <iterator>

#include "backend/operand_dims.h"
#include "backend/work.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

constexpr int kRowsBlock = 128;
constexpr int64_t kMostKeys = 8192;  // of the f32 scores that fit the shared memory every device has

}  // namespace

namespace {

// What the result is before its expression.
DType made_type(const Problem& p) {
  return is_float(p.inputs[0].dtype) && dtype_bits(p.inputs[0].dtype) > 8 ? p.inputs[0].dtype : p.acc_dtype;
}

Status check_types(const Problem& p, AttentionBytes bytes) {
  const auto& params = p.as<AttentionParams>();
  const DType type = p.inputs[0].dtype;
  const bool all = bytes == AttentionBytes::kAll;
  if (all != (params.p_scale != 0) || (params.s_scale != 0 && !all))
    return unsupported("attention {} rounded weights", params.p_scale != 0 ? "with" : "without");
  for (size_t i = all ? 0 : 1; i < 3; ++i)
    if ((all || p.inputs[i].dtype != type) &&
        (bytes == AttentionBytes::kNone || head_scales(p, static_cast<int>(i)).empty()))
      return unsupported("attention of {}, {} and {}", dtype_name(type), dtype_name(p.inputs[1].dtype),
                         dtype_name(p.inputs[2].dtype));
  if (!is_model_float(made_type(p))) return unsupported("attention of {}", dtype_name(type));
  return Status();
}

}  // namespace

Result<AttentionShape> attention_shape(const Problem& p, const BindArgs& args, AttentionBytes bytes) {
  const bool mask = p.as<AttentionParams>().has_mask;
  if (p.num_main != (mask ? 4 : 3) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1)
    return invalid_argument("attention of {} operands", p.num_main);
  WOOTZ_RETURN_IF_ERROR(check_types(p, bytes));
  const DType type = made_type(p);
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear) return unsupported("attention in layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear) return unsupported("attention in layout");
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, type));
  AttentionShape a;
  WOOTZ_ASSIGN_OR_RETURN(a.q, operand_heads(p, 0, args.inputs[0]));
  WOOTZ_ASSIGN_OR_RETURN(a.k, operand_heads(p, 1, args.inputs[1]));
  WOOTZ_ASSIGN_OR_RETURN(a.v, operand_heads(p, 2, args.inputs[2]));
  a.batch = a.q.dims[0];
  a.heads = a.q.dims[1];
  a.rows = a.q.dims[2];
  a.size = a.q.dims[3];
  a.kv_heads = a.k.dims[1];
  a.keys = a.v.dims[2];
  a.v_size = a.v.dims[3];
  if (a.k.dims[0] != a.batch || a.v.dims[0] != a.batch || a.v.dims[1] != a.kv_heads || a.kv_heads < 1 ||
      a.heads % a.kv_heads != 0 || a.k.dims[2] != a.keys || a.k.dims[3] != a.size)
    return invalid_argument("attention of {}, {}, {}", a.q.dims.to_string(), a.k.dims.to_string(),
                            a.v.dims.to_string());
  WOOTZ_RETURN_IF_ERROR(check_head_scales(p, a.k.dims, a.v.dims));
  a.whole = Dims{a.batch, a.heads, a.rows, a.v_size};
  WOOTZ_ASSIGN_OR_RETURN(a.y, result_heads(p, a.whole, args.outputs[0]));
  if (mask) {
    const DType m = p.inputs[3].dtype;
    WOOTZ_RETURN_IF_ERROR(check_type(m));
    if (m != DType::kBool && !is_float(m)) return unsupported("a mask of {}", dtype_name(m));
  }
  return a;
}

bool in_steps_of(const Heads& h, int64_t elements) {
  const int64_t all[] = {h.offset, h.batch, h.head, h.row};
  return h.column == 1 && std::all_of(std::begin(all), std::end(all), [&](int64_t s) { return s % elements == 0; });
}

Status check_rounded(const AttentionShape& a) {
  constexpr int64_t kMostKeys = 512;
  return a.keys <= kMostKeys ? Status() : unsupported("a rounded result of an attention over {} keys", a.keys);
}

namespace {

// Where the epilogue's operands are read, in terms of b, h, row and d.
Result<std::vector<std::string>> epilogue_offsets(const Problem& p, const BindArgs& args, KernelSource* source) {
  std::vector<std::string> offsets;
  const int64_t merged = p.as<AttentionParams>().merged;
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> s,
                           strides_over(p.inputs[i].layout, args.inputs[i], args.outputs[0]));
    const std::string e = fmt::format("e{}", offsets.size() + 1);
    source->number(e + "_batch", merged == 2 ? s[1] : s[0]);
    source->number(e + "_row", merged == 0 ? s[2] : s[merged == 1 ? 1 : 0]);
    source->number(e + "_column", merged == 0 ? s[3] : s[2]);
    if (merged == 0) source->number(e + "_head", s[1]);
    offsets.push_back(
        merged == 0
            ? fmt::format("(s64)b * c.{0}_batch + (s64)h * c.{0}_head + (s64)row * c.{0}_row + (s64)d * c.{0}_column",
                          e)
            : fmt::format("(s64)b * c.{0}_batch + (s64)row * c.{0}_row + (s64)(h * kValueSize + d) * c.{0}_column", e));
  }
  return offsets;
}

// masked(): the mask on the score of a key.
Status write_mask(const Problem& p, const BindArgs& args, const AttentionShape& a, KernelSource* source) {
  std::string masked = "  return s;\n";
  if (p.as<AttentionParams>().has_mask) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> ms,
                           strides_over(Layout::kLinear, args.inputs[3], Dims{a.batch, a.heads, a.rows, a.keys}));
    const char* const names[] = {"mask_batch", "mask_head", "mask_row", "mask_key"};
    for (size_t i = 0; i < 4; ++i) source->number(names[i], ms[i]);
    masked =
        "  const auto m = w_get(p.mask[(s64)b * c.mask_batch + (s64)h * c.mask_head + (s64)row * c.mask_row +\n"
        "                             (s64)j * c.mask_key]);\n";
    masked += p.inputs[3].dtype == DType::kBool ? "  return m ? s : -W_INF;\n"
                                                : "  return (float)m == -W_INF ? -W_INF : s + (float)m;\n";
  }
  source->code("W_FN float masked(const Operands& p, const Constants& c, float s, int b, int h, int row, int j) {\n" +
               masked + "}\n");
  return Status();
}

// Scales of keys or values of 8 bits; one of keys' is a part of kScale.
Status write_scales(const Problem& p, int operand, const char* name, int64_t heads, int64_t size,
                    KernelSource* source) {
  constexpr size_t kMost = 16384;
  const Floats& scales = head_scales(p, operand);
  const std::string declaration = fmt::format("W_FN float {}(int g, int d)", name);
  if (scales.size() <= 1) {
    const double one = scales.empty() || operand == 1 ? 1 : scales[0];
    source->code(fmt::format("{} {{ return (float){:.17g}; }}\n", declaration, one));
    return Status();
  }
  if (scales.size() > kMost) return unsupported("{} scales of heads", scales.size());
  std::string table;
  for (const double s : scales) table += fmt::format("(float){:.9g},", s);
  const bool each = static_cast<int64_t>(scales.size()) == heads * size;
  source->code(fmt::format(
      "#ifdef WOOTZ_ON_HOST\nstatic const float {0}s[] = {{{1}}};\n#else\n__device__ const float {0}s[] = {{{1}}};\n"
      "#endif\n{2} {{ return {0}s[{3}]; }}\n",
      name, table, declaration, each ? "g * " + std::to_string(size) + " + d" : "g"));
  return Status();
}

}  // namespace

Result<KernelSource> attention_source(std::string_view file, const Problem& p, const BindArgs& args,
                                      const AttentionShape& a, std::span<const TensorView> views) {
  const AttentionParams& params = p.as<AttentionParams>();
  KernelSource source(file, transient(p, args));
  source.type("X", storage_type(p.inputs[0].dtype));
  source.type("Key", storage_type(p.inputs[1].dtype));
  source.type("Value", storage_type(p.inputs[2].dtype));
  source.fixed("kSize", a.size);
  source.fixed("kValueSize", a.v_size);
  source.fixed_real("kScale", params.scale * (params.k_scale.size() == 1 ? params.k_scale[0] : 1) *
                                  (params.q_scale.size() == 1 ? params.q_scale[0] : 1));
  source.fixed_real("kCap", params.softcap);
  source.fixed_real("kKeyZero", params.k_zero);
  source.fixed_real("kValueZero", params.v_zero);
  source.fixed("kCausal", params.causal);
  source.fixed("kNanRows", static_cast<int64_t>(params.nan_rows));
  source.operand(fmt::format("{}* __restrict__", storage_type(p.outputs[0].dtype)), "y", {true, 0});
  for (int i = 0; i < 3; ++i) {
    const char* const name = i == 0 ? "q" : i == 1 ? "k" : "v";
    if (views.empty())
      source.operand(i == 0 ? "const X*" : i == 1 ? "const Key*" : "const Value*", name, {false, i});
    else
      source.view(name, {false, i}, views[static_cast<size_t>(i)]);
  }
  source.epilogue_operands(p);
  if (params.has_mask) source.operand(fmt::format("const {}*", storage_type(p.inputs[3].dtype)), "mask", {false, 3});
  source.number("rows", a.rows);
  source.number("keys", a.keys);
  source.number("heads", a.heads);
  source.number("per_group", a.heads / a.kv_heads);
  const std::pair<char, const Heads*> operands[] = {{'q', &a.q}, {'k', &a.k}, {'v', &a.v}, {'y', &a.y}};
  for (const auto& [name, heads] : operands) {
    source.number(fmt::format("{}_offset", name), heads->offset);
    source.number(fmt::format("{}_batch", name), heads->batch);
    source.number(fmt::format("{}_head", name), heads->head);
    source.number(fmt::format("{}_row", name), heads->row);
    if (name != 'y') source.number(fmt::format("{}_column", name), heads->column);
  }
  WOOTZ_RETURN_IF_ERROR(write_mask(p, args, a, &source));
  WOOTZ_RETURN_IF_ERROR(write_scales(p, 1, "key_scale", a.kv_heads, a.size, &source));
  WOOTZ_RETURN_IF_ERROR(write_scales(p, 2, "value_scale", a.kv_heads, a.v_size, &source));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<std::string> offsets, epilogue_offsets(p, args, &source));
  WOOTZ_RETURN_IF_ERROR(source.epilogue(p, made_type(p), "int b, int h, int row, int d", offsets));
  return source;
}

Status generate_attention(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const AttentionShape a, attention_shape(p, args, AttentionBytes::kCaches));
  if (a.keys > kMostKeys) return unsupported("attention over {} keys; the limit is {}", a.keys, kMostKeys);
  if (dtype_bits(p.outputs[0].dtype) == 8) return unsupported("a rounded result, which is better a step of its own");
  if (a.whole.volume() == 0) return Status();
  if (a.size > 2048) return unsupported("heads of {}", a.size);
  const int64_t blocks = a.batch * a.heads * a.rows;
  if (blocks >= (int64_t{1} << 31)) return unsupported("{} rows", blocks);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source("attention/rows.cuh", p, args, a));
  source.fixed("kThreads", kRowsBlock);
  source.fixed("kScores", std::max<int64_t>(1, a.keys));
  source.fixed("kQuery", std::max<int64_t>(1, a.size));
  return source.finish(kRowsBlock, blocks, launches);
}

double plain_attention_us(const Problem& p, int64_t block_rows, const PlainAttention& costs) {
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<AttentionShape> a = attention_shape(p, {in, out, {}}, AttentionBytes::kCaches);
  if (!a.ok()) return 0;
  const auto blocks = static_cast<double>(a->batch * a->heads * ((a->rows + block_rows - 1) / block_rows));
  const double each = static_cast<double>(a->keys * (a->size + a->v_size)) * costs.element_us;
  const wootz::Work work = work_of(p);
  return costs.start_us + std::max((work.bytes_read + work.bytes_written) / costs.bytes_per_us,
                                   std::max(1.0, blocks / costs.at_once) * each);
}

double estimate_attention(const Problem& p) {
  return plain_attention_us(p, 1, {.start_us = 16, .bytes_per_us = 4e5, .element_us = 0.0004, .at_once = 132 * 8});
}

}  // namespace wootz::cuda
