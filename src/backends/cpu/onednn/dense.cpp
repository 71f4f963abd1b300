#include "backends/cpu/onednn/dense.h"

#include "backend/quantized.h"

namespace wootz::cpu::dnn {

Extents extents_of(const Problem& problem, bool maximum) {
  Extents e;
  for (const TensorDesc& t : problem.inputs) e.inputs.push_back(maximum ? t.max_dims : t.dims);
  e.output = maximum ? problem.outputs[0].max_dims : problem.outputs[0].dims;
  return e;
}

memory::desc any_layout(const memory::desc& desc) {
  return memory::desc(desc.get_dims(), desc.get_data_type(), memory::format_tag::any);
}

namespace {

Status check_operand(const char* family, const TensorDesc& t, const char* what, size_t i) {
  if (!data_type(t.dtype)) return unsupported("oneDNN: {} {} of type {}", what, i, dtype_name(t.dtype));
  if (t.layout > Layout::kOpaque || (t.layout != Layout::kLinear && t.layout != Layout::kOpaque && t.dims.rank() < 3))
    return invalid_argument("{}: {} {} of shape {} in layout {}", family, what, i, t.dims.to_string(),
                            layout_name(t.layout));
  if (t.layout == Layout::kOpaque && !t.constant)
    return invalid_argument("{}: {} {} is packed and not constant", family, what, i);
  if (t.dims.rank() != t.max_dims.rank())
    return invalid_argument("{}: {} {} has extents {} and at most {}", family, what, i, t.dims.to_string(),
                            t.max_dims.to_string());
  for (const Dims& dims : {t.dims, t.max_dims}) {
    WOOTZ_RETURN_IF_ERROR(checked_volume(dims.span()).status());
    for (const int64_t d : dims)
      if (d > INT32_MAX)
        return unsupported("oneDNN: {} {} of shape {}: extents go up to {}", what, i, dims.to_string(), INT32_MAX);
  }
  return Status();
}

// Operands of the epilogue of other types are converted by the expression's remainder.
Status check_converted(const char* family, const TensorDesc& t, size_t i) {
  if (t.dtype == DType::kInvalid || t.layout > Layout::kBlocked16)
    return invalid_argument("{}: epilogue operand {} has no usable type or layout", family, i);
  WOOTZ_RETURN_IF_ERROR(checked_volume(t.dims.span()).status());
  return checked_volume(t.max_dims.span()).status();
}

// The expression, against the operands and the result.
Status check_epilogue(const char* family, const Problem& p) {
  const TensorDesc& out = p.outputs[0];
  WOOTZ_RETURN_IF_ERROR(p.epilogue.verify().with_prefix(family));
  if (p.epilogue.outputs.size() != 1)
    return invalid_argument("{}: an epilogue with {} results", family, p.epilogue.outputs.size());
  if (p.epilogue.output_type() != out.dtype)
    return invalid_argument("{}: the epilogue gives {}, the output is {}", family, dtype_name(p.epilogue.output_type()),
                            dtype_name(out.dtype));
  const size_t extra = p.inputs.size() - static_cast<size_t>(p.num_main);
  if (p.epilogue.num_inputs > extra + 1)
    return invalid_argument("{}: the epilogue reads operand {}, there are {}", family, p.epilogue.num_inputs - 1,
                            extra);
  for (uint16_t k = 1; k < p.epilogue.num_inputs; ++k) {
    const DType wanted = p.epilogue.input_type(k);
    const DType have = p.inputs[static_cast<size_t>(p.num_main + k - 1)].dtype;
    if (wanted != DType::kInvalid && wanted != have)
      return invalid_argument("{}: the epilogue reads operand {} as {}, it is {}", family, k, dtype_name(wanted),
                              dtype_name(have));
  }
  TensorDesc shape_only = out;
  shape_only.dtype = DType::kF32;
  return check_operand(family, shape_only, "output", 0);
}

}  // namespace

Status check_dense(const Problem& p, int data_inputs) {
  const char* family = family_name(p.family());
  if (p.outputs.size() != 1) return invalid_argument("{}: {} outputs instead of one", family, p.outputs.size());
  const bool bias = has_bias(p);
  const int main = data_inputs + (bias ? 1 : 0);
  // An omitted bias may keep its place.
  const bool placeholder = !bias && p.num_main == main + 1 && p.inputs.size() > static_cast<size_t>(main) &&
                           p.inputs[static_cast<size_t>(main)].dtype == DType::kInvalid;
  if (p.num_main != main && !placeholder)
    return invalid_argument("{}: {} main inputs instead of {}", family, p.num_main, main);
  if (p.inputs.size() < static_cast<size_t>(p.num_main))
    return invalid_argument("{}: {} inputs, of which {} are main", family, p.inputs.size(), p.num_main);
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    if (placeholder && i == static_cast<size_t>(main)) continue;
    const bool converted = i >= static_cast<size_t>(p.num_main) && !data_type(p.inputs[i].dtype);
    WOOTZ_RETURN_IF_ERROR(converted ? check_converted(family, p.inputs[i], i)
                                    : check_operand(family, p.inputs[i], "input", i));
  }
  if (p.outputs[0].layout == Layout::kOpaque) return invalid_argument("{}: a packed output", family);
  WOOTZ_RETURN_IF_ERROR(p.epilogue.empty() ? check_operand(family, p.outputs[0], "output", 0)
                                           : check_epilogue(family, p));
  if (!is_model_float(p.acc_dtype))
    return unsupported("oneDNN: a result of type {} before the epilogue", dtype_name(p.acc_dtype));
  return Status();
}

Status read_quantization(const Problem& p, int64_t channels, DenseTraits* traits) {
  const DType x = p.inputs[0].dtype, w = p.inputs[1].dtype;
  const bool integers = is_int8(x) && w == DType::kI8;
  if (is_int8(x) || x == DType::kI32 || is_int8(w) || w == DType::kI32) {
    if (!integers)
      return unsupported("oneDNN: {} with weights {}: u8 or i8 with i8 only", dtype_name(x), dtype_name(w));
    if (!exact_int8())
      return unsupported("oneDNN on {}: without VNNI its 8-bit products saturate in 16 bits", effective_isa_text());
  } else if (x != w) {
    return unsupported("oneDNN: {} with weights {}", dtype_name(x), dtype_name(w));
  }
  traits->quantized = integers;
  if (!integers) {
    const Grids grids = grids_of(p);
    if (!grids.x_scale->empty() || !grids.w_scale->empty())
      return invalid_argument("{}: scales for {} operands", family_name(p.family()), dtype_name(x));
    return Status();
  }
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, read_gemm_scales(p, channels));
  if (scales.w_zero != 0 && p.family() != Family::kGemm)
    return unsupported("oneDNN: filters with zero point {}", scales.w_zero);
  traits->weights_zero = scales.w_zero;
  traits->src_zero = scales.x_zero;
  traits->src_scale = static_cast<float>(scales.x);
  traits->weights_scale.assign(scales.w.begin(), scales.w.end());
  return Status();
}

Status compose_epilogue(const Problem& p, double alpha, int bias_input, DenseTraits* traits) {
  traits->operands = {-1};
  PointwiseExpr head;  // the family's own tail
  if (alpha != 1 || bias_input >= 0) {
    uint16_t value = head.input(0, DType::kF32);
    if (alpha != 1) value = head.push(PwOp::kMul, DType::kF32, value, head.constant(alpha, DType::kF32));
    if (bias_input >= 0) {
      const DType type = p.inputs[static_cast<size_t>(bias_input)].dtype;
      uint16_t bias = head.input(1, type);
      if (type != DType::kF32) bias = head.push(PwOp::kCast, DType::kF32, bias);
      value = head.push(PwOp::kAdd, DType::kF32, value, bias);
      traits->operands.push_back(bias_input);
    }
    if (p.acc_dtype != DType::kF32) value = head.push(PwOp::kCast, p.acc_dtype, value);
    if (p.epilogue.empty() && p.outputs[0].dtype != p.acc_dtype)
      value = head.push(PwOp::kCast, p.outputs[0].dtype, value);
    head.outputs = {value};
  }
  if (p.epilogue.empty()) {
    traits->epilogue = head;
    return head.empty() ? Status() : head.verify();
  }
  const int shift = static_cast<int>(traits->operands.size()) - 1;
  for (int k = 1; k < p.epilogue.num_inputs; ++k) traits->operands.push_back(p.num_main + k - 1);
  if (head.empty()) {
    traits->epilogue = p.epilogue;
    return Status();
  }
  // The epilogue's code after the head's, its operand 0 being the head's value.
  PointwiseExpr all = head;
  all.num_inputs = static_cast<uint16_t>(traits->operands.size());
  std::vector<uint16_t> renamed(p.epilogue.code.size());
  for (size_t i = 0; i < p.epilogue.code.size(); ++i) {
    PwInstr instr = p.epilogue.code[i];
    if (instr.op == PwOp::kInput && instr.a == 0) {
      renamed[i] = head.outputs[0];
      if (instr.type != p.acc_dtype)
        return invalid_argument("{}: the epilogue reads the result as {}, it is {}", family_name(p.family()),
                                dtype_name(instr.type), dtype_name(p.acc_dtype));
      continue;
    }
    if (instr.op == PwOp::kInput) instr.a = static_cast<uint16_t>(instr.a + shift);
    const int arity = pw_op_arity(instr.op);
    if (arity > 0) instr.a = renamed[instr.a];
    if (arity > 1) instr.b = renamed[instr.b];
    if (arity > 2) instr.c = renamed[instr.c];
    all.code.push_back(instr);
    renamed[i] = static_cast<uint16_t>(all.code.size() - 1);
  }
  all.outputs = {renamed[p.epilogue.outputs[0]]};
  traits->epilogue = std::move(all);
  return traits->epilogue.verify();
}

}  // namespace wootz::cpu::dnn
