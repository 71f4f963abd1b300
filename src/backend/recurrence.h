// Family rnn (families.md), read once for all kernels.
#pragma once

#include <span>
#include <vector>

#include "backend/problem.h"
#include "base/status.h"

namespace wootz {

inline constexpr size_t kRnnFunctions = static_cast<size_t>(RnnFunction::kSoftplus) + 1;

struct RnnActivation {
  RnnFunction function = RnnFunction::kTanh;
  double alpha = 0, beta = 0;  // 0 where the function has none
  bool operator==(const RnnActivation&) const = default;
};

// The family's operands by number.
enum RnnInput : size_t {
  kRnnX,
  kRnnW,
  kRnnR,
  kRnnBias,
  kRnnLengths,
  kRnnInitialH,
  kRnnInitialC,
  kRnnPeepholes,
  kRnnInputs,
};
inline constexpr size_t kRnnOutputs = 3;  // y, y_h, y_c

struct Recurrence {
  RnnKind kind = RnnKind::kRnn;
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, gates = 1, directions = 1;
  bool batch_first = false, reverse = false, linear_before_reset = false, input_forget = false;
  double clip = 0;                         // 0: none
  std::vector<RnnActivation> activations;  // of all directions

  int64_t width() const { return gates * hidden; }
  bool backwards(int64_t direction) const { return direction == 1 || reverse; }
  size_t each() const { return activations.size() / static_cast<size_t>(directions); }
};

// Is the operand there, or left out?
bool rnn_has(const Problem& problem, size_t input);
bool rnn_wants(const Problem& problem, size_t output);

// At these extents. Everything is checked: parameters, types and extents may come from a plan file.
Result<Recurrence> read_recurrence(const Problem& problem, std::span<const Dims> inputs, std::span<const Dims> outputs);

}  // namespace wootz
