#include "base/tolerance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "base/thread_pool.h"

namespace wootz {
namespace {

// What rounding once to the type may cost, relative to the output's scale. A result may fall on the neighbouring value
// of the grid, and intermediate results of a fused step are rounded elsewhere than the reference rounds them, so each
// is a few units of the type's last place.
double rounding(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 1e-12;    // exp, erf and the like of different libraries agree to about this
    case DType::kF32: return 4e-6;     // 32 units of 2^-23: two libraries' exp, then a division by a sum of them
    case DType::kF16: return 2e-3;     // two units of 2^-10
    case DType::kBF16: return 1.6e-2;  // two units of 2^-7
    case DType::kF8E4M3:
    case DType::kF8E4M3Fnuz: return 0.13;  // one step of 2^-3
    case DType::kF8E5M2:
    case DType::kF8E5M2Fnuz: return 0.26;  // one step of 2^-2
    case DType::kF4E2M1: return 0.34;      // from 6 to 4
    case DType::kF8E8M0: return 0.51;      // from one power of two to the next
    default: return 0;                     // integers and bool are exact
  }
}

// Summing n terms in another order moves the sum like a random walk: by sqrt(n) roundings of the accumulator, which is
// f64 for f64 and f32 for everything else.
double accumulation(DType dtype, int64_t n) {
  const double walk = std::sqrt(static_cast<double>(std::max<int64_t>(n, 1)));
  if (dtype == DType::kF64) return 1e-14 * walk;
  return dtype == DType::kF32 ? 1e-6 * walk : 4e-6 * walk;  // narrow: intermediate operands were rounded too
}

double integer_distance(const HostTensor& a, const HostTensor& b, int64_t i) {
  const int64_t x = a.get_i64(i), y = b.get_i64(i);
  const auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  const bool above = a.dtype() == DType::kU64 ? ux > uy : x > y;
  return static_cast<double>(above ? ux - uy : uy - ux);  // exact enough: unequal never gives 0
}

}  // namespace

double tolerance_for(DType dtype, int64_t reduction_length) {
  const double once = rounding(dtype);
  return once == 0 ? 0 : once + accumulation(dtype, reduction_length);
}

double cancellation_noise(DType accumulator, double term, int64_t n) {
  if (!is_float(accumulator) || !std::isfinite(term)) return 0;
  const double unit = accumulator == DType::kF64 ? 0x1p-52 : accumulator == DType::kF16 ? 0x1p-10 : 0x1p-23;
  return 4 * unit * term * std::sqrt(static_cast<double>(std::max<int64_t>(n, 1)));
}

namespace {

// The values of a type of 8 bits, by their codes.
std::array<double, 256> values_of_codes(DType type) {
  std::array<uint8_t, 256> codes;
  std::iota(codes.begin(), codes.end(), uint8_t{0});
  const HostTensor tensor = HostTensor::wrap(type, {256}, codes.data(), nullptr);
  std::array<double, 256> values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.get_f64(static_cast<int64_t>(i));
  return values;
}

// Elements as numbers; of 8 bits, each code is one.
class Values {
 public:
  explicit Values(const HostTensor& tensor) : tensor_(tensor) {
    by_code_ = is_float(tensor.dtype()) && dtype_bits(tensor.dtype()) == 8;
    if (by_code_) values_ = values_of_codes(tensor.dtype());
  }
  double operator[](int64_t i) const {
    return by_code_ ? values_[static_cast<const uint8_t*>(tensor_.data())[i]] : tensor_.get_f64(i);
  }

 private:
  const HostTensor& tensor_;
  bool by_code_ = false;
  std::array<double, 256> values_;
};

// A run of elements that one thread compares: which elements are summed together does not depend on the threads.
constexpr int64_t kRun = 1 << 15;

struct RunDifference {
  Difference d;
  double dot = 0, actual_squares = 0, expected_squares = 0;
};

RunDifference compare_run(const HostTensor& actual, const HostTensor& expected, double noise, int64_t begin,
                          int64_t end) {
  const bool integral = !is_float(expected.dtype());
  const Values actual_values(actual), expected_values(expected);
  RunDifference run;
  Difference& d = run.d;
  for (int64_t i = begin; i < end; ++i) {
    const double a = actual_values[i], b = expected_values[i];
    if (!std::isfinite(a) || !std::isfinite(b)) {
      const bool same = std::isnan(a) ? std::isnan(b) : a == b;
      if (same) continue;
      if (!d.non_finite_mismatch) d.worst_index = i;
      d.non_finite_mismatch = true;
      continue;
    }
    const double distance = integral ? integer_distance(actual, expected, i) : std::max(std::fabs(a - b) - noise, 0.0);
    if (distance > d.max_abs || (d.worst_index < 0 && distance > 0)) {
      d.max_abs = distance;
      if (!d.non_finite_mismatch) d.worst_index = i;
    }
    d.scale = std::max(d.scale, std::fabs(b));
    run.dot += a * b;
    run.actual_squares += a * a;
    run.expected_squares += b * b;
  }
  return run;
}

void add_run(const RunDifference& run, RunDifference* all) {
  Difference& d = all->d;
  const bool worse = run.d.non_finite_mismatch || (run.d.max_abs > d.max_abs && run.d.worst_index >= 0);
  if (!d.non_finite_mismatch && worse) d.worst_index = run.d.worst_index;
  d.non_finite_mismatch = d.non_finite_mismatch || run.d.non_finite_mismatch;
  d.max_abs = std::max(d.max_abs, run.d.max_abs);
  d.scale = std::max(d.scale, run.d.scale);
  all->dot += run.dot;
  all->actual_squares += run.actual_squares;
  all->expected_squares += run.expected_squares;
}

}  // namespace

Difference compare(const HostTensor& actual, const HostTensor& expected, double noise) {
  RunDifference all;
  Difference& d = all.d;
  if (!actual.valid() || !expected.valid() || actual.dtype() != expected.dtype() || actual.dims() != expected.dims()) {
    d.shape_mismatch = true;
    return d;
  }
  const int64_t volume = expected.volume();
  std::vector<RunDifference> runs(static_cast<size_t>((volume + kRun - 1) / kRun));
  parallel_for(static_cast<int64_t>(runs.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      runs[static_cast<size_t>(r)] = compare_run(actual, expected, noise, r * kRun, std::min(volume, (r + 1) * kRun));
  });
  for (const RunDifference& run : runs) add_run(run, &all);
  d.relative = d.scale > 0 ? d.max_abs / d.scale : d.max_abs;
  if (all.actual_squares > 0 && all.expected_squares > 0) {
    d.cosine = all.dot / (std::sqrt(all.actual_squares) * std::sqrt(all.expected_squares));
  } else {
    d.cosine = all.actual_squares == all.expected_squares ? 1 : 0;
  }
  return d;
}

namespace {

// Slices of fewer elements than this may all be small by chance (sums that cancel), and say nothing about a scale.
constexpr size_t kFewElements = 16;
// No slice is taken for smaller than this part of the whole: what comes out of a cancellation carries the rounding of
// the larger values that went into it.
constexpr double kLeastScale = 1.0 / 1024;

}  // namespace

std::vector<double> place_scales(const HostTensor& tensor) {
  const auto volume = static_cast<size_t>(tensor.volume());
  std::vector<double> magnitudes(volume);
  double whole = 0;
  for (size_t i = 0; i < volume; ++i) {
    const double v = std::fabs(tensor.get_f64(static_cast<int64_t>(i)));
    magnitudes[i] = std::isfinite(v) ? v : 0;
    whole = std::max(whole, magnitudes[i]);
  }
  std::vector<double> scales(volume, whole);
  size_t stride = 1;
  for (size_t a = tensor.dims().size(); a-- > 0; stride *= static_cast<size_t>(tensor.dims()[a])) {
    const auto extent = static_cast<size_t>(tensor.dims()[a]);
    if (extent < 2 || volume / extent < kFewElements) continue;
    std::vector<double> slices(extent, 0);
    const auto for_each_run = [&](auto f) {  // f(slice, first of `stride` elements one after the other, that lie in it)
      for (size_t first = 0; first < volume; first += extent * stride)
        for (size_t e = 0; e < extent; ++e) f(&slices[e], first + e * stride);
    };
    for_each_run([&](double* slice, size_t first) {
      for (size_t i = first; i < first + stride; ++i) *slice = std::max(*slice, magnitudes[i]);
    });
    for (double& slice : slices) slice = std::max(slice, kLeastScale * whole);
    for_each_run([&](const double* slice, size_t first) {
      for (size_t i = first; i < first + stride; ++i) scales[i] = std::min(scales[i], *slice);
    });
  }
  return scales;
}

Difference compare_by_place(const HostTensor& actual, const HostTensor& expected, double noise) {
  Difference d = compare(actual, expected, noise);
  if (d.shape_mismatch || !is_float(expected.dtype()) || d.scale == 0) return d;
  const std::vector<double> scales = place_scales(expected);
  for (int64_t i = 0; i < expected.volume(); ++i) {
    const double a = actual.get_f64(i), b = expected.get_f64(i);
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const double relative = std::max(std::fabs(a - b) - noise, 0.0) / scales[static_cast<size_t>(i)];
    if (relative <= d.relative) continue;
    d.relative = relative;
    if (!d.non_finite_mismatch) d.worst_index = i;
  }
  return d;
}

bool within(const Difference& d, double tolerance) {
  return !d.shape_mismatch && !d.non_finite_mismatch && d.relative <= tolerance;
}

bool within(const Difference& d, double tolerance, double slack) {
  if (within(d, tolerance)) return true;
  return slack > 0 && !d.shape_mismatch && !d.non_finite_mismatch && d.max_abs <= slack + tolerance * d.scale;
}

double largest_magnitude(const HostTensor& tensor) {
  double most = 0;
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    const double v = std::fabs(tensor.get_f64(i));
    if (std::isfinite(v)) most = std::max(most, v);
  }
  return most;
}

namespace {

// The first element of these bits that is bad; -1: none. By runs, of which most have none.
template <typename Bits, typename Bad>
int64_t first_bad(const HostTensor& tensor, Bad bad) {
  constexpr int64_t kTogether = 4096;
  const auto* const bytes = static_cast<const std::byte*>(tensor.data());
  const auto is_bad = [&](int64_t i) {
    Bits value;
    std::memcpy(&value, bytes + static_cast<size_t>(i) * sizeof value, sizeof value);
    return bad(value);
  };
  for (int64_t first = 0; first < tensor.volume(); first += kTogether) {
    const int64_t count = std::min(kTogether, tensor.volume() - first);
    bool any = false;
    for (int64_t i = 0; i < count; ++i) any |= is_bad(first + i);
    for (int64_t i = 0; any && i < count; ++i)
      if (is_bad(first + i)) return first + i;
  }
  return -1;
}

// With all bits of the exponent.
template <typename Bits>
int64_t first_of_exponent(const HostTensor& tensor, Bits exponent) {
  return first_bad<Bits>(tensor, [&](Bits value) { return (value & exponent) == exponent; });
}

// Types of 8 bits have their infinities and NaN at codes of their own.
int64_t first_of_codes(const HostTensor& tensor) {
  const std::array<double, 256> values = values_of_codes(tensor.dtype());
  std::array<bool, 256> bad;
  std::transform(values.begin(), values.end(), bad.begin(), [](double v) { return !std::isfinite(v); });
  return first_bad<uint8_t>(tensor, [&](uint8_t code) { return bad[code]; });
}

}  // namespace

int64_t first_non_finite(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF64: return first_of_exponent<uint64_t>(tensor, uint64_t{0x7ff} << 52);
    case DType::kF32: return first_of_exponent<uint32_t>(tensor, 0x7f800000u);
    case DType::kF16: return first_of_exponent<uint16_t>(tensor, 0x7c00);
    case DType::kBF16: return first_of_exponent<uint16_t>(tensor, 0x7f80);
    default: return is_float(tensor.dtype()) && dtype_bits(tensor.dtype()) == 8 ? first_of_codes(tensor) : -1;
  }
}

double rounding_slack(const PointwiseExpr& expr, size_t output) {
  if (output >= expr.outputs.size()) return 0;
  std::vector<double> slack(expr.code.size(), 0);
  const auto constant = [&](uint16_t v) {
    while (expr.code[v].op == PwOp::kCast) v = expr.code[v].a;
    return expr.code[v].op == PwOp::kConst ? std::fabs(expr.code[v].imm0) : 1.0;
  };
  for (size_t i = 0; i < expr.code.size(); ++i) {
    const PwInstr& in = expr.code[i];
    const int arity = pw_op_arity(in.op);
    const double a = arity > 0 ? slack[in.a] : 0, b = arity > 1 ? slack[in.b] : 0, c = arity > 2 ? slack[in.c] : 0;
    switch (in.op) {
      case PwOp::kQuantize:
        slack[i] = is_integer(in.type) ? 1 + std::ceil(a / std::max(constant(in.b), 1e-30)) : a;
        break;
      case PwOp::kMul: slack[i] = a * constant(in.b) + b * constant(in.a); break;
      case PwOp::kDiv: slack[i] = a / std::max(constant(in.b), 1e-30) + b; break;
      default: slack[i] = arity <= 1 ? 1.2 * a : a + b + c;  // activations: no steeper than 1.2
    }
    if (in.op == PwOp::kCast || in.op == PwOp::kRelu || in.op == PwOp::kClip) slack[i] = a;
  }
  return slack[expr.outputs[output]];
}

std::string to_string(const Difference& d) {
  if (d.shape_mismatch) return "shapes or element types differ";
  return fmt::format("max |a-b| {:.3g} of scale {:.3g} (relative {:.3g}) at element {}, cosine {:.6f}{}", d.max_abs,
                     d.scale, d.relative, d.worst_index, d.cosine,
                     d.non_finite_mismatch ? ", a NaN or infinity on one side only" : "");
}

}  // namespace wootz
