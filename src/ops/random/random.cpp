// Random tensors. RandomState gives what they are drawn from, other than the last time in every inference; what is
// drawn from a state follows from it alone (base/philox.h). The generator is ours: other runtimes give other numbers.
#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// Attribute "key": the state is then the same in the first inference of every context. None: another for each.
Status infer_state(InferContext& ctx) {
  ctx.set_output(0, DType::kI64, {Dim(2)});
  return Status();
}

// As the first inference of a context has it; what counts further is the kernel (backends/random_state.h).
Status state_reference(EvalContext& ctx) {
  ctx.outputs[0].set_i64(0, ctx.node.has_attr("key") ? ctx.node.attr_int("key") : fresh_random_key());
  ctx.outputs[0].set_i64(1, 0);
  return Status();
}

// Input 0 of all that draw.
Status check_state(const InferContext& ctx) {
  if (ctx.dtype(0) != DType::kI64 || ctx.rank(0) != 1 || !(ctx.shape(0)[0] == Dim(2)))
    return ctx.fail("the random state is {}{}, it must be i64[2]", dtype_name(ctx.dtype(0)),
                    shape_to_string(ctx.shape(0)));
  return Status();
}
RandomState state_of(const EvalContext& ctx) { return {ctx.in(0).get_i64(0), ctx.in(0).get_i64(1)}; }

// Inputs: state, what the result is shaped like unless attribute "shape" says it.
Status infer_random(InferContext& ctx) {
  const Node& node = ctx.node();
  const std::string kind = node.attr_string("distribution");
  if (kind != "normal" && kind != "uniform") return ctx.fail("distribution '{}' is not known", kind);
  WOOTZ_RETURN_IF_ERROR(check_state(ctx));
  const DType dtype = node.attr_dtype("dtype", ctx.has(1) ? ctx.dtype(1) : DType::kF32);
  if (!is_float(dtype)) return ctx.fail("dtype is {}, it must be a floating-point type", dtype_name(dtype));
  Shape shape;
  if (ctx.has(1)) {
    shape = ctx.shape(1);
  } else {
    for (int64_t d : node.attr_ints("shape")) shape.emplace_back(d);
  }
  ctx.set_output(0, dtype, std::move(shape));
  return Status();
}

Status random_reference(EvalContext& ctx) {
  const Node& node = ctx.node;
  const RandomState state = state_of(ctx);
  const bool normal = node.attr_string("distribution") == "normal";
  const double mean = node.attr_float("mean", 0), scale = node.attr_float("scale", 1);
  const double low = node.attr_float("low", 0), high = node.attr_float("high", 1);
  for (int64_t i = 0; i < ctx.outputs[0].volume(); ++i) {
    const RandomDraw draw = state.at(i);
    ctx.outputs[0].set_f64(i, normal ? mean + scale * draw.normal() : low + (high - low) * draw.uniform);
  }
  return Status();
}

// Inputs: state, probabilities.
Status infer_bernoulli(InferContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(check_state(ctx));
  if (!is_float(ctx.dtype(1))) return ctx.fail("the probabilities are {}", dtype_name(ctx.dtype(1)));
  const DType dtype = ctx.node().attr_dtype("dtype", ctx.dtype(1));
  if (!accepts(Accept::kAny, dtype)) return ctx.fail("dtype is {}", dtype_name(dtype));
  ctx.set_output(0, dtype, ctx.shape(1));
  return Status();
}

Status bernoulli_reference(EvalContext& ctx) {
  const RandomState state = state_of(ctx);
  for (int64_t i = 0; i < ctx.outputs[0].volume(); ++i)
    ctx.outputs[0].set_i64(i, state.at(i).uniform < ctx.in(1).get_f64(i));
  return Status();
}

Status infer_multinomial(InferContext& ctx) {
  const DType dtype = ctx.node().attr_dtype("dtype", DType::kI32);
  const int64_t samples = ctx.node().attr_int("sample_size", 1);
  WOOTZ_RETURN_IF_ERROR(check_state(ctx));
  if (!is_float(ctx.dtype(1)) || ctx.rank(1) != 2)
    return ctx.fail("the log-probabilities are {}{}, they must be a floating-point matrix", dtype_name(ctx.dtype(1)),
                    shape_to_string(ctx.shape(1)));
  if (dtype != DType::kI32 && dtype != DType::kI64)
    return ctx.fail("dtype is {}, it must be i32 or i64", dtype_name(dtype));
  if (samples < 0) return ctx.fail("sample_size is {}", samples);
  ctx.set_output(0, dtype, {ctx.shape(1)[0], Dim(samples)});
  return Status();
}

// Inputs: state, unnormalized log-probabilities [batch, classes].
Status multinomial_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(1);
  const int64_t classes = x.dims()[1], samples = ctx.outputs[0].dims()[1];
  if (classes == 0) return invalid_argument("there are no classes to draw from");
  const RandomState state = state_of(ctx);
  for (int64_t b = 0; b < x.dims()[0]; ++b) {
    double top = x.get_f64(b * classes);
    for (int64_t c = 1; c < classes; ++c) top = std::max(top, x.get_f64(b * classes + c));
    std::vector<double> up_to(static_cast<size_t>(classes));
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      up_to[static_cast<size_t>(c)] = sum += std::exp(x.get_f64(b * classes + c) - top);
    for (int64_t s = 0; s < samples; ++s) {
      const double at = state.at(b * samples + s).uniform * sum;
      const auto it = std::upper_bound(up_to.begin(), up_to.end(), at);
      ctx.outputs[0].set_i64(b * samples + s, std::min<int64_t>(it - up_to.begin(), classes - 1));
    }
  }
  return Status();
}

const OpDef kState{.name = "RandomState",
                   .min_inputs = 0,
                   .max_inputs = 0,
                   .attributes = {{"key", AttrKind::kInt}},
                   .infer = infer_state,
                   .reference = state_reference,
                   .traits = {.foldable = false, .has_side_effects = true}};
const OpDef kRandom{.name = "Random",
                    .max_inputs = 2,
                    .attributes = {{"distribution", AttrKind::kString, true},
                                   {"shape", AttrKind::kInts},
                                   {"dtype", AttrKind::kDType},
                                   {"mean", AttrKind::kFloat},
                                   {"scale", AttrKind::kFloat},
                                   {"low", AttrKind::kFloat},
                                   {"high", AttrKind::kFloat}},
                    .infer = infer_random,
                    .reference = random_reference};
const OpDef kBernoulli{.name = "Bernoulli",
                       .min_inputs = 2,
                       .max_inputs = 2,
                       .attributes = {{"dtype", AttrKind::kDType}},
                       .infer = infer_bernoulli,
                       .reference = bernoulli_reference};
const OpDef kMultinomial{.name = "Multinomial",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .attributes = {{"dtype", AttrKind::kDType}, {"sample_size", AttrKind::kInt}},
                         .infer = infer_multinomial,
                         .reference = multinomial_reference};
const OpDef* const kRandomDefs[] = {&kState, &kRandom, &kBernoulli, &kMultinomial};

}  // namespace

std::span<const OpDef* const> random_ops() { return kRandomDefs; }

}  // namespace wootz::ops
