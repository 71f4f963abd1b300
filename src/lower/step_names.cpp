#include "lower/step_names.h"

#include <algorithm>
#include <set>

namespace wootz {
namespace {

constexpr size_t kNamesShown = 8;  // of a step's nodes; the rest is counted

std::string joined(const std::vector<std::string>& names, const char* separator) {
  std::string text;
  const size_t shown = names.size() > kNamesShown ? kNamesShown - 2 : names.size();
  for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : separator) + names[i];
  if (shown < names.size())
    text += fmt::format("{}{} more{}{}", separator, names.size() - shown - 1, separator, names.back());
  return text;
}

}  // namespace

void name_steps(const NodeOrder& order, Program* program) {
  std::set<std::string> taken;
  for (Step& step : program->steps) {
    std::stable_sort(step.provenance.begin(), step.provenance.end(),
                     [&](const std::string& a, const std::string& b) { return order.of(a) < order.of(b); });
    if (step.provenance.size() > 1)
      step.name = step.problem.is(Family::kPointwise)
                      ? fmt::format("fusedPointwiseNode({})", joined(step.provenance, ", "))
                      : joined(step.provenance, " + ");
    else if (step.provenance.size() == 1)
      step.name = step.provenance[0];
    const std::string base = step.name;
    for (int n = 2; !taken.insert(step.name).second; ++n) step.name = fmt::format("{} [{}]", base, n);
  }
}

}  // namespace wootz
