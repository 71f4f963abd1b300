#include "kernels/cases.h"

#include <cmath>

#include "base/tolerance.h"
#include "tuner/measure/check_case.h"

namespace wootz::kernels {
namespace {

// Elements that rounding may have taken across a jump, as a share of all.
constexpr double kMayStray = 0.02;

bool strays(const KernelCase& c, const HostTensor& got, const HostTensor& want, double most) {
  if (!may_jump(c.problem)) return false;
  int64_t apart = 0;
  for (int64_t i = 0; i < want.volume(); ++i) {
    const double a = got.get_f64(i), b = want.get_f64(i);
    apart += !(a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= most);
  }
  return static_cast<double>(apart) <= kMayStray * static_cast<double>(want.volume());
}

}  // namespace

void CaseSet::add(KernelCase c) {
  std::string key = c.problem.key();
  for (const HostTensor& t : c.inputs) key += t.valid() ? t.dims().to_string() : "-";
  if (seen_.insert(std::move(key)).second) cases_.push_back(std::move(c));
}

std::vector<Dims> output_dims(const KernelCase& c) {
  std::vector<Dims> dims;
  for (size_t o = 0; o < c.problem.outputs.size(); ++o) {
    const bool known = o < c.expected.size();
    dims.push_back(!known ? c.problem.outputs[o].dims : c.expected[o].valid() ? c.expected[o].dims() : Dims{});
  }
  return dims;
}

std::string disagreement(const KernelCase& c, const std::vector<HostTensor>& actual) {
  const Problem& p = c.problem;
  if (actual.size() != c.expected.size())
    return fmt::format("{} outputs instead of {}", actual.size(), c.expected.size());
  const int64_t longest = std::max(c.reduction, longest_sum(p));
  for (size_t o = 0; o < actual.size(); ++o) {
    const HostTensor &got = actual[o], &want = c.expected[o];
    if (!want.valid() || !got.valid()) continue;
    double tolerance = std::max(c.tolerance, tolerance_for(want.dtype(), longest));
    if (is_float(want.dtype()) && is_float(p.acc_dtype))
      tolerance = std::max(tolerance, tolerance_for(p.acc_dtype, longest));
    // What lies on the border between two integers may be rounded to either.
    double slack = p.epilogue.empty() ? 0 : rounding_slack(p.epilogue, o);
    if (is_integer(want.dtype()) && is_float(p.acc_dtype) && !p.epilogue.empty()) slack = std::max(slack, 1.0);
    Difference d = compare_by_place(got, want);
    if (!within(d, tolerance) && is_float(want.dtype()))
      d = compare_by_place(got, want, cancellation_noise(p, c.inputs));
    if (within(d, tolerance, slack)) continue;
    if (!d.shape_mismatch && strays(c, got, want, slack + tolerance * d.scale)) continue;
    std::string values;
    if (d.worst_index >= 0)
      values = fmt::format(" (element {}: {} instead of {})", d.worst_index, got.get_f64(d.worst_index),
                           want.get_f64(d.worst_index));
    return fmt::format("output {} {}{}: {}{}; allowed: {:.3g}", o, dtype_name(want.dtype()), want.dims().to_string(),
                       to_string(d), values, tolerance);
  }
  return "";
}

}  // namespace wootz::kernels
