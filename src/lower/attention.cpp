#include "backend/attention_heads.h"
#include "lower/context.h"

namespace wootz {

Result<bool> lower_attention(LowerContext& ctx, const Node& node) {
  if (node.num_outputs() != 1 || !node.has_attr("scale")) return false;
  const int main = LowerContext::main_inputs(node);
  for (int i = 4; i < main; ++i)
    if (node.input(i) != nullptr) return false;
  const bool mask = main > 3 && node.input(3) != nullptr;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kAttention, mask ? 4 : 3));
  auto& params = step.problem.as<AttentionParams>();
  params.scale = node.attr_float("scale", 1);
  params.causal = node.attr_int("causal", 0) != 0;
  params.softcap = node.attr_float("softcap", 0);
  params.has_mask = mask;
  params.k_transposed = node.attr_int("k_transposed", 0) != 0;
  params.merged = node.attr_int("merged", 0);
  params.nan_rows = node.attr_int("nan_rows", 0);
  params.q_view = node.attr_ints("q_view");
  params.k_view = node.attr_ints("k_view");
  params.v_view = node.attr_ints("v_view");
  params.q_scale = node.attr_floats("q_scale");
  params.k_scale = node.attr_floats("k_scale");
  params.v_scale = node.attr_floats("v_scale");
  params.q_zero = node.attr_float("q_zero");
  params.k_zero = node.attr_float("k_zero");
  params.v_zero = node.attr_float("v_zero");
  params.s_scale = node.attr_float("s_scale");
  params.s_zero = node.attr_float("s_zero");
  params.s_type = node.attr_dtype("s_type");
  params.p_scale = node.attr_float("p_scale");
  params.p_type = node.attr_dtype("p_type");
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

namespace {

// The scales as a tensor that broadcasts to the operand; with one, no tensor.
Result<HostTensor> scales_tensor(const Problem& p, int operand, const Dims& dims) {
  const Floats& scales = head_scales(p, operand);
  WOOTZ_ASSIGN_OR_RETURN(const HeadLines lines, operand_lines(p, operand, dims));
  const bool turned = operand == 1 && p.as<AttentionParams>().k_transposed, viewed = !head_view(p, operand).empty();
  const int64_t heads = lines.dims[1], size = lines.dims[turned ? 2 : 3];
  const Dims shape = viewed ? Dims{dims[2]} : turned ? Dims{heads, size, 1} : Dims{heads, 1, size};
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(DType::kF32, shape));
  for (int64_t i = 0; i < made.volume(); ++i) made.set_f64(i, 1);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t d = 0; d < size; ++d)
      made.set_f64(viewed ? lines.offset + h * lines.head + d : h * size + d, head_scale(scales, heads, size, h, d));
  return made;
}

}  // namespace

// An operand of 8 bits as floats of the others' type, or of the result's, where all are of 8 bits.
Result<TensorIndex> LowerContext::dequantized_heads(const Step& step, int operand, DType type) {
  const TensorIndex tensor = step.inputs[static_cast<size_t>(operand)];
  const TensorDesc& desc = step.problem.inputs[static_cast<size_t>(operand)];
  const std::string name = program().tensors[tensor].name;
  Status status;
  const TensorIndex to =
      add_intermediate(fmt::format("{}.{}", name, dtype_name(type)), type, shapes_.at(tensor), &status);
  WOOTZ_RETURN_IF_ERROR(status);
  const Floats& scales = head_scales(step.problem, operand);
  const double zero = head_zero(step.problem, operand);
  Step made;
  made.name = "dequantize " + name;
  made.provenance = {made.name};
  made.problem.set_family(Family::kPointwise);
  made.problem.acc_dtype = DType::kF32;
  made.inputs = {tensor};
  made.outputs = {to};
  PointwiseExpr e;
  uint16_t v = e.push(PwOp::kCast, DType::kF32, e.input(0, desc.dtype));
  if (zero != 0) v = e.push(PwOp::kSub, DType::kF32, v, e.constant(zero, DType::kF32));
  if (scales.size() == 1) {
    v = e.push(PwOp::kMul, DType::kF32, v, e.constant(scales[0], DType::kF32));
  } else {
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor all, scales_tensor(step.problem, operand, desc.dims));
    made.inputs.push_back(add_constant(name + ".scales", all));
    v = e.push(PwOp::kMul, DType::kF32, v, e.input(1, DType::kF32));
  }
  e.outputs = {type == DType::kF32 ? v : e.push(PwOp::kCast, type, v)};
  made.problem.epilogue = std::move(e);
  describe_operands(&made);
  if (!offered(made)) return unsupported("no kernel dequantizes tensor '{}' to float", name);
  WOOTZ_RETURN_IF_ERROR(append(nullptr, std::move(made)));
  return to;
}

Status LowerContext::float_attention(const Node* node, Step step) {
  auto& params = step.problem.as<AttentionParams>();
  if (params.p_scale != 0 || params.s_scale != 0) return reference_step(*node);
  DType type = step.problem.acc_dtype;
  for (size_t i = 0; i < 3; ++i)
    if (head_scales(step.problem, static_cast<int>(i)).empty()) type = step.problem.inputs[i].dtype;
  for (int i = 0; i < 3; ++i) {
    if (head_scales(step.problem, i).empty()) continue;
    WOOTZ_ASSIGN_OR_RETURN(step.inputs[static_cast<size_t>(i)], dequantized_heads(step, i, type));
  }
  params.q_scale.clear(), params.k_scale.clear(), params.v_scale.clear();
  params.q_zero = params.k_zero = params.v_zero = 0;
  return finish_step(node, std::move(step));
}

}  // namespace wootz
