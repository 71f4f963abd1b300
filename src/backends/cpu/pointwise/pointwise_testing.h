// For tests of pointwise expressions: an oracle, and the check against it.
#pragma once

#include <vector>

#include "backends/cpu/pointwise/engine.h"
#include "backends/cpu/testing/kernel_runner.h"

namespace wootz::cpu {

// The oracle: base's evaluate(), element by element.
inline std::vector<HostTensor> oracle(const PointwiseExpr& expr, const std::vector<HostTensor>& inputs,
                                      const Dims& dims) {
  std::vector<HostTensor> out;
  for (size_t o = 0; o < expr.outputs.size(); ++o)
    out.push_back(HostTensor::allocate(expr.output_type(o), dims).value());
  std::vector<PwScalar> in(expr.num_inputs), result(expr.outputs.size());
  for (int64_t e = 0; e < dims.volume(); ++e) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k].valid()) continue;
      const Dims strides = broadcast_strides(inputs[k].dims(), dims);
      int64_t rest = e, offset = 0;
      for (int d = dims.rank() - 1; d >= 0; --d) {
        offset += rest % dims[static_cast<size_t>(d)] * strides[static_cast<size_t>(d)];
        rest /= dims[static_cast<size_t>(d)];
      }
      if (is_float(inputs[k].dtype()))
        in[k].f = inputs[k].get_f64(offset);
      else
        in[k].i = inputs[k].get_i64(offset);
    }
    evaluate(expr, in, result);
    for (size_t o = 0; o < out.size(); ++o) {
      if (is_float(out[o].dtype()))
        out[o].set_f64(e, result[o].f);
      else
        out[o].set_i64(e, result[o].i);
    }
  }
  return out;
}

inline Problem problem_of(const PointwiseExpr& expr, const std::vector<HostTensor>& inputs, const Dims& dims) {
  Problem p;
  p.set_family(Family::kPointwise);
  p.epilogue = expr;
  for (const HostTensor& t : inputs) p.inputs.push_back(rig::desc_of(t));
  for (size_t o = 0; o < expr.outputs.size(); ++o) p.outputs.push_back(rig::desc(expr.output_type(o), dims));
  return p;
}

inline void check_expr(const PointwiseExpr& expr, const std::vector<HostTensor>& inputs, const Dims& dims,
                       rig::Options options = {}) {
  ASSERT_TRUE(expr.verify().ok()) << expr.verify().to_string() << " " << expr.to_string();
  SCOPED_TRACE(expr.to_string());
  rig::check(problem_of(expr, inputs, dims), inputs, oracle(expr, inputs, dims), options);
}

}  // namespace wootz::cpu
