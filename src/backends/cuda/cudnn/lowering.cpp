#include "backends/cuda/cudnn/lowering.h"

#include <limits>

#include "backends/cuda/targets/devices.h"

namespace wootz::cuda {

using cudnn::DataType;
using cudnn::Pointwise;

namespace {

Result<CudnnPointwise> pointwise_of(const CudnnStage& s) {
  CudnnPointwise p;
  switch (s.op) {
    case PwOp::kAdd: p.mode = Pointwise::kAdd; break;
    case PwOp::kMul: p.mode = Pointwise::kMul; break;
    case PwOp::kRelu: p.mode = Pointwise::kRelu; break;
    case PwOp::kSigmoid: p.mode = Pointwise::kSigmoid; break;
    case PwOp::kTanh: p.mode = Pointwise::kTanh; break;
    case PwOp::kGeluErf: p.mode = Pointwise::kGelu; break;
    case PwOp::kGeluTanh: p.mode = Pointwise::kGeluTanh; break;
    case PwOp::kSilu: p.mode = Pointwise::kSwish, p.factor = static_cast<float>(s.imm0); break;
    case PwOp::kElu: p.mode = Pointwise::kElu, p.factor = static_cast<float>(s.imm0); break;
    case PwOp::kLeakyRelu: p.mode = Pointwise::kRelu, p.slope = static_cast<float>(s.imm0); break;
    case PwOp::kClip:
      if (s.imm0 > 0) return unsupported("a clip from {}", s.imm0);
      p.mode = Pointwise::kRelu;
      p.lower_clip = static_cast<float>(s.imm0);
      p.upper_clip = std::min<double>(static_cast<float>(s.imm1), std::numeric_limits<float>::max());
      break;
    default: return unsupported("cuDNN fuses no {}", pw_op_name(s.op));
  }
  return p;
}

// Channels innermost: engines want what is between operations so, whatever the tensors are.
std::vector<int64_t> channels_last(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t volume = dims[1];
  for (size_t a = dims.size(); a-- > 2;) strides[a] = std::exchange(volume, volume * dims[a]);
  strides[0] = volume;
  return strides;
}

Status add_convolution(const CudnnGraph& g, CudnnValue x, CudnnValue w, const std::vector<CudnnValue>& operands,
                       CudnnValue y, CudnnOperations* ops) {
  int64_t weights = 1;
  for (const int64_t d : g.w.dims) weights *= d;
  if (weights > std::numeric_limits<int32_t>::max()) return unsupported("a convolution with {} weights", weights);
  CudnnValue value = y;
  if (!g.stages.empty())
    value = ops->between(g.y.dims, channels_last(g.y.dims), g.int8() ? DataType::kI32 : DataType::kF32);
  ops->convolution(g, x, w, value);
  for (size_t i = 0; i < g.stages.size(); ++i) {
    const CudnnStage& s = g.stages[i];
    WOOTZ_ASSIGN_OR_RETURN(const CudnnPointwise p, pointwise_of(s));
    CudnnValue operand = s.operand < 0 ? kNoValue : operands[static_cast<size_t>(s.operand)];
    if (s.factor >= 0) {
      const CudnnValue times = ops->between_like(operand);
      ops->pointwise({Pointwise::kMul}, times, operand, operands[static_cast<size_t>(s.factor)]);
      operand = times;
    }
    const bool whole = operand != kNoValue && ops->dims(operand) == g.y.dims;
    const CudnnValue result = i + 1 == g.stages.size() ? y : ops->between_like(whole ? operand : value);
    ops->pointwise(p, result, value, operand);
    value = result;
  }
  return Status();
}

CudnnBinding binding_of(const CudnnTensor& t) { return {false, 0, t.output, t.index, t.offset}; }

}  // namespace

std::vector<CudnnBinding> cudnn_bindings(const CudnnGraph& g, const CudnnLibrary& library) {
  std::vector<CudnnBinding> all{binding_of(g.x), binding_of(g.w)};
  for (const CudnnTensor& t : g.operands) all.push_back(binding_of(t));
  if (g.attention) all.push_back(binding_of(g.v));
  all.push_back(binding_of(g.y));
  if (g.attention) all.push_back({true, static_cast<float>(g.scale), false, 0, 0});
  const float hidden =
      library.version < 91000 ? std::numeric_limits<float>::lowest() : -std::numeric_limits<float>::infinity();
  if (g.attention && g.causal) all.push_back({true, hidden, false, 0, 0});
  return all;
}

Result<std::shared_ptr<const CudnnOperations>> cudnn_operations(const CudnnGraph& g, const CudnnLibrary& library,
                                                                const CudnnTarget& target) {
  const DeviceDescription* const described = target.described;
  const int capability = described == nullptr ? target.gpu->arch() : capability_of(*described);
  if (g.attention) WOOTZ_RETURN_IF_ERROR(check_attention(g, library, capability));
  auto ops = std::make_shared<CudnnOperations>(library);
  // In the order of cudnn_bindings(): the numbers that tensors get are what plans know them by.
  const bool apart = g.attention && !attention_is_one_operation(g, library);
  CudnnTensor keys = g.w;
  if (apart) {  // a product's second operand
    std::swap(keys.dims[2], keys.dims[3]);
    std::swap(keys.strides[2], keys.strides[3]);
  }
  const CudnnValue x = ops->tensor(g.x), w = ops->tensor(keys);
  std::vector<CudnnValue> operands;
  for (const CudnnTensor& t : g.operands) operands.push_back(ops->tensor(t));
  if (g.attention) {
    const CudnnValue v = ops->tensor(g.v), y = ops->tensor(g.y);
    const CudnnValue scale = ops->number(std::vector<int64_t>(apart ? 4 : 1, 1));
    const CudnnValue hidden = g.causal ? ops->number({1, 1, 1, 1}) : kNoValue;
    const CudnnValue mask = g.mask < 0 ? kNoValue : operands[static_cast<size_t>(g.mask)];
    add_attention(g, {x, w, v, mask, y, scale, hidden}, ops.get());
  } else {
    const CudnnValue y = ops->tensor(g.y);
    WOOTZ_RETURN_IF_ERROR(add_convolution(g, x, w, operands, y, ops.get()));
  }
  WOOTZ_RETURN_IF_ERROR(ops->finish(described == nullptr ? nullptr : &described->properties));
  return std::shared_ptr<const CudnnOperations>(std::move(ops));
}

}  // namespace wootz::cuda
