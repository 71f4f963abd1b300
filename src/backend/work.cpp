#include "backend/work.h"

#include <algorithm>

#include "backend/attention_heads.h"
#include "backend/cached_attention.h"
#include "backend/chain_sum.h"
#include "backend/siblings.h"

namespace wootz {
namespace {

double volume(const Dims& dims) {
  double v = 1;
  for (const int64_t d : dims) v *= static_cast<double>(std::max<int64_t>(0, d));
  return v;
}

// Operations that an expression does for one element: its instructions without operands and constants. A division or
// an exponential counts as one: what it costs is the processor's affair.
double operations(const PointwiseExpr& expr) {
  return static_cast<double>(std::count_if(expr.code.begin(), expr.code.end(), [](const PwInstr& in) {
    return in.op != PwOp::kInput && in.op != PwOp::kConst && in.op != PwOp::kCast;
  }));
}

using Extents = std::span<const Dims>;
double at(const Dims& dims, int axis) {
  return axis >= 0 && axis < dims.rank() ? static_cast<double>(dims[static_cast<size_t>(axis)]) : 1.0;
}

double conv(const Problem& p, Extents in, Extents out) {
  const Dims& w = in[1];
  double window = 1;
  for (int i = 2; i < w.rank(); ++i) window *= at(w, i);
  // Plain: every output element sums C/g windows. Transposed: every input element goes into M/g windows.
  if (p.as<ConvParams>().transposed) return 2 * volume(in[0]) * at(w, 1) * window;
  return 2 * volume(out[0]) * at(w, 1) * window;
}

double gemm(const Problem& p, Extents in, Extents out) {
  const Dims& a = in[0];
  return 2 * volume(out[0]) * at(a, a.rank() - (p.as<GemmParams>().trans_a ? 2 : 1));
}

double reduce(const Problem&, Extents in, Extents) { return volume(in[0]); }
double softmax(const Problem&, Extents in, Extents) { return 5 * volume(in[0]); }
double norm(const Problem&, Extents in, Extents) { return 8 * volume(in[0]); }

double pool(const Problem& p, Extents in, Extents out) {
  double window = 1;
  for (const int64_t k : p.as<PoolParams>().kernel) window *= static_cast<double>(k);
  if (p.as<PoolParams>().global) {
    window = 1;
    for (int i = 2; i < in[0].rank(); ++i) window *= at(in[0], i);
  }
  return volume(out[0]) * window;
}

double resize(const Problem& p, Extents in, Extents out) {
  const ResizeMode mode = p.as<ResizeParams>().mode;
  if (mode == ResizeMode::kNearest) return 0;
  const int axes = std::max(1, in[0].rank() - 2);
  return volume(out[0]) * 2 * (mode == ResizeMode::kCubic ? 4 : 2) * axes;
}

// [B, H, S, D] of an operand of attention, which may be columns of a matrix.
Dims heads_of(const Problem& p, int operand, const Dims& x) {
  const Result<HeadLines> lines = operand_lines(p, operand, x);
  return lines.ok() ? lines->dims : x;
}

double attention(const Problem& p, Extents in, Extents out) {
  const Dims q = heads_of(p, 0, in[0]), k = heads_of(p, 1, in[1]);
  const double keys = at(k, p.as<AttentionParams>().k_transposed ? 3 : 2),
               scores = at(q, 0) * at(q, 1) * at(q, 2) * keys;
  const double values = in.size() < 3 ? at(out[0], 3) : at(heads_of(p, 2, in[2]), 3);
  return scores * (2 * at(q, 3) + 2 * values + 5);
}

double cached_attention(const Problem& p, Extents in, Extents out) {
  const Result<CachedAttention> parts = cached_attention_parts(p);
  const Result<std::vector<Dims>> own = cached_attention_inputs(p, in);
  return parts.ok() && own.ok() ? attention(parts->attention, *own, out) : 0;
}

double rnn(const Problem&, Extents in, Extents) {
  const Dims& x = in[0];
  const double rows = at(x, 0) * at(x, 1);  // steps times sequences; weights [directions, gates, inputs or state]
  return rows * 2 * (volume(in[1]) + volume(in[2]));
}

double squeeze_excite(const Problem& p, Extents in, Extents out) {
  const Dims &w1 = in[1], &w2 = in[p.as<SqueezeExciteParams>().has_b1 && in.size() > 3 ? 3 : 2];
  return volume(in[0]) + 2 * at(out[0], 0) * (volume(w1) + volume(w2)) +
         operations(p.as<SqueezeExciteParams>().hidden) * at(out[0], 0) * at(w1, 0);
}

double sum(const Problem& p, Extents in, Extents out) {
  const Result<ChainParts> parts = sum_parts(p);
  const size_t own = parts.ok() ? parts->first.inputs.size() : 0;
  return own == 0 || in.size() < own + 2 ? 0 : conv(parts->first, in, out) + conv(parts->second, in.subspan(own), out);
}

double chain(const Problem& p, Extents in, Extents out) {
  if (adds_results(p)) return sum(p, in, out);
  const Result<ChainParts> parts = chain_parts(p);
  if (!parts.ok()) return 0;
  const size_t inputs = std::min(parts->first.inputs.size(), in.size());
  const Result<Dims> middle = chain_middle(parts->first, in.first(inputs));
  if (!middle.ok()) return 0;
  std::vector<Dims> rest{*middle};
  rest.insert(rest.end(), in.begin() + static_cast<ptrdiff_t>(inputs), in.end());
  const Problem& second = parts->second;
  const std::span<const Dims> made(&*middle, 1);
  const double own = parts->first.is(Family::kConv)    ? conv(parts->first, in, made)
                     : parts->first.is(Family::kChain) ? chain(parts->first, in.first(inputs), made)
                                                       : 0;
  const auto count = second.is(Family::kPool)            ? pool
                     : second.is(Family::kGemm)          ? gemm
                     : second.is(Family::kSqueezeExcite) ? squeeze_excite
                     : second.is(Family::kChain)         ? chain
                                                         : conv;
  return own + operations(parts->first.epilogue) * volume(*middle) + count(second, rest, out.first(1));
}

double siblings(const Problem& p, Extents in, Extents out) {
  const Result<Problem> joint = joint_of(p);
  if (!joint.ok()) return 0;
  const Result<Dims> y = joint_extents(out, sibling_axes(*joint)->output);
  if (!y.ok()) return 0;
  const std::span all(&*y, 1);
  const double rest = operations(p.epilogue) * (volume(*y) - volume(out[0]));  // of the first it is added to all
  const auto count = joint->is(Family::kConv) ? conv : joint->is(Family::kGemm) ? gemm : chain;
  return rest + count(*joint, in, all);
}

// By element: the sum, and as a normalization.
double embedding(const Problem& p, Extents, Extents out) {
  return (operations(p.as<EmbeddingParams>().sum) + 8) * volume(out[0]);
}

// By element: the expression, a normalization, and its largest, its quotient and its rounding.
double quantize_rows(const Problem& p, Extents, Extents out) {
  const auto& params = p.as<QuantizeRowsParams>();
  return (operations(params.value) + (params.normalizes ? 8 : 0) + 4) * volume(out[0]);
}

double block_gemm(const Problem&, Extents in, Extents out) {
  return in[2].rank() < 2 ? 0 : 2 * volume(out[0]) * static_cast<double>(in[2][1]);
}

double nothing(const Problem&, Extents, Extents) { return 0; }

// By Family.
using Count = double (*)(const Problem&, Extents, Extents);
struct FamilyWork {
  Family family;
  Count flops;
  size_t inputs;  // that the function looks at
};
constexpr FamilyWork kWork[] = {
    {Family::kPointwise, nothing, 0},  // the epilogue is all
    {Family::kConv, conv, 2},
    {Family::kGemm, gemm, 2},
    {Family::kReduce, reduce, 1},
    {Family::kSoftmax, softmax, 1},
    {Family::kNorm, norm, 1},
    {Family::kPool, pool, 1},
    {Family::kMove, nothing, 0},
    {Family::kReformat, nothing, 0},
    {Family::kGather, nothing, 0},
    {Family::kScatter, nothing, 0},
    {Family::kResize, resize, 1},
    {Family::kAttention, attention, 2},
    {Family::kTopK, nothing, 0},
    {Family::kRnn, rnn, 3},
    {Family::kChain, chain, 2},
    {Family::kSqueezeExcite, squeeze_excite, 3},
    {Family::kSiblings, siblings, 2},
    {Family::kConcats, nothing, 0},
    {Family::kCachedAttention, cached_attention, 3},
    {Family::kEmbedding, embedding, 2},
    {Family::kQuantizeRows, quantize_rows, 1},
    {Family::kBlockGemm, block_gemm, 4},
};

double bytes_of(const std::vector<TensorDesc>& descs, Extents dims) {
  double bytes = 0;
  for (size_t i = 0; i < descs.size() && i < dims.size(); ++i)
    if (descs[i].dtype != DType::kInvalid) bytes += volume(dims[i]) * dtype_bits(descs[i].dtype) / 8;
  return bytes;
}

// What a family reads of its data is not all of it where indices say which.
double bytes_read(const Problem& p, Extents in, Extents out) {
  double bytes = bytes_of(p.inputs, in);
  if (p.inputs.empty() || in.empty() || out.empty()) return bytes;
  const auto* embedding = p.as_if<EmbeddingParams>();
  const bool part =
      p.family() == Family::kGather || (p.family() == Family::kMove && p.as<MoveParams>().kind == MoveKind::kSlice);
  const size_t tables = embedding != nullptr ? static_cast<size_t>(embedding->tables) : part ? 1 : 0;
  for (size_t t = 0; t < tables && 2 * t < std::min(in.size(), p.inputs.size()); ++t) {
    const double whole = volume(in[2 * t]), taken = volume(out[0]);
    bytes -= std::max(0.0, whole - taken) * dtype_bits(p.inputs[2 * t].dtype) / 8;
  }
  return bytes;
}

}  // namespace

Work work_of(const Problem& problem, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  Work work;
  work.bytes_read = bytes_read(problem, inputs, outputs);
  work.bytes_written = bytes_of(problem.outputs, outputs);
  const auto* found = std::find_if(std::begin(kWork), std::end(kWork),
                                   [&](const FamilyWork& f) { return f.family == problem.family(); });
  if (found == std::end(kWork) || outputs.empty() || inputs.size() < found->inputs) return work;
  const double flops = found->flops(problem, inputs, outputs);
  work.flops = flops < 0 ? flops : flops + operations(problem.epilogue) * volume(outputs[0]);
  return work;
}

Work work_of(const Problem& problem) {
  std::vector<Dims> in, out;
  for (const TensorDesc& d : problem.inputs) in.push_back(d.dims);
  for (const TensorDesc& d : problem.outputs) out.push_back(d.dims);
  return work_of(problem, in, out);
}

}  // namespace wootz
