// From a dense problem at concrete extents to oneDNN's primitive descriptor with as much of the epilogue as it takes.
#include <algorithm>
#include <cmath>

#include "backends/cpu/onednn/avoided.h"
#include "backends/cpu/onednn/dense.h"

namespace wootz::cpu::dnn {
namespace {

using From = ArgSource::From;
using Kind = ChainOp::Kind;

// An epilogue operand over oneDNN's axes; nullopt where it broadcasts in a way that merged axes cannot say.
std::optional<memory::desc> operand_desc(const TensorDesc& desc, const Dims& dims, const DenseSpec& spec,
                                         const Dims& result) {
  const auto type = data_type(desc.dtype);
  if (!type || dims.rank() > result.rank()) return std::nullopt;
  Dims aligned = Dims::filled(result.rank() - dims.rank(), 1);
  for (const int64_t d : dims) aligned.push_back(d);
  memory::dims out;
  size_t axis = 0;
  bool same = true;
  for (const int count : spec.merged) {
    int64_t mine = 1, whole = 1;
    bool ones = true, full = true;
    for (int i = 0; i < count; ++i, ++axis) {
      mine *= aligned[axis];
      whole *= result[axis];
      ones = ones && aligned[axis] == 1;
      full = full && aligned[axis] == result[axis];
    }
    if (!ones && !full) return std::nullopt;
    same = same && mine == whole;
    out.push_back(mine);
  }
  if (desc.layout == Layout::kOpaque) return std::nullopt;
  if (desc.layout != Layout::kLinear) {
    if (dims.rank() != result.rank()) return std::nullopt;
    // What the padding of a blocked layout holds is written by the step that wrote the operand: zeros.
    return layout_desc(desc.layout, out, *type);
  }
  return matrix_desc(out, *type, false);
}

struct Attempt {
  dnnl::primitive_attr attr;
  std::vector<ArgSource> args;
  memory::data_type dst_type = memory::data_type::f32;
};

ArgSource fixed_arg(int arg, memory::data_type type, int64_t count, const void* data) {
  ArgSource a;
  a.arg = arg;
  a.from = From::kFixed;
  a.desc = memory::desc({count}, type, memory::format_tag::a);
  a.fixed = data;
  return a;
}

void set_quantization(const DenseTraits& traits, FixedData* fixed, Attempt* attempt) {
  attempt->attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!traits.quantized) return;
  fixed->src_scale = {traits.src_scale};
  fixed->weights_scale = traits.weights_scale;
  fixed->src_zero = traits.src_zero;
  attempt->attr.set_scales_mask(DNNL_ARG_SRC, 0);
  attempt->attr.set_scales_mask(DNNL_ARG_WEIGHTS, traits.weights_scale_mask);
  attempt->args.push_back(
      fixed_arg(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, memory::data_type::f32, 1, fixed->src_scale.data()));
  attempt->args.push_back(fixed_arg(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, memory::data_type::f32,
                                    static_cast<int64_t>(fixed->weights_scale.size()), fixed->weights_scale.data()));
  fixed->weights_zero = traits.weights_zero;
  if (traits.weights_zero != 0) {
    attempt->attr.set_zero_points_mask(DNNL_ARG_WEIGHTS, 0);
    attempt->args.push_back(
        fixed_arg(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS, memory::data_type::s32, 1, &fixed->weights_zero));
  }
  if (traits.src_zero != 0) {
    attempt->attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    attempt->args.push_back(
        fixed_arg(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, memory::data_type::s32, 1, &fixed->src_zero));
  }
}

// The chain's op that adds traits.sum_input, or -1.
int sum_position(const DenseTraits& traits, const Chain& chain) {
  if (traits.sum_input < 0) return -1;
  for (size_t i = 0; i < chain.ops.size(); ++i)
    if (chain.ops[i].kind == Kind::kAdd && chain.ops[i].operand < traits.operands.size() &&
        traits.operands[chain.ops[i].operand] == traits.sum_input)
      return static_cast<int>(i);
  return -1;
}

// Collects post-ops; knows the position of the next one.
class PostOps {
 public:
  PostOps(const Problem& p, const DenseTraits& traits, const DenseSpec& spec, const Extents& e, Attempt* attempt)
      : p_(p), traits_(traits), spec_(spec), e_(e), attempt_(attempt) {}

  void eltwise(dnnl::algorithm algorithm, float alpha, float beta) {
    ops_.append_eltwise(algorithm, alpha, beta);
    ++position_;
  }
  void sum(float scale, int32_t zero) {
    const TensorDesc& residual = p_.inputs[static_cast<size_t>(traits_.sum_input)];
    ops_.append_sum(scale, zero, *data_type(residual.dtype));
    ++position_;
  }
  // False: the operand has no place among oneDNN's.
  bool binary(const ChainOp& op) {
    std::optional<ArgSource> arg = operand(op);
    if (!arg) return false;
    arg->arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(position_++) | DNNL_ARG_SRC_1;
    ops_.append_binary(op.algorithm, arg->desc);
    attempt_->args.push_back(std::move(*arg));
    return true;
  }
  bool prelu(const ChainOp& op) {
    std::optional<ArgSource> arg = operand(op);
    if (!arg || arg->desc.get_data_type() != memory::data_type::f32) return false;
    const memory::dims dims = arg->desc.get_dims();
    const size_t channel = spec_.kind == DenseSpec::Kind::kMatmul ? dims.size() - 1 : 1;
    for (size_t d = 0; d < dims.size(); ++d)
      if (d != channel && dims[d] != 1) return false;
    arg->arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(position_++) | DNNL_ARG_WEIGHTS;
    arg->desc = memory::desc({dims[channel]}, memory::data_type::f32, memory::format_tag::a);
    ops_.append_prelu(dims[channel] == 1 ? 0 : 1 << channel);
    attempt_->args.push_back(std::move(*arg));
    return true;
  }
  void finish() { attempt_->attr.set_post_ops(ops_); }

 private:
  std::optional<ArgSource> operand(const ChainOp& op) const {
    if (op.operand >= traits_.operands.size()) return std::nullopt;
    const auto input = static_cast<size_t>(traits_.operands[op.operand]);
    const auto desc = operand_desc(p_.inputs[input], e_.inputs[input], spec_, e_.output);
    if (!desc) return std::nullopt;
    ArgSource arg;
    arg.from = From::kInput;
    arg.index = input;
    arg.desc = *desc;
    return arg;
  }

  const Problem& p_;
  const DenseTraits& traits_;
  const DenseSpec& spec_;
  const Extents& e_;
  Attempt* attempt_;
  dnnl::post_ops ops_;
  int position_ = 0;
};

void set_result_quantization(const ChainOp& op, FixedData* fixed, Attempt* attempt) {
  fixed->dst_scale = {op.alpha};
  fixed->dst_zero = static_cast<int32_t>(op.beta);
  if (op.alpha == 1 && fixed->dst_zero == 0) return;
  attempt->attr.set_scales_mask(DNNL_ARG_DST, 0);
  attempt->args.push_back(
      fixed_arg(DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, memory::data_type::f32, 1, fixed->dst_scale.data()));
  if (fixed->dst_zero == 0) return;
  attempt->attr.set_zero_points_mask(DNNL_ARG_DST, 0);
  attempt->args.push_back(
      fixed_arg(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, memory::data_type::s32, 1, &fixed->dst_zero));
}

// Post-ops for ops[0, count), of which ops[sum] reads the result's own memory.
bool add_post_ops(PostOps* post, const Chain& chain, size_t count, int sum, FixedData* fixed, Attempt* attempt) {
  for (size_t i = 0; i < count; ++i) {
    const ChainOp& op = chain.ops[i];
    switch (op.kind) {
      case Kind::kEltwise: post->eltwise(op.algorithm, op.alpha, op.beta); break;
      case Kind::kAdd:
        if (static_cast<int>(i) == sum) {
          post->sum(op.alpha, static_cast<int32_t>(std::lround(-op.beta / op.alpha)));
          break;
        }
        // By way of acc / scale, so that the operand is read as it lies.
        if (op.alpha != 1 || op.beta != 0)
          post->eltwise(dnnl::algorithm::eltwise_linear, 1 / op.alpha, op.beta / op.alpha);
        if (!post->binary(op)) return false;
        if (op.alpha != 1) post->eltwise(dnnl::algorithm::eltwise_linear, op.alpha, 0);
        break;
      case Kind::kBinary:
        if (!post->binary(op)) return false;
        break;
      case Kind::kPRelu:
        if (!post->prelu(op)) return false;
        break;
      case Kind::kConvert: break;  // only the last one shows, as the result's type
      case Kind::kQuantize: set_result_quantization(op, fixed, attempt); break;
    }
  }
  post->finish();
  return true;
}

dnnl::primitive_desc_base describe(const DenseSpec& s, const memory::desc& weights, const memory::desc& dst,
                                   const dnnl::primitive_attr& attr, const dnnl::engine& eng) {
  using namespace dnnl;
  constexpr bool kAllowEmpty = true;
  const bool bias = s.bias_input >= 0;
  if (s.kind == DenseSpec::Kind::kMatmul) {
    if (bias) return matmul::primitive_desc(eng, s.src, weights, s.bias, dst, attr, kAllowEmpty);
    return matmul::primitive_desc(eng, s.src, weights, dst, attr, kAllowEmpty);
  }
  const memory::desc none;
  const memory::desc& b = bias ? s.bias : none;
  if (s.kind == DenseSpec::Kind::kDeconv)
    return deconvolution_forward::primitive_desc(eng, prop_kind::forward_inference, algorithm::deconvolution_direct,
                                                 s.src, weights, b, dst, s.strides, s.dilates, s.pads_begin, s.pads_end,
                                                 attr, kAllowEmpty);
  return convolution_forward::primitive_desc(eng, prop_kind::forward_inference, algorithm::convolution_direct, s.src,
                                             weights, b, dst, s.strides, s.dilates, s.pads_begin, s.pads_end, attr,
                                             kAllowEmpty);
}

// oneDNN 3.2's 8-bit convolution for AVX2 reads a post-op's operand at the wrong place where the channels do not fill a
// vector (depthwise, seen in tests against plain loops).
bool misreads_operands(std::string_view implementation, const Attempt& attempt) {
  return implementation.starts_with("jit_uni_int8") &&
         std::any_of(attempt.args.begin(), attempt.args.end(),
                     [](const ArgSource& a) { return a.from == From::kInput; });
}

// Without AVX-512, oneDNN 3.2 does value by value what follows a convolution by GEMM: 5 to 30 times slower than a pass
// of ours over the result.
bool finishes_slowly(const Problem& p, std::string_view implementation) {
  return p.family() == Family::kConv && implementation.find("gemm") != std::string_view::npos &&
         effective_isa() < Isa::kAvx512;
}

ArgSource operand_arg(int arg, From from, size_t index, const memory::desc& desc) {
  ArgSource a;
  a.arg = arg;
  a.from = from;
  a.index = index;
  a.desc = desc;
  return a;
}

// How much of the epilogue an attempt gives to oneDNN.
struct Share {
  const Chain& chain;
  size_t count;  // of its ops
  int sum;       // which of them is a sum in place, or -1
  bool whole;    // nothing is left
};

Result<DensePlan> attempt_plan(const Problem& p, const DenseTraits& traits, const DenseSpec& spec,
                               const memory::desc& weights, const Extents& extents, const Share& share, bool slow) {
  WOOTZ_ASSIGN_OR_RETURN(const dnnl::engine* eng, engine());
  DensePlan plan;
  plan.fixed = std::make_shared<FixedData>();
  plan.to_intermediate = !share.whole && p.outputs[0].dtype != DType::kF32;
  Attempt attempt;
  attempt.dst_type = share.whole ? *data_type(p.outputs[0].dtype) : memory::data_type::f32;
  WOOTZ_RETURN_IF_ERROR(guarded("describing a primitive", [&]() -> Status {
    set_quantization(traits, plan.fixed.get(), &attempt);
    PostOps post(p, traits, spec, extents, &attempt);
    if (!add_post_ops(&post, share.chain, share.count, share.sum, plan.fixed.get(), &attempt))
      return unsupported("an operand of the epilogue broadcasts in a way that oneDNN does not know");
    const memory::desc dst = layout_desc(spec.dst_layout, spec.dst_dims, attempt.dst_type);
    plan.primitive = describe(spec, weights, dst, attempt.attr, *eng);
    if (!plan.primitive.get(true)) return unsupported("there is no implementation");
    skip_avoided(traits, spec, weights, &plan.primitive);
    plan.implementation = plan.primitive.impl_info_str();
    if (is_reference(plan.implementation) && !slow)
      return unsupported("only the reference implementation '{}' fits", plan.implementation);
    if (share.count > 0 && finishes_slowly(p, plan.implementation))
      return unsupported("'{}' is slow in what follows", plan.implementation);
    if (const char* why = why_avoided(traits, spec, weights, plan.implementation))
      return unsupported("'{}' {} (oneDNN 3.2)", plan.implementation, why);
    if (misreads_operands(plan.implementation, attempt))
      return unsupported("'{}' misreads operands of post-ops", plan.implementation);
    // Given weights in a plain layout, oneDNN may still want compensation after them, which was not packed.
    const memory::desc wanted = plan.primitive.query_md(dnnl::query::weights_md, 0);
    if (weights.get_format_kind() == memory::format_kind::blocked &&
        !(wanted == weights && wanted.get_size() == weights.get_size()))
      return unsupported("'{}' wants its weights with compensation", plan.implementation);
    plan.args.push_back(operand_arg(DNNL_ARG_SRC, From::kInput, 0, spec.src));
    plan.args.push_back(operand_arg(DNNL_ARG_WEIGHTS, From::kInput, 1, wanted));
    if (spec.bias_input >= 0)
      plan.args.push_back(operand_arg(DNNL_ARG_BIAS, From::kInput, static_cast<size_t>(spec.bias_input), spec.bias));
    plan.args.push_back(operand_arg(DNNL_ARG_DST, plan.to_intermediate ? From::kIntermediate : From::kOutput, 0, dst));
    for (ArgSource& a : attempt.args) plan.args.push_back(std::move(a));
    return Status();
  }));
  if (share.sum >= 0) {
    plan.sum_input = traits.sum_input;
    plan.sum_bytes = layout_bytes(p.outputs[0].layout, p.outputs[0].dtype, extents.output);
  }
  if (share.whole) return plan;
  const int value = share.count == 0 ? share.chain.start : share.chain.ops[share.count - 1].value;
  if (value >= 0) {
    plan.rest = remainder_after(traits.epilogue, value);
    return plan;
  }
  // The accumulator is read in several ways, or not at all: all of the expression is left, over it.
  plan.rest = traits.epilogue;
  const DType read = plan.rest.input_type(0);
  if (read != DType::kF32 && read != DType::kInvalid)
    return unsupported("the epilogue reads a {} result several times", dtype_name(read));
  return plan;
}

}  // namespace

int residual_input(const Problem& p, const DenseTraits& traits) {
  if (traits.epilogue.empty()) return -1;
  const TensorDesc& out = p.outputs[0];
  for (const ChainOp& op : linear_chain(traits.epilogue).ops) {
    if (op.kind != Kind::kAdd || op.operand >= traits.operands.size()) continue;
    const int input = traits.operands[op.operand];
    if (input < p.num_main) continue;
    const TensorDesc& t = p.inputs[static_cast<size_t>(input)];
    // A result in 8 bits may take the place of a residual in the other type of 8 bits.
    const bool fits = t.dtype == out.dtype || (is_int8(t.dtype) && is_int8(out.dtype));
    if (t.constant || !fits || t.layout != out.layout || !(t.dims == out.dims) || !(t.max_dims == out.max_dims))
      continue;
    const float zero = -op.beta / op.alpha;
    const bool whole = std::fabs(zero) <= 255 && std::fabs(zero - std::round(zero)) < 1e-3f;
    if (is_float(t.dtype) ? zero == 0 : whole) return input;
  }
  return -1;
}

Result<DensePlan> plan_dense(const Problem& p, const DenseTraits& traits, const DenseSpec& spec,
                             const memory::desc& weights, const Extents& extents, bool allow_reference) {
  WOOTZ_RETURN_IF_ERROR(engine().status());
  const DType out_type = p.outputs[0].dtype;
  const Chain chain = traits.epilogue.empty() ? Chain{} : linear_chain(traits.epilogue);
  const int sum = sum_position(traits, chain);
  std::string refused = "the residual cannot be added in place";
  // A slow implementation with the whole epilogue is worse than a fast one and a pass over its result.
  for (const bool slow : {false, true}) {
    if (slow && !allow_reference) break;
    for (size_t count = chain.ops.size() + 1; count-- > 0;) {
      if (count > 0 && chain.ops[count - 1].value < 0) continue;
      const bool whole = traits.epilogue.empty() || (chain.complete && count == chain.ops.size());
      const bool to_intermediate = !whole && out_type != DType::kF32;
      if (traits.sum_input >= 0 && (sum < 0 || count <= static_cast<size_t>(sum) || to_intermediate)) break;
      Result<DensePlan> plan = attempt_plan(p, traits, spec, weights, extents, {chain, count, sum, whole}, slow);
      if (plan.ok()) return plan;
      refused = plan.status().message();
    }
  }
  return unsupported("oneDNN: {}", refused);
}

}  // namespace wootz::cpu::dnn
