// Family attention of few rows over keys and values of 8 bits or of the queries' 16, as they are; and of more rows over
// those of 8 bits, as floats of the queries' type that they become first.
#include <algorithm>

#include "backend/operand_dims.h"
#include "backends/cuda/generate/attention_parts.h"
#include "backends/cuda/generate/families.h"
#include "base/fp8.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kRows = 16, kKeysOfWarp = 16, kWarps = 4;

struct Bytes {
  AttentionShape shape;
  KeyParts parts;
  int64_t at_once = 3;  // blocks that registers suffice for
  int64_t kept() const {
    int64_t kept = 1;
    while (kept < kRows && kept < sharing_rows(shape)) kept *= 2;
    return kept;
  }
};

bool one_of(int64_t size) { return size == 32 || size == 64 || size == 96 || size == 128; }

Status check_operands(const Problem& p, int bytes) {
  const DType query = p.inputs[0].dtype, type = p.inputs[1].dtype;
  if (p.inputs[2].dtype != type || (bytes == 1 ? !is_byte(type) : type != query))
    return unsupported("keys of {} by this kernel", dtype_name(type));
  if (dtype_bits(query) != 16) return unsupported("attention of {} on tensor cores", dtype_name(query));
  if ((p.as<AttentionParams>().k_zero != 0 || type == DType::kU8) && p.as<AttentionParams>().softcap > 0)
    return unsupported("scores that are cut off of keys with a zero point");
  if (dtype_bits(p.outputs[0].dtype) == 8) return unsupported("a rounded result, which is better a step of its own");
  return Status();
}

Result<Bytes> bytes_of(const Problem& p, const BindArgs& args, int bytes) {
  Bytes b;
  WOOTZ_ASSIGN_OR_RETURN(b.shape, attention_shape(p, args, AttentionBytes::kCaches));
  WOOTZ_RETURN_IF_ERROR(check_operands(p, bytes));
  const AttentionShape& a = b.shape;
  if (!one_of(a.size) || (a.v_size != 32 && a.v_size != 64 && a.v_size != 128))
    return unsupported("heads of {} and {} by few rows", a.size, a.v_size);
  const int64_t key = bytes == 2 || a.size % 64 != 0 ? 8 : 16, value = a.v_size / 8;
  if (!in_steps_of(a.k, key) || !in_steps_of(a.v, value) || !in_steps_of(a.q, 2))
    return unsupported("rows of heads that are not in steps of {} elements", std::max(key, value));
  b.at_once = bytes == 1 ? 3 : 2;
  b.parts = divide_keys(a, kRows, {kWarps * kKeysOfWarp, 1, (a.size + a.v_size) * bytes, b.at_once});
  return b;
}

double largest(const Floats& scales) { return *std::max_element(scales.begin(), scales.end()); }

void write_numbers(const Problem& p, const Bytes& b, KernelSource* source) {
  const Floats& scales = p.as<AttentionParams>().k_scale;
  const bool each = static_cast<int64_t>(scales.size()) == b.shape.kv_heads * b.shape.size && scales.size() > 1;
  source->fixed("kRows", kRows);
  source->fixed("kWarps", kWarps);
  source->fixed("kThreads", kWarps * 32);
  source->fixed("kKept", b.kept());
  source->fixed("kRowScales", scales.size() > 1 && !each);
  source->fixed_real("kElementScale", each ? largest(scales) : 0);
}

}  // namespace

template <int kBytes>
Status generate_attention_bytes(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Bytes b, bytes_of(p, args, kBytes));
  const AttentionShape& a = b.shape;
  if (a.whole.volume() == 0) return Status();
  if (a.keys == 0) return generate_attention_few(p, args, launches);  // as caches are at first
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, attention_source("attention/bytes.cuh", p, args, a));
  write_numbers(p, b, &source);
  LaunchSize size;
  size.block = kWarps * 32;
  size.at_once = static_cast<unsigned>(b.at_once);
  size.beside = true;
  return finish_parts(p, args, a, b.parts, false, size, std::move(source), launches);
}

// A start, another one where parts are joined, and what the memory gives, for each block of rows. 0: many rows.
template <int kBytes>
double estimate_attention_bytes(const Problem& p) {
  constexpr double kStartUs = 2.6, kJoinUs = 1.5, kBytesPerUs = 3e6;
  constexpr int64_t kMostBlocks = kBytes == 1 ? 8 : 2;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Bytes> b = bytes_of(p, {in, out, {}}, kBytes);
  if (!b.ok() || b->shape.keys == 0 || b->parts.row_blocks > kMostBlocks) return 0;
  const AttentionShape& a = b->shape;
  const auto read = static_cast<double>(b->parts.units * a.keys * (a.size + a.v_size) * kBytes);
  const double filled = std::min(1.0, 3 * static_cast<double>(b->parts.blocks()) / 132);  // multiprocessors
  return kStartUs + (b->parts.parts > 1 ? kJoinUs : 0) + read / kBytesPerUs / filled;
}

template Status generate_attention_bytes<1>(const Problem&, const BindArgs&, std::vector<Launch>*);
template Status generate_attention_bytes<2>(const Problem&, const BindArgs&, std::vector<Launch>*);
template double estimate_attention_bytes<1>(const Problem&);
template double estimate_attention_bytes<2>(const Problem&);

namespace {

// The attention of wide keys and values, and the steps that make them of narrow ones.
struct Widened {
  Problem attention, steps[2];
  size_t bytes[2] = {};  // of scratch memory, of each
};

PointwiseExpr widening(DType from, const Floats& scales, double zero, DType to) {
  PointwiseExpr e;
  uint16_t v = e.push(PwOp::kCast, DType::kF32, e.input(0, from));
  if (zero != 0) v = e.push(PwOp::kSub, DType::kF32, v, e.constant(zero, DType::kF32));
  const uint16_t y = e.push(PwOp::kMul, DType::kF32, v, e.constant(scales[0], DType::kF32));
  e.outputs = {to == DType::kF32 ? y : e.push(PwOp::kCast, to, y)};
  return e;
}

// Only of one scale each: others are tensors, which such a step would read.
Result<Widened> widened_of(const Problem& p, const BindArgs& args) {
  WOOTZ_RETURN_IF_ERROR(attention_shape(p, args, AttentionBytes::kCaches).status());
  Widened w;
  w.attention = p;
  auto& params = w.attention.as<AttentionParams>();
  for (size_t i = 0; i < 2; ++i) {
    const TensorDesc& from = p.inputs[i + 1];
    TensorDesc& to = w.attention.inputs[i + 1];
    const Floats& scales = head_scales(p, static_cast<int>(i) + 1);
    if (!is_byte(from.dtype) || scales.size() != 1) return unsupported("keys and values of more than one scale");
    to.dtype = p.inputs[0].dtype;
    Problem& step = w.steps[i];
    step.set_family(Family::kPointwise);
    step.passing = p.passing;
    step.epilogue = widening(from.dtype, scales, head_zero(p, static_cast<int>(i) + 1), to.dtype);
    step.inputs = {from};
    step.outputs = {to};
    w.bytes[i] = (dtype_bytes(to.dtype, args.inputs[i + 1].volume()) + 255) / 256 * 256;
  }
  params.k_scale.clear();
  params.v_scale.clear();
  params.k_zero = params.v_zero = 0;
  return w;
}

struct Inner {
  Generate generate;
  Estimate estimate;
};
constexpr Inner kInner[] = {{generate_attention_mma, estimate_attention_mma},
                            {generate_attention_staged<2>, estimate_attention_staged<2>},
                            {generate_attention_tiles, nullptr}};

}  // namespace

Status generate_attention_widened(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_ASSIGN_OR_RETURN(const Widened w, widened_of(p, args));
  const size_t before = launches->size(), scratch = w.bytes[0] + w.bytes[1];
  for (size_t i = 0; i < 2; ++i) {
    const Dims dims = args.inputs[i + 1];
    const size_t from = launches->size();
    WOOTZ_RETURN_IF_ERROR(generate_pointwise(w.steps[i], {{&dims, 1}, {&dims, 1}, {}}, launches));
    place_part({{{false, static_cast<int>(i) + 1}}, {{false, -1, i == 0 ? 0 : w.bytes[0]}}, scratch}, from, launches);
  }
  Status status;
  const size_t from = launches->size();
  for (const Inner& inner : kInner) {
    if (inner.estimate != nullptr && inner.estimate(w.attention) <= 0) continue;
    status = inner.generate(w.attention, args, launches);
    if (status.ok()) break;
    launches->resize(from);
  }
  if (!status.ok()) {
    launches->resize(before);
    return status;
  }
  PartPlaces places;
  for (size_t i = 0; i < args.inputs.size(); ++i) places.inputs.push_back({false, static_cast<int>(i)});
  places.inputs[1] = {false, -1, 0};
  places.inputs[2] = {false, -1, w.bytes[0]};
  places.outputs = {{true, 0}};
  places.scratch = scratch;
  place_part(places, from, launches);
  return Status();
}

double estimate_attention_widened(const Problem& p) {
  constexpr double kStartUs = 2.5, kBytesPerUs = 3e6;
  const std::vector<Dims> in = operand_dims(p.inputs), out = operand_dims(p.outputs);
  const Result<Widened> w = widened_of(p, {in, out, {}});
  if (!w.ok()) return 0;
  double own = 0;
  for (const Inner& inner : kInner)
    if (const double us = inner.estimate == nullptr ? 0 : inner.estimate(w->attention); us > 0 && own == 0) own = us;
  const double moved = static_cast<double>(w->bytes[0] + w->bytes[1]) * 1.5;
  return own == 0 ? 0 : own + 2 * kStartUs + moved / kBytesPerUs;
}

}  // namespace wootz::cuda
