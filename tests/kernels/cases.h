// A problem with operands and the results that the reference makes of them: what a kernel is held against.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "backend/problem.h"
#include "base/tensor.h"

namespace wootz::kernels {

struct KernelCase {
  std::string name;  // of the graph that it is from, and the step
  Problem problem;
  std::vector<HostTensor> inputs;    // row-major; invalid where omitted
  std::vector<HostTensor> expected;  // empty: for benchmarks, which compare nothing
  double tolerance = 0;              // 0: from types and the length of the sum
  bool written = false;              // in problems/: to be run whatever else is left out
  std::string races;                 // part of the names of kernels that are to be searched for races with it
  int64_t reduction = 1;             // length of the longest sum, if it is longer than the extents tell
};

// Cases without those that are equal to an earlier one but for their numbers.
class CaseSet {
 public:
  void add(KernelCase c);
  const std::vector<KernelCase>& cases() const { return cases_; }

 private:
  std::vector<KernelCase> cases_;
  std::set<std::string> seen_;
};

// Extents of the results; empty where one is omitted.
std::vector<Dims> output_dims(const KernelCase& c);
// What is let pass beyond what the types and the length of the sum say.
struct Leniency {
  double tolerance = 0;  // as a part of the results
  double noise = 1;      // so many times what cancellation leaves of the sums' terms
};
// Empty when the results are right; otherwise where and how far they are not.
std::string disagreement(const KernelCase& c, const std::vector<HostTensor>& actual, const Leniency& more = {});

}  // namespace wootz::kernels
