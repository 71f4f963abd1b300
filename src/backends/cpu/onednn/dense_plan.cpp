// From a dense problem at concrete extents to oneDNN's primitive descriptor with as much of the epilogue as it takes.
#include <cmath>

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
    // What the padding of a blocked layout holds is written by whoever wrote the operand: zeros.
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
  if (traits.src_zero != 0) {
    attempt->attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    attempt->args.push_back(
        fixed_arg(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, memory::data_type::s32, 1, &fixed->src_zero));
  }
}

// Post-ops for ops[0, count). False: an operand has no place among them.
bool add_post_ops(const Problem& p, const DenseTraits& traits, const DenseSpec& spec, const Extents& e,
                  const Chain& chain, size_t count, FixedData* fixed, Attempt* attempt) {
  dnnl::post_ops ops;
  int position = 0;
  for (size_t i = 0; i < count; ++i) {
    const ChainOp& op = chain.ops[i];
    switch (op.kind) {
      case Kind::kEltwise:
        // Two linear steps in a row are one.
        ops.append_eltwise(op.algorithm, op.alpha, op.beta);
        break;
      case Kind::kBinary:
      case Kind::kPRelu: {
        if (op.operand >= traits.operands.size()) return false;
        const auto input = static_cast<size_t>(traits.operands[op.operand]);
        const auto desc = operand_desc(p.inputs[input], e.inputs[input], spec, e.output);
        if (!desc) return false;
        ArgSource arg;
        arg.from = From::kInput;
        arg.index = input;
        arg.desc = *desc;
        if (op.kind == Kind::kBinary) {
          arg.arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_SRC_1;
          ops.append_binary(op.algorithm, *desc);
        } else {
          const memory::dims dims = desc->get_dims();
          if (desc->get_data_type() != memory::data_type::f32) return false;
          const size_t channel = spec.kind == DenseSpec::Kind::kMatmul ? dims.size() - 1 : 1;
          for (size_t d = 0; d < dims.size(); ++d)
            if (d != channel && dims[d] != 1) return false;
          arg.arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_WEIGHTS;
          arg.desc = memory::desc({dims[channel]}, memory::data_type::f32, memory::format_tag::a);
          ops.append_prelu(dims[channel] == 1 ? 0 : 1 << channel);
        }
        attempt->args.push_back(std::move(arg));
        break;
      }
      case Kind::kConvert:
        --position;
        break;  // only the last one shows, as the result's type
      case Kind::kQuantize:
        fixed->dst_scale = {op.alpha};
        fixed->dst_zero = static_cast<int32_t>(op.beta);
        attempt->attr.set_scales_mask(DNNL_ARG_DST, 0);
        attempt->args.push_back(
            fixed_arg(DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, memory::data_type::f32, 1, fixed->dst_scale.data()));
        if (fixed->dst_zero != 0) {
          attempt->attr.set_zero_points_mask(DNNL_ARG_DST, 0);
          attempt->args.push_back(
              fixed_arg(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, memory::data_type::s32, 1, &fixed->dst_zero));
        }
        --position;
        break;
    }
    ++position;
  }
  attempt->attr.set_post_ops(ops);
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
bool misreads_operands(std::string_view implementation, const Chain& chain, size_t count) {
  if (!implementation.starts_with("jit_uni_int8")) return false;
  for (size_t i = 0; i < count; ++i)
    if (chain.ops[i].kind == Kind::kBinary || chain.ops[i].kind == Kind::kPRelu) return true;
  return false;
}

ArgSource operand_arg(int arg, From from, size_t index, const memory::desc& desc) {
  ArgSource a;
  a.arg = arg;
  a.from = from;
  a.index = index;
  a.desc = desc;
  return a;
}

}  // namespace

Result<DensePlan> plan_dense(const Problem& p, const DenseTraits& traits, const DenseSpec& spec,
                             const memory::desc& weights, const Extents& extents, bool allow_reference) {
  WOOTZ_ASSIGN_OR_RETURN(const dnnl::engine* eng, engine());
  const DType out_type = p.outputs[0].dtype;
  const Chain chain = traits.epilogue.empty() ? Chain{} : linear_chain(traits.epilogue);
  std::string refused;
  for (size_t count = chain.ops.size() + 1; count-- > 0;) {
    if (count > 0 && chain.ops[count - 1].value < 0) continue;
    const bool whole = traits.epilogue.empty() || (chain.complete && count == chain.ops.size());
    DensePlan plan;
    plan.fixed = std::make_shared<FixedData>();
    plan.ops_taken = count;
    plan.ops_total = chain.ops.size();
    Attempt attempt;
    const Status tried = guarded("describing a primitive", [&]() -> Status {
      set_quantization(traits, plan.fixed.get(), &attempt);
      if (!add_post_ops(p, traits, spec, extents, chain, count, plan.fixed.get(), &attempt))
        return unsupported("an operand of the epilogue broadcasts in a way that oneDNN does not know");
      attempt.dst_type = whole ? *data_type(out_type) : memory::data_type::f32;
      const memory::desc dst = layout_desc(spec.dst_layout, spec.dst_dims, attempt.dst_type);
      plan.primitive = describe(spec, weights, dst, attempt.attr, *eng);
      if (!plan.primitive.get(true)) return unsupported("oneDNN has no implementation");
      plan.implementation = plan.primitive.impl_info_str();
      plan.args.push_back(operand_arg(DNNL_ARG_SRC, From::kInput, 0, spec.src));
      plan.args.push_back(
          operand_arg(DNNL_ARG_WEIGHTS, From::kInput, 1, plan.primitive.query_md(dnnl::query::weights_md, 0)));
      if (spec.bias_input >= 0)
        plan.args.push_back(operand_arg(DNNL_ARG_BIAS, From::kInput, static_cast<size_t>(spec.bias_input), spec.bias));
      plan.to_intermediate = !whole && out_type != DType::kF32;
      plan.args.push_back(
          operand_arg(DNNL_ARG_DST, plan.to_intermediate ? From::kIntermediate : From::kOutput, 0, dst));
      for (ArgSource& a : attempt.args) plan.args.push_back(std::move(a));
      return Status();
    });
    if (tried.ok() && misreads_operands(plan.implementation, chain, count)) {
      refused = "'" + plan.implementation + "' misreads operands of post-ops";
      continue;
    }
    // A slow implementation with the whole epilogue is worse than a fast one and a pass over its result.
    const bool last = count == 0;
    if (!tried.ok() || (is_reference(plan.implementation) && !(allow_reference && last))) {
      refused =
          tried.ok() ? "only oneDNN's reference implementation '" + plan.implementation + "' fits" : tried.message();
      continue;
    }
    if (!whole) {
      const int value = count == 0 ? chain.start : chain.ops[count - 1].value;
      if (value < 0) {
        // The accumulator is read in several ways: all of the expression is left, over it.
        plan.rest = traits.epilogue;
        if (plan.rest.input_type(0) != DType::kF32)
          return unsupported("oneDNN: an epilogue that reads a {} result several times",
                             dtype_name(plan.rest.input_type(0)));
      } else {
        plan.rest = remainder_after(traits.epilogue, value);
      }
    }
    return plan;
  }
  return unsupported("oneDNN: {}", refused);
}

}  // namespace wootz::cpu::dnn
