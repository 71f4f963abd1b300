#include <fmt/format.h>
#include <string_view>

#include <algorithm>
#include <cmath>

#include "backends/cpu/testing/kernel_runner.h"
#include "base/tolerance.h"

namespace wootz::cpu {
namespace {

// How much larger the terms of a sum or mean are than the largest result: rounding goes by the terms.
double cancellation(std::string_view kind, const HostTensor& x, const HostTensor& want) {
  if ((kind != "sum" && kind != "mean") || want.volume() == 0) return 1;
  double terms = 0, largest = 0;
  for (int64_t i = 0; i < x.volume(); ++i) terms += std::abs(x.get_f64(i));
  for (int64_t i = 0; i < want.volume(); ++i) largest = std::max(largest, std::abs(want.get_f64(i)));
  const double divisor = static_cast<double>(kind == "mean" ? x.volume() : want.volume());
  const double ratio = largest > 0 ? terms / divisor / largest : 1;
  return std::isfinite(ratio) && ratio > 1 ? ratio : 1;
}

using rig::random_tensor;

constexpr const char* kKinds[] = {"sum", "mean", "max", "min", "prod", "l1", "l2", "sumsq", "logsum", "logsumexp"};

// In f64, or in i64 for integers (tests keep clear of overflow).
HostTensor oracle(const std::string& kind, const HostTensor& x, const Dims& kept) {
  HostTensor y = HostTensor::allocate(is_float(x.dtype()) ? DType::kF64 : DType::kI64, kept).value();
  const Dims strides = x.dims().strides();
  std::vector<std::vector<double>> values_of(static_cast<size_t>(y.volume()));
  for (int64_t i = 0; i < x.volume(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < x.dims().size(); ++d) at = at * kept[d] + (kept[d] == 1 ? 0 : i / strides[d] % x.dims()[d]);
    values_of[static_cast<size_t>(at)].push_back(is_float(x.dtype()) ? x.get_f64(i)
                                                                     : static_cast<double>(x.get_i64(i)));
  }
  for (int64_t o = 0; o < y.volume(); ++o) {
    double sum = 0, prod = 1, top = -INFINITY, low = INFINITY, abs = 0, square = 0, count = 0;
    bool nan = false;
    const std::vector<double>& all = values_of[static_cast<size_t>(o)];
    for (double v : all) {
      nan |= std::isnan(v);
      sum += v, prod *= v, abs += std::fabs(v), square += v * v, count += 1;
      top = std::max(top, v), low = std::min(low, v);
    }
    const double shift = std::isinf(top) ? 0 : top;
    double lse = 0;
    for (double v : all) lse += std::exp(v - shift);
    if (nan) top = low = NAN;
    const double values[] = {sum, sum / count,       top,    low,           prod,
                             abs, std::sqrt(square), square, std::log(sum), std::log(lse) + shift};
    const auto k = static_cast<size_t>(std::find(std::begin(kKinds), std::end(kKinds), kind) - std::begin(kKinds));
    if (is_float(x.dtype()))
      y.set_f64(o, values[k]);
    else
      y.set_i64(o, kind == "mean" ? static_cast<int64_t>(sum) / static_cast<int64_t>(count)
                                  : static_cast<int64_t>(values[k]));
  }
  return y;
}

void check_case(const std::string& kind, const HostTensor& x, std::vector<int64_t> axes, bool keep, bool epilogue,
                std::mt19937_64& rng) {
  Dims kept = x.dims(), out;
  for (int64_t a : axes) kept[static_cast<size_t>(a)] = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (keep || std::find(axes.begin(), axes.end(), d) == axes.end()) out.push_back(kept[static_cast<size_t>(d)]);
  HostTensor want = oracle(kind, x, kept).reshaped(out);
  Problem p;
  p.set_family(Family::kReduce);
  p.num_main = 1;
  p.params = ReduceParams{.kind = *choice_from_name<ReduceKind>(kind), .axes = axes};
  std::vector<HostTensor> inputs = {x};
  p.acc_dtype = x.dtype();
  DType type = x.dtype();
  if (epilogue) {
    inputs.push_back(random_tensor(rng, DType::kF32, out));
    type = DType::kF32;
    p.epilogue = rig::test_epilogue(x.dtype(), type);
    want = rig::apply_epilogue(p.epilogue, want, {inputs.back()});
  } else {
    HostTensor narrow = HostTensor::allocate(type, out).value();
    for (int64_t i = 0; i < out.volume(); ++i) {
      if (is_float(type))
        narrow.set_f64(i, want.get_f64(i));
      else
        narrow.set_i64(i, want.get_i64(i));
    }
    want = narrow;
  }
  for (const HostTensor& t : inputs) p.inputs.push_back(rig::desc_of(t));
  p.outputs = {rig::desc(type, out)};
  SCOPED_TRACE(
      fmt::format("{} of {} {} axes {}", kind, dtype_name(x.dtype()), x.dims().to_string(), fmt::join(axes, ",")));
  rig::check(p, inputs, {want},
             {.tolerance = 3 * tolerance_for(type, x.volume()) * cancellation(kind, x, want), .misaligned = keep});
}

TEST(Reduce, FloatsOverEveryKindAndAxis) {
  std::mt19937_64 rng(rig::seed());
  struct Case {
    Dims dims;
    std::vector<int64_t> axes;
  };
  const Case cases[] = {{{5, 37}, {1}},
                        {{5, 37}, {0}},
                        {{3, 4, 70}, {1}},
                        {{2, 3, 5, 7}, {2, 3}},
                        {{2, 3, 5, 7}, {0, 2}},
                        {{2, 3, 5, 7}, {1, 3}},
                        {{2, 3, 4, 5, 6}, {0, 2, 4}},
                        {{2, 700}, {0}},
                        {{600}, {0}},
                        {{2, 2, 5000}, {2}},
                        {{4, 1, 9}, {1}},
                        {{2, 3}, {0, 1}}};
  for (const Case& c : cases)
    for (const char* kind : kKinds)
      for (DType type : {DType::kF32, DType::kF16, DType::kF64}) {
        const bool positive = std::string_view(kind) == "logsum" || std::string_view(kind) == "prod";
        const bool wide = c.dims.volume() < 1000 || type != DType::kF16;
        if (!wide) continue;
        const HostTensor x = random_tensor(rng, type, c.dims, positive ? 0.8 : -2, positive ? 1.2 : 2);
        check_case(kind, x, c.axes, rng() % 2, type == DType::kF32 && rng() % 2, rng);
      }
}

TEST(Reduce, Integers) {
  std::mt19937_64 rng(rig::seed());
  for (const char* kind : {"sum", "mean", "max", "min", "prod", "l1", "sumsq"})
    for (DType type : {DType::kI32, DType::kI64, DType::kI8, DType::kU8, DType::kU64, DType::kI16}) {
      check_case(kind, random_tensor(rng, type, {3, 4, 2}, -3, 3), {1}, true, false, rng);
      check_case(kind, random_tensor(rng, type, {3, 2}, -3, 3), {0, 1}, false, false, rng);
    }
}

TEST(Reduce, EmptyNothingAndNaN) {
  std::mt19937_64 rng(rig::seed());
  for (const char* kind : kKinds) {
    check_case(kind, HostTensor::allocate(DType::kF32, {3, 0}).value(), {1}, true, false, rng);
    check_case(kind, HostTensor::allocate(DType::kF32, {0, 3}).value(), {1}, true, false, rng);
    check_case(kind, random_tensor(rng, DType::kF32, {3, 4}, 0.1, 1), {}, true, false, rng);
    for (int64_t axis : {0, 1}) {
      HostTensor x = random_tensor(rng, DType::kF32, {70, 70}, 0.1, 1);
      x.as_mutable<float>()[70 * 3 + 2] = NAN;
      x.as_mutable<float>()[70 * 3 + 5] = 0.9f;
      x.as_mutable<float>()[70 * 4 + 69] = -INFINITY;
      x.as_mutable<float>()[70 * 69 + 69] = INFINITY;
      check_case(kind, x, {axis}, true, false, rng);
    }
  }
}

}  // namespace
}  // namespace wootz::cpu
