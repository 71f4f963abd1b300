#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

struct Special {
  const char* op;
  Generate generate;
};
constexpr Special kSpecials[] = {
    {"BitCast", generate_bit_cast},
    {"CastE8M0", generate_cast_e8m0},
    {"CumSum", generate_cumulative},
    {"CumProd", generate_cumulative},
    {"OneHot", generate_one_hot},
    {"EyeLike", generate_eye},
    {"Range", generate_range},
    {"ConstantOfShape", generate_filled},
    {"Slice", generate_slice},
    {"TopK", generate_counted_topk},
    {"Pad", generate_padded},
    {"SpaceToDepth", generate_space_to_depth},
    {"Conv", generate_auto_padded_conv},
    {"Pool", generate_auto_padded_pool},
    {"Einsum", generate_einsum},
    {"MatMulInteger", generate_integer_product},
    {"ConvInteger", generate_integer_conv},
    {"Trilu", generate_trilu},
    {"LRN", generate_lrn},
    {"ReverseSequence", generate_reverse_sequence},
    {"TensorScatter", generate_tensor_scatter},
    {"Hardmax", generate_hardmax},
    {"GridSample", generate_grid_sample},
    {"AffineGrid", generate_affine_grid},
    {"RoiAlign", generate_roi_align},
    {"CenterCropPad", generate_center_crop_pad},
    {"Col2Im", generate_col2im},
    {"MaxRoiPool", generate_max_roi_pool},
    {"NllLoss", generate_nll},
    {"Det", generate_det},
    {"DFT", generate_dft},
    {"STFT", generate_stft},
    {"DeformConv", generate_deform_conv},
};

}  // namespace

bool has_operand(const Problem& p, size_t input) {
  return input < p.inputs.size() && p.inputs[input].dtype != DType::kInvalid;
}

Status check_operands(const Problem& p, size_t inputs) {
  if (p.inputs.size() < inputs || p.outputs.size() != 1 || !has_operand(p, 0) || p.outputs[0].dtype == DType::kInvalid)
    return invalid_argument("{} of {} operands", p.get_string("op"), p.inputs.size());
  return Status();
}

Result<SpecialOperands> special_operands(const Problem& p) {
  SpecialOperands o;
  const auto add = [&](const TensorDesc& t, bool output, size_t index) -> Status {
    if (t.dtype == DType::kInvalid) return Status();
    WOOTZ_RETURN_IF_ERROR(check_type(t.dtype));
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
    o.parameters += fmt::format("{}{}{}* __restrict__ {}{}", o.parameters.empty() ? "" : ", ", output ? "" : "const ",
                                storage_type(t.dtype), output ? "y" : "x", index);
    o.pointers.push_back({output, static_cast<int>(index)});
    return Status();
  };
  for (size_t i = 0; i < p.outputs.size(); ++i) WOOTZ_RETURN_IF_ERROR(add(p.outputs[i], true, i));
  for (size_t i = 0; i < p.inputs.size(); ++i) WOOTZ_RETURN_IF_ERROR(add(p.inputs[i], false, i));
  return o;
}

Status begin_special(const Problem& p, int64_t count, Writer* w, Launch* launch) {
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  WOOTZ_ASSIGN_OR_RETURN(SpecialOperands o, special_operands(p));
  w->raw(prelude());
  w->line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kSpecialBlock, o.parameters);
  w->line("  const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;", kSpecialBlock, count);
  launch->size.block = kSpecialBlock;
  launch->size.grid_x = blocks_for(count, kSpecialBlock);
  launch->pointers = std::move(o.pointers);
  return Status();
}

void end_special(Writer* w, Launch launch, std::vector<Launch>* launches) {
  w->line("}}");
  launch.source = w->text();
  launches->push_back(std::move(launch));
}

std::optional<int64_t> special_int(const Problem& p, const char* attribute, const char* operand) {
  if (p.params.count(std::string_view(attribute)) != 0) return p.get_int(attribute);
  const std::vector<int64_t> values = p.get_ints(operand);
  if (values.size() == 1) return values[0];
  return std::nullopt;
}

Status generate_special(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (!p.epilogue.empty()) return unsupported("an expression behind an op of its own kind");
  if (p.get_int("own_sizes") != 0) return unsupported("results whose sizes are found by running");
  const std::string op = p.get_string("op");
  for (const Special& s : kSpecials)
    if (op == s.op) return s.generate(p, args, launches);
  return unsupported("op {}", op);
}

}  // namespace wootz::cuda
