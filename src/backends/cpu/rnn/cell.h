// The inner loops of recurrent layers, for one instruction set: a state times its weights, and the gates of a cell.
//
// Gates lie side by side by blocks of `lanes` units, so that a cell reads whole vectors: block 0's gates, block 1's,
// ... A GRU's candidate lies apart, after all the others: it is another product.
#pragma once

#include "backend/recurrence.h"
#include "base/cpu_info.h"

namespace wootz::cpu {

// rows x columns of the result, += in * weights; weights in panels as dense/tile.h has them.
struct RnnGemm {
  const float* const* in = nullptr;
  float* const* out = nullptr;  // where `column` of each row is
  int64_t rows = 0, depth = 0;
  int64_t columns = 0;             // whole blocks
  const float* weights = nullptr;  // of the panel that `column` begins
  const float* start = nullptr;    // what the sums begin with; null: what is in `out`
  bool backwards = false;          // panels from the last to the first
};

struct RnnCellSpec {
  struct Activation {
    RnnFunction function;
    float alpha, beta;
  };
  Activation activations[3] = {};
  float clip = 0;      // 0: none
  bool plain = false;  // the usual activations and nothing of the following
  bool input_forget = false, linear_before_reset = false;
};

// One sequence at one step, from a block of units on.
struct RnnCell {
  const RnnCellSpec* spec = nullptr;
  int64_t blocks = 0;
  const float* gates = nullptr;      // LSTM: input, output, forget, cell; GRU: update, reset; RNN: the one
  const float* candidate = nullptr;  // GRU: its sums from x; also from the state unless linear_before_reset
  const float* recurrent = nullptr;  // GRU with linear_before_reset: the candidate's sums from the state
  const float* h = nullptr;
  float* h_next = nullptr;  // or, for gru_reset, the state times the reset gate
  float* c = nullptr;
  const float* peepholes[3] = {};  // input, output, forget; null: none
};

struct RnnOps {
  int64_t lanes;
  void (*gemm)(const RnnGemm& gemm);
  void (*lstm)(const RnnCell& cell);
  void (*gru_reset)(const RnnCell& cell);
  void (*gru)(const RnnCell& cell);
  void (*rnn)(const RnnCell& cell);
};
const RnnOps& rnn_ops(Isa isa);

}  // namespace wootz::cpu
