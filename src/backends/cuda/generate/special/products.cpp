// Sums of products that no library takes, one thread a result: Einsum of any equation, products and convolutions of
// integers with zero points, and windows whose padding follows from extents.
#include <algorithm>

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

Status generate_einsum(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const DType type = p.outputs[0].dtype;
  const Dims& y = args.outputs[0];
  const auto& op = *op_params<EinsumOpParams>(p);
  const Ints& result = op.result;
  if (result.size() != y.size()) return invalid_argument("{} labels of {}", result.size(), y.to_string());
  std::map<int64_t, int64_t> extents;
  std::vector<std::map<int64_t, int64_t>> strides(p.inputs.size());
  for (size_t k = 0; k < p.inputs.size(); ++k) {
    const Ints term = k < op.terms.size() ? op.terms[k] : Ints();
    const Dims &x = args.inputs[k], s = x.strides();
    if (term.size() != x.size() || p.inputs[k].dtype != type)
      return invalid_argument("{} labels of {}", term.size(), x.to_string());
    for (size_t a = 0; a < term.size(); ++a) {
      int64_t& extent = extents.try_emplace(term[a], 1).first->second;
      if (x[a] == 1) continue;
      if (extent != 1 && extent != x[a]) return invalid_argument("label {} is {} and {}", term[a], extent, x[a]);
      extent = x[a];
      strides[k][term[a]] += s[a];  // a label that comes twice walks the diagonal
    }
  }
  for (size_t a = 0; a < y.size(); ++a)
    if (extents.try_emplace(result[a], 1).first->second != y[a])
      return invalid_argument("{} as {}", result[a], y.to_string());
  if (y.volume() == 0) return Status();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  w.line("  typedef {} A; typedef {} R; A sum = 0; s64 rest = i;",
         type == DType::kF64 ? "double"
         : is_float(type)    ? "float"
                             : "u64",
         register_type(type));
  for (size_t a = y.size(); a-- > 0;) w.line("  const s64 l{0} = rest % {1}; rest /= {1};", result[a], y[a]);
  for (const auto& [label, extent] : extents)
    if (std::find(result.begin(), result.end(), label) == result.end())
      w.line("  for (s64 l{0} = 0; l{0} < {1}; ++l{0})", label, extent);
  std::string product;
  for (size_t k = 0; k < p.inputs.size(); ++k) {
    std::string at = "0";
    for (const auto& [label, stride] : strides[k]) at += fmt::format(" + l{} * {}", label, stride);
    product += fmt::format("{}(A)w_get(x{}[{}])", k == 0 ? "" : " * ", k, at);
  }
  w.line("    sum += {};\n  y0[i] = Put<{}>::to((R)sum);", product, storage_type(type));
  end_special(&w, std::move(launch), launches);
  return Status();
}

// Operands of 8 bits, zero points: one, or one for each row of a and column of b.
Status generate_integer_product(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &a = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  if (a.rank() < 2 || b.rank() < 2 || y.rank() < 2 || !is_byte(p.inputs[0].dtype) || !is_byte(p.inputs[1].dtype) ||
      p.outputs[0].dtype != DType::kI32)
    return unsupported("product of {} and {}", a.to_string(), b.to_string());
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k || y[y.size() - 2] != m || y.back() != n)
    return invalid_argument("product of {} and {} gives {}", a.to_string(), b.to_string(), y.to_string());
  for (size_t z = 2; z < 4; ++z)
    if (has_operand(p, z) && (!is_byte(p.inputs[z].dtype) || args.inputs[z].volume() < 1))
      return unsupported("zero points {}", args.inputs[z].to_string());
  if (y.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> as, batch_strides(a, y));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> bs, batch_strides(b, y));
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  w.line(
      "  s64 rest = i, at = 0, bt = 0;\n  const s64 c = rest % {0}; rest /= {0};\n  const s64 r = rest % {1}; rest /= "
      "{1};",
      n, m);
  for (size_t d = y.size() - 2; d-- > 0;)
    w.line("  at += rest % {0} * {1}; bt += rest % {0} * {2}; rest /= {0};", y[d], as[d], bs[d]);
  const auto zero = [&](size_t input, const char* place) {
    return has_operand(p, input) ? fmt::format("(int)w_get(x{}[{} % {}])", input, place, args.inputs[input].volume())
                                 : std::string("0");
  };
  w.line("  const int za = {}, zb = {};\n  u32 sum = 0;", zero(2, "r"), zero(3, "c"));
  w.line(
      "  for (int k = 0; k < {0}; ++k) sum += (u32)(((int)x0[at + r * {0} + k] - za) * ((int)x1[bt + (s64)k * {1} + c] "
      "- zb));",
      k, n);
  w.line("  y0[i] = (int)sum;");
  end_special(&w, std::move(launch), launches);
  return Status();
}

Status generate_integer_conv(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  if (x.rank() < 3 || x.rank() > 5 || f.rank() != x.rank() || y.rank() != x.rank() || !is_byte(p.inputs[0].dtype) ||
      !is_byte(p.inputs[1].dtype) || p.outputs[0].dtype != DType::kI32)
    return unsupported("convolution of {} by {}", x.to_string(), f.to_string());
  const auto& op = *op_params<ConvIntegerOpParams>(p);
  WOOTZ_ASSIGN_OR_RETURN(const Windows windows, settle_padding(op, x, {f.begin() + 2, f.end()}));
  const auto& [strides, dilations, pads] = windows;
  const int64_t groups = op.groups;
  if (groups < 1 || x[1] % groups != 0 || y[1] % groups != 0 || f[0] != y[1] || f[1] != x[1] / groups || y[0] != x[0])
    return invalid_argument("{} by {} in {} groups gives {}", x.to_string(), f.to_string(), groups, y.to_string());
  if ((has_operand(p, 2) && (args.inputs[2].volume() != 1 || !is_byte(p.inputs[2].dtype))) ||
      (has_operand(p, 3) &&
       ((args.inputs[3].volume() != 1 && args.inputs[3].volume() != y[1]) || !is_byte(p.inputs[3].dtype))))
    return invalid_argument("zero points of {}", x.to_string());
  if (y.volume() == 0) return Status();
  const Dims xs = x.strides(), fs = f.strides();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  w.line("  s64 rest = i;");
  for (size_t d = y.size(); d-- > 0;) w.line("  const int d{0} = (int)(rest % {1}); rest /= {1};", d, y[d]);
  w.line("  const int zx = {}, zf = {};", has_operand(p, 2) ? "(int)w_get(x2[0])" : "0",
         !has_operand(p, 3)             ? "0"
         : args.inputs[3].volume() == 1 ? "(int)w_get(x3[0])"
                                        : "(int)w_get(x3[d1])");
  std::string at = fmt::format("d0 * (s64){} + (d1 / {} * {} + c) * (s64){}", xs[0], y[1] / groups, f[1], xs[1]),
              weight = fmt::format("d1 * (s64){} + c * (s64){}", fs[0], fs[1]);
  w.line("  u32 sum = 0;\n  for (int c = 0; c < {}; ++c)", f[1]);
  for (size_t k = 0; k + 2 < x.size(); ++k) {
    w.line("  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{ const int q{0} = d{2} * {3} - {4} + t{0} * {5};", k, f[k + 2],
           k + 2, strides[k], pads[k], dilations[k]);
    w.line("    if (q{0} < 0 || q{0} >= {1}) continue;", k, x[k + 2]);
    at += fmt::format(" + q{} * (s64){}", k, xs[k + 2]);
    weight += fmt::format(" + t{} * (s64){}", k, fs[k + 2]);
  }
  w.line("    sum += (u32)(((int)x0[{}] - zx) * ((int)x1[{}] - zf));", at, weight);
  for (size_t k = 0; k + 2 < x.size(); ++k) w.raw("  }");
  w.line("\n  y0[i] = (int)sum;");
  end_special(&w, std::move(launch), launches);
  return Status();
}

}  // namespace wootz::cuda
