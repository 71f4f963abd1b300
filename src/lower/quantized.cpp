// Quantized convolutions, products and averages where no kernel computes in 8 bits (a processor without such
// instructions, say): the same numbers in float.
#include "backend/quantized.h"
#include "lower/context.h"

namespace wootz {
namespace {

// Index of the output channel of a weight element: it varies over `count` values, `inner` elements each.
struct ChannelWalk {
  int64_t inner = 1, count = 1;
  int64_t at(int64_t element) const { return element / inner % count; }
};

ChannelWalk channels_of(const Problem& p, const Dims& w) {
  size_t axis = w.size() - 1;
  if (p.family() == Family::kConv)
    axis = p.as<ConvParams>().transposed ? 1 : 0;
  else if (p.as<GemmParams>().trans_b)
    axis = w.size() - 2;
  ChannelWalk walk;
  walk.count = std::max<int64_t>(1, w[axis]);
  for (size_t i = axis + 1; i < w.size(); ++i) walk.inner *= std::max<int64_t>(1, w[i]);
  return walk;
}

double at(const std::vector<double>& values, int64_t i, double fallback) {
  return values.empty() ? fallback : values[values.size() == 1 ? 0 : static_cast<size_t>(i)];
}

}  // namespace

Result<TensorIndex> LowerContext::dequantized(TensorIndex tensor, double scale, double zero) {
  const std::string key = fmt::format("{} {:a} {:a}", tensor, scale, zero);
  if (const auto it = dequantized_.find(key); it != dequantized_.end()) return it->second;
  const PlanTensor from = program().tensors[tensor];
  Status status;
  const TensorIndex to = add_intermediate(from.name + ".f32", DType::kF32, shapes_.at(tensor), &status);
  WOOTZ_RETURN_IF_ERROR(status);
  PointwiseExpr e;
  uint16_t v = e.push(PwOp::kCast, DType::kF32, e.input(0, from.dtype));
  if (zero != 0) v = e.push(PwOp::kSub, DType::kF32, v, e.constant(zero, DType::kF32));
  e.outputs = {e.push(PwOp::kMul, DType::kF32, v, e.constant(scale, DType::kF32))};
  Step step;
  step.name = "dequantize " + from.name;
  step.provenance = {step.name};
  step.problem.set_family(Family::kPointwise);
  step.problem.epilogue = std::move(e);
  step.problem.acc_dtype = DType::kF32;
  step.inputs = {tensor};
  step.outputs = {to};
  describe_operands(&step);
  if (!offered(step)) return unsupported("no kernel dequantizes tensor '{}' to float", from.name);
  WOOTZ_RETURN_IF_ERROR(append(nullptr, std::move(step)));
  dequantized_[key] = to;
  return to;
}

// The weights of a weight-only product as plain floats of the other operand's type, or nothing where they are not
// known.
Result<TensorIndex> LowerContext::wide_weights(const Step& step) {
  const auto constant = [&](size_t input) -> std::optional<HostTensor> {
    if (input >= static_cast<size_t>(step.problem.num_main)) return std::nullopt;
    const PlanTensor& tensor = program().tensors[step.inputs[input]];
    if (tensor.kind != TensorKind::kConstant) return std::nullopt;
    const PlanConstant& c = program().constants[tensor.constant];
    return HostTensor::wrap(c.dtype, c.dims, c.data, c.owner);
  };
  const std::optional<HostTensor> w = constant(1), scale = constant(2), zero = constant(3);
  if (!w || !scale || (step.problem.num_main > 3 && !zero)) return TensorIndex();
  const auto& params = step.problem.as<GemmParams>();
  WOOTZ_ASSIGN_OR_RETURN(HostTensor plain, HostTensor::allocate(step.problem.inputs[0].dtype, w->dims()));
  const int64_t columns = scale->dims()[1], depth = w->dims()[params.trans_b ? 1 : 0];
  for (int64_t i = 0; i < plain.volume(); ++i) {
    const int64_t k = params.trans_b ? i % depth : i / columns, n = params.trans_b ? i / depth : i % columns;
    const int64_t at = k / params.w_block * columns + n;
    plain.set_f64(i, (w->get_f64(i) - (zero ? zero->get_f64(at) : 0)) * scale->get_f64(at) * params.alpha);
  }
  return add_constant(program().tensors[step.inputs[1]].name + ".wide", plain);
}

Status LowerContext::wide_form(const Node* node, Step step) {
  WOOTZ_ASSIGN_OR_RETURN(const TensorIndex weights, wide_weights(step));
  if (!weights.exists()) return reference_step(*node);
  const auto main = static_cast<ptrdiff_t>(step.problem.num_main);
  step.inputs[1] = weights;
  step.inputs.erase(step.inputs.begin() + 2, step.inputs.begin() + main);
  step.problem.num_main = 2;
  step.problem.as<GemmParams>().w_block = 0;
  step.problem.as<GemmParams>().alpha = 1;
  return finish_step(node, std::move(step));
}

Status LowerContext::float_form(const Node* node, Step step) {
  if (step.problem.is(Family::kAttention)) return float_attention(node, std::move(step));
  const Grids grids = grids_of(step.problem);
  const Floats x_scale = *grids.x_scale, x_zero = *grids.x_zero, w_scale = *grids.w_scale, w_zero = *grids.w_zero;
  WOOTZ_ASSIGN_OR_RETURN(step.inputs[0], dequantized(step.inputs[0], at(x_scale, 0, 1), at(x_zero, 0, 0)));
  if (step.problem.family() == Family::kPool) {
    drop_grids(&step.problem);
    return finish_step(node, std::move(step));
  }
  const PlanTensor weights = program().tensors[step.inputs[1]];
  if (weights.kind == TensorKind::kConstant) {
    const PlanConstant source = program().constants[weights.constant];
    const HostTensor bytes = HostTensor::wrap(source.dtype, source.dims, source.data, source.owner);
    WOOTZ_ASSIGN_OR_RETURN(HostTensor plain, HostTensor::allocate(DType::kF32, source.dims));
    const ChannelWalk channel = channels_of(step.problem, source.dims);
    for (int64_t i = 0; i < plain.volume(); ++i) {
      const int64_t c = channel.at(i);
      plain.set_f64(i, (bytes.get_f64(i) - at(w_zero, c, 0)) * at(w_scale, c, 1));
    }
    step.inputs[1] = add_constant(source.name + ".f32", plain);
  } else {
    WOOTZ_ASSIGN_OR_RETURN(step.inputs[1], dequantized(step.inputs[1], at(w_scale, 0, 1), at(w_zero, 0, 0)));
  }
  drop_grids(&step.problem);
  return finish_step(node, std::move(step));
}

}  // namespace wootz
