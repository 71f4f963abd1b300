// Test cases as data: one generator per module serves the op's numeric test, every backend's conformance test, the
// benchmark and the support table. A case is a small graph and its inputs.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "ir/graph.h"

namespace wootz {

struct OpCase {
  std::string name;                // "softmax/axis1_f32": unique
  std::shared_ptr<Graph> graph;    // inferred; usually one node
  std::vector<HostTensor> inputs;  // in the order of graph inputs
  double tolerance = 0;            // 0: from dtype and reduction length (base/tolerance.h)
  int64_t reduction = 1;           // length of the longest sum
};

// What cancellation may leave of rounding in the case's results, where it sums: base/tolerance.h. The two first floats
// are taken for what is multiplied.
double noise_of(const OpCase& c);

class CaseList {
 public:
  explicit CaseList(uint64_t seed) : rng_(seed) {}
  std::mt19937_64& rng() { return rng_; }

  // Random tensors: floats from a normal distribution, integers from [-4, 4], bool from {0, 1}.
  HostTensor random(DType dtype, const Dims& dims);
  // Floats and integers from [low, high], of unsigned types their magnitudes.
  HostTensor random(DType dtype, const Dims& dims, double low, double high);
  // A one-node graph over inputs of the given tensors; constants[i] true makes input i an initializer.
  void add(std::string name, std::string_view op, std::vector<HostTensor> inputs, AttrMap attrs = {},
           int num_outputs = 1, std::vector<bool> constants = {}, int64_t reduction = 1);
  void add(OpCase c) { cases_.push_back(std::move(c)); }
  // Of the last one, whose results depend on what lies next to a rounding's boundary.
  void tolerate(double tolerance) { cases_.back().tolerance = tolerance; }
  const std::vector<OpCase>& cases() const { return cases_; }

 private:
  HostTensor filled(DType dtype, const Dims& dims, FunctionRef<double()> real, double low, double high);

  std::mt19937_64 rng_;
  std::vector<OpCase> cases_;
};

// What every module of ops.def defines: adds its cases.
namespace ops {
#define MODULE(module) void module##_cases(CaseList& list);
#include "ops/ops.def"
#undef MODULE
}  // namespace ops

// All modules' cases, from one seed (printed by the tests).
std::vector<OpCase> all_cases(uint64_t seed);

}  // namespace wootz
