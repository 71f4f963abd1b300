// Activations of recurrent cells, and one direction of one layer.
#pragma once

#include <string>
#include <vector>

#include "ir/op_def.h"

namespace wootz::ops {

struct RnnActivation {
  double (*function)(double x, double alpha, double beta) = nullptr;
  double alpha = 0, beta = 0;
  double operator()(double x) const { return function(x, alpha, beta); }
};

enum class RnnKind { kRnn, kGru, kLstm };

// The activations of all directions, `count` each. Alphas and betas are consumed by those activations that use them.
Result<std::vector<RnnActivation>> read_activations(const Node& node, RnnKind kind, int directions);

// Rows of weights: gates in the model's order (LSTM: input, output, forget, cell; GRU: update, reset, hidden).
struct RnnDirection {
  RnnKind kind = RnnKind::kRnn;
  bool reverse = false, linear_before_reset = false, input_forget = false;
  double clip = 0;  // 0: none
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  const double *w = nullptr, *r = nullptr;  // [gates*hidden, inputs], [gates*hidden, hidden]
  const double *b = nullptr, *p = nullptr;  // [2*gates*hidden], [3*hidden]; null: zeros
  std::vector<int64_t> lengths;             // per batch; steps beyond give zeros and do not change the state
  std::vector<RnnActivation> activations;
  std::vector<double> h, c;  // [batch, hidden]: initial state, then the final one
};
// x is [steps, batch, inputs]; gives y [steps, batch, hidden].
std::vector<double> run_direction(RnnDirection* direction, const std::vector<double>& x);

}  // namespace wootz::ops
