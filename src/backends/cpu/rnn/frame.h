// A recurrent layer at concrete extents: what is fixed when it is bound, and where one run has its operands and states.
#pragma once

#include <algorithm>

#include "backends/cpu/kernel_entry.h"
#include "backends/cpu/pointwise/ops.h"
#include "backends/cpu/rnn/packing.h"
#include "backends/cpu/rnn/split.h"
#include "base/spin_barrier.h"

namespace wootz::cpu {

struct RnnLayout {
  RnnLayout(const Problem& problem, const KernelOptions& options, const Recurrence& recurrence, bool teams);

  Recurrence r;
  RnnColumns columns;
  RnnSplit split;
  DType type, lengths = DType::kInvalid;
  OpFn widen = nullptr, narrow = nullptr;                                      // null: f32
  RnnCellSpec spec[2];                                                         // by direction
  bool has[kRnnInputs] = {}, ready[kRnnInputs] = {}, wants[kRnnOutputs] = {};  // ready: packed when the plan was made
  int64_t group = 1, part_steps = 1;  // most sequences of a group; steps whose products of inputs are there at a time
  size_t bytes = 0;                   // of workspace

  int64_t part_elements() const { return part_steps * group * columns.all(); }
  int64_t table_elements() const { return (2 * group + 7) / 8 * 8; }

  // Offsets in the workspace, in bytes.
  size_t at_lengths = 0, at_meet = 0, at_tables = 0, at_part = 0, at_h = 0, at_c = 0, at_gated = 0, at_x = 0,
         at_packed[kRnnInputs] = {};

 private:
  RnnCellSpec spec_of(int64_t direction) const;
  void lay_out();
};

// What a thread computes of a layer: a direction, sequences [begin, end), blocks of units [first, last).
struct RnnShare {
  int64_t direction = 0, begin = 0, end = 0, first = 0, last = 0;
};

class RnnFrame {
 public:
  RnnFrame(const RnnLayout& layout, const RunArgs& args);
  // Brings operands into the form that the loops want: halves, and weights that the network computes. Errors: a
  // sequence that is longer than the steps.
  Status prepare();

  // Operands as f32; weights packed, biases given or zeros, peepholes null where there are none.
  const float *x = nullptr, *w = nullptr, *r = nullptr, *bias = nullptr, *peepholes = nullptr;

  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(memory_ + offset);
  }
  int64_t length(int64_t b) const { return at<int64_t>(l_.at_lengths)[b]; }
  // The state before step s.
  float* h(int64_t s, int64_t direction, int64_t b) const {
    return at<float>(l_.at_h) + (s % 2 * l_.r.directions * l_.r.batch + row(direction, b)) * l_.columns.units();
  }
  float* c(int64_t direction, int64_t b) const { return at<float>(l_.at_c) + row(direction, b) * l_.columns.units(); }
  // The state times the reset gate, or the candidate's sums from the state.
  float* gated(int64_t direction, int64_t b) const {
    return at<float>(l_.at_gated) + row(direction, b) * l_.columns.units();
  }
  // The model's step that a sequence has as its step s, and where its input is.
  int64_t time(int64_t direction, int64_t s, int64_t b) const {
    return l_.r.backwards(direction) && s < length(b) ? length(b) - 1 - s : s;
  }
  const float* input(int64_t t, int64_t b) const {
    return x + (l_.r.batch_first ? b * l_.r.steps + t : t * l_.r.batch + b) * l_.r.inputs;
  }

  // A share's units of sequence b: of an initial state to `to`, and from `from` to a result, y at step t of the model.
  void load_state(size_t input, const RnnShare& share, int64_t b, float* to) const;
  void store_state(size_t output, const RnnShare& share, int64_t b, const float* from) const;
  void store_y(int64_t t, const RnnShare& share, int64_t b, const float* from) const;

 private:
  int64_t row(int64_t direction, int64_t b) const { return direction * l_.r.batch + b; }
  int64_t first_unit(const RnnShare& a) const { return a.first * l_.columns.lanes; }
  int64_t count(const RnnShare& a) const { return std::min(l_.r.hidden, a.last * l_.columns.lanes) - first_unit(a); }
  int64_t place_of_state(int64_t d, int64_t b) const {
    return l_.r.batch_first ? b * l_.r.directions + d : d * l_.r.batch + b;
  }
  void store(size_t output, const RnnShare& share, int64_t row, const float* from) const;
  const float* packed(size_t input);
  Status read_lengths();

  const RnnLayout& l_;
  const RunArgs& args_;
  char* memory_;
};

}  // namespace wootz::cpu
