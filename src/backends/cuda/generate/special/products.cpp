// Sums of products that no library takes, one thread a result: Einsum of any equation, products and convolutions of
// integers with zero points, and windows whose padding follows from extents.
#include <algorithm>
#include <map>

#include "backend/quantized.h"
#include "backends/cuda/generate/special/special.h"
#include "backends/cuda/generate/window.h"

namespace wootz::cuda {
namespace {

struct Windows {
  Ints strides, dilations, pads;
};

// At these extents, where the op says how it pads and not how much. P: has auto_pad, strides, dilations and pads.
template <typename P>
Result<Windows> settle_padding(const P& op, const Dims& x, const Ints& kernel) {
  const size_t n = x.size() - 2;
  const auto listed = [](const Ints& given, Ints otherwise) { return given.empty() ? otherwise : given; };
  Windows to{listed(op.strides, Ints(n, 1)), listed(op.dilations, Ints(n, 1)), listed(op.pads, Ints(2 * n, 0))};
  WOOTZ_RETURN_IF_ERROR(check_values(to.strides, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(to.dilations, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(to.pads, 2 * n, 0));
  WOOTZ_RETURN_IF_ERROR(check_values(kernel, n, 1));
  if (op.auto_pad == AutoPad::kValid) to.pads.assign(2 * n, 0);
  if (op.auto_pad != AutoPad::kSameUpper && op.auto_pad != AutoPad::kSameLower) return to;
  for (size_t i = 0; i < n; ++i) {
    const int64_t in = x[i + 2], out = (in + to.strides[i] - 1) / to.strides[i];
    const int64_t total = std::max<int64_t>(0, (out - 1) * to.strides[i] + (kernel[i] - 1) * to.dilations[i] + 1 - in);
    to.pads[i] = op.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
    to.pads[i + n] = total - to.pads[i];
  }
  return to;
}

}  // namespace

Status generate_auto_padded_conv(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &f = args.inputs[1];
  if (x.rank() < 3 || f.rank() != x.rank()) return unsupported("{} by {}", x.to_string(), f.to_string());
  Problem conv = p;
  const bool bias = has_operand(p, 2);
  conv.num_main = bias ? 3 : 2;
  conv.inputs.resize(static_cast<size_t>(conv.num_main));
  const auto& op = *op_params<AutoPaddedConvOpParams>(p);
  WOOTZ_ASSIGN_OR_RETURN(Windows windows, settle_padding(op, x, {f.begin() + 2, f.end()}));
  conv.params = ConvParams{.strides = std::move(windows.strides),
                           .dilations = std::move(windows.dilations),
                           .pads = std::move(windows.pads),
                           .groups = op.groups,
                           .has_bias = bias,
                           .x_scale = op.x_scale,
                           .x_zero = op.x_zero,
                           .w_scale = op.w_scale,
                           .w_zero = op.w_zero};
  return generate_conv(conv, args, launches);
}

Status generate_auto_padded_pool(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims& x = args.inputs[0];
  if (p.inputs.empty() || x.rank() < 3) return unsupported("pool of {}", x.to_string());
  Problem pool = p;
  pool.num_main = 1;
  const auto& op = *op_params<AutoPaddedPoolOpParams>(p);
  if (!op.x_scale.empty()) return unsupported("averages of 8 bits");
  WOOTZ_ASSIGN_OR_RETURN(Windows windows, settle_padding(op, x, op.kernel));
  pool.params = PoolParams{.kind = op.kind,
                           .kernel = op.kernel,
                           .strides = std::move(windows.strides),
                           .dilations = std::move(windows.dilations),
                           .pads = std::move(windows.pads),
                           .global = op.global,
                           .count_include_pad = op.count_include_pad,
                           .p = op.p,
                           .storage_order = op.storage_order};
  return generate_pool(pool, args, launches);
}

namespace {

// By label: its extent, and its stride in each operand.
struct Labels {
  std::map<int64_t, int64_t> extents;
  std::vector<std::map<int64_t, int64_t>> strides;
  Axis axis(int64_t label) const {
    Axis a{extents.at(label), {}};
    for (const auto& of_operand : strides) {
      const auto found = of_operand.find(label);
      a.strides.push_back(found == of_operand.end() ? 0 : found->second);
    }
    return a;
  }
};

Result<Labels> read_labels(const Problem& p, const BindArgs& args) {
  const auto& op = *op_params<EinsumOpParams>(p);
  const Dims& y = args.outputs[0];
  if (op.result.size() != y.size()) return invalid_argument("{} labels of {}", op.result.size(), y.to_string());
  Labels labels;
  labels.strides.resize(p.inputs.size());
  for (size_t k = 0; k < p.inputs.size(); ++k) {
    const Ints term = k < op.terms.size() ? op.terms[k] : Ints();
    const Dims &x = args.inputs[k], s = x.strides();
    if (term.size() != x.size() || p.inputs[k].dtype != p.outputs[0].dtype)
      return invalid_argument("{} labels of {}", term.size(), x.to_string());
    for (size_t a = 0; a < term.size(); ++a) {
      int64_t& extent = labels.extents.try_emplace(term[a], 1).first->second;
      if (x[a] == 1) continue;
      if (extent != 1 && extent != x[a]) return invalid_argument("label {} is {} and {}", term[a], extent, x[a]);
      extent = x[a];
      labels.strides[k][term[a]] += s[a];  // a label that comes twice walks the diagonal
    }
  }
  for (size_t a = 0; a < y.size(); ++a)
    if (labels.extents.try_emplace(op.result[a], 1).first->second != y[a])
      return invalid_argument("{} as {}", op.result[a], y.to_string());
  return labels;
}

// What special/einsum.cuh asks for.
void add_labels(const Labels& labels, const Ints& result, KernelSource* source) {
  std::vector<Axis> kept;
  for (const int64_t label : result) kept.push_back(labels.axis(label));
  std::vector<Axis> summed;
  for (const auto& [label, extent] : labels.extents)
    if (std::find(result.begin(), result.end(), label) == result.end()) summed.push_back(labels.axis(label));
  std::vector<std::string> names;
  std::string members, starts, moves, product;
  for (size_t k = 0; k < labels.strides.size(); ++k) {
    names.push_back(fmt::format("x{}", k));
    const char *comma = k == 0 ? "" : ", ", *times = k == 0 ? "" : " * ";
    members += fmt::format("{}x{}", comma, k);
    starts += fmt::format("{}begin.x{}", comma, k);
    moves += fmt::format("{0}at.x{1} + l * stride_x{1}(c, k)", comma, k);
    product += fmt::format("{0}(A)w_get(p.x{1}[at.x{1}])", times, k);
    std::vector<int64_t> steps;
    for (const Axis& axis : summed) steps.push_back(axis.strides[k]);
    source->list(fmt::format("stride_x{}", k), steps);
  }
  std::vector<int64_t> extents;
  for (const Axis& axis : summed) extents.push_back(axis.extent);
  source->fixed("kSummed", static_cast<int64_t>(summed.size()));
  source->list("extent", extents);
  source->walk("Begin", "begin_of", merge_axes(std::move(kept)), names);
  source->code("struct At {\n  s64 " + members + ";\n};\n");
  source->code("W_FN At at(const Constants& c, s64 i) {\n  const Begin begin = begin_of(c, i);\n  return {" + starts +
               "};\n}\n");
  source->code("W_FN At moved(const Constants& c, const At& at, int k, s64 l) {\n  return {" + moves + "};\n}\n");
  source->code("W_FN A product(const Operands& p, const At& at) {\n  return " + product + ";\n}\n");
}

}  // namespace

Status generate_einsum(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  WOOTZ_ASSIGN_OR_RETURN(const Labels labels, read_labels(p, args));
  const DType type = p.outputs[0].dtype;
  const int64_t count = args.outputs[0].volume();
  if (count == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/einsum.cuh", p, args, count));
  source.type("A", type == DType::kF64 ? "double" : is_float(type) ? "float" : "u64");
  add_labels(labels, op_params<EinsumOpParams>(p)->result, &source);
  return finish_each(count, &source, launches);
}

// Operands of 8 bits, zero points: one, or one for each row of a and column of b.
Status generate_integer_product(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &a = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  if (a.rank() < 2 || b.rank() < 2 || y.rank() < 2 || !is_int8(p.inputs[0].dtype) || !is_int8(p.inputs[1].dtype) ||
      p.outputs[0].dtype != DType::kI32)
    return unsupported("product of {} and {}", a.to_string(), b.to_string());
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k || y[y.size() - 2] != m || y.back() != n)
    return invalid_argument("product of {} and {} gives {}", a.to_string(), b.to_string(), y.to_string());
  for (size_t z = 2; z < 4; ++z)
    if (has_operand(p, z) && (!is_int8(p.inputs[z].dtype) || args.inputs[z].volume() < 1))
      return unsupported("zero points {}", args.inputs[z].to_string());
  if (y.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> as, batch_strides(a, y));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> bs, batch_strides(b, y));
  std::vector<Axis> batch;
  for (size_t d = 0; d + 2 < y.size(); ++d) batch.push_back({y[d], {as[d], bs[d]}});
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/integer_product.cuh", p, args, y.volume()));
  source.fixed("kZeroA", has_operand(p, 2));
  source.fixed("kZeroB", has_operand(p, 3));
  source.number("rows", m);
  source.number("columns", n);
  source.number("depth", k);
  source.number("zeros_a", has_operand(p, 2) ? args.inputs[2].volume() : 1);
  source.number("zeros_b", has_operand(p, 3) ? args.inputs[3].volume() : 1);
  source.walk("Matrices", "matrices", merge_axes(std::move(batch)), {"a", "b"});
  return finish_each(y.volume(), &source, launches);
}

Status generate_integer_conv(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  if (x.rank() < 3 || x.rank() > 5 || f.rank() != x.rank() || y.rank() != x.rank() || !is_int8(p.inputs[0].dtype) ||
      !is_int8(p.inputs[1].dtype) || p.outputs[0].dtype != DType::kI32)
    return unsupported("convolution of {} by {}", x.to_string(), f.to_string());
  const auto& op = *op_params<ConvIntegerOpParams>(p);
  WOOTZ_ASSIGN_OR_RETURN(const Windows windows, settle_padding(op, x, {f.begin() + 2, f.end()}));
  const auto& [strides, dilations, pads] = windows;
  const int64_t groups = op.groups;
  if (groups < 1 || x[1] % groups != 0 || y[1] % groups != 0 || f[0] != y[1] || f[1] != x[1] / groups || y[0] != x[0])
    return invalid_argument("{} by {} in {} groups gives {}", x.to_string(), f.to_string(), groups, y.to_string());
  if ((has_operand(p, 2) && (args.inputs[2].volume() != 1 || !is_int8(p.inputs[2].dtype))) ||
      (has_operand(p, 3) &&
       ((args.inputs[3].volume() != 1 && args.inputs[3].volume() != y[1]) || !is_int8(p.inputs[3].dtype))))
    return invalid_argument("zero points of {}", x.to_string());
  if (y.volume() == 0) return Status();
  const Dims xs = x.strides(), fs = f.strides();
  const auto of_image = [](const Dims& d) { return std::vector<int64_t>(d.begin() + 2, d.end()); };
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/integer_conv.cuh", p, args, y.volume()));
  source.fixed("kAxes", x.rank() - 2);
  source.fixed("kZeroX", has_operand(p, 2));
  source.fixed("kZeroF", has_operand(p, 3));
  source.fixed("kZeroEach", has_operand(p, 3) && args.inputs[3].volume() != 1);
  source.number("outputs", y[1]);
  source.number("per_group", y[1] / groups);
  source.number("channels", f[1]);
  source.number("image", xs[0]);
  source.number("plane", xs[1]);
  source.number("filter", fs[0]);
  source.number("window", fs[1]);
  source.list("result", of_image(y));
  source.list("extent", of_image(x));
  source.list("taps", of_image(f));
  source.list("stride", strides);
  source.list("dilation", dilations);
  source.list("pad", pads);
  source.list("step", of_image(xs));
  source.list("tap_step", of_image(fs));
  return finish_each(y.volume(), &source, launches);
}

}  // namespace wootz::cuda
