// What oneDNN leaves of an epilogue: a pass of the pointwise engine over the primitive's result.
#pragma once

#include <optional>
#include <vector>

#include "backends/cpu/onednn/dense.h"
#include "backends/cpu/pointwise/engine.h"

namespace wootz::cpu::dnn {

class Rest {
 public:
  // Errors: an operation that the engine lacks, operands that do not fit the result's layout.
  static Result<Rest> make(const Problem& problem, const DenseTraits& traits, const PointwiseExpr& expr,
                           const Extents& extents);
  // `result`: the primitive's, f32 in the output's layout; may be `output` itself when that is f32. No allocation.
  void run(const void* const* inputs, const void* result, void* output) const;

 private:
  Rest(BoundPointwise bound, std::vector<int> operands) : bound_(std::move(bound)), operands_(std::move(operands)) {}

  BoundPointwise bound_;
  std::vector<int> operands_;  // expression operand -> problem input
};

}  // namespace wootz::cpu::dnn
