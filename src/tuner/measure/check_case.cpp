#include "tuner/measure/check_case.h"

#include <algorithm>
#include <cmath>

#include "backend/work.h"
#include "base/tolerance.h"
#include "tuner/measure/distinct_updates.h"
#include "tuner/measure/random_data.h"

namespace wootz {
namespace {

constexpr int64_t kExtents[] = {64, 32, 16, 8, 4, 2, 1};  // what a shortened axis may keep

// Ways of making a problem smaller, tried in this order. Which of them a family allows is found out by trying: the
// reference refuses extents that do not go together, and a kernel that disagrees on a small case is asked again on the
// whole.
using Shorten = int64_t (*)(size_t axis, size_t rank, int64_t extent, int64_t most);
int64_t points_of_images(size_t axis, size_t rank, int64_t extent, int64_t most) {
  if (rank < 3) return axis == 0 ? std::min(extent, most) : extent;
  return axis == 1 ? extent : std::min(extent, axis == 0 ? std::min<int64_t>(2, most) : most);
}
int64_t all_but_last(size_t axis, size_t rank, int64_t extent, int64_t most) {
  return axis + 1 < rank ? std::min(extent, most) : extent;
}
int64_t first_axis(size_t axis, size_t, int64_t extent, int64_t most) {
  return axis == 0 ? std::min(extent, most) : extent;
}
constexpr Shorten kWays[] = {points_of_images, all_but_last, first_axis};

Dims shortened(Shorten way, const Dims& dims, int64_t most) {
  Dims small = dims;
  for (size_t a = 0; a < small.size(); ++a) small[a] = way(a, dims.size(), dims[a], most);
  return small;
}

// Extents of an operand that broadcasts to `whole`, once that is only `small`.
Dims follow(const Dims& operand, const Dims& whole, const Dims& small) {
  Dims d = operand;
  if (operand.size() > whole.size() || whole.size() != small.size()) return d;
  const size_t shift = whole.size() - operand.size();
  for (size_t a = 0; a < d.size(); ++a)
    if (d[a] == whole[a + shift]) d[a] = small[a + shift];
  return d;
}

// What a reduced axis of the result may become is not known before the reference has run: there, 1 fits everything.
Dims shortened_operand(Shorten way, const Dims& operand, const Dims& whole) {
  Dims d = operand;
  if (operand.size() > whole.size()) return d;
  const size_t shift = whole.size() - operand.size();
  for (size_t a = 0; a < d.size(); ++a)
    if (way(a + shift, whole.size(), INT64_MAX, 1) == 1) d[a] = 1;
  return d;
}

double volume(const Dims& dims) {
  double v = 1;
  for (const int64_t d : dims) v *= static_cast<double>(d);
  return v;
}

class CaseMaker {
 public:
  CaseMaker(const Problem& problem, StepIndex step, const std::vector<HostTensor>& full,
            const ReferenceFunction& reference, uint64_t seed)
      : p_(problem), step_(step), full_(full), reference_(reference), seed_(seed) {}

  std::optional<CheckCase> try_way(Shorten way, double work) const {
    if (p_.outputs.empty() || p_.inputs.empty()) return std::nullopt;
    const Dims& whole = p_.outputs[0].dims;
    const bool pointwise = p_.num_main == 0;
    const Dims& first = pointwise ? whole : p_.inputs[largest()].dims;
    const double full_work = multiplications(p_);
    for (const int64_t most : kExtents) {
      const Dims small = shortened(way, first, most);
      if (full_work * volume(small) / std::max(1.0, volume(first)) > work) continue;
      std::vector<Dims> extents = main_extents(way, most);
      Dims result = small;
      if (!pointwise && extras()) {
        for (size_t i = main(); i < p_.inputs.size(); ++i)
          if (shrinks(i)) extents[i] = shortened_operand(way, p_.inputs[i].dims, whole);
        const std::optional<CheckCase> probe = run(extents);
        if (!probe) return std::nullopt;
        result = probe->expected[0].dims();
      }
      for (size_t i = main(); i < p_.inputs.size(); ++i)
        if (shrinks(i)) extents[i] = follow(p_.inputs[i].dims, whole, result);
      return run(extents);
    }
    return std::nullopt;
  }

  std::optional<CheckCase> run(const std::vector<Dims>& extents) const {
    CheckCase made;
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      if (!full_[i].valid() || full_[i].dims() == extents[i]) {
        made.inputs.push_back(full_[i]);
        continue;
      }
      Result<HostTensor> small = random_operand(p_, i, extents[i], seed_ + i);
      if (!small.ok()) return std::nullopt;
      made.inputs.push_back(std::move(small).value());
      made.reduced = true;
    }
    if (made.reduced && !make_updates_distinct(p_, &made.inputs).ok()) return std::nullopt;
    Result<std::vector<HostTensor>> expected = reference_(step_, made.inputs);
    if (!expected.ok() || expected->size() != p_.outputs.size()) return std::nullopt;
    made.expected = std::move(expected).value();
    for (size_t o = 0; o < p_.outputs.size(); ++o) {
      const TensorDesc& desc = p_.outputs[o];
      const HostTensor& t = made.expected[o];
      if (desc.dtype == DType::kInvalid) continue;
      if (!t.valid() || t.dtype() != desc.dtype || t.rank() != desc.dims.rank()) return std::nullopt;
      if (!made.reduced && !(t.dims() == desc.dims)) return std::nullopt;
      made.finite = made.finite && first_non_finite(t) < 0;
    }
    return made;
  }

 private:
  size_t main() const { return static_cast<size_t>(p_.num_main); }
  bool extras() const { return main() < p_.inputs.size(); }
  // Of the main inputs that shrink: what the work goes by.
  size_t largest() const {
    size_t best = 0;
    for (size_t i = 1; i < main(); ++i)
      if (shrinks(i) && (!shrinks(best) || p_.inputs[i].dims.volume() > p_.inputs[best].dims.volume())) best = i;
    return p_.is(Family::kChain) || p_.is(Family::kSiblings) ? best : 0;
  }
  bool shrinks(size_t i) const { return full_[i].valid() && !p_.inputs[i].constant; }
  std::vector<Dims> main_extents(Shorten way, int64_t most) const {
    std::vector<Dims> extents;
    for (size_t i = 0; i < p_.inputs.size(); ++i)
      extents.push_back(i < main() && shrinks(i) ? shortened(way, p_.inputs[i].dims, most) : p_.inputs[i].dims);
    return extents;
  }

  const Problem& p_;
  StepIndex step_;
  const std::vector<HostTensor>& full_;
  const ReferenceFunction& reference_;
  uint64_t seed_;
};

}  // namespace

std::vector<Dims> CheckCase::output_dims() const {
  std::vector<Dims> dims;
  for (const HostTensor& t : expected) dims.push_back(t.valid() ? t.dims() : Dims{});
  return dims;
}

int64_t longest_sum(const Problem& problem) {
  if (problem.num_main == 0 || problem.inputs.empty() || problem.outputs.empty() || problem.is(Family::kConcats))
    return 1;
  const bool chain = problem.is(Family::kChain);
  if (const auto* siblings = problem.as_if<SiblingsParams>(); siblings != nullptr && siblings->joint.get() != nullptr) {
    const auto* normed = std::get_if<ChainParams>(&siblings->joint.get()->params);
    const FamilyBox* const product = normed == nullptr ? siblings->joint.get() : normed->second.get();
    if (product != nullptr && family_of(product->params) == Family::kGemm)
      return problem.inputs[0].dims.rank() == 0 ? 1 : std::max<int64_t>(1, problem.inputs[0].dims.back());
  }
  if (chain || problem.is(Family::kSiblings)) {  // all parts' weights
    double sum = 1;
    const FamilyBox* const second = chain ? problem.as<ChainParams>().second.get() : nullptr;
    if (second != nullptr && family_of(second->params) == Family::kGemm)
      return problem.inputs[0].dims.rank() == 0 ? 1 : std::max<int64_t>(1, problem.inputs[0].dims.back());
    for (const TensorDesc& t : problem.inputs)
      if (t.constant && t.dims.rank() >= 2) sum += volume(t.dims) / std::max(1.0, static_cast<double>(t.dims[0]));
    return static_cast<int64_t>(std::min(sum, 1e12));
  }
  const Dims& in = problem.inputs[0].dims;
  double longest = std::max(1.0, volume(in) / std::max(1.0, volume(problem.outputs[0].dims)));
  if (problem.num_main > 1) {  // weights: all of one result's share, whichever of the first two axes counts results
    const Dims& w = problem.inputs[1].dims;
    if (in.rank() > 0) longest = std::max(longest, static_cast<double>(in.back()));
    if (w.rank() >= 2) longest = std::max(longest, volume(w) / std::max(1.0, static_cast<double>(w[0])));
  }
  return static_cast<int64_t>(std::min(longest, 1e12));
}

double multiplications(const Problem& problem) {
  if (problem.outputs.empty()) return 0;
  const double own = volume(problem.outputs[0].dims) * static_cast<double>(longest_sum(problem));
  return problem.outputs.size() == 1 ? own : std::max(own, work_of(problem).flops / 2);
}

std::optional<CheckCase> small_case(const Problem& problem, StepIndex step, const std::vector<HostTensor>& full,
                                    const ReferenceFunction& reference, double work, uint64_t seed) {
  const CaseMaker maker(problem, step, full, reference, seed);
  if (!problem.outputs.empty() && multiplications(problem) <= work) return full_case(problem, step, full, reference);
  for (const Shorten way : kWays)
    if (std::optional<CheckCase> made = maker.try_way(way, work)) return made;
  return std::nullopt;
}

std::optional<CheckCase> full_case(const Problem& problem, StepIndex step, const std::vector<HostTensor>& full,
                                   const ReferenceFunction& reference) {
  std::vector<Dims> extents;
  for (const TensorDesc& desc : problem.inputs) extents.push_back(desc.dims);
  return CaseMaker(problem, step, full, reference, 0).run(extents);
}

}  // namespace wootz
