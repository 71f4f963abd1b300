// Softmax, LogSoftmax and Hardmax along one axis.
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

Status infer_softmax(InferContext& ctx) {
  if (!is_float(ctx.dtype(0))) return ctx.fail("input of type {}", dtype_name(ctx.dtype(0)));
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", -1), ctx.rank(0));
  if (!axis.ok()) return ctx.fail("{} of input {}", axis.status().message(), shape_to_string(ctx.shape(0)));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
  return {};
}

void softmax(std::span<double> v) {
  double top = -INFINITY, sum = 0;
  for (double x : v) top = std::isnan(x) || x > top ? x : top;
  for (double& x : v) sum += x = std::exp(x - top);
  for (double& x : v) x /= sum;
}

void log_softmax(std::span<double> v) {
  double top = -INFINITY, sum = 0;
  for (double x : v) top = std::isnan(x) || x > top ? x : top;
  for (double x : v) sum += std::exp(x - top);
  const double shift = top + std::log(sum);
  for (double& x : v) x -= shift;
}

void hardmax(std::span<double> v) {
  size_t best = 0;
  for (size_t i = 1; i < v.size(); ++i)
    if (v[i] > v[best]) best = i;
  for (size_t i = 0; i < v.size(); ++i) v[i] = i == best;
}

template <void (*kLine)(std::span<double>)>
Status reference_lines(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", -1), x.rank()));
  std::vector<double> data = load_f64(x);
  const auto length = static_cast<size_t>(x.dims()[static_cast<size_t>(axis)]);
  const auto step = static_cast<size_t>(x.dims().strides()[static_cast<size_t>(axis)]);
  std::vector<double> line(length);
  for (size_t outer = 0; length > 0 && outer < data.size(); outer += length * step) {
    for (size_t inner = 0; inner < step; ++inner) {
      for (size_t i = 0; i < length; ++i) line[i] = data[outer + inner + i * step];
      kLine(line);
      for (size_t i = 0; i < length; ++i) data[outer + inner + i * step] = line[i];
    }
  }
  store_f64(&ctx.outputs[0], 0, data);
  return {};
}

const OpDef kSoftmax{.name = "Softmax",
                     .attributes = {{"axis", AttrKind::kInt}},
                     .infer = infer_softmax,
                     .reference = reference_lines<softmax>,
                     .lowering = Lowering::kSoftmax};
const OpDef kLogSoftmax{.name = "LogSoftmax",
                        .attributes = {{"axis", AttrKind::kInt}},
                        .infer = infer_softmax,
                        .reference = reference_lines<log_softmax>,
                        .lowering = Lowering::kSoftmax};
const OpDef kHardmax{.name = "Hardmax",
                     .attributes = {{"axis", AttrKind::kInt}},
                     .infer = infer_softmax,
                     .reference = reference_lines<hardmax>};

}  // namespace

std::span<const OpDef* const> softmax_ops() {
  static const OpDef* const kSoftmaxDefs[] = {&kSoftmax, &kLogSoftmax, &kHardmax};
  return kSoftmaxDefs;
}

}  // namespace wootz::ops
