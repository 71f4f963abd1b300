#include "backends/cuda/generate/special/special.h"

#include <algorithm>

namespace wootz::cuda {
namespace {

struct Special {
  bool (*is)(const Problem& problem);
  Generate generate;
  bool in_place = false;  // the result may be operand 0's memory
};
template <typename P>
bool is_op(const Problem& p) {
  return op_params<P>(p) != nullptr;
}
constexpr Special kSpecials[] = {
    {is_op<BitCastOpParams>, generate_bit_cast},
    {is_op<CastE8M0OpParams>, generate_cast_e8m0},
    {is_op<DynamicQuantizeOpParams>, generate_dynamic_quantize},
    {is_op<CumSumOpParams>, generate_cumulative},
    {is_op<CumProdOpParams>, generate_cumulative},
    {is_op<OneHotOpParams>, generate_one_hot},
    {is_op<EyeLikeOpParams>, generate_eye},
    {is_op<RangeOpParams>, generate_range},
    {is_op<ConstantOfShapeOpParams>, generate_filled},
    {is_op<SliceOpParams>, generate_slice},
    {is_op<CountedTopKOpParams>, generate_counted_topk},
    {is_op<PadOpParams>, generate_padded},
    {is_op<SpaceToDepthOpParams>, generate_space_to_depth},
    {is_op<AutoPaddedConvOpParams>, generate_auto_padded_conv},
    {is_op<AutoPaddedPoolOpParams>, generate_auto_padded_pool},
    {is_op<EinsumOpParams>, generate_einsum},
    {is_op<MatMulIntegerOpParams>, generate_integer_product},
    {is_op<ConvIntegerOpParams>, generate_integer_conv},
    {is_op<TriluOpParams>, generate_trilu},
    {is_op<LrnOpParams>, generate_lrn},
    {is_op<ReverseSequenceOpParams>, generate_reverse_sequence},
    {is_op<TensorScatterOpParams>, generate_tensor_scatter, true},
    {is_op<HardmaxOpParams>, generate_hardmax},
    {is_op<GridSampleOpParams>, generate_grid_sample},
    {is_op<AffineGridOpParams>, generate_affine_grid},
    {is_op<RoiAlignOpParams>, generate_roi_align},
    {is_op<CenterCropPadOpParams>, generate_center_crop_pad},
    {is_op<Col2ImOpParams>, generate_col2im},
    {is_op<MaxRoiPoolOpParams>, generate_max_roi_pool},
    {is_op<NllLossOpParams>, generate_nll},
    {is_op<DetOpParams>, generate_det},
    {is_op<DftOpParams>, generate_dft},
    {is_op<StftOpParams>, generate_stft},
    {is_op<DeformConvOpParams>, generate_deform_conv},
    {is_op<RandomStateOpParams>, generate_random_state},
    {is_op<RandomOpParams>, generate_random},
    {is_op<BernoulliOpParams>, generate_bernoulli},
    {is_op<MultinomialOpParams>, generate_multinomial},
    {is_op<ExpertProductOpParams>, generate_expert_product},
};

}  // namespace

bool has_operand(const Problem& p, size_t input) {
  return input < p.inputs.size() && p.inputs[input].dtype != DType::kInvalid;
}

Status check_operands(const Problem& p, size_t inputs) {
  if (p.inputs.size() < inputs || p.outputs.size() != 1 || !has_operand(p, 0) || p.outputs[0].dtype == DType::kInvalid)
    return invalid_argument("{} of {} operands", p.as<OpParams>().op, p.inputs.size());
  return Status();
}

Status add_operands(const Problem& p, KernelSource* source) {
  const auto add = [&](const TensorDesc& t, bool output, size_t index) -> Status {
    if (t.dtype == DType::kInvalid) return Status();
    WOOTZ_RETURN_IF_ERROR(check_type(t.dtype));
    if (t.layout != Layout::kLinear) return unsupported("layout {}", layout_name(t.layout));
    const std::string type = fmt::format("{}{}", output ? "Y" : "X", index);
    source->type(type, storage_type(t.dtype));
    source->operand(output ? type + "* __restrict__" : fmt::format("const {}*", type),
                    fmt::format("{}{}", output ? "y" : "x", index), {output, static_cast<int>(index)});
    return Status();
  };
  for (size_t i = 0; i < p.outputs.size(); ++i) WOOTZ_RETURN_IF_ERROR(add(p.outputs[i], true, i));
  for (size_t i = 0; i < p.inputs.size(); ++i) WOOTZ_RETURN_IF_ERROR(add(p.inputs[i], false, i));
  return Status();
}

Result<KernelSource> source_of_each(std::string_view file, const Problem& p, const BindArgs& args, int64_t count) {
  WOOTZ_RETURN_IF_ERROR(check_count(count));
  KernelSource source(file, transient(p, args));
  source.fixed("kThreads", kSpecialBlock);
  WOOTZ_RETURN_IF_ERROR(add_operands(p, &source));
  source.number("count", count);
  return source;
}

Status finish_each(int64_t count, KernelSource* source, std::vector<Launch>* launches, size_t workspace) {
  return source->finish(kSpecialBlock, blocks_for(count, kSpecialBlock), launches, workspace);
}

std::optional<int64_t> special_int(const Problem& p, const MaybeInt& attribute, size_t operand) {
  if (attribute) return attribute;
  const Ints* const values = known_operand(p, operand);
  return values != nullptr && values->size() == 1 ? MaybeInt((*values)[0]) : std::nullopt;
}

bool special_in_place(const Problem& p) {
  return std::any_of(std::begin(kSpecials), std::end(kSpecials),
                     [&](const Special& s) { return s.in_place && s.is(p); });
}

Status generate_special(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (!p.epilogue.empty()) return unsupported("an expression behind an op of its own kind");
  const auto& op = p.as<OpParams>();
  if (op.own_sizes) return unsupported("results whose sizes are found by running");
  for (const Special& s : kSpecials)
    if (s.is(p)) return s.generate(p, args, launches);
  return unsupported("op {}", op.op);
}

}  // namespace wootz::cuda
