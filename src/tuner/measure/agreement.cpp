#include "tuner/measure/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "backend/chain_sum.h"
#include "backend/quantized.h"
#include "base/tolerance.h"

namespace wootz {

namespace {

// Elements that share a mean; they lie one after the other. 1: nothing is subtracted.
int64_t normalized_together(const NormParams& norm, const Dims& x) {
  const auto from = [&](int64_t axis) {
    int64_t n = 1;
    for (size_t a = static_cast<size_t>(axis); a < x.size(); ++a) n *= x[a];
    return n;
  };
  switch (norm.kind) {
    case NormKind::kLayer: return from(norm.axis);
    case NormKind::kInstance: return from(2);
    case NormKind::kGroup: return from(1) / std::max<int64_t>(1, norm.groups);
    default: return 1;
  }
}

// What subtracting the mean leaves of rounding is divided by the standard deviation: the largest ratio of a magnitude
// to its group's deviation.
double largest_over_deviation(const NormParams& norm, const HostTensor& x) {
  const int64_t together = normalized_together(norm, x.dims());
  double most = 0;
  for (int64_t first = 0; together > 1 && first + together <= x.volume(); first += together) {
    double sum = 0, squares = 0, largest = 0;
    for (int64_t i = first; i < first + together; ++i) sum += x.get_f64(i);
    const double mean = sum / static_cast<double>(together);
    for (int64_t i = first; i < first + together; ++i) {
      const double v = x.get_f64(i);
      squares += (v - mean) * (v - mean);
      largest = std::max(largest, std::fabs(v));
    }
    const double ratio = largest / std::sqrt(squares / static_cast<double>(together) + norm.epsilon);
    if (std::isfinite(ratio)) most = std::max(most, ratio);
  }
  return most;
}

double norm_noise(const Problem& problem, const std::vector<HostTensor>& inputs) {
  const auto& norm = problem.as<NormParams>();
  const bool scaled = norm.has_scale && inputs.size() > 1 && inputs[1].valid();
  const double factor = scaled ? largest_magnitude(inputs[1]) : 1;
  return cancellation_noise(problem.acc_dtype, largest_over_deviation(norm, inputs[0]) * factor, 1);
}

// GELU is x times the half of 1 + erf(x): what the sum rounds is all that is left of it where x is far below 0.
double pointwise_noise(const Problem& problem, const std::vector<HostTensor>& inputs) {
  const bool cancels = std::any_of(problem.epilogue.code.begin(), problem.epilogue.code.end(),
                                   [](const PwInstr& i) { return i.op == PwOp::kGeluErf || i.op == PwOp::kGeluTanh; });
  double largest = 0;
  for (const HostTensor& t : inputs)
    if (cancels && t.valid() && is_float(t.dtype())) largest = std::max(largest, largest_magnitude(t));
  // Half of the last place of 1, times x / 2 and a little.
  return cancellation_noise(problem.acc_dtype, largest / 8, 1);
}

// The longest line of a matrix, along its last axis or the one before it; an element as `value` gives it.
template <class Value>
double longest_line(const Dims& dims, bool along_last, Value value) {
  const size_t rank = dims.size();
  if (rank < 2) return 0;
  const int64_t columns = dims[rank - 1], rows = dims[rank - 2];
  const int64_t lines = along_last ? rows : columns, length = along_last ? columns : rows;
  double most = 0;
  for (int64_t first = 0; first < dims.volume(); first += rows * columns)
    for (int64_t line = 0; line < lines; ++line) {
      double squares = 0;
      for (int64_t i = 0; i < length; ++i) {
        const double v = value(first + (along_last ? line * columns + i : i * columns + line));
        squares += v * v;
      }
      most = std::max(most, squares);
    }
  return std::sqrt(most);
}

// The longest column of a product's weights, which are `given[0]`; packed ones have scales and zero points after them.
double longest_column(const Problem& product, std::span<const HostTensor> given) {
  const auto& gemm = product.as<GemmParams>();
  if (given.empty() || !given[0].valid()) return 0;
  const HostTensor& w = given[0];
  if (gemm.w_block == 0) return longest_line(w.dims(), gemm.trans_b, [&](int64_t i) { return w.get_f64(i); });
  if (given.size() < 2 || !given[1].valid()) return 0;
  const bool zeros = product.num_main > 3 && given.size() > 2 && given[2].valid();
  const int64_t columns = std::max<int64_t>(1, given[1].dims().back()), depth = w.volume() / columns;
  return longest_line(w.dims(), gemm.trans_b, [&](int64_t i) {
    const int64_t k = gemm.trans_b ? i % depth : i / columns, n = gemm.trans_b ? i / depth : i % columns;
    const int64_t at = k / gemm.w_block * columns + n;
    return (w.get_f64(i) - (zeros ? given[2].get_f64(at) : 0)) * given[1].get_f64(at);
  });
}

// Half a unit of the last place of 1; 0: not a narrow type.
double rounded_off(DType type) { return type == DType::kF16 ? 0x1p-11 : type == DType::kBF16 ? 0x1p-8 : 0; }

// What packed weights of small floats are multiplied by, at most. (Integers' errors are above those of their scales.)
double largest_scale(const Problem& product, const std::vector<HostTensor>& inputs) {
  const auto& gemm = product.as<GemmParams>();
  if (gemm.w_block == 0 || inputs.size() < 3 || !inputs[2].valid() || !is_float(inputs[1].dtype())) return 1;
  return largest_magnitude(inputs[2]) * std::fabs(gemm.alpha);
}

double largest_of(const Floats& scales) { return scales.empty() ? 0 : *std::max_element(scales.begin(), scales.end()); }

// What values of a grid are multiplied by once they are summed, at most.
double grid_scale(const Problem& problem) {
  const Grids grids = grids_of(problem);
  return (grids.x_scale->empty() ? 1 : largest_of(*grids.x_scale)) *
         (grids.w_scale->empty() ? 1 : largest_of(*grids.w_scale));
}

double finite(double noise) { return std::isfinite(noise) ? noise : 0; }

// What rounds a product to 16 bits before its expression reads it, where a kernel goes on in FP32: the expression may
// make little of a large sum, as GELU does far below 0. No sum is larger than the product of its operands' lengths.
double rounded_product_noise(const Problem& problem, const std::vector<HostTensor>& inputs) {
  const auto& gemm = problem.as<GemmParams>();
  if (problem.acc_dtype != DType::kBF16 || problem.epilogue.empty() || inputs.size() < 2) return 0;
  const HostTensor& x = inputs[0];
  return finite(rounded_off(problem.acc_dtype) * std::fabs(gemm.alpha) *
                longest_line(x.dims(), !gemm.trans_a, [&](int64_t i) { return x.get_f64(i); }) *
                longest_column(problem, std::span(inputs).subspan(1)));
}

// What rounds normalized rows before they are multiplied, where a kernel does not: they are the longer the more
// elements they have, whatever is left of the products' sum.
double normed_product_noise(const Problem& problem, const std::vector<HostTensor>& inputs) {
  const Result<ChainParts> parts = chain_parts(problem);
  if (!parts.ok() || !parts->first.is(Family::kNorm) || !parts->second.is(Family::kGemm)) return 0;
  const size_t own = parts->first.inputs.size();
  if (inputs.size() <= own || inputs[0].rank() == 0) return 0;
  const auto& norm = parts->first.as<NormParams>();
  const double scale = norm.has_scale && own > 1 && inputs[1].valid() ? largest_magnitude(inputs[1]) : 1;
  const double bias = norm.has_bias && own > 2 && inputs[2].valid() ? largest_magnitude(inputs[2]) : 0;
  const double row = std::sqrt(static_cast<double>(inputs[0].dims().back())) * (scale + bias);
  return finite(rounded_off(parts->second.inputs[0].dtype) * std::fabs(parts->second.as<GemmParams>().alpha) * row *
                longest_column(parts->second, std::span(inputs).subspan(own)));
}

// The largest length of an image's means, one for each channel.
double longest_means(const HostTensor& x) {
  if (x.rank() < 3 || x.volume() == 0) return 0;
  const int64_t channels = x.dims()[1], images = x.dims()[0], pixels = x.volume() / images / channels;
  double most = 0;
  for (int64_t image = 0; image < images; ++image) {
    double squares = 0;
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < pixels; ++i) sum += x.get_f64((image * channels + c) * pixels + i);
      squares += sum / static_cast<double>(pixels) * (sum / static_cast<double>(pixels));
    }
    most = std::max(most, squares);
  }
  return std::sqrt(most);
}

// The largest length of a filter, or the largest sum of its magnitudes.
double longest_filter(const HostTensor& w, bool sum) {
  const int64_t filters = w.dims()[0], length = filters == 0 ? 0 : w.volume() / filters;
  double most = 0;
  for (int64_t f = 0; f < filters; ++f) {
    double total = 0;
    for (int64_t i = f * length; i < (f + 1) * length; ++i) {
      const double v = w.get_f64(i);
      total += sum ? std::fabs(v) : v * v;
    }
    most = std::max(most, total);
  }
  return sum ? most : std::sqrt(most);
}

// In 8 bits, a mean and a hidden value next to a half may be rounded to either side.
double gate_steps(const SqueezeExciteParams& gate, const HostTensor& w1, const HostTensor& w2) {
  if (gate.x_scale.size() != 3) return 0;
  const double of_mean = gate.x_scale[1] * largest_magnitude(w1) * largest_of(gate.w1_scale);
  return finite(largest_of(gate.w2_scale) *
                (gate.x_scale[2] * 2 * largest_magnitude(w2) + of_mean * longest_filter(w2, false)));
}

// What rounds the means, and the first product of them, of a gate: of a sum of means of both signs little may be left.
// `operands`: from the first product's weights on.
double gate_noise(const Problem& gate, double means, std::span<const HostTensor> operands) {
  const auto& params = gate.as<SqueezeExciteParams>();
  const size_t second = params.has_b1 ? 2 : 1;
  if (operands.size() <= second || !operands[0].valid() || !operands[second].valid()) return 0;
  if (!params.x_scale.empty()) return gate_steps(params, operands[0], operands[second]);
  return finite(2 * rounded_off(gate.acc_dtype) * means * longest_filter(operands[0], false) *
                longest_filter(operands[second], false));
}

// The same of an image that a depthwise convolution makes: its means are about the filter's sum times those it reads.
double gated_noise(const Problem& problem, const std::vector<HostTensor>& inputs) {
  const Result<ChainParts> parts = chain_parts(problem);
  if (!parts.ok() || !parts->first.is(Family::kConv) || !parts->second.is(Family::kSqueezeExcite)) return 0;
  const size_t own = parts->first.inputs.size();
  if (inputs.size() <= own || !inputs[1].valid()) return 0;
  return gate_noise(parts->second, longest_means(inputs[0]) * longest_filter(inputs[1], true),
                    std::span(inputs).subspan(own));
}

// How large the results of convolutions one after the other may be where signs differ; `image` is the largest of the
// first operand, `rest` are the others. 0: there is something else among them.
double convolved_magnitude(const Problem& p, double image, std::span<const HostTensor> rest) {
  const auto largest = [](std::span<const HostTensor> list) {
    double most = 0;
    for (const HostTensor& t : list) most = std::max(most, t.valid() ? largest_magnitude(t) : 0);
    return most;
  };
  if (concatenates_channels(p)) return std::max(image, largest(rest));
  if (p.is(Family::kConv) && !rest.empty() && rest[0].valid() && rest[0].rank() > 2)
    return image * longest_filter(rest[0], false) + largest(rest.subspan(1));
  const bool adds = adds_results(p);
  const Result<ChainParts> parts = adds                   ? sum_parts(p)
                                   : p.is(Family::kChain) ? chain_parts(p)
                                                          : Result<ChainParts>(ChainParts());
  const size_t own = parts.ok() ? parts->first.inputs.size() : 0;
  if (own == 0 || rest.size() < own - 1) return 0;
  const double middle = convolved_magnitude(parts->first, image, rest.first(own - 1));
  if (adds && rest.size() > own - 1 && rest[own - 1].valid())
    return middle + convolved_magnitude(parts->second, largest_magnitude(rest[own - 1]), rest.subspan(own));
  return middle == 0 ? 0 : convolved_magnitude(parts->second, middle, rest.subspan(own - 1));
}

// What rounds the results in between: a channel of the last may have few results that are not far below 0.
double convolved_noise(const Problem& problem, const std::vector<HostTensor>& inputs) {
  return finite(rounded_off(problem.inputs[0].dtype) *
                convolved_magnitude(problem, largest_magnitude(inputs[0]), std::span(inputs).subspan(1)));
}

// What rounds the weights of values of 8 bits: those next to a half, and scores, to either side where the problem
// rounds them; to 16 bits where a kernel multiplies such. Of values of both signs little may be left.
double weights_noise(const Problem& problem, const std::vector<HostTensor>& inputs) {
  const auto& attention = problem.as<AttentionParams>();
  if (attention.v_scale.empty() || inputs.size() < 3 || !inputs[2].valid() || inputs[2].rank() < 3) return 0;
  const HostTensor& v = inputs[2];
  const double values = (largest_magnitude(v) + std::fabs(attention.v_zero)) * largest_of(attention.v_scale);
  const double keys = static_cast<double>(std::max<int64_t>(1, v.dims()[v.dims().size() - 2]));
  const double steps = is_float(attention.p_type) ? 16 : 2;  // of the grid, whose floats have wider ones
  return finite((steps * attention.p_scale + attention.s_scale + 2 * rounded_off(problem.acc_dtype) / std::sqrt(keys)) *
                values);
}

}  // namespace

double cancellation_noise(const Problem& problem, const std::vector<HostTensor>& inputs) {
  if (inputs.empty() || !inputs[0].valid()) return 0;
  const auto noise = [&](size_t operands, int64_t terms) {
    double term = 1;
    for (size_t i = 0; i < operands; ++i) term *= largest_magnitude(inputs[i]);
    return cancellation_noise(problem.acc_dtype, term, terms);
  };
  switch (problem.family()) {
    case Family::kPool: return problem.as<PoolParams>().kind == PoolKind::kAvg ? noise(1, 1) : 0;
    case Family::kReduce: {
      const ReduceKind kind = problem.as<ReduceParams>().kind;
      if (kind == ReduceKind::kMean) return noise(1, 1);  // the sum's divided by n
      return kind == ReduceKind::kSum ? noise(1, longest_sum(problem)) : 0;
    }
    case Family::kPointwise: return pointwise_noise(problem, inputs);
    case Family::kNorm: return norm_noise(problem, inputs);
    case Family::kGemm:
      return inputs.size() > 1 && inputs[1].valid()
                 ? std::max(noise(2, longest_sum(problem)) * largest_scale(problem, inputs) * grid_scale(problem),
                            rounded_product_noise(problem, inputs))
                 : 0;
    case Family::kChain:
      return std::max(
          {normed_product_noise(problem, inputs), gated_noise(problem, inputs), convolved_noise(problem, inputs)});
    case Family::kAttention: return weights_noise(problem, inputs);
    case Family::kSqueezeExcite: return gate_noise(problem, longest_means(inputs[0]), std::span(inputs).subspan(1));
    case Family::kConv:
      return inputs.size() > 1 && inputs[1].valid() ? noise(2, longest_sum(problem)) * grid_scale(problem) : 0;
    default: return 0;
  }
}

bool may_jump(const Problem& problem) {
  if (has_trait(problem.family(), kMayJump)) return true;
  static constexpr PwOp kJumps[] = {PwOp::kCast,  PwOp::kCastSaturate, PwOp::kMod,       PwOp::kFmod,
                                    PwOp::kEqual, PwOp::kLess,         PwOp::kLessEqual, PwOp::kGreater,
                                    PwOp::kSign,  PwOp::kGreaterEqual, PwOp::kCeil,      PwOp::kFloor,
                                    PwOp::kRound, PwOp::kQuantize,     PwOp::kShrink,    PwOp::kThresholdedRelu};
  return std::any_of(problem.epilogue.code.begin(), problem.epilogue.code.end(), [](const PwInstr& i) {
    const bool cast = i.op == PwOp::kCast || i.op == PwOp::kCastSaturate;
    return (!cast || !is_float(i.type)) && std::find(std::begin(kJumps), std::end(kJumps), i.op) != std::end(kJumps);
  });
}

double share_apart(const HostTensor& actual, const HostTensor& expected, double most) {
  int64_t apart = 0;
  for (int64_t i = 0; i < expected.volume(); ++i) {
    const double a = actual.get_f64(i), b = expected.get_f64(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    apart += !same && !(std::fabs(a - b) <= most);
  }
  return static_cast<double>(apart) / static_cast<double>(std::max<int64_t>(1, expected.volume()));
}

Allowance allowance_for(const Problem& problem, size_t output, DType dtype, int64_t longest) {
  Allowance a;
  a.tolerance = tolerance_for(dtype, longest);
  if (is_float(dtype) && is_float(problem.acc_dtype))
    a.tolerance = std::max(a.tolerance, tolerance_for(problem.acc_dtype, longest));
  if (const auto* rows = problem.as_if<QuantizeRowsParams>(); rows != nullptr && !problem.inputs.empty()) {
    // Rows of 16 bits that are rounded otherwise have other scales, too.
    const DType type = rows->value.empty() ? problem.inputs[0].dtype : rows->value.output_type();
    a.tolerance = std::max(a.tolerance, tolerance_for(type, longest));
    if (is_integer(dtype)) a.slack = type == DType::kBF16 ? 2 : 1;
  }
  // A float that lies on the border between two integers may be rounded to either. Beyond quantize: any conversion.
  const auto* chain = problem.as_if<ChainParams>();
  const bool between = chain != nullptr && output == 1;
  const PointwiseExpr& epilogue = between ? chain->first_epilogue : problem.epilogue;
  if (epilogue.empty()) return a;
  // The same of narrower floats, which a result may come back from.
  for (const PwInstr& i : epilogue.code)
    if ((i.op == PwOp::kCast || i.op == PwOp::kCastSaturate) && is_float(dtype) && is_float(i.type))
      a.tolerance = std::max(a.tolerance, tolerance_for(i.type, longest));
  a.slack = rounding_slack(epilogue, between ? 0 : output);
  if (is_integer(dtype) && is_float(problem.acc_dtype)) a.slack = std::max(a.slack, 1.0);
  return a;
}

namespace {

bool same_bytes(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() && a.bytes() == b.bytes() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace

std::string disagreement(const Problem& problem, const CheckCase& expected, const std::vector<HostTensor>& actual,
                         double* error, double allowed, double stray) {
  for (size_t o = 0; o < expected.expected.size() && o < actual.size(); ++o) {
    if (!expected.expected[o].valid() || !actual[o].valid() || same_bytes(expected.expected[o], actual[o])) continue;
    const DType dtype = expected.expected[o].dtype();
    auto [tolerance, slack] = allowance_for(problem, o, dtype, longest_sum(problem));
    if (is_float(dtype)) tolerance = std::max(tolerance, allowed);
    Difference d = compare(actual[o], expected.expected[o]);
    if (!within(d, tolerance) && is_float(dtype))
      d = compare(actual[o], expected.expected[o], cancellation_noise(problem, expected.inputs));
    *error = std::max(*error, d.relative);
    const bool strays = stray > 0 && !d.shape_mismatch &&
                        share_apart(actual[o], expected.expected[o], slack + tolerance * d.scale) <= stray;
    if (!within(d, tolerance, slack) && !strays)
      return fmt::format("output {} differs from the reference: {}; allowed: {:.3g}", o, to_string(d), tolerance);
  }
  return {};
}

}  // namespace wootz
