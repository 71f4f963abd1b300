#include "kernels/cases.h"

#include "base/tolerance.h"
#include "tuner/measure/agreement.h"

namespace wootz::kernels {
namespace {

// Elements that rounding may have taken across a jump, as a share of all.
constexpr double kMayStray = 0.02;

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

std::string disagreement(const KernelCase& c, const std::vector<HostTensor>& actual, const Leniency& more) {
  const Problem& p = c.problem;
  if (actual.size() != c.expected.size())
    return fmt::format("{} outputs instead of {}", actual.size(), c.expected.size());
  const int64_t longest = std::max(c.reduction, longest_sum(p));
  for (size_t o = 0; o < actual.size(); ++o) {
    const HostTensor &got = actual[o], &want = c.expected[o];
    if (!want.valid() || !got.valid()) continue;
    auto [tolerance, slack] = allowance_for(p, o, want.dtype(), longest);
    tolerance = std::max(tolerance, c.tolerance) + more.tolerance;
    Difference d = compare_by_place(got, want);
    if (!within(d, tolerance) && is_float(want.dtype()))
      d = compare_by_place(got, want, more.noise * cancellation_noise(p, c.inputs));
    if (within(d, tolerance, slack)) continue;
    const bool comparable = may_jump(p) && !d.shape_mismatch;
    if (comparable && share_apart(got, want, slack + tolerance * d.scale) <= kMayStray) continue;
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
