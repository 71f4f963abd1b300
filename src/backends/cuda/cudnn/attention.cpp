// Attention: one operation where the library has it and nothing changes the scores, otherwise the operations that its
// fused engines know by their pattern, down to a logarithm that is not read.
#include "backends/cuda/cudnn/lowering.h"

namespace wootz::cuda {

using cudnn::DataType;
using cudnn::Pointwise;

namespace {

constexpr size_t kOneOperation = 91301;  // the first version with an operation for it

using Dims4 = std::vector<int64_t>;

Dims4 dense(const Dims4& d) { return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1}; }

// Rows are read 16 bytes at a time, and the library does not look whether they begin where that is possible.
Status check_lines(const CudnnTensor& t, const char* name) {
  if (t.dims.size() != 4 || t.strides.size() != 4 || t.strides[3] != 1)
    return unsupported("attention: elements of a row of {} that lie apart", name);
  for (size_t a = 0; a < 3; ++a)
    if (t.dims[a] > 1 && static_cast<int64_t>(dtype_bytes(t.dtype, t.strides[a])) % 16 != 0)
      return unsupported("attention: rows of {} begin at multiples of {} elements, not of 16 bytes", name,
                         t.strides[a]);
  return Status();
}

}  // namespace

bool attention_is_one_operation(const CudnnGraph& g, const CudnnLibrary& library) {
  return library.version >= kOneOperation && g.mask < 0 && !g.causal;
}

Status check_attention(const CudnnGraph& g, const CudnnLibrary& library, int capability) {
  const size_t version = library.version;
  const int64_t size = std::max(g.x.dims[3], g.v.dims[3]);
  for (const auto& [t, name] :
       {std::pair{&g.x, "the queries"}, {&g.w, "the keys"}, {&g.v, "the values"}, {&g.y, "the result"}})
    WOOTZ_RETURN_IF_ERROR(check_lines(*t, name));
  if (g.w.dims[1] == 0 || g.v.dims[1] == 0 || g.x.dims[1] % g.w.dims[1] != 0 || g.x.dims[1] % g.v.dims[1] != 0)
    return unsupported("attention: {} heads of queries for {} of keys", g.x.dims[1], g.w.dims[1]);
  if (g.x.dims[3] % 8 != 0 || g.v.dims[3] % 8 != 0)
    return unsupported("attention: heads of {} and {} elements, not multiples of 8", g.x.dims[3], g.v.dims[3]);
  if (capability < 80) return unsupported("attention on sm_{}", capability);
  if (version == 91000 || version == 91001)
    return unsupported("attention by cuDNN {}, which is known to be wrong", version);
  if (version <= 90900 && (size > 256 || (size > 128 && capability < 90)))
    return unsupported("attention: heads of {} elements by cuDNN {}", size, version);
  if (version <= 90900 && g.causal && g.x.dims[2] == 1)
    return unsupported("causal attention of one query by cuDNN {}", version);
  return Status();
}

void add_attention(const CudnnGraph& g, const AttentionValues& a, CudnnOperations* ops) {
  if (attention_is_one_operation(g, ops->library())) return ops->attention(a.q, a.k, a.v, a.scale, a.y);
  const Dims4 scores{g.x.dims[0], g.x.dims[1], g.x.dims[2], g.w.dims[2]}, rows{scores[0], scores[1], scores[2], 1};
  const auto score = [&](DataType type = DataType::kF32) { return ops->between(scores, dense(scores), type); };
  const auto row = [&] { return ops->between(rows, dense(rows), DataType::kF32); };
  const auto apply = [&](const CudnnPointwise& p, CudnnValue y, CudnnValue x, CudnnValue b = kNoValue,
                         CudnnValue t = kNoValue) {
    ops->pointwise(p, y, x, b, t);
    return y;
  };
  const CudnnValue products = score();
  ops->product(a.q, a.k, products);
  CudnnValue s = apply({Pointwise::kMul}, score(), products, a.scale);
  if (a.mask != kNoValue) s = apply({Pointwise::kAdd}, score(), s, a.mask);
  if (g.causal) {
    CudnnPointwise index{Pointwise::kIndex}, seen{Pointwise::kGreaterEqual};
    index.axis = 2;
    const CudnnValue query = apply(index, score(DataType::kI32), s);
    index.axis = 3;
    const CudnnValue key = apply(index, score(DataType::kI32), s);
    seen.type = DataType::kBool;
    const CudnnValue is_seen = apply(seen, score(DataType::kBool), query, key);
    s = apply({Pointwise::kSelect}, score(), s, a.hidden, is_seen);
  }
  const CudnnValue largest = row();
  ops->reduction(cudnn::kReduceMax, s, largest);
  const CudnnValue less = apply({Pointwise::kSub}, score(), s, largest);
  const CudnnValue powers = apply({Pointwise::kExp}, score(), less);
  const CudnnValue sum = row();
  ops->reduction(cudnn::kReduceSum, powers, sum);
  const CudnnValue logarithm = apply({Pointwise::kLog}, row(), sum);
  apply({Pointwise::kAdd}, row(), largest, logarithm);
  // The second product reads what the tensors hold.
  const CudnnValue weights =
      apply({Pointwise::kDiv}, score(g.x.dtype == DType::kBF16 ? DataType::kBF16 : DataType::kF16), powers, sum);
  ops->product(weights, a.v, a.y);
}

}  // namespace wootz::cuda
